//! A TCP connection over one path as a [`Flow`]: bulk data from the near end, or both ways.

use super::trace::Trace;
use super::{Endpoint, Sender, if_finite};
use crate::flow::interface::{Arrival, Context, EndBehavior, Flow, PathEnd};
use crate::flow::report::{Ended, FlowReport, Measured};
use crate::network::{Network, TcpFlow};
use crate::observe::{Content, End, What};
use crate::outcome::{Distribution, FlowSample, LossCounts, add_counts};
use crate::packet::{Flags, Packet};
use crate::seed::Draw;
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// A TCP connection over one path.
#[derive(Debug)]
pub(crate) struct Connection<'a> {
    spec: &'a TcpFlow,
    /// Near, far.
    ends: [Endpoint; 2],
    lost: LossCounts,
    /// If the run is observed.
    trace: Option<Box<Trace>>,
}

impl<'a> Connection<'a> {
    /// The connection of flow `index`.
    pub fn new(network: &Network, index: usize, spec: &'a TcpFlow) -> Self {
        let draw = Draw::of(network.seed, index);
        let path_id = index as u32;
        Self {
            spec,
            ends: [
                Endpoint::near(path_id, spec, draw),
                Endpoint::far(path_id, spec, draw),
            ],
            lost: LossCounts::default(),
            trace: None,
        }
    }

    /// Payload that both ends have delivered to their applications.
    fn payload_delivered(&self) -> u64 {
        let to = |sender: &Endpoint, receiver: &Endpoint| {
            sender
                .sender()
                .map_or(0, |s| s.payload(receiver.delivered()))
        };
        let [near, far] = &self.ends;
        to(near, far) + to(far, near)
    }
}

impl<S> Flow<S> for Connection<'_> {
    fn start(&mut self, context: &mut Context<'_, S>) {
        self.ends[0].start(context.now, context.out);
    }

    fn stop(&mut self) {
        self.ends.iter_mut().for_each(Endpoint::stop);
    }

    fn on_timer(&mut self, context: &mut Context<'_, S>, place: PathEnd) -> Option<Time> {
        let end = &mut self.ends[place.end.index()];
        end.on_timer(context.now, context.out);
        if_finite(end.deadline(context.now))
    }

    // The hottest function of a run: see [`Endpoint::on_packet`].
    #[inline(always)]
    fn on_arrival(
        &mut self,
        context: &mut Context<'_, S>,
        place: PathEnd,
        packet: &Packet,
    ) -> Arrival {
        let end = &mut self.ends[place.end.index()];
        let delivered = end.on_packet(context.now, packet, context.out);
        Arrival {
            due: end.deadline(context.now),
            progress: delivered > 0 && end.is_finite(),
        }
    }

    fn on_corrupted(
        &mut self,
        context: &mut Context<'_, S>,
        place: PathEnd,
        packet: &Packet,
    ) -> Option<Time> {
        let end = &mut self.ends[place.end.index()];
        end.on_corrupted(context.now, packet, context.out);
        if_finite(end.deadline(context.now))
    }

    fn note_loss(&mut self, _: usize, packet: &Packet, cause: DropCause) {
        if packet.flags.has(Flags::DATA) {
            self.ends[packet.sender().index()].note_drop(packet, cause);
        }
    }

    fn deadline(&self, now: Time, place: PathEnd) -> Option<Time> {
        if_finite(self.ends[place.end.index()].deadline(now))
    }

    fn behavior(&self, end: End) -> EndBehavior {
        let sends = end == End::Near || self.spec.two_way;
        // Forged NACKs leave at times of their own.
        if sends || self.spec.settings.forged_nacks.is_some() {
            EndBehavior::Acts
        } else {
            EndBehavior::Answers
        }
    }

    fn can_complete(&self) -> bool {
        true
    }

    /// Both ends have received all that the other end sends.
    #[inline]
    fn is_complete(&self) -> bool {
        let has_all = |sender: &Endpoint, receiver: &Endpoint| {
            sender
                .sender()
                .is_none_or(|s| s.total().is_some_and(|t| receiver.delivered() >= t))
        };
        let [near, far] = &self.ends;
        has_all(near, far) && has_all(far, near)
    }

    fn losses(&mut self, _: usize) -> &mut LossCounts {
        &mut self.lost
    }

    fn record_episodes(&mut self) {
        self.ends[0].record_episodes();
    }

    fn sample(&mut self, now: Time, _: Duration) -> Option<FlowSample> {
        let counters = self.ends.each_ref().map(Endpoint::counters);
        Some(FlowSample {
            delivered: Bytes::new(self.payload_delivered()),
            sent: Bytes::new(counters.iter().map(|c| c.wire_bytes).sum()),
            retransmits: counters.iter().map(|c| c.retransmits).sum(),
            ..self.ends[0].sender()?.sample(now, Rate::ZERO)
        })
    }

    fn report(self, mut ended: Ended<'_>) -> FlowReport {
        let mut outcome = ended.begin(ended.until(true));
        outcome.controller = Some(self.spec.controller.to_string());
        outcome.completion = ended.completion(self.spec.size.is_none());
        outcome.lost = self.lost;
        outcome.delivered = Bytes::new(self.payload_delivered());
        outcome.episodes = self.ends[0].episodes();
        let mut packets = 0;
        for end in &self.ends {
            end.counters().add_to(&mut outcome);
            packets += u64::from(end.delivered());
            outcome.marked += end.marked();
            let changes = end.sender().and_then(Sender::path_changes);
            outcome.path_changes = add_counts(outcome.path_changes, changes);
            if let Some(nacks) = end.nacks() {
                *outcome.nacks.get_or_insert_default() += nacks;
            }
        }
        let [near, mut far] = self.ends;
        let (mut rtt, mut one_way) = (near.rtt, near.one_way);
        rtt.merge(&mut far.rtt);
        one_way.merge(&mut far.one_way);
        ended.complete(Measured {
            outcome,
            rtt,
            one_way,
            packets,
            message_latency: Distribution::default(),
        })
    }

    fn observe(&mut self) {
        self.trace = Some(Box::new(Trace::new(self.spec, false)));
        for sender in self.ends.iter_mut().filter_map(Endpoint::sender_mut) {
            sender.watch();
        }
    }

    fn describe(&mut self, packet: &Packet, id: u64) -> Content {
        let trace = self.trace.as_mut();
        Content::Segment(
            trace
                .map(|trace| trace.segment(packet, id))
                .unwrap_or_default(),
        )
    }

    fn report_findings(&mut self, report: &mut dyn FnMut(usize, What)) {
        let Some(trace) = &mut self.trace else { return };
        for (at, end) in self.ends.iter_mut().zip([End::Near, End::Far]) {
            if let Some(sender) = at.sender_mut() {
                trace.findings(end, sender, &mut |what| report(0, what));
            }
        }
    }

    fn report_states(&mut self, report: &mut dyn FnMut(usize, What)) {
        let Some(trace) = &mut self.trace else { return };
        for (at, end) in self.ends.iter().zip([End::Near, End::Far]) {
            if let Some(state) = at.sender().map(|sender| sender.state(end))
                && trace.is_new(state)
            {
                report(0, What::State(state));
            }
        }
    }
}
