//! The sender of an algorithm that is fed bursts, on QUIC: Enhanced-AATP's transport.
//!
//! A. Briones, A. Mallorquí, A. Zaballos, R. Martin de Pozuelo, "Wireless Loss Detection over
//! Fairly Shared Heterogeneous Long Fat Networks", Electronics 10(9), 987, 2021, sections 4 and 5.
//!
//! [`Sender`] decides when the path is measured and when bursts leave, as in the simulator. A burst
//! is spread evenly over T_burst = max(1 ms, SRTT) (5) (6). Each of its packets carries a DATAGRAM
//! frame with its place in the burst. The receiver reports when the burst is over. QUIC encrypts,
//! acknowledges and retransmits the data in the packets, so this module knows nothing of data.
//!
//! **Beside the simulator's transport** (`whimbrel_sim::aatp`), which has its own packets:
//! * Reports are not retransmitted: each message repeats the last four, and the data that is
//!   missing is QUIC's business.
//! * The estimate of the bandwidth is the median of ten trains, not the mean (4): on a real machine
//!   packets are late by about the spacing of a train's packets, and one lump among short trains
//!   would multiply the mean.
//! * The spans between departures are measured here, by the clock, when each packet is handed to
//!   the kernel; the receiver reports the span between arrivals only.
//! * Packets of bursts that no report tells of count as lost unless QUIC saw them acknowledged.
//! * Until the bandwidth is known, the connection may use its initial window, as any QUIC
//!   connection: requests need not wait for ten trains.
//! * The circuit breaker halts a sender that has heard nothing for two seconds. It then probes four
//!   times a second, or each round trip if that is longer. When an answer arrives, one train tells
//!   whether the path is the same.
//! * Each ten seconds a train renews the estimate while data flows.
//! * If the application has nothing to send, a burst ends early: the packet that carried no data is
//!   its last.
//!
//! **Trust.** Reports are a peer's word. A rate is bounded by
//! [`bounded_rate`](whimbrel_cc::burst_transport::bounded_rate); the bursts that wait for a report
//! are bounded; a report that does not fit what was sent is ignored. A receiver that lies can make
//! its sender fast or slow, which its acknowledgments could do to any sender.

mod adapter;
mod ledger;
mod reports;
#[cfg(test)]
mod simulated;
mod transmit;

pub(crate) use adapter::BurstAdapter;

use crate::feedback::message::{Grant, Message};
use crate::monitor::PathMonitor;
use crate::{Monitor, PacketLog};
use ledger::Ledger;
use std::time::Instant;
use whimbrel_cc::burst_transport::{
    Action, Control, Granted, PathView, Sender, SenderOptions, SpanNoise,
};
use whimbrel_cc::connection::{ConnectionState, EpisodeCounts};
use whimbrel_cc::fairness::Priority;
use whimbrel_cc::quic_transport::Rtt;
use whimbrel_cc::{BurstController, Setup};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Headers of IPv4 and UDP; a packet's size on the wire counts them.
const IP_AND_UDP: u64 = 28;
/// Wait for the report on a train, beyond two round trips. The receiver waits half a second for the
/// end of a train.
const TRAIN_WAIT: Duration = Duration::from_secs(1);
/// A sender that hears nothing for this long stops; at most ten round trips and a second.
const BREAKER: Duration = Duration::from_secs(2);
/// Minimum interval of the probes of a halted sender.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);
/// Interval of trains while data flows.
const REESTIMATE: Duration = Duration::from_secs(10);

/// How it sends, beside the paper.
const OPTIONS: SenderOptions = SenderOptions {
    circuit_breaker: Some(BREAKER),
    check: true,
    reestimate: Some(REESTIMATE),
    exact: false,
};

/// A train that is being sent.
#[derive(Debug, Clone, Copy)]
struct OutgoingTrain {
    number: u32,
    next: u8,
    count: u8,
}

/// A message that was queued for the next packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queued {
    Nothing,
    /// It leaves with whatever packet comes next.
    Control,
    /// A packet of the train.
    Train,
    /// The next packet of the newest burst.
    InBurst,
}

/// The sender.
#[derive(Debug)]
pub(crate) struct BurstFlow {
    sender: Sender,
    monitor: PathMonitor,
    origin: Instant,
    priority: Priority,
    /// Messages to queue: openings and probes.
    control: Option<Message>,
    queued: Queued,
    train: Option<OutgoingTrain>,
    /// For the monitor; its bandwidth is what the controller knows.
    state: crate::Bursts,
    /// Round trips of reports (12).
    rtt: Rtt,
    /// noq's estimate, until there is a report.
    quic_rtt: Duration,
    /// Maximum UDP payload, bytes.
    mtu: u64,
    initial_window: u64,
    in_flight: u64,
    /// Bytes that may leave now beyond those in flight.
    grant: u64,
    /// The packet that noq built last: its number and when.
    last: Option<(u64, Time)>,
    ledger: Ledger,
    next_at: Time,
    /// The burst of the packet that left last, if it belongs to one.
    last_burst: Option<u32>,
    /// Decisions are logged here.
    log: Option<PacketLog>,
    /// There was nothing to send: a packet of data ends this.
    idle: bool,
    /// The connection has moved to another path since it was last polled.
    moved: bool,
    lumps: reports::Lumps,
    noise: SpanNoise,
    /// Counts for the monitor.
    delivered: u64,
    lost: u64,
}

impl BurstFlow {
    /// The sender of a connection that begins at `origin`.
    pub fn new(
        controller: Box<dyn BurstController>,
        setup: &Setup,
        priority: Priority,
        origin: Instant,
        monitor: Monitor,
    ) -> Self {
        let EpisodeCounts { verdicts, .. } = EpisodeCounts::new(controller.classifies_losses());
        let monitor = monitor.open_path();
        monitor.update(|s| s.episodes.verdicts = verdicts);
        Self {
            sender: Sender::new(controller, OPTIONS),
            monitor,
            origin,
            priority,
            control: None,
            queued: Queued::Nothing,
            train: None,
            state: crate::Bursts::default(),
            rtt: Rtt::default(),
            quic_rtt: Duration::ZERO,
            mtu: setup.mss.get(),
            initial_window: setup.initial_window.get(),
            in_flight: 0,
            grant: 0,
            last: None,
            ledger: Ledger::default(),
            next_at: Time::ZERO,
            last_burst: None,
            log: None,
            idle: false,
            moved: false,
            lumps: reports::Lumps::default(),
            noise: SpanNoise::default(),
            delivered: 0,
            lost: 0,
        }
    }

    /// Logs its decisions.
    pub fn logging(mut self, log: Option<PacketLog>) -> Self {
        self.log = log;
        self
    }

    /// The burst of the packet that left last, if it belongs to one.
    pub fn last_burst(&self) -> Option<u32> {
        self.last_burst
    }

    fn time(&self, instant: Instant) -> Time {
        Time::ZERO + Duration::from(instant.saturating_duration_since(self.origin))
    }

    /// The handshake is complete.
    pub fn on_established(&mut self, now: Instant) {
        let now = self.time(now);
        self.sender.on_heard(now);
        if !self.sender.has_begun() {
            let open = self.sender.open(now);
            self.follow(now, open);
        }
    }

    /// The connection moves to another path.
    pub fn on_moved(&mut self) {
        self.moved = true;
    }

    /// The path is another one: everything that was measured is forgotten.
    fn restart(&mut self, now: Time) {
        self.moved = false;
        if self.sender.has_begun() {
            self.rtt = Rtt::default();
            self.noise.restart();
            self.lumps = reports::Lumps::default();
            (self.state.lumps, self.state.noise) = (false, self.noise.floor());
            self.ledger.clear();
            let measure = self.sender.measure(now, &self.path());
            self.follow(now, measure);
        }
    }

    /// A message arrived. One that is not for a sender of bursts has no effect.
    pub fn on_message(&mut self, now: Instant, message: &Message) {
        let now = self.time(now);
        match message {
            Message::Accept { priority, grant } => {
                self.state.priority = Some(*priority);
                let path = self.path();
                let next = self.sender.on_accept(now, granted(*grant), &path);
                self.follow(now, next);
            }
            Message::TrainReport {
                number,
                latest,
                grant,
                ..
            } => {
                let (latest, granted) = (Rate::from_bits_per_sec(*latest), granted(*grant));
                let path = self.path();
                let next = self
                    .sender
                    .on_train_report(now, *number, latest, granted, &path);
                self.state.bandwidth = self.sender.bandwidth();
                self.follow(now, next);
            }
            Message::Reports { share, reports } => {
                for report in reports {
                    self.on_report(now, report, *share);
                }
            }
            Message::ProbeAnswer => {}
            _ => return,
        }
        self.on_alive(now);
    }

    /// When it must be polled.
    pub fn deadline(&self) -> Option<Instant> {
        let sends = self.sender.is_sending() && !self.idle;
        let sender = self.sender.deadline(self.oldest(), self.srtt());
        let next = sends
            .then_some(self.next_at)
            .into_iter()
            .chain(sender)
            .min()?;
        Some(self.origin + std::time::Duration::from_nanos(next.as_nanos()))
    }

    /// Its deadline has passed.
    pub fn on_deadline(&mut self, now: Instant) {
        let now = self.time(now);
        let (oldest, srtt, path) = (self.oldest(), self.srtt(), self.path());
        let next = self.sender.on_timer(now, oldest, srtt, &path);
        self.follow(now, next);
    }

    /// Does what the sender wants.
    fn follow(&mut self, now: Time, next: Action) {
        match next {
            Action::Send(Control::Open) => self.announce(),
            Action::Send(Control::Train { number, count }) => self.start_train(number, count),
            Action::Send(Control::Probe) => {
                self.ledger.clear();
                self.control = Some(Message::Probe);
            }
            Action::Begin | Action::Resume => {
                if next == Action::Begin {
                    self.ledger.clear();
                }
                self.idle = false;
                self.next_at = now;
            }
            Action::Send(Control::Close) | Action::Nothing => return,
        }
        self.state.bandwidth = self.sender.bandwidth();
        self.state.halts = self.sender.halts();
        self.report(now, |_| {});
    }

    /// Announces the flow, or that the size of its packets has changed.
    fn announce(&mut self) {
        self.control = Some(Message::Open {
            priority: self.priority.get(),
            packet: self.wire_size().get().min(u64::from(u16::MAX)) as u16,
        });
    }

    fn start_train(&mut self, number: u32, count: u8) {
        self.train = Some(OutgoingTrain {
            number,
            next: 0,
            count,
        });
    }

    fn path(&self) -> PathView {
        PathView {
            packet: self.wire_size(),
            close: Duration::ZERO,
            train: TRAIN_WAIT + self.srtt() * 2,
            probe: PROBE_INTERVAL.max(self.srtt()),
        }
    }

    /// Something was heard of the peer.
    fn on_alive(&mut self, now: Time) {
        self.sender.on_heard(now);
        let next = self.sender.on_alive(now, &self.path());
        self.follow(now, next);
    }

    /// When the oldest unreported burst began.
    fn oldest(&self) -> Option<Time> {
        self.ledger.oldest().map(|burst| burst.first_at())
    }

    /// Smoothed round-trip time.
    fn srtt(&self) -> Duration {
        match self.rtt.smoothed() {
            Duration::ZERO => self.quic_rtt,
            srtt => srtt,
        }
    }

    /// Size of a full packet on the wire.
    fn wire_size(&self) -> Bytes {
        Bytes::new(self.mtu + IP_AND_UDP)
    }

    fn report(&self, now: Time, count: impl FnOnce(&mut crate::Snapshot)) {
        self.monitor.update(|s| {
            s.state = ConnectionState {
                time: now,
                cwnd: self.sender.controller.flight(),
                pacing_rate: self.sender.controller.plan().map(|plan| plan.rate),
                phase: self.sender.phase(),
                in_flight: Bytes::new(self.in_flight),
                rtt: self.rtt.latest(),
                srtt: self.srtt(),
                rttvar: self.rtt.variation(),
                min_rtt: self.rtt.min(),
                delivered: Bytes::new(self.delivered),
                lost: Bytes::new(self.lost),
                ..s.state
            };
            s.bursts = Some(self.state);
            count(s);
        });
    }
}

/// What a peer grants; a bandwidth of zero is nothing.
fn granted(grant: Grant) -> Option<Granted> {
    (grant.bandwidth > 0).then(|| Granted {
        bandwidth: Rate::from_bits_per_sec(grant.bandwidth),
        allocated: Rate::from_bits_per_sec(grant.allocated),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::message::tests::any_message;
    use proptest::prelude::*;

    const MTU: u64 = 1452;

    /// A flow of Enhanced-AATP on a connection that has just been established.
    pub(super) fn flow(start: Instant) -> BurstFlow {
        let setup = Setup {
            mss: Bytes::new(MTU),
            initial_window: Bytes::new(10 * MTU),
            paced: true,
            ssthresh: None,
            growth: Default::default(),
            seed: 1,
            time_of_day: Default::default(),
            saved: None,
        };
        let spec: whimbrel_cc::Spec = "enhanced-aatp".parse().expect("registered");
        let controller = spec.build_for_bursts(&setup).expect("fed bursts");
        let mut flow = BurstFlow::new(
            controller,
            &setup,
            Priority::LOWEST,
            start,
            Monitor::default(),
        );
        flow.on_established(start);
        flow
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        /// For any messages of a peer in any order and at any time, the sender does not panic, does
        /// not ask to be called for ever at one instant, and what it remembers is bounded.
        #[test]
        fn no_messages_of_a_peer_do_harm(
            messages in prop::collection::vec((0u64..3_000_000, any_message()), 1..60),
        ) {
            let start = Instant::now();
            let mut flow = flow(start);
            let (mut now, mut number) = (start, 0);
            for (after, message) in messages {
                let until = now + std::time::Duration::from_micros(after);
                for _ in 0..2000 {
                    let Some(at) = flow.deadline().filter(|at| *at <= until) else {
                        break;
                    };
                    now = now.max(at);
                    flow.on_deadline(now);
                    let next = flow.before_transmit(now);
                    let window = flow.window();
                    if next.carries_something() && flow.in_flight + MTU <= window {
                        number += 1;
                        flow.packet_sent(now, MTU, number);
                        flow.after_transmit(now, Some(MTU as usize), true);
                    } else {
                        flow.after_transmit(now, None, !next.carries_something());
                    }
                }
                now = now.max(until);
                flow.on_message(now, &message);
                flow.end_of_acks(now, 0);
                prop_assert!(flow.ledger.len() <= ledger::MAX_BURSTS);
            }
        }
    }
}
