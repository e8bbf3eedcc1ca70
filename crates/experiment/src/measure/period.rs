//! A period of a run, and what the samples of its time series show.
//!
//! A sample describes the time since the previous sample. A period therefore has the samples after
//! its beginning, up to and including its end, and is exact to one sampling interval.

use whimbrel_sim::{DestinationOutcome, DestinationSample, FlowOutcome, FlowSample};
use whimbrel_units::{Duration, Time};

/// Flows have converged when their weighted fairness stays at this value or above.
const CONVERGED: f64 = 0.99;

/// A period of a run: `from < t <= to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Its beginning.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

impl Period {
    /// From the start of the first of these flows to the end of the last.
    pub(crate) fn of_flows<'a>(flows: impl IntoIterator<Item = &'a FlowOutcome>) -> Self {
        let nothing = Self {
            from: Time::MAX,
            to: Time::ZERO,
        };
        flows.into_iter().fold(nothing, |all, flow| Self {
            from: all.from.min(flow.start),
            to: all.to.max(flow.start + flow.active),
        })
    }

    /// The intersection of two periods.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        }
    }

    /// Its length; zero if its end is not after its beginning.
    pub(crate) fn length(self) -> Duration {
        self.to.since(self.from)
    }

    /// Whether a sample taken at this time belongs to it.
    pub(crate) fn contains(self, at: Time) -> bool {
        self.from < at && at <= self.to
    }

    /// Bytes that a flow delivered in it, from samples taken at this interval.
    pub(crate) fn delivered(self, flow: &FlowOutcome, interval: Duration) -> f64 {
        let samples = flow.samples.iter().filter(|s| self.contains(s.at));
        samples
            .map(|s| s.rate.as_bits_per_sec() as f64 / 8.0 * interval.as_secs_f64())
            .sum()
    }

    /// Bytes that a flow sent on the wire in it.
    pub(crate) fn sent(self, flow: &FlowOutcome) -> f64 {
        let until = |end: Time| {
            let last = flow.samples.iter().rev().find(|s| s.at <= end);
            last.map_or(0, |sample| sample.sent.get())
        };
        until(self.to).saturating_sub(until(self.from)) as f64
    }

    /// Mean pacing rate that a flow's controller set, in bits per second; `None` if it set none.
    pub(crate) fn sending_rate(self, flow: &FlowOutcome) -> Option<f64> {
        average(self.values(flow, |s| Some(s.pacing_rate?.as_bits_per_sec() as f64)))
    }

    /// Congestion windows of a flow at its samples, in bytes.
    pub(crate) fn windows(self, flow: &FlowOutcome) -> impl Iterator<Item = f64> {
        self.values(flow, |s| Some(s.cwnd.get() as f64))
    }

    /// Mean spacing of a flow's acknowledgments, in milliseconds; `None` without samples of it.
    pub(crate) fn ack_spacing(self, flow: &FlowOutcome) -> Option<f64> {
        average(self.spacings(flow))
    }

    /// Mean difference of the spacing of a flow's acknowledgments between successive samples, in
    /// milliseconds; `None` with fewer than two samples of it.
    pub(crate) fn ack_jitter(self, flow: &FlowOutcome) -> Option<f64> {
        let next = self.spacings(flow).skip(1);
        average(self.spacings(flow).zip(next).map(|(a, b)| (a - b).abs()))
    }

    fn spacings(self, flow: &FlowOutcome) -> impl Iterator<Item = f64> {
        self.values(flow, |s| Some(s.ack_spacing?.as_millis_f64()))
    }

    /// A value of each of a flow's samples that has it.
    fn values(
        self,
        flow: &FlowOutcome,
        value: fn(&FlowSample) -> Option<f64>,
    ) -> impl Iterator<Item = f64> {
        let samples = flow.samples.iter().filter(move |s| self.contains(s.at));
        samples.filter_map(value)
    }

    /// Mean weighted fairness at a destination while it served flows.
    pub(crate) fn fairness(self, destination: &DestinationOutcome) -> Option<f64> {
        average(self.serving(destination).map(|s| s.fairness))
    }

    /// Time from its beginning until the weighted fairness stays at 0.99 or above to its end.
    /// `None` if that does not happen, or there were no flows.
    pub(crate) fn convergence(self, destination: &DestinationOutcome) -> Option<Duration> {
        let mut since = None;
        let mut first = true;
        for sample in self.serving(destination) {
            if sample.fairness < CONVERGED {
                since = None;
            } else if since.is_none() {
                since = Some(if first { self.from } else { sample.at });
            }
            first = false;
        }
        since.map(|at| at.since(self.from))
    }

    fn serving(self, destination: &DestinationOutcome) -> impl Iterator<Item = &DestinationSample> {
        let samples = destination.samples.iter();
        samples.filter(move |s| s.flows > 0 && self.contains(s.at))
    }
}

/// The mean; `None` of no values.
pub(crate) fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(fairness: &[f64]) -> DestinationOutcome {
        let sample = |(i, &fairness)| DestinationSample {
            at: Time::ZERO + Duration::from_secs(i as u64 + 1),
            flows: u32::from(fairness > 0.0),
            fairness,
        };
        DestinationOutcome {
            name: "client".to_owned(),
            is_copy: false,
            mean_fairness: 1.0,
            samples: fairness.iter().enumerate().map(sample).collect(),
        }
    }

    fn period(from: u64, to: u64) -> Period {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        Period {
            from: at(from),
            to: at(to),
        }
    }

    #[test]
    fn fairness_converges_when_it_stays_at_99_percent_or_above() {
        // Sampled at 1 s, 2 s, ...: fair at 2 s, not at 3 s, fair to the end from 4 s on.
        let node = destination(&[0.5, 0.99, 0.9, 0.995, 1.0, 1.0]);
        let seconds = |s| Some(Duration::from_secs(s));
        assert_eq!(period(0, 6).convergence(&node), seconds(4));
        assert_eq!(period(2, 6).convergence(&node), seconds(2));
        // Fair from the beginning of the period: convergence takes no time.
        assert_eq!(period(3, 6).convergence(&node), seconds(0));
        // A period that ends before that: not converged.
        assert_eq!(period(0, 3).convergence(&node), None);
        assert_eq!(period(7, 9).convergence(&node), None);
    }

    #[test]
    fn times_without_flows_do_not_count() {
        let node = destination(&[0.8, 0.0, 0.6, 1.0]);
        let mean = period(0, 3).fairness(&node).expect("two samples");
        assert!((mean - 0.7).abs() < 1e-12, "{mean}");
        assert_eq!(period(1, 2).fairness(&node), None);
    }
}
