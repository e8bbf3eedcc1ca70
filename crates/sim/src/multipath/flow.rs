//! A multipath connection as a [`Flow`].

use super::{Connection, report};
use crate::flow::interface::{Arrival, Context, EndBehavior, Flow, PathEnd};
use crate::flow::report::{Ended, FlowReport};
use crate::observe::{Content, End, What};
use crate::outcome::{FlowSample, LossCounts};
use crate::packet::{Flags, Packet};
use crate::tcp::Trace;
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

impl<S> Flow<S> for Connection<'_> {
    fn start(&mut self, context: &mut Context<'_, S>) {
        self.paths[0].ends[0].start(context.now, context.out);
    }

    fn stop(&mut self) {
        self.data.stop();
    }

    fn on_timer(&mut self, context: &mut Context<'_, S>, place: PathEnd) -> Option<Time> {
        let (now, end) = (context.now, place.end.index());
        self.on_due(now, place.path, end, context.out);
        self.due(now, place.path, end)
    }

    fn on_arrival(
        &mut self,
        context: &mut Context<'_, S>,
        PathEnd { path, end }: PathEnd,
        packet: &Packet,
    ) -> Arrival {
        let (now, out) = (context.now, &mut *context.out);
        let delivered = match end {
            End::Near => {
                self.on_packet_at_sender(now, path, packet, out);
                0
            }
            End::Far => self.on_packet_at_receiver(now, path, packet, out),
        };
        Arrival {
            due: self.due(now, path, end.index()).unwrap_or(Time::MAX),
            progress: delivered > 0,
        }
    }

    fn on_corrupted(
        &mut self,
        context: &mut Context<'_, S>,
        place: PathEnd,
        packet: &Packet,
    ) -> Option<Time> {
        let (now, end) = (context.now, place.end.index());
        self.on_corrupted_packet(now, place.path, end, packet, context.out);
        self.due(now, place.path, end)
    }

    fn note_loss(&mut self, path: usize, packet: &Packet, cause: DropCause) {
        if packet.flags.has(Flags::DATA) {
            self.paths[path].ends[0].note_drop(packet, cause);
        }
    }

    fn deadline(&self, now: Time, place: PathEnd) -> Option<Time> {
        self.due(now, place.path, place.end.index())
    }

    /// The ends share the data of the connection, and each path is affected by the others.
    fn behavior(&self, _: End) -> EndBehavior {
        EndBehavior::Acts
    }

    fn can_complete(&self) -> bool {
        true
    }

    fn is_complete(&self) -> bool {
        self.data.is_complete()
    }

    fn losses(&mut self, path: usize) -> &mut LossCounts {
        &mut self.paths[path].lost
    }

    fn record_episodes(&mut self) {
        for path in &mut self.paths {
            path.ends[0].record_episodes();
        }
    }

    /// Samples each path. The sample of the connection has the sums of windows and rates, and the
    /// RTT of the fastest path. With one path it is the sample of that path.
    fn sample(&mut self, now: Time, interval: Duration) -> Option<FlowSample> {
        let delivered = Bytes::new(self.data.payload_delivered());
        if let [path] = self.paths.as_slice()
            && let Some(sender) = path.sender()
        {
            return Some(FlowSample {
                delivered,
                ..sender.sample(now, Rate::ZERO)
            });
        }
        let mut all = FlowSample {
            at: now,
            delivered,
            phase: "several paths",
            ..FlowSample::default()
        };
        for path in &mut self.paths {
            let bytes = path.brought - std::mem::replace(&mut path.sampled_bytes, path.brought);
            let Some(sender) = path.ends[0]
                .sender()
                .filter(|_| path.ends[0].is_established())
            else {
                continue;
            };
            let sample = FlowSample {
                delivered: Bytes::new(path.brought),
                ..sender.sample(now, Rate::over(Bytes::new(bytes), interval))
            };
            all.cwnd += sample.cwnd;
            all.sent += sample.sent;
            all.in_flight += sample.in_flight;
            all.retransmits += sample.retransmits;
            all.pacing_rate = match (all.pacing_rate, sample.pacing_rate) {
                (Some(a), Some(b)) => Some(Rate::from_bits_per_sec(
                    a.as_bits_per_sec().saturating_add(b.as_bits_per_sec()),
                )),
                (a, b) => a.or(b),
            };
            let faster = all.srtt.is_zero() || sample.srtt < all.srtt;
            if faster && !sample.srtt.is_zero() {
                (all.srtt, all.rttvar) = (sample.srtt, sample.rttvar);
            }
            path.samples.push(sample);
        }
        Some(all)
    }

    fn report(self, ended: Ended<'_>) -> FlowReport {
        report::of_connection(self, ended)
    }

    fn observe(&mut self) {
        for path in &mut self.paths {
            path.trace = Some(Box::new(Trace::new(self.spec, true)));
            if let Some(sender) = path.sender_mut() {
                sender.watch();
            }
        }
    }

    fn describe(&mut self, packet: &Packet, id: u64) -> Content {
        let path = self
            .paths
            .iter_mut()
            .find(|path| path.path_id == packet.path_id);
        let trace = path.and_then(|path| path.trace.as_mut());
        Content::Segment(
            trace
                .map(|trace| trace.segment(packet, id))
                .unwrap_or_default(),
        )
    }

    fn report_findings(&mut self, report: &mut dyn FnMut(usize, What)) {
        for (index, path) in self.paths.iter_mut().enumerate() {
            if let Some(sender) = path.ends[0].sender_mut()
                && let Some(trace) = &mut path.trace
            {
                trace.findings(End::Near, sender, &mut |what| report(index, what));
            }
        }
    }

    fn report_states(&mut self, report: &mut dyn FnMut(usize, What)) {
        for (index, path) in self.paths.iter_mut().enumerate() {
            if let Some(state) = path.sender().map(|sender| sender.state(End::Near))
                && let Some(trace) = &mut path.trace
                && trace.is_new(state)
            {
                report(index, What::State(state));
            }
        }
    }
}
