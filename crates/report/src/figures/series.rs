//! Samples as series over time.

use whimbrel_sim::FlowSample;

/// Seconds and values.
pub(super) type Points = Vec<(f64, f64)>;

/// A flow's goodput in bit/s, as means over `spans` equal spans of the time until `end`: sample by
/// sample, rates are a cloud.
pub(super) fn goodput(samples: &[FlowSample], end: f64, spans: usize) -> Points {
    let rate = |s: &FlowSample| (s.at.as_secs_f64(), s.rate.as_bits_per_sec() as f64);
    means(samples.iter().map(rate), end, spans)
}

/// The pacing rate that the controller set, in bit/s, as means over `spans` spans; empty if it set
/// none.
pub(super) fn pacing_rate(samples: &[FlowSample], end: f64, spans: usize) -> Points {
    let rate = |s: &FlowSample| {
        let rate = s.pacing_rate?;
        Some((s.at.as_secs_f64(), rate.as_bits_per_sec() as f64))
    };
    means(samples.iter().filter_map(rate), end, spans)
}

/// Time between a flow's acknowledgments at each sample, in milliseconds.
pub(super) fn ack_spacing(samples: &[FlowSample]) -> Points {
    let spacing = |s: &FlowSample| Some((s.at.as_secs_f64(), s.ack_spacing?.as_millis_f64()));
    samples.iter().filter_map(spacing).collect()
}

/// The mean of the values in each of `spans` equal spans of the time until `end`, at the span's
/// middle. Spans without values have none.
pub(super) fn means(values: impl Iterator<Item = (f64, f64)>, end: f64, spans: usize) -> Points {
    let mut sums = vec![(0.0, 0_u32); spans];
    for (at, value) in values {
        let span = ((at * spans as f64 / end) as usize).min(spans - 1);
        sums[span].0 += value;
        sums[span].1 += 1;
    }
    let middle = |span: usize| (span as f64 + 0.5) * end / spans as f64;
    let sums = sums.into_iter().enumerate();
    sums.filter(|(_, (_, n))| *n > 0)
        .map(|(i, (sum, n))| (middle(i), sum / f64::from(n)))
        .collect()
}

/// The maximum of all values, at least 0.
pub(super) fn maximum(curves: &[Points]) -> f64 {
    curves.iter().flatten().map(|(_, y)| *y).fold(0.0, f64::max)
}
