//! What tables, JSON and pictures of all demonstrations share.

use super::measure::Measurement;
use super::predict::Prediction;
use crate::failure::BadInput;
use serde_json::{Value, json};
use std::io::{self, Write};
use whimbrel_cc::Spec;
use whimbrel_report::figures::{Racer, race};
use whimbrel_report::plain_without;
use whimbrel_units::Rate;

/// What narrow terminals do without, in this order.
const LEAST: [&str; 3] = ["link\n%", "lost\n%", "21 seeds\nMbit/s"];

/// Prints rows of cells. `columns`: the head of each, and whether it is aligned to the right.
pub fn rows(
    out: &mut impl Write,
    columns: &[(&str, bool)],
    rows: &[Vec<String>],
) -> io::Result<()> {
    let heads: Vec<String> = columns.iter().map(|(head, _)| (*head).to_owned()).collect();
    let right: Vec<bool> = columns.iter().map(|(_, right)| *right).collect();
    write!(out, "{}", plain_without(&LEAST, &heads, &right, rows))
}

/// Each text once, with the names of the transfers that it concerns.
pub fn each_once<'a>(all: impl Iterator<Item = (&'a str, String)>) -> Vec<(&'a str, Vec<String>)> {
    let mut once: Vec<(&str, Vec<String>)> = Vec::new();
    for (text, name) in all {
        match once.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(name),
            None => once.push((text, vec![name])),
        }
    }
    once
}

/// Prints why runs were not measured; a reason that several in a row share once.
pub fn not_measured<'a>(
    out: &mut impl Write,
    measurements: impl Iterator<Item = &'a Result<Measurement, String>>,
) -> io::Result<()> {
    let mut reasons: Vec<&String> = measurements.filter_map(|m| m.as_ref().err()).collect();
    reasons.dedup();
    for reason in reasons {
        writeln!(out, "not measured: {reason}")?;
    }
    Ok(())
}

/// A measured run in base units; null if it was not measured.
pub fn measured_json(measurement: &Result<Measurement, String>) -> Value {
    let one = |m: &Measurement| {
        json!({
            "goodput_bps": m.goodput_bps,
            "seconds": m.seconds,
            "sent_packets": m.sent_packets,
            "lost_packets": m.lost_packets,
            "blake3": m.blake3,
        })
    };
    measurement.as_ref().map_or(Value::Null, one)
}

/// Prints a JSON object.
pub fn json_object(value: &Value) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}

/// The curves of one controller.
pub fn racer(
    controller: &Spec,
    measurement: &Result<Measurement, String>,
    prediction: &Prediction,
) -> Racer {
    Racer {
        protocol: controller.to_string(),
        measured: measurement
            .as_ref()
            .map(Measurement::delivered)
            .unwrap_or_default(),
        predicted: prediction.delivered.clone(),
    }
}

/// Data delivered over time, as SVG.
pub fn race_picture(title: &str, rate: Rate, racers: &[Racer]) -> Result<String, BadInput> {
    let figure = race(title, rate, racers);
    let figure =
        figure.ok_or_else(|| BadInput::new("nothing was delivered: there is no picture"))?;
    Ok(whimbrel_report::svg(&[figure]))
}
