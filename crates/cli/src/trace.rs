//! `whimbrel trace`: what recorded rates and delays are like. (`--trace` of `sim` and `compare`
//! writes packets: `packet_trace.rs`.)

use crate::atomic_file;
use crate::svg::svg_file;
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use whimbrel_net::{Quantiles, TraceStatistics};
use whimbrel_report::{cell, text_table};
use whimbrel_study::BadInput;
use whimbrel_study::recording::{
    Content, DELAY_EVERY, Recording, cellular, changes, figure, of_rate, thinned,
};
use whimbrel_units::Duration;

/// Length of a generated path.
const GENERATED: Duration = Duration::from_secs(300);
/// Columns of a curve, and of the name before it.
const CURVE: usize = 56;
const NAME: usize = 22;
/// Marks of a curve, from nothing to its maximum.
const MARKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

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
of the time in stalls. Delays are one-way, in ms; `change` is the mean change from a line to
the next. Below the tables, each file over time.

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
    let read = |path: &PathBuf| Recording::read(path, args.delay_every);
    let recordings: Vec<Recording> = args.files.iter().map(read).collect::<Result<_, _>>()?;
    let generated = args.cellular.map(|paths| cellular(paths, GENERATED));
    let generated = generated.transpose()?;
    if let Some(path) = &args.plot {
        let svg = whimbrel_report::svg(&[figure(&recordings)]);
        atomic_file::write(path, |to| to.write_all(svg.as_bytes()))?;
    }
    let generated: Vec<(&str, Vec<TraceStatistics>)> = match generated {
        Some([forward, reverse]) => vec![
            ("cellular, forward", forward),
            ("cellular, reverse", reverse),
        ],
        None => Vec::new(),
    };
    let mut out = anstream::stdout().lock();
    if args.json {
        let direction = |(name, all): &(&str, Vec<TraceStatistics>)| json!({ "direction": name, "paths": all.iter().map(of_rate).collect::<Vec<_>>() });
        let all = json!({
            "recordings": recordings.iter().map(Recording::json).collect::<Vec<_>>(),
            "generated": generated.iter().map(direction).collect::<Vec<_>>(),
        });
        serde_json::to_writer_pretty(&mut out, &all)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", text(&recordings, &generated))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The tables, and each file over time.
fn text(recordings: &[Recording], generated: &[(&str, Vec<TraceStatistics>)]) -> String {
    let rates = recordings.iter().filter_map(|one| match &one.content {
        Content::Rate { statistics, .. } => {
            let name = format!("{} ({})", short(&one.name()), one.content.format());
            Some((name, std::slice::from_ref(statistics)))
        }
        Content::Delay { .. } => None,
    });
    let generated = generated.iter();
    let generated = generated.map(|(name, all)| ((*name).to_owned(), all.as_slice()));
    let rates: Vec<(String, &[TraceStatistics])> = rates.chain(generated).collect();
    let delays: Vec<Vec<String>> = recordings.iter().filter_map(delay_row).collect();
    let mut text = String::new();
    if !rates.is_empty() {
        let rows = |row: fn(&str, &[TraceStatistics]) -> Vec<String>| -> Vec<Vec<String>> {
            rates.iter().map(|(name, all)| row(name, all)).collect()
        };
        let heads = ["s", "Mbit/s", "p5", "p50", "p95", "fading", "1 s"];
        text += &of_heads("rate", &heads, &rows(rate_row));
        let heads = ["p50 ms", "p95 ms", "stall every", "longest", "stalled"];
        text += &format!("\n{}", of_heads("gaps", &heads, &rows(gap_row)));
    }
    if !delays.is_empty() {
        let gap = if rates.is_empty() { "" } else { "\n" };
        let heads = ["s", "mean ms", "p5", "p50", "p95", "max", "change"];
        text += &format!("{gap}{}", of_heads("delay", &heads, &delays));
    }
    for recording in recordings {
        let (step, samples) = recording.content.course();
        let curve = curve(&thinned(step, samples, CURVE));
        // Writing to a text cannot fail.
        let _ = write!(text, "\n{:<NAME$} {curve}", short(&recording.name()));
    }
    if !recordings.is_empty() {
        text.push('\n');
    }
    text
}

fn of_heads(first: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut columns = vec![(first, false)];
    columns.extend(heads.iter().map(|head| (*head, true)));
    text_table(&columns, rows)
}

/// A name of at most [`NAME`] characters.
fn short(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        None => name.to_owned(),
        Some(_) => name.chars().take(NAME - 1).chain(['…']).collect(),
    }
}

/// The mean of a value over these statistics.
fn mean(all: &[TraceStatistics], value: fn(&TraceStatistics) -> f64) -> f64 {
    all.iter().map(value).sum::<f64>() / all.len().max(1) as f64
}

fn rate_row(name: &str, all: &[TraceStatistics]) -> Vec<String> {
    let mean = |value| mean(all, value);
    vec![
        name.to_owned(),
        format!("{:.0}", mean(|s| s.length.as_secs_f64())),
        number(mean(|s| s.mean.as_bits_per_sec() as f64 / 1e6)),
        number(mean(|s| s.rate.p5)),
        number(mean(|s| s.rate.median)),
        number(mean(|s| s.rate.p95)),
        format!("{:.2}", mean(|s| s.fading)),
        format!("{:.2}", mean(|s| s.persistence)),
    ]
}

fn gap_row(name: &str, all: &[TraceStatistics]) -> Vec<String> {
    let mean = |value| mean(all, value);
    let stalls = mean(|s| s.stall.count as f64);
    let every = mean(|s| s.length.as_secs_f64()) / stalls.max(f64::MIN_POSITIVE);
    let every = (stalls > 0.0).then(|| format!("{} s", number(every)));
    let longest = (stalls > 0.0).then(|| format!("{:.0} ms", mean(|s| s.stall.max)));
    vec![
        name.to_owned(),
        number(mean(|s| s.gap.median)),
        number(mean(|s| s.gap.p95)),
        cell(every),
        cell(longest),
        format!("{:.1} %", mean(|s| s.stalled * 100.0)),
    ]
}

fn delay_row(recording: &Recording) -> Option<Vec<String>> {
    let Content::Delay { every, values } = &recording.content else {
        return None;
    };
    let of = Quantiles::of(values.clone());
    let change = Quantiles::of(changes(values)).mean;
    Some(vec![
        recording.name(),
        format!("{:.0}", every.as_secs_f64() * values.len() as f64),
        number(of.mean),
        number(of.p5),
        number(of.median),
        number(of.p95),
        number(of.max),
        format!("{change:.2}"),
    ])
}

/// Three digits.
fn number(x: f64) -> String {
    let digits = match x.abs() {
        x if x >= 99.95 => 0,
        x if x >= 9.995 => 1,
        _ => 2,
    };
    format!("{x:.digits$}")
}

/// One line of marks; the highest is the maximum.
fn curve(points: &[[f64; 2]]) -> String {
    let most = points.iter().map(|[_, y]| *y).fold(0.0, f64::max);
    let levels = (MARKS.len() - 1) as f64;
    let mark = |y: f64| match most > 0.0 {
        true => MARKS[((y / most * levels).ceil().max(0.0) as usize).min(MARKS.len() - 1)],
        false => MARKS[0],
    };
    let curve: String = points.iter().map(|[_, y]| mark(*y)).collect();
    curve.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_its_maximum_on_top_and_nothing_where_nothing_passes() {
        let points = [[0.0, 8.0], [1.0, 0.0], [2.0, 0.1], [3.0, 4.0]];
        assert_eq!(curve(&points), "█ ▁▄");
        assert_eq!(curve(&[[0.0, 0.0]]), "");
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [0.0, 1.234, 12.34, 99.96, 1234.5].map(number),
            ["0.00", "1.23", "12.3", "100", "1234"]
        );
    }
}
