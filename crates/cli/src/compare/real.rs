//! `compare --real`: the simulator, QUIC and the kernel's TCP on one path, as one table and one
//! page.

use super::CompareArgs;
use crate::print;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Instant;
use whimbrel_cc::registry::CONTROLLERS;
use whimbrel_study::atomic_file;
use whimbrel_study::controllers::chosen;
use whimbrel_study::provenance;
use whimbrel_study::real::text::{self, COMPARISON, table};
use whimbrel_study::real::{Order, RUNS, Trial, on_both_carriers, page};

/// The seed of the losses on the emulated path.
const SEED: u64 = 1;

/// Simulates and measures each algorithm, and shows both.
///
/// # Errors
/// If a flag has several values, a file cannot be written, or a signal stops the transfers.
pub fn run(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let begin = Instant::now();
    if let Some(file) = &args.output.report {
        atomic_file::check(file)?;
    }
    let path = args.path.path();
    let words = path.words().join(", ");
    let queue = path
        .queue
        .first()
        .map_or("1 bdp".to_owned(), |queue| queue.text());
    let rows = crate::real::run(trials(args)?, Order::InTurn)?;
    if let Some(file) = &args.output.report {
        atomic_file::write_page(file, &page(&words, &rows, provenance::of_page(begin)))?;
    }
    if args.output.json {
        let first = rows.first().map(|row| &row.trial);
        let whole = json!({
            "rate_bps": first.map(|trial| trial.rate.as_bits_per_sec()),
            "rtt_ms": first.map(|trial| trial.rtt.as_millis_f64()),
            "queue": queue,
            "loss": first.map(|trial| trial.loss.get()),
            "seed": SEED,
            "runs": rows.iter().map(|row| text::json("simulated", row)).collect::<Vec<Value>>(),
        });
        print::json(&whole)?;
    } else {
        let time = args.duration.value;
        let heading = format!(
            "{words}, one file over each for about {time}, simulated: median of {RUNS} seeds"
        );
        print::text(table(&heading, COMPARISON, &rows))?;
    }
    Ok(crate::real::status(rows.iter()))
}

/// Each algorithm over each transport that carries it.
fn trials(args: &CompareArgs) -> anyhow::Result<Vec<Trial>> {
    let path = args.path.path();
    path.only_one("--real has one path; write one value")?;
    let all = CONTROLLERS.iter().map(|entry| entry.name);
    let controllers = chosen(&args.controllers, all)?;
    let controllers = controllers.into_iter().map(|spec| spec.value);
    Ok(on_both_carriers(&path, &args.duration, SEED, controllers)?)
}
