//! The table and the JSON of `compare --real`.

use super::{Both, Path, SEED};
use crate::demo::output::{each_once, json_object, measured_json, rows};
use serde_json::{Value, json};
use std::io::{self, Write};
use whimbrel_report::fill;

const MBIT: f64 = 1e6;
/// Heads of the columns, and whether each is aligned to the right.
pub const COLUMNS: [(&str, bool); 8] = [
    ("controller\n", false),
    ("transport\n", false),
    ("real\nMbit/s", true),
    ("simulated\nMbit/s", true),
    ("real over\nsimulated", true),
    ("RTT\nreal", true),
    ("ms\nsim.", true),
    ("lost\n%", true),
];

/// One row for each algorithm over each transport, and what qualifies the numbers.
pub fn table(path: &Path, all: &[Both]) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let heading = format!(
        "{}, one file over each for about {}, simulated: median of {} seeds",
        path.words,
        path.time,
        crate::demo::predict::SEEDS
    );
    writeln!(out, "{}\n", fill(&heading, ", "))?;
    let cells: Vec<Vec<String>> = all.iter().map(row).collect();
    rows(&mut out, &COLUMNS, &cells)?;
    for line in notes(all) {
        writeln!(out, "{}", fill(&line, " "))?;
    }
    Ok(())
}

/// The cells of a row.
pub fn row(both: &Both) -> Vec<String> {
    let measured = both.measured.as_ref().ok();
    let cell = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let simulated = both.simulated.goodput_bps;
    vec![
        both.controller.to_string(),
        both.transport().to_owned(),
        cell(measured.map(|m| format!("{:.2}", m.goodput_bps / MBIT))),
        format!("{:.2}", simulated / MBIT),
        cell(measured.map(|m| format!("{:.2}", m.goodput_bps / simulated.max(1.0)))),
        cell(measured.and_then(|m| mean(&m.rtts())).map(millis)),
        cell(mean(&both.simulated.rtts).map(millis)),
        cell(measured.map(|m| format!("{:.2}", 100.0 * m.lost()))),
    ]
}

/// What qualifies the numbers: each sentence once.
pub fn notes(all: &[Both]) -> Vec<String> {
    let name = |both: &Both| {
        let transport = if both.tcp { "TCP" } else { "QUIC" };
        format!("{} over {transport}", both.controller)
    };
    let untrusted = all.iter().flat_map(|both| {
        let texts = both.warnings.iter();
        texts.map(move |text| (&**text, name(both)))
    });
    let missing = all.iter().filter_map(|both| {
        let why = both.measured.as_ref().err()?;
        Some((&**why, name(both)))
    });
    let line = |what: &str, (text, names): (&str, Vec<String>)| match names.len() == all.len() {
        true => format!("{what}: {text}"),
        false => format!("{}: {what}: {text}", names.join(", ")),
    };
    let untrusted = each_once(untrusted).into_iter();
    let missing = each_once(missing).into_iter();
    untrusted
        .map(|one| line("do not trust", one))
        .chain(missing.map(|one| line("not measured", one)))
        .collect()
}

/// The mean over samples; `None` without any.
fn mean(samples: &[(f64, f64)]) -> Option<f64> {
    let sum: f64 = samples.iter().map(|(_, value)| value).sum();
    (!samples.is_empty()).then(|| sum / samples.len() as f64)
}

fn millis(value: f64) -> String {
    format!("{value:.1}")
}

/// Everything, in base units.
pub fn json(path: &Path, all: &[Both]) -> anyhow::Result<()> {
    let one = |both: &Both| -> Value {
        let simulated = &both.simulated;
        let mut measured = measured_json(&both.measured);
        if let Ok(m) = &both.measured {
            measured["rtt_ms"] = json!(mean(&m.rtts()));
        }
        json!({
            "controller": both.controller.to_string(),
            "transport": if both.tcp { "tcp" } else { "quic" },
            "implementation": both.implementation.name(),
            "bytes": simulated.size.get(),
            "simulated": {
                "goodput_bps": simulated.goodput_bps,
                "least_bps": simulated.range_bps.0,
                "greatest_bps": simulated.range_bps.1,
                "rtt_ms": mean(&simulated.rtts),
                "lost": simulated.lost,
            },
            "measured": measured,
            "not_measured": both.measured.as_ref().err(),
            "warnings": both.warnings,
        })
    };
    let whole = json!({
        "rate_bps": path.rate.as_bits_per_sec(),
        "rtt_ms": path.rtt.as_millis_f64(),
        "queue": path.queue.text(),
        "loss": path.loss.get(),
        "seed": SEED,
        "runs": all.iter().map(one).collect::<Vec<_>>(),
    });
    json_object(&whole)
}
