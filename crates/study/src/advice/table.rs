//! The candidates as a table.

use super::span;
use crate::advise::{Candidate, SHOWN, USUAL};
use crate::transport::carriers;
use whimbrel_cc::Spec;
use whimbrel_report::plain_without;

/// What is left out of the table on a narrow terminal, in this order.
const LEAST: [&str; 2] = ["queue\nloss %", "score\n"];

/// A row for each of the best candidates, and for the usual one.
pub fn table(measured: &[Candidate]) -> String {
    // On a slow path no megabit would be left of any.
    let slow = measured.iter().all(|one| one.goodput < 1e6);
    let (goodput, factor) = match slow {
        true => ("goodput\nkbit/s", 1e-3),
        false => ("goodput\nMbit/s", 1e-6),
    };
    let timed = measured.iter().any(|one| one.takes.is_some());
    let mut heads = vec![
        "algorithm",
        "score\n",
        goodput,
        "queue\np95 ms",
        "queue\nloss %",
        "own\nshare",
        "they\nkeep %",
        "runs on\n",
    ];
    if timed {
        heads.insert(1, "file\ntakes");
    }
    let shown = measured.iter().enumerate();
    let shown = shown.filter(|(i, one)| *i < SHOWN || one.name == USUAL);
    let line = |(_, one): (usize, &Candidate)| {
        let spec = one.name.parse::<Spec>().ok();
        let mut line = vec![
            one.name.clone(),
            format!("{:.2}", one.score()),
            format!("{:.1}", one.goodput * factor),
            format!("{:.1}", one.queue * 1e3),
            format!("{:.2}", one.lost * 100.0),
            format!("{:.2}", one.beside.share),
            format!("{:.0}", one.beside.kept * 100.0),
            // The kernel's name only if it is another.
            spec.as_ref()
                .map_or(String::new(), carriers)
                .replace(&format!(" ({})", one.name), ""),
        ];
        if timed {
            line.insert(1, one.takes.map_or("-".to_owned(), span));
        }
        line
    };
    let lines: Vec<Vec<String>> = shown.map(line).collect();
    let last = heads.len() - 1;
    let right: Vec<bool> = (0..heads.len()).map(|i| i > 0 && i < last).collect();
    let heads: Vec<String> = heads.into_iter().map(str::to_owned).collect();
    plain_without(&LEAST, &heads, &right, &lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbours::Beside;

    #[test]
    fn on_a_slow_path_the_goodput_is_not_nothing() {
        let one = |goodput| Candidate {
            name: "cubic".to_owned(),
            alone: 1.0,
            error: 0.0,
            goodput,
            ideal: goodput,
            queue: 0.0,
            lost: 0.0,
            beside: Beside {
                kept: 1.0,
                share: 1.0,
            },
            takes: None,
        };
        let slow = table(&[one(9_400.0), one(800.0)]);
        assert!(slow.contains("kbit/s") && slow.contains(" 9.4 "), "{slow}");
        let fast = table(&[one(9.4e6), one(800.0)]);
        assert!(fast.contains("Mbit/s") && fast.contains(" 9.4 "), "{fast}");
    }
}
