//! Datagram sources: cross traffic at a constant rate, continuous or in bursts, that nothing
//! acknowledges.

mod source;

pub(crate) use source::Source;

use crate::flow::interface::{Arrival, Context, EndBehavior, Flow, PathEnd};
use crate::flow::report::{Ended, FlowReport, Measured};
use crate::measure::Delays;
use crate::observe::{Content, End, What};
use crate::outcome::{Distribution, FlowSample, LossCounts};
use crate::packet::Packet;
use whimbrel_net::DropCause;
use whimbrel_units::{Duration, Time};

impl<S> Flow<S> for Source {
    fn start(&mut self, context: &mut Context<'_, S>) {
        self.begin(context.now);
        self.send_due(context.now, context.out);
    }

    fn stop(&mut self) {
        self.end();
    }

    fn on_timer(&mut self, context: &mut Context<'_, S>, _: PathEnd) -> Option<Time> {
        self.send_due(context.now, context.out);
        self.next()
    }

    fn on_arrival(&mut self, context: &mut Context<'_, S>, _: PathEnd, packet: &Packet) -> Arrival {
        self.count_arrival(context.now, packet);
        Arrival {
            due: Time::MAX,
            progress: false,
        }
    }

    fn on_corrupted(&mut self, _: &mut Context<'_, S>, _: PathEnd, _: &Packet) -> Option<Time> {
        None
    }

    fn note_loss(&mut self, _: usize, _: &Packet, _: DropCause) {}

    fn deadline(&self, _: Time, _: PathEnd) -> Option<Time> {
        self.next()
    }

    fn behavior(&self, end: End) -> EndBehavior {
        match end {
            End::Near => EndBehavior::Acts,
            End::Far => EndBehavior::Counts,
        }
    }

    /// No run waits for cross traffic.
    fn can_complete(&self) -> bool {
        false
    }

    fn is_complete(&self) -> bool {
        false
    }

    fn losses(&mut self, _: usize) -> &mut LossCounts {
        &mut self.lost
    }

    fn record_episodes(&mut self) {}

    fn sample(&mut self, _: Time, _: Duration) -> Option<FlowSample> {
        None
    }

    fn report(self, mut ended: Ended<'_>) -> FlowReport {
        let mut outcome = ended.begin(ended.until(true));
        outcome.lost = self.lost;
        outcome.packets_sent = u64::from(self.sent);
        outcome.sent_on_wire = self.packet().times(outcome.packets_sent);
        outcome.delivered = self.packet().times(self.arrived);
        ended.complete(Measured {
            outcome,
            rtt: Delays::new(),
            packets: self.arrived,
            one_way: self.one_way,
            message_latency: Distribution::default(),
        })
    }

    fn observe(&mut self) {}

    fn describe(&mut self, _: &Packet, _: u64) -> Content {
        Content::Datagram
    }

    fn report_findings(&mut self, _: &mut dyn FnMut(usize, What)) {}

    fn report_states(&mut self, _: &mut dyn FnMut(usize, What)) {}
}
