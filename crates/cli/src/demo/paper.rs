//! `whimbrel demo --paper enhanced-aatp`: Table 5 of the paper with real files.
//!
//! A. Briones, A. Mallorquí, A. Zaballos, R. Martin de Pozuelo, "Wireless Loss Detection over
//! Fairly Shared Heterogeneous Long Fat Networks", Electronics 10(9), 987, 2021, section 6.2.

use super::{DemoArgs, picture};
use crate::real::{self, measured_json, notes};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::ExitCode;
use whimbrel_report::{cell, text_table};
use whimbrel_study::real::paper::{Case, Fades, additional, cases};
use whimbrel_study::real::{Order, Row};

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

/// Predicts, measures one transfer after the other, and shows the table.
///
/// # Errors
/// If the demonstration cannot be set up, or is stopped.
pub fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    let cases = cases(args.full, args.seed)?;
    let trials = cases.iter().map(|case| case.trial.clone()).collect();
    let rows = real::run(trials, Order::InTurn)?;
    let all: Vec<(Case, Row)> = cases.into_iter().zip(rows).collect();
    if let Some(file) = &args.picture {
        // Through the longest fades.
        let longest = all.iter().map(|(case, _)| case.fades.length).max();
        let shown = || {
            all.iter()
                .filter(|(case, _)| Some(case.fades.length) == longest)
        };
        if let Some((case, row)) = shown().next() {
            let fades = label(case.fades);
            let title = format!(
                "{}, RTT {}, fades of {fades}",
                row.trial.rate, row.trial.rtt
            );
            picture(file, &title, row.trial.rate, shown().map(|(_, row)| row))?;
        }
    }
    if args.json {
        show_json(args, &all)?;
    } else {
        show_table(args, &all)?;
    }
    Ok(real::status(all.iter().map(|(_, row)| row)))
}

/// `none`, `10 x 0.5 s`.
fn label(fades: Fades) -> String {
    match fades.count {
        0 => "none".to_owned(),
        count => format!("{count} x {}", fades.length),
    }
}

fn show_table(args: &DemoArgs, all: &[(Case, Row)]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if let Some((_, row)) = all.first() {
        let (size, trial) = (row.predicted.size, &row.trial);
        let (rate, rtt) = (trial.rate, trial.rtt);
        writeln!(
            out,
            "Table 5 of the Enhanced-AATP paper: {size} over {rate}, RTT {rtt}, buffer 1 BDP"
        )?;
    }
    let number = |value: Option<f64>| cell(value.map(|v| format!("{v:.2}")));
    let cells = |(i, (case, row)): (usize, &(Case, Row))| {
        let [measured, predicted, paper] = additional(i, all).unwrap_or_default();
        let seconds_of_paper = case.seconds_of_paper.filter(|_| args.full);
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
    write!(out, "{}", text_table(&COLUMNS, &rows))?;
    writeln!(
        out,
        "more: the time beyond that without fades, over the length of the fades (1.00: no more)"
    )?;
    let name = |(case, row): &(Case, Row)| {
        format!("{}, {} fades", row.trial.controller, label(case.fades))
    };
    let named: Vec<(String, &Row)> = all.iter().map(|one| (name(one), &one.1)).collect();
    for line in notes(&named) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn show_json(args: &DemoArgs, all: &[(Case, Row)]) -> anyhow::Result<()> {
    let trial = |(i, (case, row)): (usize, &(Case, Row))| -> Value {
        let additional = additional(i, all);
        json!({
            "controller": row.trial.controller.to_string(),
            "fades": { "count": case.fades.count, "seconds": case.fades.length.as_secs_f64() },
            "predicted_seconds": row.predicted_seconds(),
            "measured": measured_json(&row.measured),
            "not_measured": row.measured.as_ref().err(),
            "paper_seconds": case.seconds_of_paper.filter(|_| args.full),
            "additional": additional.map(|[measured, predicted, paper]| json!({
                "measured": measured,
                "predicted": predicted,
                "paper": paper,
            })),
            "warnings": row.warnings,
        })
    };
    let first = all.first().map(|(_, row)| row);
    let value = json!({
        "transport": "quic",
        "paper": "enhanced-aatp",
        "rate_bps": first.map(|row| row.trial.rate.as_bits_per_sec()),
        "rtt_ms": first.map(|row| row.trial.rtt.as_millis_f64()),
        "bytes": first.map(|row| row.predicted.size.get()),
        "seed": args.seed,
        "trials": all.iter().enumerate().map(trial).collect::<Vec<_>>(),
    });
    writeln!(io::stdout(), "{value:#}")?;
    Ok(())
}
