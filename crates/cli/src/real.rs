//! Real transfers beside their predictions, as `demo` and `compare --real` run and print them.

use crate::progress::Bar;
use anyhow::{Context, bail};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use whimbrel_report::fill;
use whimbrel_report::{cell, text_table_without};
use whimbrel_study::Error;
use whimbrel_study::real::{
    self, Carrier, Implementation, Measurement, Order, Progress, Row, Trial,
};

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

/// Runs the trials, with a progress bar for each. Ctrl-C stops them, and leaves nothing behind.
pub fn run(trials: Vec<Trial>, order: Order) -> anyhow::Result<Vec<Row>> {
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stopped))
            .context("cannot handle signals")?;
    }
    let count = trials.len();
    let title = |(i, trial): (usize, &Trial)| match order {
        Order::AtOnce => trial.controller.to_string(),
        Order::InTurn => {
            let carrier = trial.carrier.title();
            format!("{}/{count} {}, {carrier}", i + 1, trial.controller)
        }
    };
    let titles: Vec<String> = trials.iter().enumerate().map(title).collect();
    let bars = MultiProgress::new();
    let mut shown: Vec<Option<ProgressBar>> = vec![None; count];
    let mut watch = |i: usize, progress: Progress| {
        let Progress {
            stored,
            size,
            ended,
        } = progress;
        let new = || bars.add(bar(titles[i].clone(), size.get()));
        let bar = shown[i].get_or_insert_with(new);
        bar.set_position(stored.get());
        if ended && !bar.is_finished() {
            bar.finish();
        }
        match stopped.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    match real::run(trials, order, &Bar::new(), &mut watch) {
        Err(Error::Stopped) => bail!("stopped before all transfers had ended"),
        rows => Ok(rows?),
    }
}

/// A bar for a transfer of this many bytes.
fn bar(title: String, size: u64) -> ProgressBar {
    let bar = ProgressBar::new(size);
    let template = "{prefix:>12} {wide_bar} {bytes}/{total_bytes} in {elapsed}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_prefix(title);
    bar
}

/// The exit status. Without the rights to make a path, the prediction alone is a success; a
/// transfer that failed on a path is not.
pub fn status<'a>(mut rows: impl Iterator<Item = &'a Row>) -> ExitCode {
    ExitCode::from(u8::from(rows.any(Row::has_failed)))
}

/// Prints one row for each transfer, and below them what qualifies the numbers.
pub fn table(heading: &str, which: &[usize], rows: &[Row]) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}\n", fill(heading, ", "))?;
    let (columns, all) = columns(which, rows);
    write!(out, "{}", text_table_without(&LEAST, &columns, &all))?;
    let rows: Vec<(String, &Row)> = rows.iter().map(|row| (name(row), row)).collect();
    for line in notes(&rows) {
        writeln!(out, "{}", fill(&line, " "))?;
    }
    Ok(())
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

/// What qualifies the numbers: each sentence once, with the names of the rows that it is about.
pub fn notes(rows: &[(String, &Row)]) -> Vec<String> {
    let mut once: Vec<(String, Vec<&str>)> = Vec::new();
    let mut add = |text: String, name| match once.iter_mut().find(|(known, _)| *known == text) {
        Some((_, names)) => names.push(name),
        None => once.push((text, vec![name])),
    };
    for (name, row) in rows {
        for warning in &row.warnings {
            add(format!("do not trust: {warning}"), name);
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
