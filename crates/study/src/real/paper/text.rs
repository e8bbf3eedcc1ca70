//! Table 5 of the Enhanced-AATP paper as text, a figure and JSON.

use super::{Case, Fades, additional};
use crate::real::Row;
use crate::real::text::{delivered, measured_json, notes};
use serde_json::{Value, json};
use whimbrel_report::figure::Figure;
use whimbrel_report::{cell, text_table};

/// Heads of the columns, and whether each is aligned to the right.
const COLUMNS: [(&str, bool); 8] = [
    ("fades", false),
    ("controller", false),
    ("real\ns", true),
    ("simulated\ns", true),
    ("paper\ns", true),
    ("more,\nreal", true),
    ("more,\nsim", true),
    ("more,\npaper", true),
];

/// Data delivered over time through the longest fades; `None` if nothing was delivered.
pub fn figure(all: &[(Case, Row)]) -> Option<Figure> {
    let longest = all.iter().map(|(case, _)| case.fades.length).max();
    let through = |(case, _): &&(Case, Row)| Some(case.fades.length) == longest;
    let shown: Vec<&(Case, Row)> = all.iter().filter(through).collect();
    let (case, row) = shown.first()?;
    let (rate, rtt) = (row.trial.rate, row.trial.rtt);
    let title = format!("{rate}, RTT {rtt}, fades of {}", label(case.fades));
    delivered(&title, rate, shown.iter().map(|(_, row)| row))
}

/// `none`, `10 x 0.5 s`.
fn label(fades: Fades) -> String {
    match fades.count {
        0 => "none".to_owned(),
        count => format!("{count} x {}", fades.length),
    }
}

/// The table. `full`: the paper's own file and fades, so that its times stand beside the others.
pub fn table(full: bool, all: &[(Case, Row)]) -> String {
    let heading = all.first().map_or(String::new(), |(_, row)| {
        let (size, rate, rtt) = (row.predicted.size, row.trial.rate, row.trial.rtt);
        format!("Table 5 of the Enhanced-AATP paper: {size} over {rate}, RTT {rtt}, buffer 1 BDP\n")
    });
    let number = |value: Option<f64>| cell(value.map(|v| format!("{v:.2}")));
    let cells = |(i, (case, row)): (usize, &(Case, Row))| {
        let [measured, predicted, paper] = additional(i, all).unwrap_or_default();
        let seconds_of_paper = case.seconds_of_paper.filter(|_| full);
        vec![
            label(case.fades),
            row.trial.controller.to_string(),
            number(row.measured.as_ref().ok().map(|m| m.seconds)),
            number(Some(row.predicted_seconds())),
            cell(seconds_of_paper.map(|v| format!("{v:.0}"))),
            number(measured),
            number(predicted),
            number(paper),
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().enumerate().map(cells).collect();
    let name = |(case, row): &(Case, Row)| {
        format!("{}, {} fades", row.trial.controller, label(case.fades))
    };
    let named: Vec<(String, &Row)> = all.iter().map(|one| (name(one), &one.1)).collect();
    format!(
        "{heading}{}more: the time beyond that without fades, over the length of the fades \
         (1.00: no more)\n{}\n",
        text_table(&COLUMNS, &rows),
        notes(&named).join("\n")
    )
}

/// Everything in base units; `full` as in [`table`].
pub fn json(full: bool, seed: u64, all: &[(Case, Row)]) -> Value {
    let trial = |(i, (case, row)): (usize, &(Case, Row))| -> Value {
        let additional = additional(i, all);
        json!({
            "controller": row.trial.controller.to_string(),
            "fades": { "count": case.fades.count, "seconds": case.fades.length.as_secs_f64() },
            "predicted_seconds": row.predicted_seconds(),
            "measured": measured_json(&row.measured),
            "not_measured": row.measured.as_ref().err(),
            "paper_seconds": case.seconds_of_paper.filter(|_| full),
            "additional": additional.map(|[measured, predicted, paper]| json!({
                "measured": measured,
                "predicted": predicted,
                "paper": paper,
            })),
            "warnings": row.warnings,
        })
    };
    let first = all.first().map(|(_, row)| row);
    json!({
        "transport": "quic",
        "paper": "enhanced-aatp",
        "rate_bps": first.map(|row| row.trial.rate.as_bits_per_sec()),
        "rtt_ms": first.map(|row| row.trial.rtt.as_millis_f64()),
        "bytes": first.map(|row| row.predicted.size.get()),
        "seed": seed,
        "trials": all.iter().enumerate().map(trial).collect::<Vec<_>>(),
    })
}
