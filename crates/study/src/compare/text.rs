//! What a comparison has in common, and what qualifies its table, in words.

use super::Request;
use crate::neighbours::{SharedPath, TOLERABLE};
use crate::transport::{Transport, carriers};
use std::collections::BTreeMap;
use whimbrel_cc::Spec;
use whimbrel_report::Row;
use whimbrel_sim::scenario::Point;
use whimbrel_sim::sweep::Run;

/// A relative difference between two transports that is worth a word.
const MATTERS: f64 = 0.2;

/// What all runs have in common.
pub fn heading(request: &Request, runs: &[Run<'_>]) -> String {
    let flows = match request.flows.value {
        1 => "1 flow".to_owned(),
        n => format!("{n} flows"),
    };
    let beside: Vec<String> = request.neighbours.iter().map(ToString::to_string).collect();
    let flows = match beside.is_empty() {
        true => flows,
        false => format!("{flows} beside {}", beside.join(" and ")),
    };
    let count = |point: &Point| {
        runs.iter()
            .filter(|run| std::ptr::eq(run.point, point))
            .count()
    };
    let counts: Vec<usize> = runs.iter().map(|run| count(run.point)).collect();
    let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
    let seeds = match (least.unwrap_or(0), most.unwrap_or(0)) {
        (1, 1) => "1 seed".to_owned(),
        (least, most) if least == most => format!("{most} seeds"),
        (least, most) => format!("{least} to {most} seeds"),
    };
    let parts = [
        request.title(),
        flows,
        request.duration.text(),
        seeds,
        format!("recovery {}", request.recovery.name()),
        request.transport.words().to_owned(),
    ];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Which algorithms must not share a network, and why.
pub fn harm(harmful: &BTreeMap<String, f64>) -> Option<String> {
    let each = harmful
        .iter()
        .map(|(name, kept)| format!("{name} {:.0} %", kept * 100.0));
    (!harmful.is_empty()).then(|| {
        format!(
            "! must not share a network: beside it, a CUBIC flow keeps less than {:.0} % of what \
             it has beside another CUBIC ({}, {}, 1 BDP, no random loss): {}",
            TOLERABLE * 100.0,
            SharedPath::RATE,
            SharedPath::RTT,
            each.collect::<Vec<_>>().join(", ")
        )
    })
}

/// Which transports carry the algorithms, a sentence for each kind.
pub fn carried(rows: &[Row]) -> Vec<String> {
    let mut by_carrier: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for row in rows {
        let name = row.controller.as_str();
        if let Ok(spec) = name.parse::<Spec>() {
            let carrier = carriers(&spec);
            let carrier = carrier.split(" (").next().unwrap_or_default().to_owned();
            let names = by_carrier.entry(carrier).or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let sentence = |(carrier, names): (String, Vec<&str>)| {
        let what = match carrier.as_str() {
            "send" => "Over `whimbrel send` only:",
            "send, tcp" => "Over `whimbrel send` and `whimbrel tcp`:",
            _ => "Over `whimbrel send`, `whimbrel tcp` and in the Linux kernel (so for nginx):",
        };
        format!("{what} {}", names.join(", "))
    };
    by_carrier.into_iter().map(sentence).collect()
}

/// What the other transport would change; `other`: bit/s of each algorithm there and here.
pub fn transports(here: Transport, other: &BTreeMap<String, [f64; 2]>) -> String {
    // At least 1 bit/s: where nothing arrives either way there is no difference.
    let matters = |[there, here]: &[f64; 2]| (there.max(1.0) / here.max(1.0) - 1.0).abs() > MATTERS;
    let words = here.other().words();
    let mut few: Vec<(&String, &[f64; 2])> =
        other.iter().filter(|(_, both)| matters(both)).collect();
    few.sort_by(|a, b| b.1[1].total_cmp(&a.1[1]));
    if few.is_empty() {
        let percent = MATTERS * 100.0;
        return format!("The same within {percent:.0} % over {words} (first seed).");
    }
    // As a table's, the largest value chooses the unit.
    let most = few.iter().flat_map(|(_, both)| both.iter()).copied();
    let (unit, scale) = match most.fold(0.0, f64::max) {
        ..1e6 => ("kbit/s", 1e-3),
        _ => ("Mbit/s", 1e-6),
    };
    let show = |(name, [there, here]): &(&String, &[f64; 2])| {
        let (there, here) = (there * scale, here * scale);
        format!("{name} {there:.1} instead of {here:.1}")
    };
    let few: Vec<String> = few.iter().map(show).collect();
    format!("Over {words} (first seed, {unit}): {}", few.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_other_transport_changes_has_a_unit_that_shows_it() {
        let said = |values: &[(&str, [f64; 2])]| {
            let values = values
                .iter()
                .map(|(name, both)| ((*name).to_owned(), *both));
            transports(Transport::Quic, &values.collect())
        };
        let fast = said(&[("cubic", [29.5e6, 17e6]), ("bbr", [0.0, 4e4])]);
        assert!(
            fast.contains("Mbit/s): cubic 29.5 instead of 17.0, bbr 0.0"),
            "{fast}"
        );
        let slow = said(&[("cubic", [2.2e4, 4e4])]);
        assert!(
            slow.contains("kbit/s): cubic 22.0 instead of 40.0"),
            "{slow}"
        );
        // Nothing arrives either way.
        assert!(said(&[("cubic", [0.0, 0.0])]).starts_with("The same within"));
    }
}
