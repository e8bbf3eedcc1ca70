//! Events in, commands out: the pure part. An [`Adapter`] turns the kernel's events on one
//! connection into the events of a congestion control algorithm, and the algorithm's window into a
//! command. No system call, no clock: recorded events give the same commands again.
//!
//! The rules are those of TCP, not of QUIC's adapter:
//!
//! * **Acknowledgments.** One `on_ack` for each acknowledgment that delivers something.
//! * **Episodes** ([`LossEpisodes`]). An acknowledgment may end an episode and reveal a loss: the
//!   new episode then replaces the one that ends. The kernel decides likewise: its recovery ends,
//!   and another one begins.
//! * **Lost packets.** The kernel counts them; it shows where only the first of an acknowledgment's
//!   losses lies. The others are reported with the same place.
//! * **NACKs** ([`Nacks`]). Losses that the receiver has named as corrupted are not reported: they
//!   are no sign of congestion, so the window goes on as if nothing had been lost.
//! * **Sent packets.** The kernel reports their number with the next event.
//! * **Bytes** are packets times the MSS at their time, as everywhere in Linux's congestion
//!   control; goodput is counted in sequence numbers.
//! * **The receiver's clock** (`receiver_clock`) is the peer's timestamp (RFC 7323).
//!
//! `calls` has the calls that the algorithm receives, `departures` when packets left. Times are
//! since the connection began to be controlled.

mod ahead;
mod calls;
mod counters;
mod departures;
mod receiver_clock;
#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod tests;

use crate::connection::TcpState;
use crate::nack::Nacks;
use crate::wire::{Command, Event, Nack, Start, kind};
use ahead::Ahead;
use counters::{Count, Sequence};
use departures::{Departures, Point};
use receiver_clock::PeerClock;
use whimbrel_cc::careful_resume::Observer;
use whimbrel_cc::connection::{ConnectionState, EpisodeCounts, LossEpisodes};
use whimbrel_cc::{Controller, SavedPath, Setup, Spec, TimeOfDay, Verdict};
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
    sent: Departures,
    episodes: LossEpisodes,
    /// Sending began or resumed, and nothing was acknowledged since. The event that says so comes
    /// before the data is counted.
    resumed: bool,
    /// Losses were found that belong to the present episode, or to the next.
    unjudged: bool,
    clock: PeerClock,
    ahead: Ahead,
    /// Bytes delivered after which a saved path is tried; 0: none is known.
    jump_after: u64,
    state: TcpState,
    /// What the path carries, for a later connection; `None`: nothing is saved.
    observer: Option<Observer>,
    /// Time of the last acknowledgment of new data.
    last_progress: Time,
    dropped_events: u64,
    last_event: u64,
}

impl Adapter {
    /// Builds the controller of a new connection. `seed` decides the random choices of algorithms
    /// that make some; `time_of_day`: at the time of `start`.
    ///
    /// # Panics
    /// If the algorithm is fed reports on bursts, which [`Datapath`](crate::Datapath) refuses.
    pub fn new(spec: &Spec, start: &Start, seed: u64, time_of_day: TimeOfDay) -> Self {
        Self::with_setup(spec, start, &Self::setup(start, seed, time_of_day))
    }

    /// The same with what an earlier connection found on the path: it starts with Careful Resume
    /// (RFC 9959). [`Self::path`] has what this one finds.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn resuming(
        spec: &Spec,
        start: &Start,
        seed: u64,
        time_of_day: TimeOfDay,
        saved: Option<SavedPath>,
    ) -> Self {
        let setup = Setup {
            saved,
            ..Self::setup(start, seed, time_of_day)
        };
        let mut adapter = Self {
            observer: Some(Observer::default()),
            jump_after: saved.map_or(0, |_| setup.initial_window.get()),
            ..Self::with_setup(spec, start, &setup)
        };
        adapter.look_ahead(&start.event, false, false);
        adapter
    }

    fn with_setup(spec: &Spec, start: &Start, setup: &Setup) -> Self {
        let controller = spec.build(setup);
        let controller = controller.expect("the datapath refuses algorithms that are fed bursts");
        Self::with_controller(controller, start)
    }

    fn setup(start: &Start, seed: u64, time_of_day: TimeOfDay) -> Setup {
        let mss = payload(&start.event);
        Setup {
            mss: Bytes::new(mss),
            initial_window: Bytes::new(mss * u64::from(start.event.cwnd.max(1))),
            paced: false,
            ssthresh: None,
            growth: Default::default(),
            seed,
            time_of_day,
            saved: None,
        }
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
            sent: Departures::default(),
            episodes: LossEpisodes::new(true),
            resumed: false,
            unjudged: false,
            clock: PeerClock::new(start),
            ahead: Ahead::default(),
            jump_after: 0,
            state: TcpState {
                episodes: EpisodeCounts::new(controller.classifies_losses()),
                ..TcpState::default()
            },
            observer: None,
            last_progress: Time::ZERO,
            dropped_events: 0,
            last_event: event.time,
            controller,
        };
        adapter.refresh(event);
        adapter.look_ahead(event, false, false);
        adapter
    }

    /// What the path was seen to carry, and whether that replaces more that was seen before.
    pub fn path(&self) -> Option<(SavedPath, bool)> {
        let observer = self.observer.as_ref()?;
        let alone = observer.is_settled() || self.state.episodes.reductions > 0;
        observer.path().map(|path| (path, alone))
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
        self.look_ahead(event, newly_lost > 0, advanced);
        self.last_event = event.time;
        judged
    }

    /// The answer to all events so far.
    pub fn command(&self) -> Command {
        let packets = |bytes: Bytes| bytes.get() / self.mss;
        let cwnd = packets(self.controller.cwnd()).clamp(1, u64::from(u32::MAX));
        // TCP_INFINITE_SSTHRESH.
        let ssthresh = self.controller.ssthresh().map_or(0x7fff_ffff, packets);
        Command {
            window: u64::from(self.generation) << 32 | cwnd,
            pacing: pacing_command(self.controller.pacing_rate()),
            ssthresh: ssthresh.clamp(2, 0x7fff_ffff),
            reduction: self.state.episodes.reductions << 1
                | u64::from(self.episodes.stage().is_reducing()),
            answers: self.last_event,
            ahead: self.ahead.command(),
            ahead_pacing: self.ahead.pacing(),
        }
    }

    /// The present state. Its time is that of the last event.
    pub fn state(&self) -> &TcpState {
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
        if let Some(verdicts) = &mut self.state.episodes.verdicts {
            verdicts.count_truth(judged, actual);
        }
    }

    fn refresh(&mut self, event: &Event) {
        let controller = &*self.controller;
        let nacks = self.nacks.as_ref().map(|nacks| nacks.counts());
        let nacks = nacks.unwrap_or_default();
        self.state = TcpState {
            state: ConnectionState {
                time: self.time(event.time),
                cwnd: controller.cwnd(),
                ssthresh: controller.ssthresh(),
                pacing_rate: controller.pacing_rate(),
                phase: controller.phase(),
                in_flight: self.bytes(event.in_flight),
                srtt: Duration::from_micros(event.srtt_us.into()),
                min_rtt: self.min_rtt.unwrap_or(Duration::ZERO),
                delivered: self.acked(),
                lost: Bytes::new(self.lost.bytes()),
                ..self.state.state
            },
            received: Bytes::new(event.received),
            segments: self.segments.total(),
            retransmits: self.retransmits.total(),
            lost_packets: self.lost.total(),
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

/// [`Command::pacing`].
fn pacing_command(rate: Option<Rate>) -> u64 {
    rate.map_or(0, |rate| rate.as_bytes_per_sec().max(1))
}

/// Payload of a full segment, bytes: no IP packet carries more than 65,535.
fn payload(event: &Event) -> u64 {
    u64::from(event.mss.clamp(1, 65_535))
}
