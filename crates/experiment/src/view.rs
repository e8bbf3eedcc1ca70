//! Some flows of a run, in a part of it: sums and means over them.

use crate::path::{fullest, propagation};
use crate::window::{Window, average};
use whimbrel_report::figures::is_called;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{Confusion, FlowOutcome, Network, Summary};
use whimbrel_units::{Duration, Rate, Time};

/// Some flows of a run, in a part of it.
pub(crate) struct View<'a> {
    pub(crate) run: &'a Run<'a>,
    /// The chosen flows with their places in the run; not empty.
    pub(crate) flows: Vec<(usize, &'a FlowOutcome)>,
    /// Whether only a part was asked for.
    windowed: bool,
    /// The part, or the whole run.
    pub(crate) span: Window,
}

impl<'a> View<'a> {
    /// `None` if there are no such flows, or the run ended before the window began.
    pub(crate) fn new(
        run: &'a Run<'a>,
        name: Option<&str>,
        window: Option<Window>,
    ) -> Option<Self> {
        Self::of(run, window, |flow| {
            name.is_none_or(|name| is_called(flow, name))
        })
    }

    /// The flows that `takes` chooses. `None` as in [`Self::new`].
    pub(crate) fn of(
        run: &'a Run<'a>,
        window: Option<Window>,
        takes: impl Fn(&FlowOutcome) -> bool,
    ) -> Option<Self> {
        let flows: Vec<(usize, &FlowOutcome)> = run
            .outcome
            .flows
            .iter()
            .enumerate()
            .filter(|(_, flow)| takes(flow))
            .collect();
        let whole = Window {
            from: Time::ZERO,
            to: Time::ZERO + run.outcome.duration,
        };
        let span = window.map_or(whole, |window| window.and(whole));
        let any = !flows.is_empty() && !span.length().is_zero();
        any.then_some(Self {
            run,
            flows,
            windowed: window.is_some(),
            span,
        })
    }

    /// The part that was asked for; `None` if it was the whole run.
    pub(crate) fn window(&self) -> Option<Window> {
        self.windowed.then_some(self.span)
    }

    pub(crate) fn network(&self) -> Network {
        self.run.point.network(self.run.seed)
    }

    pub(crate) fn sum(&self, what: fn(&FlowOutcome) -> u64) -> f64 {
        self.flows.iter().map(|(_, f)| what(f)).sum::<u64>() as f64
    }

    /// Mean over the flows; `None` if one of them has no such number.
    pub(crate) fn mean(&self, what: impl Fn(usize, &FlowOutcome) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.flows.iter().map(|(i, f)| what(*i, f)).collect();
        average(values?.into_iter())
    }

    /// Mean of all samples of all flows, in milliseconds.
    pub(crate) fn mean_of_all(&self, what: fn(&FlowOutcome) -> Summary) -> Option<f64> {
        let all = || self.flows.iter().map(|(_, flow)| what(flow));
        let count: u64 = all().map(|summary| summary.count).sum();
        let sum: f64 = all().map(|s| s.mean.as_millis_f64() * s.count as f64).sum();
        (count > 0).then(|| sum / count as f64)
    }

    pub(crate) fn decisions(&self, part: fn(&Confusion) -> u64) -> f64 {
        let told = self
            .flows
            .iter()
            .filter_map(|(_, f)| f.discrimination.as_ref());
        told.map(part).sum::<u64>() as f64
    }

    /// A one-way delay over the propagation delay of the flow's way, mean over the flows.
    pub(crate) fn delay_ratio(&self, which: fn(&Summary) -> Duration) -> Option<f64> {
        let network = self.network();
        self.mean(|i, flow| {
            let least = propagation(&network, network.flows.get(i)?).as_millis_f64();
            let delay = which(&some(flow.one_way_delay)?).as_millis_f64();
            (least > 0.0).then(|| delay / least)
        })
    }

    /// Bytes over the span, in Mbit/s.
    pub(crate) fn per_second(&self, bytes: f64) -> Option<f64> {
        megabits(bytes, self.span.length())
    }

    /// Bytes that these flows delivered in the span; `None` if that is not known because nothing was sampled.
    pub(crate) fn delivered(&self, flows: &[(usize, &FlowOutcome)]) -> Option<f64> {
        if !self.windowed {
            return Some(flows.iter().map(|(_, f)| f.delivered.get()).sum::<u64>() as f64);
        }
        let interval = self.run.point.sample()?;
        let delivered = flows.iter().map(|(_, f)| self.span.delivered(f, interval));
        Some(delivered.sum())
    }

    /// Bytes that these flows put on the wire in the span.
    pub(crate) fn sent(&self) -> f64 {
        if self.windowed {
            self.flows.iter().map(|(_, f)| self.span.sent(f)).sum()
        } else {
            self.sum(|f| f.sent_on_wire.get())
        }
    }

    /// Goodput of each flow that was active in the span, while it was, in Mbit/s.
    pub(crate) fn goodputs(&self) -> Vec<f64> {
        if !self.windowed {
            return self.flows.iter().map(|(_, f)| mbits(f.goodput)).collect();
        }
        self.rates(|flow| self.delivered(&[flow]))
    }

    /// What each flow put on the wire while it was active in the span, in Mbit/s.
    pub(crate) fn throughputs(&self) -> Vec<f64> {
        if !self.windowed {
            let flows = self.flows.iter();
            return flows.map(|(_, f)| mbits(f.throughput)).collect();
        }
        self.rates(|(_, flow)| Some(self.span.sent(flow)))
    }

    /// Bytes of each flow over the time in which it was active in the span, in Mbit/s, if it was.
    fn rates(&self, bytes: impl Fn((usize, &FlowOutcome)) -> Option<f64>) -> Vec<f64> {
        let rate = |flow: &(usize, &FlowOutcome)| {
            let active = Window::of_flows([flow.1]).and(self.span).length();
            megabits(bytes(*flow)?, active)
        };
        self.flows.iter().filter_map(rate).collect()
    }

    /// Congestion windows of all flows at their samples in the span, in bytes.
    pub(crate) fn windows(&self) -> impl Iterator<Item = f64> {
        self.flows.iter().flat_map(|(_, f)| self.span.windows(f))
    }

    /// Percent of what the link that the flows fill most could carry while any of them was active.
    pub(crate) fn load(&self, bytes: impl Fn(&FlowOutcome) -> Option<f64>) -> Option<f64> {
        let sent: Option<Vec<(usize, f64)>> = self
            .flows
            .iter()
            .map(|(i, flow)| Some((*i, bytes(flow)?)))
            .collect();
        let span = Window::of_flows(self.flows.iter().map(|(_, flow)| *flow));
        Some(100.0 * fullest(&self.network(), span, &sent?)?)
    }
}

/// Unless it is of no samples.
pub(crate) fn some(summary: Summary) -> Option<Summary> {
    (summary.count > 0).then_some(summary)
}

pub(crate) fn mbits(rate: Rate) -> f64 {
    rate.as_bits_per_sec() as f64 * 1e-6
}

/// Bytes over a time, in Mbit/s; `None` in no time.
pub(crate) fn megabits(bytes: f64, span: Duration) -> Option<f64> {
    let seconds = span.as_secs_f64();
    (seconds > 0.0).then(|| bytes * 8e-6 / seconds)
}
