//! Some flows of a run in a period of it, with sums and means over them.

use super::path::{highest_load, propagation};
use super::period::{Period, average};
use whimbrel_report::figures::is_called;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{Confusion, FlowOutcome, Network, Summary};
use whimbrel_units::{Duration, Rate, Time};

/// Some flows of a run in a period of it.
pub(crate) struct View<'a> {
    pub(crate) run: &'a Run<'a>,
    /// The chosen flows with their indices in the run; not empty.
    pub(crate) flows: Vec<(usize, &'a FlowOutcome)>,
    /// Whether it is restricted to a period.
    restricted: bool,
    /// The period, or the whole run.
    pub(crate) span: Period,
}

impl<'a> View<'a> {
    /// Chooses the flows by their controller or name (all if `None`). Returns `None` if the run
    /// has no such flows, or ended before the period began.
    pub(crate) fn new(
        run: &'a Run<'a>,
        name: Option<&str>,
        period: Option<Period>,
    ) -> Option<Self> {
        Self::of(run, period, |flow| {
            name.is_none_or(|name| is_called(flow, name))
        })
    }

    /// Chooses the flows for which `chosen` is true. Returns `None` as [`Self::new`] does.
    pub(crate) fn of(
        run: &'a Run<'a>,
        period: Option<Period>,
        chosen: impl Fn(&FlowOutcome) -> bool,
    ) -> Option<Self> {
        let flows: Vec<(usize, &FlowOutcome)> = run
            .outcome
            .flows
            .iter()
            .enumerate()
            .filter(|(_, flow)| chosen(flow))
            .collect();
        let whole = Period {
            from: Time::ZERO,
            to: Time::ZERO + run.outcome.duration,
        };
        let span = period.map_or(whole, |period| period.and(whole));
        let any = !flows.is_empty() && !span.length().is_zero();
        any.then_some(Self {
            run,
            flows,
            restricted: period.is_some(),
            span,
        })
    }

    /// The period that it is restricted to; `None` for the whole run.
    pub(crate) fn period(&self) -> Option<Period> {
        self.restricted.then_some(self.span)
    }

    pub(crate) fn network(&self) -> Network {
        self.run.point.network(self.run.seed)
    }

    /// Sum over the flows.
    pub(crate) fn sum(&self, value: fn(&FlowOutcome) -> u64) -> f64 {
        self.flows.iter().map(|(_, f)| value(f)).sum::<u64>() as f64
    }

    /// Mean over the flows; `None` if a flow has no value.
    pub(crate) fn mean(&self, value: impl Fn(&FlowOutcome) -> Option<f64>) -> Option<f64> {
        self.mean_by_index(|_, flow| value(flow))
    }

    /// As [`Self::mean`], with the flow's index in the run.
    pub(crate) fn mean_by_index(
        &self,
        value: impl Fn(usize, &FlowOutcome) -> Option<f64>,
    ) -> Option<f64> {
        let values: Option<Vec<f64>> = self.flows.iter().map(|(i, f)| value(*i, f)).collect();
        average(values?.into_iter())
    }

    /// Mean of all samples of all flows, in milliseconds.
    pub(crate) fn mean_of_all(&self, summary: fn(&FlowOutcome) -> Summary) -> Option<f64> {
        let all = || self.flows.iter().map(|(_, flow)| summary(flow));
        let count: u64 = all().map(|summary| summary.count).sum();
        let sum: f64 = all().map(|s| s.mean.as_millis_f64() * s.count as f64).sum();
        (count > 0).then(|| sum / count as f64)
    }

    /// Sum of a count of decisions between random loss and congestion.
    pub(crate) fn decisions(&self, part: fn(&Confusion) -> u64) -> f64 {
        let decisions = self
            .flows
            .iter()
            .filter_map(|(_, f)| f.discrimination.as_ref());
        decisions.map(part).sum::<u64>() as f64
    }

    /// A one-way delay over the propagation delay of the flow's route; mean over the flows.
    pub(crate) fn delay_ratio(&self, which: fn(&Summary) -> Duration) -> Option<f64> {
        let network = self.network();
        self.mean_by_index(|i, flow| {
            let minimum = propagation(&network, network.flows.get(i)?).as_millis_f64();
            let delay = which(&some(flow.one_way_delay)?).as_millis_f64();
            (minimum > 0.0).then(|| delay / minimum)
        })
    }

    /// Bytes over the span, in Mbit/s.
    pub(crate) fn per_second(&self, bytes: f64) -> Option<f64> {
        megabits(bytes, self.span.length())
    }

    /// Bytes that these flows delivered in the span; `None` if that takes samples and the run has
    /// none.
    pub(crate) fn delivered(&self, flows: &[(usize, &FlowOutcome)]) -> Option<f64> {
        if !self.restricted {
            return Some(flows.iter().map(|(_, f)| f.delivered.get()).sum::<u64>() as f64);
        }
        let interval = self.run.point.sample()?;
        let delivered = flows.iter().map(|(_, f)| self.span.delivered(f, interval));
        Some(delivered.sum())
    }

    /// Bytes that the flows sent on the wire in the span.
    pub(crate) fn sent(&self) -> f64 {
        if self.restricted {
            self.flows.iter().map(|(_, f)| self.span.sent(f)).sum()
        } else {
            self.sum(|f| f.sent_on_wire.get())
        }
    }

    /// Goodput of each flow while it was active in the span, in Mbit/s.
    pub(crate) fn goodputs(&self) -> Vec<f64> {
        if !self.restricted {
            return self.flows.iter().map(|(_, f)| mbits(f.goodput)).collect();
        }
        self.rates(|flow| self.delivered(&[flow]))
    }

    /// What each flow sent on the wire while it was active in the span, in Mbit/s.
    pub(crate) fn throughputs(&self) -> Vec<f64> {
        if !self.restricted {
            let flows = self.flows.iter();
            return flows.map(|(_, f)| mbits(f.throughput)).collect();
        }
        self.rates(|(_, flow)| Some(self.span.sent(flow)))
    }

    /// Bytes of each flow over the time in which it was active in the span, in Mbit/s. Flows that
    /// were not active in the span are left out.
    fn rates(&self, bytes: impl Fn((usize, &FlowOutcome)) -> Option<f64>) -> Vec<f64> {
        let rate = |flow: &(usize, &FlowOutcome)| {
            let active = Period::of_flows([flow.1]).and(self.span).length();
            megabits(bytes(*flow)?, active)
        };
        self.flows.iter().filter_map(rate).collect()
    }

    /// Congestion windows of all flows at their samples in the span, in bytes.
    pub(crate) fn windows(&self) -> impl Iterator<Item = f64> {
        self.flows.iter().flat_map(|(_, f)| self.span.windows(f))
    }

    /// Load on the link with the highest load, in percent of what it could carry while any of the
    /// flows was active.
    pub(crate) fn load(&self, bytes: impl Fn(&FlowOutcome) -> Option<f64>) -> Option<f64> {
        let sent: Option<Vec<(usize, f64)>> = self
            .flows
            .iter()
            .map(|(i, flow)| Some((*i, bytes(flow)?)))
            .collect();
        let span = Period::of_flows(self.flows.iter().map(|(_, flow)| *flow));
        Some(100.0 * highest_load(&self.network(), span, &sent?)?)
    }
}

/// The summary; `None` if it has no samples.
pub(crate) fn some(summary: Summary) -> Option<Summary> {
    (summary.count > 0).then_some(summary)
}

/// A rate in Mbit/s.
pub(crate) fn mbits(rate: Rate) -> f64 {
    rate.as_bits_per_sec() as f64 * 1e-6
}

/// Bytes over a time, in Mbit/s; `None` if the time is zero.
pub(crate) fn megabits(bytes: f64, span: Duration) -> Option<f64> {
    let seconds = span.as_secs_f64();
    (seconds > 0.0).then(|| bytes * 8e-6 / seconds)
}
