//! `whimbrel trace`: what recorded rates and delays are like. (`--trace` of `sim` and `compare`
//! writes packets: `packet_trace.rs`.)

use crate::print;
use crate::svg::svg_file;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use whimbrel_net::TraceStatistics;
use whimbrel_study::BadInput;
use whimbrel_study::atomic_file;
use whimbrel_study::recording::{DELAY_EVERY, Recording, cellular, figure, of_rate, text::text};
use whimbrel_units::Duration;

/// Length of a generated path.
const GENERATED: Duration = Duration::from_secs(300);

/// Show what recorded rates and delays are like
///
/// FILE is a recorded rate, in mahimahi's format (LeoCC's and many others') or as CSV with a time
/// in seconds and a rate in Mbit/s on each line, or a recorded delay in LeoCC's format. The format
/// is recognized. `compare`, `advise` and `link` take such files as --rate-trace and --back-trace.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  whimbrel trace Verizon-LTE-short.down Verizon-LTE-short.up
  whimbrel trace rate.csv --json
  whimbrel trace bw.txt delay.txt --plot traces.svg
  whimbrel trace mobile.down --cellular 100   beside the generator's paths

Rates are in Mbit/s: the mean, and percentiles over windows of 100 ms. `fading`
is the standard deviation of the logarithm of these windows, `1 s` its
correlation over a second. Gaps are times without capacity, in ms; a stall is a
gap of 100 ms or more: the mean time between stalls, the longest, and the part
of the time in stalls. Delays are one-way, in ms; `change` is the mean change
from a line to the next. Below the tables, each file over time.

--json prints {recordings: [{file, format, duration_s, mean_bps, rate_mbps,
fading, persistence, gap_ms, stall_ms, stall_interval_s, stalled}], generated:
[{direction, paths: [...]}]}; a delay has {interval_s, delay_ms, change_ms}. A
distribution is {count, mean, p5, p50, p95, max}.")]
pub struct TraceArgs {
    /// Recorded rates and delays
    #[arg(value_name = "FILE", required_unless_present = "cellular")]
    files: Vec<PathBuf>,
    /// How long a line of a recorded delay holds
    #[arg(long, value_name = "TIME", default_value_t = DELAY_EVERY)]
    delay_every: Duration,
    /// Also show the mean over this many generated cellular paths of 300 s, both directions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    cellular: Option<u32>,
    /// Draw the files over time
    #[arg(long, value_name = "FILE.svg", value_parser = svg_file, requires = "files")]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Reads the files, and prints the tables.
pub fn run(args: &TraceArgs) -> anyhow::Result<ExitCode> {
    if args.delay_every.is_zero() {
        return Err(BadInput::new("--delay-every: must be greater than zero").into());
    }
    if let Some(path) = &args.plot {
        atomic_file::check(path)?;
    }
    let read = |path: &PathBuf| Recording::read(path, args.delay_every);
    let recordings: Vec<Recording> = args.files.iter().map(read).collect::<Result<_, _>>()?;
    let generated = args.cellular.map(|paths| cellular(paths, GENERATED));
    let generated = generated.transpose()?;
    if let Some(path) = &args.plot {
        atomic_file::write_text(path, &whimbrel_report::svg(&[figure(&recordings)]))?;
    }
    let generated: Vec<(&str, Vec<TraceStatistics>)> = match generated {
        Some([forward, reverse]) => vec![
            ("cellular, forward", forward),
            ("cellular, reverse", reverse),
        ],
        None => Vec::new(),
    };
    let direction = |(name, all): &(&str, Vec<TraceStatistics>)| json!({ "direction": name, "paths": all.iter().map(of_rate).collect::<Vec<_>>() });
    let value = || {
        json!({
            "recordings": recordings.iter().map(Recording::json).collect::<Vec<_>>(),
            "generated": generated.iter().map(direction).collect::<Vec<_>>(),
        })
    };
    print::result(args.json, value, || text(&recordings, &generated))
}
