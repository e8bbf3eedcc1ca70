//! What a capacity trace is like: its rate over windows, and its gaps.

use super::{OPPORTUNITY, Trace};
use crate::path_statistics::Quantiles;
use whimbrel_units::{Duration, Rate};

/// The window over which a rate is a sample.
pub const WINDOW: Duration = Duration::from_millis(100);
/// A gap of at least this length is a stall: several round trips of a short path, and longer than
/// the grants and retransmissions of a radio that works.
pub const STALL: Duration = Duration::from_millis(100);

/// Statistics of one period of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceStatistics {
    /// Length of a period.
    pub length: Duration,
    /// Mean rate.
    pub mean: Rate,
    /// Rate in Mbit/s over windows of [`WINDOW`].
    pub rate: Quantiles,
    /// Standard deviation of the logarithm of those samples, windows without capacity left out: 0.1
    /// is a change by about 10 %.
    pub fading: f64,
    /// Correlation of those logarithms from one second to the next, 1 if the rate does not change;
    /// zero for a trace of less than two seconds.
    pub persistence: f64,
    /// Time between different opportunities, in ms.
    pub gap: Quantiles,
    /// Stalls: their lengths in ms.
    pub stall: Quantiles,
    /// Part of the time that is spent in stalls, 0 to 1.
    pub stalled: f64,
}

impl TraceStatistics {
    /// The mean time from one stall to the next; `None` without stalls.
    pub fn stall_interval(&self) -> Option<Duration> {
        (self.stall.count > 0).then(|| self.length / self.stall.count as u64)
    }
}

impl Trace {
    /// Rates in Mbit/s over the whole windows of [`WINDOW`] in one period; over the period if it is
    /// shorter.
    pub fn windows(&self) -> Vec<f64> {
        let window = WINDOW.as_nanos().min(self.period);
        let mut counts = vec![0_u64; (self.period / window) as usize];
        for at in &self.opportunities {
            // An opportunity at the period's end belongs to its last window.
            if let Some(count) = counts.get_mut((at.saturating_sub(1) / window) as usize) {
                *count += 1;
            }
        }
        let scale = f64::from(OPPORTUNITY) * 8e3 / window as f64;
        counts.iter().map(|count| *count as f64 * scale).collect()
    }

    /// Statistics of one period.
    pub fn statistics(&self) -> TraceStatistics {
        let rates = self.windows();
        let gaps = self.gaps();
        let stall = STALL.as_millis_f64();
        let stalls: Vec<f64> = gaps.iter().copied().filter(|gap| *gap >= stall).collect();
        let stalled = sum(&stalls) / self.period().as_millis_f64();
        let logarithms: Vec<Option<f64>> = rates
            .iter()
            .map(|rate| (*rate > 0.0).then(|| rate.ln()))
            .collect();
        let (fading, persistence) = changes(&logarithms);
        TraceStatistics {
            length: self.period(),
            mean: self.mean_rate(),
            rate: Quantiles::of(rates),
            fading,
            persistence,
            gap: Quantiles::of(gaps),
            stall: Quantiles::of(stalls),
            stalled,
        }
    }

    /// Times between different opportunities in ms, from the last of a period to the first of the
    /// next included.
    fn gaps(&self) -> Vec<f64> {
        let mut gaps: Vec<f64> = self
            .opportunities
            .windows(2)
            .filter(|pair| pair[1] > pair[0])
            .map(|pair| (pair[1] - pair[0]) as f64 / 1e6)
            .collect();
        if let (Some(first), Some(last)) = (self.opportunities.first(), self.opportunities.last()) {
            gaps.extend(Some((self.period - last + first) as f64 / 1e6).filter(|gap| *gap > 0.0));
        }
        gaps
    }
}

/// The sum of no values is 0 here; the library's is -0.
fn sum(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |sum, value| sum + value)
}

/// The standard deviation of the samples that exist, and their correlation over a second.
fn changes(samples: &[Option<f64>]) -> (f64, f64) {
    let known: Vec<f64> = samples.iter().copied().flatten().collect();
    let count = known.len().max(1) as f64;
    let mean = known.iter().sum::<f64>() / count;
    let variance = known.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
    let second = (1_000_000_000 / WINDOW.as_nanos()) as usize;
    let pairs: Vec<f64> = samples
        .iter()
        .zip(samples.iter().skip(second))
        .filter_map(|(now, then)| Some(((*now)? - mean) * ((*then)? - mean)))
        .collect();
    let covariance = sum(&pairs) / pairs.len().max(1) as f64;
    let correlation = if variance > 0.0 {
        covariance / variance
    } else {
        0.0
    };
    (variance.sqrt(), correlation)
}
