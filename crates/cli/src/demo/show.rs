//! Table, JSON and picture of a demonstration.

use super::output::{
    each_once, json_object, measured_json, not_measured, race_picture, racer, rows,
};
use super::{Contestant, DemoArgs, Implementation};
use crate::failure::BadInput;
use serde_json::{Value, json};
use std::io::{self, Write};
use whimbrel_report::figures::Racer;
use whimbrel_report::fill;

const MBIT: f64 = 1e6;

/// Heads of the columns, and whether each is aligned to the right.
const COLUMNS: [(&str, bool); 9] = [
    ("controller", false),
    ("file\nMB", true),
    ("measured\nMbit/s", true),
    ("predicted\nMbit/s", true),
    ("21 seeds\nMbit/s", true),
    ("link\n%", true),
    ("time\ns", true),
    ("lost\n%", true),
    ("copy", false),
];

/// One row for each controller, and below them what qualifies the numbers.
pub fn table(args: &DemoArgs, contestants: &[Contestant]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", path(args))?;
    let cells: Vec<Vec<String>> = contestants.iter().map(|c| row(args, c)).collect();
    rows(&mut out, &COLUMNS, &cells)?;
    if let Some(sentence) = whose(args, contestants) {
        writeln!(out, "{}", fill(&sentence, " "))?;
    }
    let warnings = contestants.iter().flat_map(|c| {
        let name = c.controller.to_string();
        c.warnings.iter().map(move |text| (&**text, name.clone()))
    });
    for (warning, names) in each_once(warnings) {
        let line = format!("do not trust {}: {warning}", names.join(", "));
        writeln!(out, "{}", fill(&line, " "))?;
    }
    not_measured(&mut out, contestants.iter().map(|c| &c.measurement))?;
    match compared(contestants) {
        Some(sentence) => writeln!(out, "{sentence}"),
        None => Ok(()),
    }
}

/// Over TCP: which algorithms are the kernel's.
fn whose(args: &DemoArgs, contestants: &[Contestant]) -> Option<String> {
    let names = |implementation| {
        let of = contestants
            .iter()
            .filter(|c| c.implementation == implementation);
        let names: Vec<String> = of.map(|c| c.controller.to_string()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let kernel = names(Implementation::Kernel).map(|names| format!("the kernel's own: {names}"));
    let whimbrel = names(Implementation::Whimbrel)
        .map(|names| format!("Whimbrel's in the kernel's TCP: {names}"));
    let both: Vec<String> = kernel.into_iter().chain(whimbrel).collect();
    args.tcp.then(|| both.join("; "))
}

/// The path in words.
fn path(args: &DemoArgs) -> String {
    let transport = if args.tcp { "Linux TCP, " } else { "" };
    format!(
        "{transport}{}, RTT {}, {} random loss, buffer 1 BDP",
        args.rate, args.rtt, args.loss
    )
}

fn row(args: &DemoArgs, c: &Contestant) -> Vec<String> {
    let p = &c.prediction;
    let measured = c.measurement.as_ref().ok();
    let cell = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let goodput = measured.map_or(p.goodput_bps, |m| m.goodput_bps);
    let (low, high) = p.range_bps;
    vec![
        c.controller.to_string(),
        format!("{:.1}", p.size.get() as f64 / 1e6),
        cell(measured.map(|m| format!("{:.2}", m.goodput_bps / MBIT))),
        format!("{:.2}", p.goodput_bps / MBIT),
        format!("{:.1}..{:.1}", low / MBIT, high / MBIT),
        format!(
            "{:.1}",
            100.0 * goodput / args.rate.as_bits_per_sec() as f64
        ),
        cell(measured.map(|m| format!("{:.1}", m.seconds))),
        cell(measured.map(|m| format!("{:.2}", 100.0 * m.lost()))),
        cell(measured.map(|_| "verified".to_owned())),
    ]
}

/// The summary: `cerl is 30 times as fast as cubic`, of the measured goodput where all have been
/// measured, else of the predicted.
fn compared(contestants: &[Contestant]) -> Option<String> {
    let all: Option<Vec<f64>> = contestants
        .iter()
        .map(|c| Some(c.measurement.as_ref().ok()?.goodput_bps))
        .collect();
    let word = if all.is_some() {
        ""
    } else {
        "predicted to be "
    };
    let goodputs = all.unwrap_or_else(|| {
        contestants
            .iter()
            .map(|c| c.prediction.goodput_bps)
            .collect()
    });
    let ranked = || contestants.iter().zip(&goodputs);
    let (slowest, low) = ranked().min_by(|a, b| a.1.total_cmp(b.1))?;
    let (fastest, high) = ranked().max_by(|a, b| a.1.total_cmp(b.1))?;
    let times = high / low;
    (times >= 1.05).then(|| {
        format!(
            "{} is {word}{times:.1} times as fast as {}",
            fastest.controller, slowest.controller
        )
    })
}

/// Everything, in base units.
pub fn json(args: &DemoArgs, contestants: &[Contestant]) -> anyhow::Result<()> {
    let one = |c: &Contestant| -> Value {
        let p = &c.prediction;
        json!({
            "controller": c.controller.to_string(),
            "implementation": c.implementation.name(),
            "bytes": p.size.get(),
            "predicted": {
                "goodput_bps": p.goodput_bps,
                "least_bps": p.range_bps.0,
                "greatest_bps": p.range_bps.1,
            },
            "measured": measured_json(&c.measurement),
            "not_measured": c.measurement.as_ref().err(),
            "warnings": c.warnings,
        })
    };
    let all = json!({
        "transport": if args.tcp { "tcp" } else { "quic" },
        "rate_bps": args.rate.as_bits_per_sec(),
        "rtt_ms": args.rtt.as_millis_f64(),
        "loss": args.loss.get(),
        "bytes": args.size.map(|size| size.get()),
        "seed": args.seed,
        "contestants": contestants.iter().map(one).collect::<Vec<_>>(),
    });
    json_object(&all)
}

/// Data delivered over time.
pub fn picture(args: &DemoArgs, contestants: &[Contestant]) -> Result<String, BadInput> {
    let racers: Vec<Racer> = contestants
        .iter()
        .map(|c| racer(&c.controller, &c.measurement, &c.prediction))
        .collect();
    race_picture(&path(args), args.rate, &racers)
}
