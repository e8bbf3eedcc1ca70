//! Events in, commands out: the pure part. An [`Adapter`] turns the kernel's events on one
//! connection into the events of a congestion control algorithm, and the algorithm's window into a
//! command. No system call, no clock: recorded events give the same commands again.
//!
//! The rules are those of TCP, not of QUIC's adapter:
//!
//! * **Acknowledgments.** One `on_ack` for each acknowledgment that delivers something.
//! * **Episodes** (`episode`). After a reduction no loss begins a new episode until everything is
//!   acknowledged that was in flight then (RFC 6675 section 5). An acknowledgment may end an
//!   episode and reveal a loss: the end comes first. After a timeout, and for Tahoe, which has no
//!   fast recovery, no loss begins an episode until then either. After a loss that did not reduce
//!   the window, further losses are judged anew, as in the simulator.
//! * **Lost packets.** The kernel counts them; it shows where only the first of an acknowledgment's
//!   losses lies. The others are reported with the same place.
//! * **NACKs** ([`Nacks`]). Losses that the receiver has named as corrupted are not reported: they
//!   are no sign of congestion, so the window goes on as if nothing had been lost.
//! * **Sent packets.** The kernel reports their number with the next event.
//! * **Bytes** are packets times the MSS at their time, as everywhere in Linux's congestion
//!   control; goodput is counted in sequence numbers.
//! * **The receiver's clock** (`receiver_clock`) is the peer's timestamp (RFC 7323).
//!
//! Times are since the connection began to be controlled.

mod counters;
mod episode;
mod receiver_clock;
mod sent;
#[cfg(test)]
mod tests;

use crate::connection::{Snapshot, Verdicts};
use crate::nack::Nacks;
use crate::wire::{self, Command, Event, NO_RTT, Nack, Start, ca_state, flag, kind};
use counters::{Count, Sequence};
use episode::Episode;
use receiver_clock::PeerClock;
use sent::{Point, SentLog};
use whimbrel_cc::{
    Ack, AtSending, Controller, FastRecovery, Loss, LossResponse, LostPacket, Setup, Signal, Spec,
    Timeout, Verdict,
};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Upper bound on the packets of one event that are reported one by one. An event with more comes
/// from a kernel that counts otherwise, or from no kernel.
const MAX_PACKETS: u64 = 10_000;

/// A decision of the algorithm's loss classifier, before its truth is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// The time of the decision.
    pub time: Time,
    /// Sequence number of the first lost segment.
    pub seq: u32,
    /// The sequence number behind it.
    pub end: u32,
    /// The assumed cause.
    pub verdict: Verdict,
}

/// One connection: the algorithm and what it must know.
#[derive(Debug)]
pub struct Adapter {
    controller: Box<dyn Controller>,
    generation: u32,
    /// The kernel's time when the connection began, nanoseconds.
    origin: u64,
    /// Payload of a full segment, bytes.
    mss: u64,
    una: Sequence,
    nxt: Sequence,
    first: u64,
    number: u32,
    delivered: Count,
    lost: Count,
    /// Bytes of `lost` whose loss was excused.
    excused: u64,
    /// The rules for NACKs, if they are in use.
    nacks: Option<Box<Nacks>>,
    segments: Count,
    retransmits: Count,
    /// `delivered` of the kernel at which the present round trip ends.
    round_ends: u32,
    min_rtt: Option<Duration>,
    sent: SentLog,
    episode: Episode,
    /// Sending began or resumed, and nothing was acknowledged since. The event that says so comes
    /// before the data is counted.
    resumed: bool,
    /// Losses were found that belong to the present episode, or to the next.
    unjudged: bool,
    /// Where `snd_una` was at the last timeout: another one there is a repetition.
    timed_out_at: Option<u64>,
    clock: PeerClock,
    state: Snapshot,
    /// Time of the last acknowledgment of new data.
    last_progress: Time,
    dropped_events: u64,
    last_event: u64,
}

impl Adapter {
    /// Builds the controller of a new connection. `seed` decides the random choices of algorithms
    /// that make some.
    pub fn new(spec: &Spec, start: &Start, seed: u64) -> Self {
        let event = &start.event;
        let mss = payload(event);
        let controller = spec.build(&Setup {
            mss: Bytes::new(mss),
            initial_window: Bytes::new(mss * u64::from(event.cwnd.max(1))),
            paced: false,
            ssthresh: None,
            seed,
        });
        Self::with_controller(controller, start)
    }

    fn with_controller(controller: Box<dyn Controller>, start: &Start) -> Self {
        let event = &start.event;
        let mss = payload(event);
        let una = Sequence::new(event.snd_una);
        let mut adapter = Self {
            generation: event.generation,
            origin: event.time,
            mss,
            una,
            nxt: una.at(event.snd_nxt),
            first: una.get(),
            number: event.number,
            delivered: Count::new(event.delivered),
            lost: Count::new(event.lost),
            excused: 0,
            nacks: None,
            segments: Count::new(event.segments_out),
            retransmits: Count::new(event.retransmitted),
            round_ends: event.delivered,
            min_rtt: None,
            sent: SentLog::default(),
            episode: Episode::default(),
            resumed: false,
            unjudged: false,
            timed_out_at: None,
            clock: PeerClock::new(start),
            state: Snapshot {
                time: Time::ZERO,
                cwnd: Bytes::ZERO,
                ssthresh: None,
                pacing_rate: None,
                phase: "",
                in_flight: Bytes::ZERO,
                rtt: Duration::ZERO,
                srtt: Duration::ZERO,
                min_rtt: Duration::ZERO,
                delivery_rate: None,
                acked: Bytes::ZERO,
                received: Bytes::ZERO,
                segments: 0,
                retransmits: 0,
                lost: 0,
                episodes: 0,
                reductions: 0,
                spurious: 0,
                timeouts: 0,
                verdicts: controller.classifies_losses().then(Verdicts::default),
                nacks: 0,
                nacks_refused: 0,
                receiver_clock: Default::default(),
            },
            last_progress: Time::ZERO,
            dropped_events: 0,
            last_event: event.time,
            controller,
        };
        adapter.refresh(event);
        adapter
    }

    /// Lets NACKs excuse losses, from the beginning of the connection on.
    pub fn accept_nacks(&mut self, start: &Start) {
        self.nacks = Some(Box::new(Nacks::new(start)));
    }

    /// A NACK for this connection has arrived.
    pub fn on_nack(&mut self, nack: &Nack) {
        if let Some(nacks) = &mut self.nacks {
            nacks.received(nack);
        }
    }

    /// Takes an event of the connection. Returns the decision of the loss classifier, if there was
    /// one.
    pub fn on_event(&mut self, event: &Event) -> Option<Judged> {
        let now = self.time(event.time);
        let gap = event.number.wrapping_sub(self.number).wrapping_sub(1);
        // A larger gap is a number that went backwards.
        self.dropped_events += u64::from(gap).min(MAX_PACKETS);
        self.number = event.number;
        let mss = payload(event);
        if mss != self.mss {
            self.mss = mss;
            self.controller.on_mss(Bytes::new(self.mss));
        }
        let una = self.una.at(event.snd_una).max(self.una);
        let nxt = self.nxt.at(event.snd_nxt).max(self.nxt);
        let advanced = una.get() > self.una.get();
        if advanced {
            self.last_progress = now;
        }
        self.on_sent(event);
        self.sent.record(Point {
            time: event.time,
            in_flight: event.prior_in_flight,
            lost: self.lost_bytes(),
            next: nxt.get(),
        });
        self.sent.forget(event.time, event.srtt_us);
        self.delivered.advance(event.delivered, self.mss);
        let mut newly_lost = self.lost.advance(event.lost, self.mss);
        let excused = (self.nacks.as_mut()).is_some_and(|nacks| nacks.observe(event));
        if excused {
            self.excused += newly_lost * self.mss;
            newly_lost = 0;
        }
        (self.una, self.nxt) = (una, nxt);
        self.resumed = event.kind == kind::RESUME || (self.resumed && !advanced);
        self.clock.sample(event.time, event.rcv_tsval);
        let judged = match event.kind {
            kind::ACK => self.on_ack(now, event, newly_lost, advanced),
            kind::TIMEOUT => {
                self.on_timeout(now, event);
                self.report_lost(now, event, newly_lost);
                None
            }
            kind::SPURIOUS => {
                self.on_spurious(now);
                None
            }
            _ => None,
        };
        self.refresh(event);
        self.last_event = event.time;
        judged
    }

    /// The answer to all events so far.
    pub fn command(&self) -> Command {
        let packets = |bytes: Bytes| bytes.get() / self.mss;
        let cwnd = packets(self.controller.cwnd()).clamp(1, u64::from(u32::MAX));
        let pacing = self.controller.pacing_rate();
        // TCP_INFINITE_SSTHRESH.
        let ssthresh = self.controller.ssthresh().map_or(0x7fff_ffff, packets);
        Command {
            window: u64::from(self.generation) << 32 | cwnd,
            pacing: pacing.map_or(0, |rate| rate.as_bytes_per_sec().max(1)),
            ssthresh: ssthresh.clamp(2, 0x7fff_ffff),
            reduction: self.state.reductions << 1 | u64::from(self.episode.is_reducing()),
            answers: self.last_event,
            reserved: [0; 3],
        }
    }

    /// The present state. [`Snapshot::time`] is that of the last event.
    pub fn state(&self) -> &Snapshot {
        &self.state
    }

    /// The generation of its slot that the connection has.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Events that the kernel could not deliver.
    pub fn dropped_events(&self) -> u64 {
        self.dropped_events
    }

    /// The time from the beginning to the last acknowledgment of new data.
    pub fn active(&self) -> Duration {
        self.last_progress.since(Time::ZERO)
    }

    /// Whether data is unacknowledged.
    pub fn is_unfinished(&self) -> bool {
        self.resumed || self.nxt.get() > self.una.get()
    }

    /// Counts a decision in the confusion matrix.
    pub fn count_truth(&mut self, judged: Verdict, actual: Verdict) {
        if let Some(verdicts) = &mut self.state.verdicts {
            let index = |verdict| usize::from(verdict == Verdict::Random);
            verdicts.truth[index(actual)][index(judged)] += 1;
        }
    }

    fn on_ack(
        &mut self,
        now: Time,
        event: &Event,
        newly_lost: u64,
        advanced: bool,
    ) -> Option<Judged> {
        if event.rtt_us != NO_RTT {
            let rtt = Duration::from_micros(event.rtt_us.into());
            self.state.rtt = rtt;
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        self.report_lost(now, event, newly_lost);
        let was_reducing = self.episode.is_reducing();
        if advanced && self.episode.is_repaired_by(self.una.get()) {
            self.episode.end();
            self.controller.on_recovery_end(now);
        }
        let ece = event.ack_flags & wire::ACK_ECE != 0;
        let signal = self.signal(event, newly_lost, ece);
        self.unjudged = match signal {
            Some(_) => false,
            None => event.ca_state != ca_state::OPEN && (self.unjudged || newly_lost > 0),
        };
        let judged = signal.and_then(|signal| self.on_loss(now, event, signal, ece));
        if event.acked > 0 {
            self.deliver_ack(now, event, advanced, was_reducing, ece);
        }
        judged
    }

    /// The signal of congestion that begins an episode now, if there is one.
    fn signal(&self, event: &Event, newly_lost: u64, ece: bool) -> Option<Signal> {
        if self.episode.is_closed_to_new() {
            return None;
        }
        let entered = |state: u8| event.states_entered & (1 << state) != 0;
        // The kernel begins a recovery without a new loss if the last one ended and losses are left
        // that were found in it.
        if newly_lost > 0 || (entered(ca_state::RECOVERY) && self.unjudged) {
            return Some(Signal::Loss);
        }
        // Without ECN-Echo the kernel reduces for a drop in its own queue.
        entered(ca_state::CWR).then_some(if ece { Signal::Ecn } else { Signal::Loss })
    }

    fn on_loss(&mut self, now: Time, event: &Event, signal: Signal, ece: bool) -> Option<Judged> {
        let (seq, end) = self.hole(event);
        let response = self.controller.on_loss(&Loss {
            now,
            signal,
            in_flight: self.bytes(flight_size(event)),
            lost: Bytes::new(self.lost_bytes()),
            lost_order: seq,
            next_order: self.nxt.get(),
            sent: self.hole_sent(event, seq),
            ece,
            truth: None,
        });
        let has_recovery = self.controller.fast_recovery() != FastRecovery::Never;
        self.episode
            .begin(self.nxt.get(), response.reduced, has_recovery);
        self.count(response);
        response.verdict.map(|verdict| Judged {
            time: now,
            seq: seq as u32,
            end: end as u32,
            verdict,
        })
    }

    fn deliver_ack(
        &mut self,
        now: Time,
        event: &Event,
        advanced: bool,
        was_reducing: bool,
        ece: bool,
    ) {
        let round_start = event.prior_delivered.wrapping_sub(self.round_ends) as i32 >= 0;
        if round_start {
            self.round_ends = event.delivered;
        }
        let newest = event.newest_sent_us.saturating_mul(1000);
        let at = self.sent.at(newest, event.in_flight);
        let since_then = event.delivered.wrapping_sub(event.prior_delivered);
        let delivered = self.delivered.bytes();
        let rate = (event.rate_interval_us > 0).then(|| {
            Rate::over(
                self.bytes(event.rate_delivered),
                Duration::from_micros(event.rate_interval_us.into()),
            )
        });
        let app_limited = event.flags & flag::APP_LIMITED != 0;
        // A duplicate acknowledgment that indicates a loss which is not yet certain.
        let excused = (self.nacks.as_ref()).is_some_and(|nacks| nacks.excuses(event.snd_una));
        let suspicious =
            !advanced && !excused && !self.episode.is_open() && event.ca_state != ca_state::OPEN;
        self.controller.on_ack(&Ack {
            now,
            acked: self.bytes(event.acked),
            rtt: (event.rtt_us != NO_RTT).then_some(self.state.rtt),
            srtt: Duration::from_micros(event.srtt_us.into()),
            min_rtt: self
                .min_rtt
                .unwrap_or(Duration::from_micros(event.srtt_us.into())),
            in_flight: self.bytes(event.in_flight),
            delivered: Bytes::new(delivered),
            delivery_rate: rate,
            app_limited,
            cwnd_limited: self.is_cwnd_limited(event),
            in_recovery: was_reducing || self.episode.is_reducing() || suspicious,
            round_start,
            receiver_time: self.clock.time(event.rcv_tsval, self.min_rtt),
            lost: Bytes::new(self.lost_bytes()),
            newest: Some(AtSending {
                sent: self.time(newest),
                in_flight: self.bytes(at.in_flight),
                delivered: Bytes::new(delivered.saturating_sub(u64::from(since_then) * self.mss)),
                lost: Bytes::new(at.lost),
                app_limited,
            }),
            ece,
        });
        self.state.delivery_rate = rate.or(self.state.delivery_rate);
    }

    /// Linux's tcp_is_cwnd_limited(): in slow start half a window in flight counts as use.
    fn is_cwnd_limited(&self, event: &Event) -> bool {
        let cwnd = self.controller.cwnd();
        let slow_start = self.controller.ssthresh().is_none_or(|s| cwnd < s);
        event.flags & flag::CWND_LIMITED != 0
            || event.prior_in_flight >= event.cwnd
            || (slow_start && event.cwnd < event.max_packets_out.saturating_mul(2))
    }

    fn on_timeout(&mut self, now: Time, event: &Event) {
        let una = self.una.get();
        let repeated = self.timed_out_at.replace(una) == Some(una);
        self.state.timeouts += 1;
        self.controller.on_timeout(&Timeout {
            now,
            in_flight: self.bytes(event.prior_in_flight.max(1)),
            repeated,
            next_order: self.nxt.get(),
        });
        self.episode.begin_timeout(self.nxt.get());
    }

    fn on_spurious(&mut self, now: Time) {
        self.state.spurious += 1;
        self.controller.on_spurious(now);
        if self.episode.is_open() {
            self.controller.on_recovery_end(now);
        }
        self.episode = Episode::default();
    }

    /// Reports the packets that left since the last event.
    fn on_sent(&mut self, event: &Event) {
        let count = self.segments.advance(event.segments_out, self.mss);
        self.retransmits.advance(event.retransmitted, self.mss);
        let sent = self.time(self.last_event);
        for _ in 0..count.min(MAX_PACKETS) {
            self.controller.on_sent(
                sent,
                Bytes::new(self.mss),
                self.bytes(event.prior_in_flight),
            );
        }
    }

    fn report_lost(&mut self, now: Time, event: &Event, newly_lost: u64) {
        if newly_lost == 0 {
            return;
        }
        let (seq, _) = self.hole(event);
        let sent = self.hole_sent(event, seq);
        let at = self.sent.at(self.origin + sent.as_nanos(), event.in_flight);
        let before = self.lost_bytes().saturating_sub(newly_lost * self.mss);
        for index in 1..=newly_lost.min(MAX_PACKETS) {
            self.controller.on_packet_lost(&LostPacket {
                now,
                size: Bytes::new(self.mss),
                lost: Bytes::new(before + index * self.mss),
                at: AtSending {
                    sent,
                    in_flight: self.bytes(at.in_flight),
                    delivered: Bytes::new(self.delivered.bytes()),
                    lost: Bytes::new(at.lost),
                    app_limited: false,
                },
            });
        }
    }

    fn count(&mut self, response: LossResponse) {
        self.state.episodes += 1;
        self.state.reductions += u64::from(response.reduced);
        if let (Some(verdict), Some(verdicts)) = (response.verdict, &mut self.state.verdicts) {
            match verdict {
                Verdict::Congestion => verdicts.congestion += 1,
                Verdict::Random => verdicts.random += 1,
            }
        }
    }

    /// The first lost segment: its first sequence number and the one behind it, unwrapped. Where
    /// the kernel does not show it, the first unacknowledged one.
    fn hole(&self, event: &Event) -> (u64, u64) {
        if event.flags & flag::LOST_KNOWN == 0 {
            let una = self.una.get();
            return (una, una + self.mss);
        }
        let seq = self.una.at(event.lost_seq).get();
        let length = event.lost_end.wrapping_sub(event.lost_seq);
        (seq, seq + u64::from(length))
    }

    fn hole_sent(&self, event: &Event, seq: u64) -> Time {
        let known = event.flags & flag::LOST_KNOWN != 0 && event.lost_sent != 0;
        self.time(if known {
            event.lost_sent
        } else {
            self.sent.last_sent(seq)
        })
    }

    fn refresh(&mut self, event: &Event) {
        let controller = &*self.controller;
        let nacks = self.nacks.as_ref().map(|nacks| nacks.counts());
        let nacks = nacks.unwrap_or_default();
        self.state = Snapshot {
            time: self.time(event.time),
            cwnd: controller.cwnd(),
            ssthresh: controller.ssthresh(),
            pacing_rate: controller.pacing_rate(),
            phase: controller.phase(),
            in_flight: self.bytes(event.in_flight),
            srtt: Duration::from_micros(event.srtt_us.into()),
            min_rtt: self.min_rtt.unwrap_or(Duration::ZERO),
            acked: self.acked(),
            received: Bytes::new(event.received),
            segments: self.segments.total(),
            retransmits: self.retransmits.total(),
            lost: self.lost.total(),
            nacks: nacks.accepted,
            nacks_refused: nacks.refused,
            receiver_clock: self.clock.state(self.min_rtt),
            ..self.state
        };
    }

    /// Bytes lost so far, without those that are excused.
    fn lost_bytes(&self) -> u64 {
        self.lost.bytes().saturating_sub(self.excused)
    }

    /// Bytes acknowledged. A FIN takes a sequence number too; without any data it does not count.
    fn acked(&self) -> Bytes {
        if self.segments.total() == 0 {
            return Bytes::ZERO;
        }
        Bytes::new(self.una.get() - self.first)
    }

    fn bytes(&self, packets: u32) -> Bytes {
        Bytes::new(u64::from(packets) * self.mss)
    }

    /// The kernel's nanoseconds as time since the beginning; an earlier time is the beginning.
    fn time(&self, nanos: u64) -> Time {
        Time::from_nanos(nanos.saturating_sub(self.origin))
    }
}

/// FlightSize of RFC 5681, packets. While the window is the limit it is the window: Linux leaves up to
/// a burst of it unused, to send larger bursts (tcp_tso_should_defer()).
fn flight_size(event: &Event) -> u32 {
    if event.flags & flag::CWND_LIMITED != 0 {
        event.prior_in_flight.max(event.cwnd)
    } else {
        event.prior_in_flight
    }
}

/// Payload of a full segment, bytes: no IP packet carries more than 65,535.
fn payload(event: &Event) -> u64 {
    u64::from(event.mss.clamp(1, 65_535))
}
