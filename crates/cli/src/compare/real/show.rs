//! The table and the JSON of `compare --real`.

use super::{Both, Path, SEED};
use crate::compare::fill;
use crate::demo::Implementation;
use crate::demo::measure::Measurement;
use serde_json::{Value, json};
use std::io::{self, Write};
use whimbrel_report::plain;

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
        path.words(),
        path.time,
        crate::demo::predict::SEEDS
    );
    writeln!(out, "{}\n", fill(&heading, ", "))?;
    let heads: Vec<String> = COLUMNS.iter().map(|(head, _)| (*head).to_owned()).collect();
    let right: Vec<bool> = COLUMNS.iter().map(|(_, right)| *right).collect();
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    write!(out, "{}", plain(&heads, &right, &rows))?;
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
        cell(measured.map(|m| format!("{:.2}", 100.0 * lost(m)))),
    ]
}

/// What qualifies the numbers: each sentence once.
pub fn notes(all: &[Both]) -> Vec<String> {
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    let mut note = |text: String, name: String| match notes.iter_mut().find(|(t, _)| *t == text) {
        Some((_, names)) => names.push(name),
        None => notes.push((text, vec![name])),
    };
    for both in all {
        let transport = if both.tcp { "TCP" } else { "QUIC" };
        let name = format!("{} over {transport}", both.controller);
        for warning in &both.warnings {
            note(format!("do not trust: {warning}"), name.clone());
        }
        if let Err(why) = &both.measured {
            note(format!("not measured: {why}"), name);
        }
    }
    let line = |(text, names): (String, Vec<String>)| match names.len() == all.len() {
        true => text,
        false => format!("{}: {text}", names.join(", ")),
    };
    notes.into_iter().map(line).collect()
}

fn lost(measured: &Measurement) -> f64 {
    measured.lost_packets as f64 / measured.sent_packets.max(1) as f64
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
        let measured = both.measured.as_ref().map_or(Value::Null, |m| {
            json!({
                "goodput_bps": m.goodput_bps,
                "seconds": m.seconds,
                "rtt_ms": mean(&m.rtts()),
                "sent_packets": m.sent_packets,
                "lost_packets": m.lost_packets,
                "blake3": m.blake3,
            })
        });
        json!({
            "controller": both.controller.to_string(),
            "transport": if both.tcp { "tcp" } else { "quic" },
            "implementation": match both.implementation {
                Implementation::Kernel => "kernel",
                Implementation::Whimbrel => "whimbrel",
            },
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
        "queue": path.queue,
        "loss": path.loss.get(),
        "seed": SEED,
        "runs": all.iter().map(one).collect::<Vec<_>>(),
    });
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &whole)?;
    writeln!(out)?;
    Ok(())
}
