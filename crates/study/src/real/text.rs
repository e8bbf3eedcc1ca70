//! Real transfers beside their predictions, as a table, a figure and JSON.

use super::{Carrier, Implementation, Measurement, Row};
use serde_json::{Value, json};
use whimbrel_report::figure::Figure;
use whimbrel_report::figures::{Racer, race};
use whimbrel_report::{cell, fill, text_table_without};
use whimbrel_units::Rate;

const MBIT: f64 = 1e6;
/// What narrow terminals do without, in this order.
const LEAST: [&str; 4] = ["link\n%", "file\nMB", "lost\n%", "21 seeds\nMbit/s"];
/// Heads of the columns, and whether each is aligned to the right.
const COLUMNS: [(&str, bool); 12] = [
    ("controller\n", false),
    ("transport\n", false),
    ("file\nMB", true),
    ("real\nMbit/s", true),
    ("simulated\nMbit/s", true),
    ("21 seeds\nMbit/s", true),
    ("link\n%", true),
    ("time\ns", true),
    ("RTT\nreal", true),
    ("ms\nsim.", true),
    ("lost\n%", true),
    ("real over\nsimulated", true),
];
/// The columns of a race over one transport.
pub const RACE: &[usize] = &[0, 2, 3, 4, 5, 6, 7, 10];
/// The columns of a comparison of transports.
pub const COMPARISON: &[usize] = &[0, 1, 3, 4, 11, 8, 9, 10];

/// One row for each transfer, and below them what qualifies the numbers.
pub fn table(heading: &str, which: &[usize], rows: &[Row]) -> String {
    let (columns, all) = columns(which, rows);
    let table = text_table_without(&LEAST, &columns, &all);
    let rows: Vec<(String, &Row)> = rows.iter().map(|row| (name(row), row)).collect();
    let notes = notes(&rows).into_iter().map(|note| fill(&note, " ") + "\n");
    format!(
        "{}\n\n{table}{}",
        fill(heading, ", "),
        notes.collect::<String>()
    )
}

/// The summary of a race: `cerl is 30 times as fast as cubic`, of the measured goodput where all
/// have been measured, else of the predicted.
pub fn compared(rows: &[Row]) -> Option<String> {
    let all = rows.iter().all(|row| row.measured.is_ok());
    let word = if all { "" } else { "predicted to be " };
    let goodput = |row: &Row| match all {
        true => row.goodput_bps(),
        false => row.predicted.goodput_bps,
    };
    let ranked = || rows.iter().map(|row| (&row.trial.controller, goodput(row)));
    let (slowest, low) = ranked().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (fastest, high) = ranked().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let times = high / low;
    (times >= 1.05).then(|| format!("{fastest} is {word}{times:.1} times as fast as {slowest}"))
}

/// Data delivered over time; `None` if nothing was delivered.
pub fn delivered<'a>(
    title: &str,
    rate: Rate,
    rows: impl IntoIterator<Item = &'a Row>,
) -> Option<Figure> {
    let racer = |row: &Row| Racer {
        protocol: row.trial.controller.to_string(),
        measured: row
            .measured
            .as_ref()
            .map_or_else(|_| Vec::new(), Measurement::delivered),
        predicted: row.predicted.delivered.clone(),
    };
    let racers: Vec<Racer> = rows.into_iter().map(racer).collect();
    race(title, rate, &racers)
}

/// Some columns: their heads, and the cells of each row.
pub fn columns(which: &[usize], rows: &[Row]) -> (Vec<(&'static str, bool)>, Vec<Vec<String>>) {
    let chosen = |row: &Row| {
        let all = cells(row);
        which.iter().map(|i| all[*i].clone()).collect()
    };
    let heads = which.iter().map(|i| COLUMNS[*i]).collect();
    (heads, rows.iter().map(chosen).collect())
}

/// The cells of all columns of a row.
fn cells(row: &Row) -> Vec<String> {
    let (measured, predicted) = (row.measured.as_ref().ok(), &row.predicted);
    let (low, high) = predicted.range_bps;
    let rate = row.trial.rate.as_bits_per_sec() as f64;
    let millis = |value: f64| format!("{value:.1}");
    let transport = match (row.trial.carrier, row.implementation) {
        (Carrier::Quic, _) => "QUIC",
        (Carrier::Tcp, Implementation::Kernel) => "TCP, the kernel's",
        (Carrier::Tcp, Implementation::Whimbrel) => "TCP, Whimbrel's",
    };
    vec![
        row.trial.controller.to_string(),
        transport.to_owned(),
        format!("{:.1}", predicted.size.get() as f64 / 1e6),
        cell(measured.map(|m| format!("{:.2}", m.goodput_bps / MBIT))),
        format!("{:.2}", predicted.goodput_bps / MBIT),
        format!("{:.1}..{:.1}", low / MBIT, high / MBIT),
        format!("{:.1}", 100.0 * row.goodput_bps() / rate),
        cell(measured.map(|m| format!("{:.1}", m.seconds))),
        cell(measured.and_then(|m| mean(&m.rtts())).map(millis)),
        cell(mean(&predicted.rtts).map(millis)),
        cell(measured.map(|m| format!("{:.2}", 100.0 * m.lost()))),
        cell(measured.map(|m| format!("{:.2}", m.goodput_bps / predicted.goodput_bps.max(1.0)))),
    ]
}

/// The name of a row in sentences.
pub fn name(row: &Row) -> String {
    let carrier = row.trial.carrier.title();
    format!("{} over {carrier}", row.trial.controller)
}

/// How a reason for doubt begins.
pub const DOUBT: &str = "do not trust";

/// What qualifies the numbers: each sentence once, with the names of the rows that it is about.
pub fn notes(rows: &[(String, &Row)]) -> Vec<String> {
    let mut once: Vec<(String, Vec<&str>)> = Vec::new();
    let mut add = |text: String, name| match once.iter_mut().find(|(known, _)| *known == text) {
        Some((_, names)) => names.push(name),
        None => once.push((text, vec![name])),
    };
    for (name, row) in rows {
        for warning in &row.warnings {
            add(format!("{DOUBT}: {warning}"), name);
        }
        match &row.measured {
            Ok(_) => add("every copy is verified".to_owned(), name),
            Err(why) => add(format!("not measured: {why}"), name),
        }
    }
    let line = |(text, names): (String, Vec<&str>)| match names.len() == rows.len() {
        true => text,
        false => format!(
            "{}: {}",
            names.join(", "),
            text.replace("every copy", "the copy")
        ),
    };
    once.into_iter().map(line).collect()
}

/// The mean over samples; `None` without any.
pub fn mean(samples: &[(f64, f64)]) -> Option<f64> {
    let sum: f64 = samples.iter().map(|(_, value)| value).sum();
    (!samples.is_empty()).then(|| sum / samples.len() as f64)
}

/// A measured run in base units; null if it was not measured.
pub fn measured_json(measured: &Result<Measurement, String>) -> Value {
    measured.as_ref().map_or(Value::Null, |m| {
        json!({
            "goodput_bps": m.goodput_bps,
            "seconds": m.seconds,
            "sent_packets": m.sent_packets,
            "lost_packets": m.lost_packets,
            "blake3": m.blake3,
            "rtt_ms": mean(&m.rtts()),
        })
    })
}

/// Everything about a row, in base units. `half`: the name of the simulated half.
pub fn json(half: &str, row: &Row) -> Value {
    let predicted = &row.predicted;
    json!({
        "controller": row.trial.controller.to_string(),
        "transport": row.trial.carrier.name(),
        "implementation": row.implementation.name(),
        "bytes": predicted.size.get(),
        half: {
            "goodput_bps": predicted.goodput_bps,
            "least_bps": predicted.range_bps.0,
            "greatest_bps": predicted.range_bps.1,
            "rtt_ms": mean(&predicted.rtts),
            "lost": predicted.lost,
        },
        "measured": measured_json(&row.measured),
        "not_measured": row.measured.as_ref().err(),
        "warnings": row.warnings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_nothing_is_nothing() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[(0.0, 1.0), (5.0, 2.0)]), Some(1.5));
    }
}
