//! Table, JSON and picture of a demonstration.

use super::{Contestant, DemoArgs};
use crate::failure::BadInput;
use serde_json::{Value, json};
use std::io::{self, Write};
use whimbrel_report::{Line, Race};

const MBIT: f64 = 1e6;

/// One row a controller.
pub fn table(args: &DemoArgs, contestants: &[Contestant]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let rate = args.rate.as_bits_per_sec() as f64;
    writeln!(
        out,
        "{} over {}, RTT {}, {} random loss, queue 1 BDP",
        args.size, args.rate, args.rtt, args.loss
    )?;
    let heads = [
        "controller",
        "measured\nMbit/s",
        "predicted\nMbit/s",
        "range of 21\nMbit/s",
        "measured/\npredicted",
        "of the link\n%",
        "took\ns",
        "lost\n%",
        "file",
    ];
    let right = [false, true, true, true, true, true, true, true, false];
    let mut rows = Vec::new();
    for c in contestants {
        let p = &c.prediction;
        let (least, greatest) = p.range_bps;
        let range = format!("{:.2}..{:.2}", least / MBIT, greatest / MBIT);
        let predicted = format!("{:.2}", p.goodput_bps / MBIT);
        rows.push(Vec::from(match &c.measurement {
            Ok(m) => [
                c.controller.to_string(),
                format!("{:.2}", m.goodput_bps / MBIT),
                predicted,
                range,
                format!("{:.2}", m.goodput_bps / p.goodput_bps),
                format!("{:.1}", 100.0 * m.goodput_bps / rate),
                format!("{:.1}", m.seconds),
                format!(
                    "{:.2}",
                    100.0 * m.lost_packets as f64 / m.sent_packets.max(1) as f64
                ),
                "whole".to_owned(),
            ],
            Err(_) => {
                let share = format!("{:.1}", 100.0 * p.goodput_bps / rate);
                let none = || "-".to_owned();
                [
                    c.controller.to_string(),
                    none(),
                    predicted,
                    range,
                    none(),
                    share,
                    none(),
                    none(),
                    none(),
                ]
            }
        }));
    }
    write!(
        out,
        "{}",
        whimbrel_report::plain(&heads.map(str::to_owned), &right, &rows)
    )?;
    let mut reasons: Vec<&String> = contestants
        .iter()
        .filter_map(|c| c.measurement.as_ref().err())
        .collect();
    reasons.dedup();
    for reason in reasons {
        writeln!(out, "not measured: {reason}")?;
    }
    match compared(contestants) {
        Some(sentence) => writeln!(out, "{sentence}"),
        None => Ok(()),
    }
}

/// The sentence people came for: `cerl is 30 times as fast as cubic`.
fn compared(contestants: &[Contestant]) -> Option<String> {
    let goodput = |c: &Contestant| {
        c.measurement
            .as_ref()
            .map_or(c.prediction.goodput_bps, |m| m.goodput_bps)
    };
    let slowest = contestants
        .iter()
        .min_by(|a, b| goodput(a).total_cmp(&goodput(b)))?;
    let fastest = contestants
        .iter()
        .max_by(|a, b| goodput(a).total_cmp(&goodput(b)))?;
    let times = goodput(fastest) / goodput(slowest);
    (times >= 1.05).then(|| {
        format!(
            "{} is {times:.1} times as fast as {}",
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
            "predicted": {
                "goodput_bps": p.goodput_bps,
                "least_bps": p.range_bps.0,
                "greatest_bps": p.range_bps.1,
            },
            "measured": c.measurement.as_ref().ok().map(|m| json!({
                "goodput_bps": m.goodput_bps,
                "seconds": m.seconds,
                "sent_packets": m.sent_packets,
                "lost_packets": m.lost_packets,
                "blake3": m.blake3,
            })),
            "not_measured": c.measurement.as_ref().err(),
        })
    };
    let all = json!({
        "rate_bps": args.rate.as_bits_per_sec(),
        "rtt_ms": args.rtt.as_millis_f64(),
        "loss": args.loss.get(),
        "bytes": args.size.get(),
        "seed": args.seed,
        "contestants": contestants.iter().map(one).collect::<Vec<_>>(),
    });
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &all)?;
    writeln!(out)?;
    Ok(())
}

/// Data delivered over time.
pub fn picture(args: &DemoArgs, contestants: &[Contestant]) -> Result<String, BadInput> {
    let lines = contestants.iter().map(|c| Line {
        label: c.controller.to_string(),
        measured: c
            .measurement
            .as_ref()
            .map(|m| m.delivered())
            .unwrap_or_default(),
        predicted: c.prediction.delivered.clone(),
    });
    let title = format!(
        "{} over {}, RTT {}, {} random loss",
        args.size, args.rate, args.rtt, args.loss
    );
    let race = Race {
        title,
        capacity: args.rate,
        lines: lines.collect(),
    };
    whimbrel_report::race(&race).map_err(BadInput::new)
}
