//! What recorded rates and delays are like: the readers of files, their statistics, and a figure.
//!
//! | kind | a line |
//! |---|---|
//! | rate, mahimahi's format (LeoCC's rates too) | a time in ms at which 1504 bytes may pass |
//! | rate as CSV | a time in seconds, and the rate from then on in Mbit/s |
//! | delay, LeoCC's format | a one-way delay in ms for each interval |
//!
//! A file of numbers whose values fall somewhere cannot be of mahimahi's format, where times rise:
//! it is a delay.

pub mod text;

use crate::BadInput;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use whimbrel_net::{Cellular, DelayTrace, Quantiles, Trace, TraceFormat, TraceStatistics, WINDOW};
use whimbrel_report::figure::{Axis, Figure, Form, Panel, Plot, Series};
use whimbrel_sim::scenario::recorded_text;
use whimbrel_units::Duration;

/// The interval of a line of LeoCC's delays.
pub const DELAY_EVERY: Duration = Duration::from_millis(10);
/// Number of points of a curve in the figure.
const POINTS: usize = 600;

/// A file that was read.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The file.
    pub path: PathBuf,
    /// Its content.
    pub content: Content,
}

/// What a file holds.
#[derive(Debug, Clone)]
pub enum Content {
    /// A rate.
    Rate {
        /// How it is written.
        format: TraceFormat,
        /// Its statistics.
        statistics: TraceStatistics,
        /// Mbit/s over windows of [`WINDOW`], in order.
        windows: Vec<f64>,
    },
    /// A one-way delay.
    Delay {
        /// How long a line holds.
        every: Duration,
        /// Milliseconds, in order.
        values: Vec<f64>,
    },
}

impl Content {
    /// Reads a text. `every` is how long a line of a delay holds.
    ///
    /// # Errors
    /// The line that is wrong, in the format that most of the text is in.
    pub fn parse(text: &str, every: Duration) -> Result<Self, BadInput> {
        let wrong = match Trace::parse(text) {
            Ok(trace) => {
                return Ok(Self::Rate {
                    format: TraceFormat::of(text),
                    statistics: trace.statistics(),
                    windows: trace.windows(),
                });
            }
            Err(wrong) => wrong,
        };
        match DelayTrace::parse(text) {
            Ok(delay) => Ok(Self::Delay {
                every,
                values: delay.values().iter().map(|v| v.as_millis_f64()).collect(),
            }),
            Err(as_delay) if as_delay.line > wrong.line => Err(BadInput::new(as_delay)),
            Err(_) => Err(BadInput::new(wrong)),
        }
    }

    /// Its format's name: `mahimahi`, `csv` or `delay`.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Rate { format, .. } => format.name(),
            Self::Delay { .. } => "delay",
        }
    }

    /// Samples over time, and the seconds from one to the next.
    pub fn course(&self) -> (f64, &[f64]) {
        match self {
            Self::Rate {
                windows,
                statistics,
                ..
            } => (WINDOW.min(statistics.length).as_secs_f64(), windows),
            Self::Delay { every, values } => (every.as_secs_f64(), values),
        }
    }
}

impl Recording {
    /// Reads a file. `every` is how long a line of a delay holds.
    ///
    /// # Errors
    /// If it cannot be read or has no known format; names the file, and the line.
    pub fn read(path: &Path, every: Duration) -> Result<Self, BadInput> {
        let text = recorded_text(path).map_err(BadInput::new)?;
        let content = Content::parse(&text, every)
            .map_err(|error| BadInput::new(format!("{}: {error}", path.display())))?;
        Ok(Self {
            path: path.to_owned(),
            content,
        })
    }

    /// The name of its file, without the folder.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// Everything that is known of it, in base units.
    pub fn json(&self) -> Value {
        let mut value = match &self.content {
            Content::Rate { statistics, .. } => of_rate(statistics),
            Content::Delay { every, values } => json!({
                "duration_s": every.as_secs_f64() * values.len() as f64,
                "interval_s": every.as_secs_f64(),
                "delay_ms": quantiles(&Quantiles::of(values.clone())),
                "change_ms": quantiles(&Quantiles::of(changes(values))),
            }),
        };
        value["file"] = self.path.display().to_string().into();
        value["format"] = self.content.format().into();
        value
    }
}

/// Statistics of a rate, in base units.
pub fn of_rate(statistics: &TraceStatistics) -> Value {
    json!({
        "duration_s": statistics.length.as_secs_f64(),
        "mean_bps": statistics.mean.as_bits_per_sec(),
        "rate_mbps": quantiles(&statistics.rate),
        "fading": statistics.fading,
        "persistence": statistics.persistence,
        "gap_ms": quantiles(&statistics.gap),
        "stall_ms": quantiles(&statistics.stall),
        "stall_interval_s": statistics.stall_interval().map(Duration::as_secs_f64),
        "stalled": statistics.stalled,
    })
}

fn quantiles(of: &Quantiles) -> Value {
    json!({
        "count": of.count,
        "mean": of.mean,
        "p5": of.p5,
        "p50": of.median,
        "p95": of.p95,
        "max": of.max,
    })
}

/// Absolute changes from each value to the next.
pub fn changes(values: &[f64]) -> Vec<f64> {
    let pairs = values.windows(2);
    pairs.map(|pair| (pair[1] - pair[0]).abs()).collect()
}

/// Both directions of this many default cellular paths of this length, with the seeds from 1:
/// forward, then reverse.
///
/// # Errors
/// If a path of this length cannot be drawn.
pub fn cellular(paths: u32, length: Duration) -> Result<[Vec<TraceStatistics>; 2], BadInput> {
    let mut all = [Vec::new(), Vec::new()];
    for seed in 1..=u64::from(paths) {
        let path = Cellular::default().draw(length, seed);
        let path = path.map_err(BadInput::new)?;
        for (all, trace) in all.iter_mut().zip([path.forward, path.reverse]) {
            all.push(trace.statistics());
        }
    }
    Ok(all)
}

/// All recordings over time, a panel for each.
pub fn figure(recordings: &[Recording]) -> Figure {
    let panel = |recording: &Recording| {
        let (step, samples) = recording.content.course();
        let (what, unit) = match recording.content {
            Content::Rate { .. } => ("rate", "Mbit/s"),
            Content::Delay { .. } => ("one-way delay", "ms"),
        };
        Panel {
            y: Axis::new(what, unit),
            series: vec![Series {
                protocol: None,
                label: recording.name(),
                form: Form::Steps,
                points: thinned(step, samples, POINTS),
                spread: Vec::new(),
                notes: Vec::new(),
            }],
        }
    };
    Figure {
        id: "recordings".to_owned(),
        title: "Recorded rates and delays".to_owned(),
        caption: format!(
            "Each panel is a file. Rates are means over windows of {WINDOW} or, of long files, of \
             the {POINTS}th part of the file."
        ),
        plot: Plot::Panels {
            x: Axis::new("time", "s"),
            panels: recordings.iter().map(panel).collect(),
        },
    }
}

/// At most `most` means of successive samples, with the times at which their spans begin.
pub fn thinned(step: f64, samples: &[f64], most: usize) -> Vec<[f64; 2]> {
    let per_point = samples.len().div_ceil(most.max(1)).max(1);
    let means = samples.chunks(per_point).enumerate();
    means
        .map(|(i, chunk)| {
            let mean = chunk.iter().sum::<f64>() / chunk.len() as f64;
            [(i * per_point) as f64 * step, mean]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(text: &str) -> Result<&'static str, String> {
        let content = Content::parse(text, DELAY_EVERY);
        content.map(|c| c.format()).map_err(|e| e.to_string())
    }

    #[test]
    fn times_that_fall_are_delays_and_a_comma_is_csv() {
        assert_eq!(format("0\n3\n3\n9\n"), Ok("mahimahi"));
        assert_eq!(format("time_s,rate_mbps\n0,8\n1,9\n"), Ok("csv"));
        assert_eq!(format("12\n16\n14.5\n"), Ok("delay"));
        assert_eq!(format("12\n16\n14\n"), Ok("delay"));
    }

    #[test]
    fn an_error_is_of_the_format_that_reads_further() {
        let error = format("0\n3\nx\n").expect_err("no number");
        assert_eq!(error, "line 3: `x` is not a whole number of milliseconds");
        let error = format("12\n11\nx\n").expect_err("no number");
        assert!(error.starts_with("line 3: `x` is not a delay"), "{error}");
        let error = format("0,1\n0,2\n").expect_err("no progress");
        assert!(error.starts_with("line 2: 0 s comes after"), "{error}");
    }

    #[test]
    fn thinned_samples_keep_the_mean() {
        let samples: Vec<f64> = (0..1000).map(f64::from).collect();
        let points = thinned(0.1, &samples, 10);
        assert_eq!(points.len(), 10);
        assert_eq!(points[1], [10.0, 149.5]);
        assert_eq!(thinned(0.1, &[], 10), Vec::<[f64; 2]>::new());
    }
}
