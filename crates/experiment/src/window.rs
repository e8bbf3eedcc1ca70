//! A part of a run, and what the samples of its time series say of it.
//!
//! A sample tells of the time since the sample before it: in a window are the samples after its beginning, up to and
//! with its end. Windows are therefore exact to one sample's interval.

use whimbrel_sim::{DestinationOutcome, DestinationSample, FlowOutcome, FlowSample};
use whimbrel_units::{Duration, Time};

/// Flows of different weight share fairly: the weighted fairness from which on they are said to have converged.
const CONVERGED: f64 = 0.99;

/// A part of a run: `from < t <= to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its beginning.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

impl Window {
    /// The time from the first of these flows' start to the last one's end.
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

    /// What lies in both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        }
    }

    /// How long it is; zero if its end is not after its beginning.
    pub(crate) fn length(self) -> Duration {
        self.to.since(self.from)
    }

    /// Whether a sample then tells of it.
    pub(crate) fn takes(self, at: Time) -> bool {
        self.from < at && at <= self.to
    }

    /// Bytes that a flow delivered in it, by samples taken at this interval.
    pub(crate) fn delivered(self, flow: &FlowOutcome, interval: Duration) -> f64 {
        let samples = flow.samples.iter().filter(|s| self.takes(s.at));
        samples
            .map(|s| s.rate.as_bits_per_sec() as f64 / 8.0 * interval.as_secs_f64())
            .sum()
    }

    /// Bytes that a flow put on the wire in it.
    pub(crate) fn sent(self, flow: &FlowOutcome) -> f64 {
        let until = |end: Time| {
            let last = flow.samples.iter().rev().find(|s| s.at <= end);
            last.map_or(0, |sample| sample.sent.get())
        };
        until(self.to).saturating_sub(until(self.from)) as f64
    }

    /// Mean of the rate that a flow's controller set, in bits per second; `None` if it never set one.
    pub(crate) fn sending_rate(self, flow: &FlowOutcome) -> Option<f64> {
        average(self.values(flow, |s| Some(s.pacing_rate?.as_bits_per_sec() as f64)))
    }

    /// A flow's windows at its samples, in bytes.
    pub(crate) fn windows(self, flow: &FlowOutcome) -> impl Iterator<Item = f64> {
        self.values(flow, |s| Some(s.cwnd.get() as f64))
    }

    /// Mean spacing of a flow's acknowledgments, in milliseconds; `None` if there were no two.
    pub(crate) fn ack_spacing(self, flow: &FlowOutcome) -> Option<f64> {
        average(self.spacings(flow))
    }

    /// How much the spacing of a flow's acknowledgments differs from one sample to the next, mean in milliseconds; `None` if
    /// there were no two spacings.
    pub(crate) fn ack_jitter(self, flow: &FlowOutcome) -> Option<f64> {
        let next = self.spacings(flow).skip(1);
        average(self.spacings(flow).zip(next).map(|(a, b)| (a - b).abs()))
    }

    fn spacings(self, flow: &FlowOutcome) -> impl Iterator<Item = f64> {
        self.values(flow, |s| Some(s.ack_spacing?.as_millis_f64()))
    }

    /// A value of a flow's samples, where there is one.
    fn values(
        self,
        flow: &FlowOutcome,
        value: fn(&FlowSample) -> Option<f64>,
    ) -> impl Iterator<Item = f64> {
        let samples = flow.samples.iter().filter(move |s| self.takes(s.at));
        samples.filter_map(value)
    }

    /// Mean weighted fairness at a destination while it served flows.
    pub(crate) fn fairness(self, destination: &DestinationOutcome) -> Option<f64> {
        average(self.serving(destination).map(|s| s.fairness))
    }

    /// Time from the window's beginning until the weighted fairness has come to stay at 0.99 or above for the rest of
    /// the window; `None` if it does not, or there were no flows.
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
        samples.filter(move |s| s.flows > 0 && self.takes(s.at))
    }
}

/// `None` of nothing.
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
            mean_fairness: 1.0,
            samples: fairness.iter().enumerate().map(sample).collect(),
        }
    }

    fn window(from: u64, to: u64) -> Window {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        Window {
            from: at(from),
            to: at(to),
        }
    }

    #[test]
    fn fairness_has_converged_when_it_no_longer_leaves_99_percent() {
        // Sampled at 1 s, 2 s, ...: fair at 2 s, not at 3 s, fair for good from 4 s on.
        let node = destination(&[0.5, 0.99, 0.9, 0.995, 1.0, 1.0]);
        let seconds = |s| Some(Duration::from_secs(s));
        assert_eq!(window(0, 6).convergence(&node), seconds(4));
        assert_eq!(window(2, 6).convergence(&node), seconds(2));
        // Fair all the time from the beginning on: no time at all.
        assert_eq!(window(3, 6).convergence(&node), seconds(0));
        // A window that ends before it is fair for good: not converged.
        assert_eq!(window(0, 3).convergence(&node), None);
        assert_eq!(window(7, 9).convergence(&node), None);
    }

    #[test]
    fn times_without_flows_count_for_nothing() {
        let node = destination(&[0.8, 0.0, 0.6, 1.0]);
        let mean = window(0, 3).fairness(&node).expect("two samples");
        assert!((mean - 0.7).abs() < 1e-12, "{mean}");
        assert_eq!(window(1, 2).fairness(&node), None);
    }
}
