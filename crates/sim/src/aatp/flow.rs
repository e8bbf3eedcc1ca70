//! An AATP connection as a [`Flow`]. The flows of a run share their destination nodes.

use super::wire::Message;
use super::{Connection, Nodes};
use crate::flow::interface::{Arrival, Context, EndBehavior, Flow, PathEnd};
use crate::flow::report::{Ended, FlowReport, Measured};
use crate::observe::{Content, End, RecoveryStage, SenderState, What};
use crate::outcome::{AatpOutcome, Distribution, FlowSample, LossCounts};
use crate::packet::Packet;
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

impl Flow<Nodes> for Connection<'_> {
    fn start(&mut self, context: &mut Context<'_, Nodes>) {
        self.start(context.now, context.out);
    }

    fn stop(&mut self) {
        self.source.stop();
    }

    fn on_timer(&mut self, context: &mut Context<'_, Nodes>, place: PathEnd) -> Option<Time> {
        let end = place.end.index();
        let node = context.shared.node(self.spec.destination);
        self.on_due(context.now, end, node, context.out);
        self.due(end)
    }

    fn on_arrival(
        &mut self,
        context: &mut Context<'_, Nodes>,
        place: PathEnd,
        packet: &Packet,
    ) -> Arrival {
        let (end, message) = (place.end.index(), self.messages.take(packet));
        let node = context.shared.node(self.spec.destination);
        self.on_message(context.now, end, message, node, context.out);
        Arrival {
            due: self.due(end).unwrap_or(Time::MAX),
            progress: true,
        }
    }

    /// The checksum of UDP discards the packet.
    fn on_corrupted(&mut self, _: &mut Context<'_, Nodes>, _: PathEnd, _: &Packet) -> Option<Time> {
        None
    }

    fn note_loss(&mut self, _: usize, packet: &Packet, cause: DropCause) {
        if let Message::Data(data) = self.messages.take(packet) {
            self.source.note_drop(data.place.burst, cause);
        }
    }

    fn deadline(&self, _: Time, place: PathEnd) -> Option<Time> {
        self.due(place.end.index())
    }

    /// Both ends have timers, and the far ends share a node.
    fn behavior(&self, _: End) -> EndBehavior {
        EndBehavior::Acts
    }

    fn can_complete(&self) -> bool {
        true
    }

    fn is_complete(&self) -> bool {
        self.source
            .total()
            .is_some_and(|total| self.sink.delivered().0 >= total)
    }

    fn losses(&mut self, _: usize) -> &mut LossCounts {
        &mut self.lost
    }

    /// AATP has no episodes of loss: its reports are of bursts.
    fn record_episodes(&mut self) {}

    fn sample(&mut self, now: Time, _: Duration) -> Option<FlowSample> {
        let (source, controller) = (&self.source, self.source.controller());
        Some(FlowSample {
            at: now,
            cwnd: controller.flight(),
            ssthresh: None,
            in_flight: source.in_flight(),
            srtt: source.srtt(),
            rttvar: source.rttvar(),
            rate: Rate::ZERO,
            delivered: Bytes::new(self.payload_delivered()),
            retransmits: source.counters.retransmits,
            sent: Bytes::new(source.counters.wire_bytes),
            ack_spacing: None,
            path_changes: None,
            pacing_rate: controller.plan().map(|plan| plan.rate),
            phase: controller.phase(),
        })
    }

    fn report(self, mut ended: Ended<'_>) -> FlowReport {
        let mut outcome = ended.begin(ended.until(true));
        outcome.controller = Some(self.spec.controller.to_string());
        outcome.completion = ended.completion(self.spec.size.is_none());
        outcome.lost = self.lost;
        outcome.delivered = Bytes::new(self.payload_delivered());
        self.source.counters.add_to(&mut outcome);
        let packets = u64::from(self.sink.delivered().0);
        let mut receiver_rtt = self.sink.rtt;
        let (bandwidth, breaks) = (self.source.bandwidth(), self.source.halts());
        let account = self.source.account;
        outcome.aatp = Some(AatpOutcome {
            priority: self.spec.priority,
            bandwidth,
            set_up: account.known_at.map(|at| at.since(ended.spec.start)),
            bursts: account.bursts,
            states: account.states,
            breaks,
            receiver_rtt: receiver_rtt.summary(),
        });
        ended.complete(Measured {
            outcome,
            rtt: self.source.rtt,
            one_way: self.sink.one_way,
            packets,
            message_latency: Distribution::default(),
        })
    }

    /// The state of the sender is known at any time: nothing has to be recorded.
    fn observe(&mut self) {}

    fn describe(&mut self, packet: &Packet, _: u64) -> Content {
        Content::Message(self.messages.get(packet).encode(self.path_id))
    }

    fn report_findings(&mut self, _: &mut dyn FnMut(usize, What)) {}

    fn report_states(&mut self, report: &mut dyn FnMut(usize, What)) {
        let (source, controller) = (&self.source, self.source.controller());
        let state = SenderState {
            end: End::Near,
            cwnd: controller.flight(),
            ssthresh: None,
            in_flight: source.in_flight(),
            latest_rtt: Duration::ZERO,
            srtt: source.srtt(),
            rttvar: Duration::ZERO,
            min_rtt: Duration::ZERO,
            pacing_rate: controller.plan().map(|plan| plan.rate),
            stage: RecoveryStage::Open,
            phase: controller.phase(),
        };
        if self.state.replace(state) != Some(state) {
            report(0, What::State(state));
        }
    }
}
