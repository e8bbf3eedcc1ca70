//! A connection of a protocol stack from outside ([`Host`]) as a [`Flow`].

use crate::flow::interface::{Arrival, Context, EndBehavior, Flow, PathEnd};
use crate::flow::report::{Ended, FlowReport, Measured};
use crate::in_flight::InFlight;
use crate::measure::Delays;
use crate::network::{Connection, Ecn, Host, HostState, Transmit};
use crate::observe::{Content, End, RecoveryStage, SenderState, What};
use crate::outcome::{Distribution, FlowSample, HostOutcome, LossCounts};
use crate::packet::{Flags, Packet};
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The largest packet: that of an IP packet.
const LARGEST: usize = u16::MAX as usize;
/// A timer that is due again in the instant in which it was handled is called this much later: a
/// stack whose clock is coarser than nanoseconds would otherwise be called for ever.
const GRAIN: Duration = Duration::from_nanos(1000);

/// Both ends of a connection, and what the run counts of it.
pub(crate) struct Hosted<'a> {
    host: &'a dyn Host,
    connection: Box<dyn Connection>,
    path_id: u32,
    size: Option<Bytes>,
    in_flight: InFlight<Vec<u8>>,
    /// Buffers of datagrams that have arrived.
    spare: Vec<Vec<u8>>,
    started: bool,
    sent: u64,
    sent_bytes: u64,
    /// Bytes of the near end's packets that have neither arrived nor been lost.
    on_links: u64,
    arrived: u64,
    marked: u64,
    /// Packets of the near end that links have dropped, with their causes.
    lost: LossCounts,
    one_way: Delays,
    state: Option<HostState>,
}

impl<'a> Hosted<'a> {
    /// The connection of the flow whose path has this number. `seed` is for the stack.
    pub fn new(host: &'a dyn Host, path_id: u32, size: Option<Bytes>, seed: u64) -> Self {
        Self {
            host,
            connection: host.open(size, seed),
            path_id,
            size,
            in_flight: InFlight::default(),
            spare: Vec::new(),
            started: false,
            sent: 0,
            sent_bytes: 0,
            on_links: 0,
            arrived: 0,
            marked: 0,
            lost: LossCounts::default(),
            one_way: Delays::new(),
            state: None,
        }
    }

    /// Sends what an end has to send. A datagram beyond the size of an IP packet is not sent.
    fn send(&mut self, now: Time, end: End, out: &mut Vec<Packet>) {
        loop {
            let mut datagram = self.spare.pop().unwrap_or_default();
            let Some(transmit) = self.connection.transmit(now, end, &mut datagram) else {
                self.spare.push(datagram);
                return;
            };
            let Transmit { headers, ect } = transmit;
            let size = datagram.len() + usize::from(headers);
            if size > LARGEST {
                continue;
            }
            let direction = match end {
                End::Near => Flags::DATA,
                End::Far => Flags::BACKWARD,
            };
            let flags = direction.with_if(ect, Flags::ECT);
            let mut packet = Packet::new(now, self.path_id, size as u16, flags);
            packet.set_message(self.in_flight.put(datagram));
            if end == End::Near {
                self.sent += 1;
                self.sent_bytes += size as u64;
                self.on_links += size as u64;
            }
            out.push(packet);
        }
    }

    /// The datagram of a packet that has left the links.
    fn take(&mut self, packet: &Packet) -> Vec<u8> {
        if packet.flags.has(Flags::DATA) {
            self.on_links = self.on_links.saturating_sub(u64::from(packet.size));
        }
        self.in_flight.take(packet)
    }

    /// Bytes in flight, as the stack reports them or as the links have them.
    fn in_flight(&self, state: &HostState) -> Bytes {
        state.in_flight.unwrap_or(Bytes::new(self.on_links))
    }

    /// When the next timer of an end is due, after everything that was due at `now` was handled.
    fn due(&self, now: Time, end: End) -> Option<Time> {
        let due = self.connection.deadline(end).filter(|_| self.started)?;
        Some(if due <= now { now + GRAIN } else { due })
    }
}

impl<S> Flow<S> for Hosted<'_> {
    fn start(&mut self, context: &mut Context<'_, S>) {
        self.started = true;
        self.connection.start(context.now);
    }

    fn stop(&mut self) {
        // The engine calls it at the time of a timer, which follows at once.
        self.connection.stop();
    }

    fn on_timer(&mut self, context: &mut Context<'_, S>, place: PathEnd) -> Option<Time> {
        if !self.started {
            return None;
        }
        let (now, end) = (context.now, place.end);
        // Timers are lazy: this one may have moved.
        if self.connection.deadline(end).is_some_and(|due| due <= now) {
            self.connection.expire(now, end);
        }
        self.send(now, end, context.out);
        self.due(now, end)
    }

    fn on_arrival(
        &mut self,
        context: &mut Context<'_, S>,
        place: PathEnd,
        packet: &Packet,
    ) -> Arrival {
        let (now, end) = (context.now, place.end);
        let mut datagram = self.take(packet);
        let marked = packet.flags.has(Flags::CE);
        if end == End::Far {
            self.arrived += 1;
            self.marked += u64::from(marked);
            self.one_way.add(now.since(packet.sent));
        }
        let ecn = match packet.flags.has(Flags::ECT) {
            _ if marked => Ecn::Ce,
            true => Ecn::Ect,
            false => Ecn::NotEct,
        };
        self.connection.receive(now, end, &mut datagram, ecn);
        self.spare.push(datagram);
        self.send(now, end, context.out);
        Arrival {
            due: self.due(now, end).unwrap_or(Time::MAX),
            progress: end == End::Far,
        }
    }

    /// The checksum discards the packet.
    fn on_corrupted(&mut self, _: &mut Context<'_, S>, _: PathEnd, _: &Packet) -> Option<Time> {
        None
    }

    fn note_loss(&mut self, _: usize, packet: &Packet, _: DropCause) {
        self.take(packet);
    }

    fn deadline(&self, now: Time, place: PathEnd) -> Option<Time> {
        self.due(now, place.end)
    }

    fn behavior(&self, _: End) -> EndBehavior {
        EndBehavior::Acts
    }

    fn can_complete(&self) -> bool {
        true
    }

    fn is_complete(&self) -> bool {
        self.size
            .is_some_and(|size| self.connection.delivered() >= size)
    }

    fn losses(&mut self, _: usize) -> &mut LossCounts {
        &mut self.lost
    }

    /// No stack reports its episodes one by one.
    fn record_episodes(&mut self) {}

    fn sample(&mut self, now: Time, _: Duration) -> Option<FlowSample> {
        let state = self.connection.state();
        Some(FlowSample {
            at: now,
            cwnd: state.cwnd,
            ssthresh: state.ssthresh,
            in_flight: self.in_flight(&state),
            srtt: state.srtt,
            rttvar: Duration::ZERO,
            rate: Rate::ZERO,
            delivered: self.connection.delivered(),
            retransmits: self.connection.counters().lost.unwrap_or(0),
            sent: Bytes::new(self.sent_bytes),
            ack_spacing: None,
            path_changes: None,
            pacing_rate: state.pacing_rate,
            phase: "",
        })
    }

    fn report(mut self, mut ended: Ended<'_>) -> FlowReport {
        let counters = self.connection.counters();
        let mut outcome = ended.begin(ended.until(false));
        outcome.controller = Some(self.host.controller());
        outcome.completion = ended.completion(self.size.is_none());
        outcome.delivered = self.connection.delivered();
        outcome.packets_sent = self.sent;
        outcome.sent_on_wire = Bytes::new(self.sent_bytes);
        outcome.retransmits = counters.lost.unwrap_or(0);
        outcome.timeouts = counters.timeouts.unwrap_or(0);
        outcome.loss_episodes = counters.loss_episodes.unwrap_or(0);
        outcome.marked = self.marked;
        outcome.hosted = Some(HostOutcome {
            handshake: counters.handshake,
            lost: counters.lost,
            needless: counters
                .lost
                .map(|lost| lost.saturating_sub(self.lost.total())),
            failed: counters.failed,
        });
        outcome.lost = self.lost;
        ended.complete(Measured {
            outcome,
            rtt: Delays::new(),
            packets: self.arrived,
            one_way: self.one_way,
            message_latency: Distribution::default(),
        })
    }

    /// The state of the sender is known at any time: nothing has to be recorded.
    fn observe(&mut self) {}

    fn describe(&mut self, _: &Packet, _: u64) -> Content {
        Content::Datagram
    }

    fn report_findings(&mut self, _: &mut dyn FnMut(usize, What)) {}

    fn report_states(&mut self, report: &mut dyn FnMut(usize, What)) {
        let state = self.connection.state();
        if self.state.replace(state) == Some(state) {
            return;
        }
        report(
            0,
            What::State(SenderState {
                end: End::Near,
                cwnd: state.cwnd,
                ssthresh: state.ssthresh,
                in_flight: self.in_flight(&state),
                latest_rtt: Duration::ZERO,
                srtt: state.srtt,
                rttvar: Duration::ZERO,
                min_rtt: Duration::ZERO,
                pacing_rate: state.pacing_rate,
                stage: RecoveryStage::Open,
                phase: "",
            }),
        );
    }
}
