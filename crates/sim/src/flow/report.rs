//! The outcome of a flow: the parts that all kinds have in common.

use crate::measure::Delays;
use crate::network::{FlowSpec, Network};
use crate::outcome::{Distribution, Distributions, FlowOutcome, FlowSample};
use whimbrel_units::{Duration, Rate, Time};

/// What the engine knows of a flow when the run has ended.
pub(crate) struct Ended<'a> {
    /// The network of the run.
    pub network: &'a Network,
    /// The description of the flow.
    pub spec: &'a FlowSpec,
    /// When the flow was complete.
    pub finished: Option<Time>,
    /// When the run ended.
    pub end: Time,
    /// The samples of the flow.
    pub samples: Vec<FlowSample>,
}

/// The outcome of a flow, and what it contributes to the outcome of the run.
pub(crate) struct FlowReport {
    /// The outcome.
    pub outcome: FlowOutcome,
    /// One-way delays of its data packets.
    pub one_way: Delays,
    /// Data packets that it delivered, each counted once.
    pub packets: u64,
}

/// What each kind of flow measures itself.
pub(crate) struct Measured {
    /// The outcome, begun with [`Ended::begin`].
    pub outcome: FlowOutcome,
    /// RTT samples.
    pub rtt: Delays,
    /// One-way delays of its data packets.
    pub one_way: Delays,
    /// Data packets that it delivered, each counted once.
    pub packets: u64,
    /// The latency of its messages; empty if it has none.
    pub message_latency: Distribution,
}

impl Ended<'_> {
    /// When the flow was no longer active: when it was complete, when it stopped, or at the end of
    /// the run. `stops`: it sends nothing after its stop.
    pub fn until(&self, stops: bool) -> Time {
        let stop = self.spec.stop.filter(|_| stops);
        self.finished.or(stop).unwrap_or(self.end).min(self.end)
    }

    /// From its start until it was complete. `None` if it was not, or is endless.
    pub fn completion(&self, is_endless: bool) -> Option<Duration> {
        let finished = self.finished.filter(|_| !is_endless);
        finished.map(|at| at.since(self.spec.start))
    }

    /// An outcome with what the engine knows, of a flow that was active until then.
    pub fn begin(&mut self, until: Time) -> FlowOutcome {
        FlowOutcome {
            name: self.spec.name.clone(),
            start: self.spec.start,
            active: until.since(self.spec.start),
            samples: std::mem::take(&mut self.samples),
            ..FlowOutcome::default()
        }
    }

    /// Completes the outcome.
    pub fn complete(&self, measured: Measured) -> FlowReport {
        let Measured {
            mut outcome,
            mut rtt,
            mut one_way,
            packets,
            message_latency,
        } = measured;
        outcome.goodput = Rate::over(outcome.delivered, outcome.active);
        outcome.throughput = Rate::over(outcome.sent_on_wire, outcome.active);
        outcome.rtt = rtt.summary();
        outcome.one_way_delay = one_way.summary();
        outcome.distributions = self.network.sample.map(|_| Distributions {
            rtt: rtt.distribution(),
            one_way_delay: one_way.distribution(),
            message_latency,
        });
        FlowReport {
            outcome,
            one_way,
            packets,
        }
    }
}
