//! A recorded rate as CSV: on each line a time in seconds and the rate from then on in Mbit/s.
//!
//! ```text
//! time_s,rate_mbps
//! 0,12.5
//! 1,0
//! 2,31.25
//! ```
//!
//! The first line may name the columns; further columns are ignored, and so are empty lines and
//! lines that begin with `#`. A rate holds until the next line's time. The last one holds as long
//! as the one before it, or one second if it is alone; then the trace repeats. The first time need
//! not be zero: only differences count. Recordings of download rates each second have this form,
//! such as those of D. Raca et al., "Beyond Throughput, The Next Generation: A 5G Dataset with
//! Channel and Context Metrics", ACM MMSys 2020.
//!
//! The rate becomes opportunities of 1504 bytes at even distances, so that everything that works
//! on a trace works on it too.

use super::{MAX_LINES, OPPORTUNITY, Trace, TraceError};
use whimbrel_units::Duration;

/// Bits of an opportunity.
const BITS: f64 = OPPORTUNITY as f64 * 8.0;
/// The maximum rate in Mbit/s: 10 Tbit/s.
const MAX_RATE: f64 = 1e7;
/// The maximum time in seconds: 34 years, as in mahimahi's format.
const MAX_TIME: f64 = (1_u64 << 40) as f64 / 1e3;
/// How long the rate of a single line holds, in seconds.
const ALONE: f64 = 1.0;

/// Reads a rate over time.
pub(super) fn parse(text: &str) -> Result<Trace, TraceError> {
    let mut steps: Vec<(f64, f64)> = Vec::new();
    let mut lines = 0;
    let mut header_allowed = true;
    for (i, line) in text.lines().enumerate() {
        lines = i + 1;
        let fail = |why: String| TraceError { line: lines, why };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let may_be_header = std::mem::take(&mut header_allowed);
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [time, rate, ..] = fields[..] else {
            return Err(fail(format!(
                "`{line}` needs a time in seconds, a comma, and a rate in Mbit/s"
            )));
        };
        let (time, rate) = match (time.parse::<f64>(), rate.parse::<f64>()) {
            (Err(_), Err(_)) if may_be_header => continue,
            (Ok(time), Ok(rate)) => (time, rate),
            (Err(_), _) => return Err(fail(format!("`{time}` is not a time in seconds"))),
            (_, Err(_)) => return Err(fail(format!("`{rate}` is not a rate in Mbit/s"))),
        };
        if !(0.0..=MAX_TIME).contains(&time) {
            return Err(fail(format!(
                "{time} s is not between 0 s and {MAX_TIME} s"
            )));
        }
        if !(0.0..=MAX_RATE).contains(&rate) {
            return Err(fail(format!(
                "{rate} Mbit/s is not between 0 and {MAX_RATE} Mbit/s"
            )));
        }
        if let Some((last, _)) = steps.last().filter(|(last, _)| time <= *last) {
            return Err(fail(format!(
                "{time} s comes after {last} s: times must rise"
            )));
        }
        steps.push((time, rate));
    }
    let fail = |why: String| TraceError {
        line: lines.max(1),
        why,
    };
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return Err(fail("the trace has no rate".to_owned()));
    };
    let hold = match steps.len() {
        1 => ALONE,
        n => last.0 - steps[n - 2].0,
    };
    let origin = first.0;
    let end = last.0 + hold - origin;
    let starts = steps.iter().map(|(at, _)| at - origin);
    let spans: Vec<(f64, f64, f64)> = starts
        .clone()
        .zip(starts.skip(1).chain([end]))
        .zip(&steps)
        .map(|((from, to), (_, rate))| (from, to, rate * 1e6))
        .collect();
    let bits: f64 = spans
        .iter()
        .map(|(from, to, rate)| (to - from) * rate)
        .sum();
    if bits / BITS > MAX_LINES as f64 {
        return Err(fail(format!(
            "the trace carries more than {MAX_LINES} packets: make it shorter"
        )));
    }
    let mut opportunities = Vec::with_capacity((bits / BITS) as usize);
    // Bits still missing until the next opportunity.
    let mut missing = BITS;
    for (from, to, rate) in spans {
        let mut at = from;
        while rate > 0.0 && (to - at) * rate >= missing {
            // Rounding must not carry it beyond the span.
            at = (at + missing / rate).min(to);
            missing = BITS;
            opportunities.push((at * 1e9) as u64);
        }
        missing -= (to - at) * rate;
    }
    if opportunities.is_empty() {
        return Err(fail(format!(
            "the trace carries less than {OPPORTUNITY} bytes in all"
        )));
    }
    let period = Duration::from_nanos((end * 1e9).ceil() as u64);
    Trace::of_opportunities(opportunities, period)
        .ok_or_else(|| fail("the trace spans no time".to_owned()))
}
