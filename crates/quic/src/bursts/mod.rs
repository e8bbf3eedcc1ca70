//! The sender of an algorithm that is fed bursts, on QUIC: Enhanced-AATP's transport.
//!
//! A. Briones, A. Mallorquí, A. Zaballos, R. Martin de Pozuelo, "Wireless Loss Detection over
//! Fairly Shared Heterogeneous Long Fat Networks", Electronics 10(9), 987, 2021, sections 4 and 5.
//!
//! After the handshake ten packet trains measure the path; then bursts leave at the rate that the
//! controller plans, without a pause between them. A burst is spread evenly over T_burst =
//! max(1 ms, SRTT) (5) (6). Each of its packets carries a DATAGRAM frame with its place in the
//! burst. The receiver reports when the burst is over. QUIC encrypts, acknowledges and retransmits
//! the data in the packets, so this module knows nothing of data.
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
//! * The circuit breaker (RFC 8084) halts a sender that has heard nothing for two seconds (or ten
//!   round trips and a second, if that is less). It then probes four times a second, or each round
//!   trip if that is longer. When an answer arrives, one train tells whether the path is the same:
//!   if it measures the old bandwidth within a quarter, sending goes on at the old rate, else all
//!   ten trains follow.
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
use whimbrel_cc::burst_transport::trains::{self, TRAINS};
use whimbrel_cc::burst_transport::{SpanNoise, bounded_rate};
use whimbrel_cc::connection::{ConnectionState, EpisodeCounts};
use whimbrel_cc::fairness::Priority;
use whimbrel_cc::quic_transport::Rtt;
use whimbrel_cc::{Bandwidth, BurstController, Setup};
use whimbrel_units::{Bytes, Duration, Time};

/// Headers of IPv4 and UDP; a packet's size on the wire counts them.
const IP_AND_UDP: u64 = 28;
/// First interval of retries, doubled each time, and its maximum.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// A sender that hears nothing for this long stops; at most ten round trips and a second.
const BREAKER: Duration = Duration::from_secs(2);
const BREAKER_ROUNDS: u64 = 10;
const BREAKER_BASE: Duration = Duration::from_secs(1);
/// Minimum interval of the probes of a halted sender.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);
/// Interval of trains while data flows.
const REESTIMATE: Duration = Duration::from_secs(10);
/// A path whose new estimate differs by less than this fraction is the same path.
const SAME_PATH: f64 = 0.25;

/// What the sender does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// The handshake is not complete.
    Handshake,
    /// The opening was sent, this many times.
    Opening { tries: u32, retry_at: Time },
    /// The train of this step was sent, this many times.
    Measuring {
        step: u8,
        tries: u32,
        retry_at: Time,
    },
    /// Bursts are sent.
    Sending,
    /// The circuit breaker halted the sender.
    Halted { probe_at: Time },
    /// The path answers again: a train was sent to check that it is the same.
    Checking { tries: u32, retry_at: Time },
}

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
    controller: Box<dyn BurstController>,
    monitor: PathMonitor,
    origin: Instant,
    priority: Priority,
    phase: Phase,
    /// Messages to queue: openings and probes.
    control: Option<Message>,
    queued: Queued,
    train: Option<OutgoingTrain>,
    next_train: u32,
    reestimate_at: Time,
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
    next_burst: u32,
    next_at: Time,
    /// The burst of the packet that left last, if it belongs to one.
    last_burst: Option<u32>,
    /// Decisions are logged here.
    log: Option<PacketLog>,
    /// There was nothing to send: a packet of data ends this.
    idle: bool,
    heard: Time,
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
            controller,
            monitor,
            origin,
            priority,
            phase: Phase::Handshake,
            control: None,
            queued: Queued::Nothing,
            train: None,
            next_train: 0,
            reestimate_at: Time::ZERO,
            state: crate::Bursts::default(),
            rtt: Rtt::default(),
            quic_rtt: Duration::ZERO,
            mtu: setup.mss.get(),
            initial_window: setup.initial_window.get(),
            in_flight: 0,
            grant: 0,
            last: None,
            ledger: Ledger::default(),
            next_burst: 0,
            next_at: Time::ZERO,
            last_burst: None,
            log: None,
            idle: false,
            heard: Time::ZERO,
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
        self.heard = now;
        if self.phase == Phase::Handshake {
            self.open(now, 0);
        }
    }

    /// The connection moves to another path.
    pub fn on_moved(&mut self) {
        self.moved = true;
    }

    /// The path is another one: everything that was measured is forgotten.
    fn restart(&mut self, now: Time) {
        self.moved = false;
        if self.phase != Phase::Handshake {
            self.rtt = Rtt::default();
            self.noise.restart();
            self.ledger.clear();
            self.measure(now, 0, 0);
        }
    }

    /// A message arrived. One that is not for a sender of bursts has no effect.
    pub fn on_message(&mut self, now: Instant, message: &Message) {
        let now = self.time(now);
        match message {
            Message::Accept { priority, grant } => {
                self.state.priority = Some(*priority);
                if let Phase::Opening { .. } = self.phase {
                    if grant.bandwidth > 0 {
                        self.begin(now, *grant);
                    } else {
                        self.measure(now, 0, 0);
                    }
                }
            }
            Message::TrainReport {
                number,
                latest,
                grant,
                ..
            } => self.on_train_report(now, *number, *latest, *grant),
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
        let sending = match self.phase {
            Phase::Handshake => None,
            Phase::Opening { retry_at, .. }
            | Phase::Measuring { retry_at, .. }
            | Phase::Checking { retry_at, .. } => Some(retry_at),
            Phase::Halted { probe_at } => Some(probe_at),
            Phase::Sending if self.idle => None,
            Phase::Sending => Some(self.next_at),
        };
        let next = [sending, self.breaker_at()].into_iter().flatten().min()?;
        Some(self.origin + std::time::Duration::from_nanos(next.as_nanos()))
    }

    /// Its deadline has passed.
    pub fn on_deadline(&mut self, now: Instant) {
        let now = self.time(now);
        if self.breaker_at().is_some_and(|at| at <= now) {
            self.state.halts += 1;
            self.ledger.clear();
            self.enter(now, Phase::Halted { probe_at: now });
        }
        match self.phase {
            Phase::Opening { tries, retry_at } if retry_at <= now => self.open(now, tries),
            Phase::Measuring {
                step,
                tries,
                retry_at,
            } if retry_at <= now => self.measure(now, step, tries),
            Phase::Checking { tries, retry_at } if retry_at <= now => self.check(now, tries),
            Phase::Halted { probe_at } if probe_at <= now => {
                self.control = Some(Message::Probe);
                self.phase = Phase::Halted {
                    probe_at: now + PROBE_INTERVAL.max(self.srtt()),
                };
            }
            _ => {}
        }
    }

    fn open(&mut self, now: Time, tries: u32) {
        self.heard = now;
        self.announce();
        let phase = Phase::Opening {
            tries: tries + 1,
            retry_at: now + retry(FIRST_RETRY, tries),
        };
        self.enter(now, phase);
    }

    fn enter(&mut self, now: Time, phase: Phase) {
        self.phase = phase;
        self.report(now, |_| {});
    }

    /// Announces the flow, or that the size of its packets has changed.
    fn announce(&mut self) {
        self.control = Some(Message::Open {
            priority: self.priority.get(),
            packet: self.wire_size().min(u64::from(u16::MAX)) as u16,
        });
    }

    /// Sends the train of this step.
    fn measure(&mut self, now: Time, step: u8, tries: u32) {
        self.start_train(step);
        let phase = Phase::Measuring {
            step,
            tries: tries + 1,
            retry_at: now + retry(self.train_patience(), tries),
        };
        self.enter(now, phase);
    }

    /// Sends one train, to see whether the path is the old one.
    fn check(&mut self, now: Time, tries: u32) {
        self.start_train(TRAINS - 1);
        let phase = Phase::Checking {
            tries: tries + 1,
            retry_at: now + retry(self.train_patience(), tries),
        };
        self.enter(now, phase);
    }

    fn start_train(&mut self, step: u8) {
        self.train = Some(OutgoingTrain {
            number: self.next_train,
            next: 0,
            count: trains::packets(step),
        });
        self.next_train = self.next_train.wrapping_add(1);
    }

    /// The receiver waits half a second for the end of a train; this is longer.
    fn train_patience(&self) -> Duration {
        FIRST_RETRY + self.srtt() * 2
    }

    fn on_train_report(&mut self, now: Time, number: u32, latest: u64, grant: Grant) {
        if number.wrapping_add(1) != self.next_train {
            return; // Of a train that was given up.
        }
        match self.phase {
            Phase::Measuring { step, .. } if step + 1 < TRAINS => self.measure(now, step + 1, 0),
            Phase::Measuring { .. } if grant.bandwidth > 0 => self.begin(now, grant),
            Phase::Checking { .. } => {
                let old = self.state.bandwidth.as_bits_per_sec() as f64;
                let new = bounded_rate(latest).as_bits_per_sec() as f64;
                if (new - old).abs() <= SAME_PATH * old {
                    self.resume(now);
                } else {
                    self.measure(now, 0, 0);
                }
            }
            Phase::Sending if grant.bandwidth > 0 => self.notify_bandwidth(now, grant, false),
            _ => {}
        }
    }

    fn begin(&mut self, now: Time, grant: Grant) {
        self.ledger.clear();
        self.notify_bandwidth(now, grant, true);
        self.resume(now);
    }

    fn resume(&mut self, now: Time) {
        self.enter(now, Phase::Sending);
        self.heard = now;
        self.idle = false;
        self.next_at = now;
        self.reestimate_at = now + REESTIMATE;
    }

    fn notify_bandwidth(&mut self, now: Time, grant: Grant, restart: bool) {
        self.state.bandwidth = bounded_rate(grant.bandwidth);
        self.controller.on_bandwidth(&Bandwidth {
            now,
            rate: self.state.bandwidth,
            packet: Bytes::new(self.wire_size()),
            allocated: (grant.allocated > 0).then(|| bounded_rate(grant.allocated)),
            restart,
            exact: false,
        });
    }

    /// Something was heard of the peer: a halted sender looks whether the path is the old one.
    fn on_alive(&mut self, now: Time) {
        self.heard = now;
        if let Phase::Halted { .. } = self.phase {
            self.check(now, 0);
        }
    }

    /// When the circuit breaker halts the sender if nothing is heard.
    fn breaker_at(&self) -> Option<Time> {
        let oldest = self.ledger.oldest()?;
        let bound = self.srtt() * BREAKER_ROUNDS + BREAKER_BASE;
        let since = self.heard.max(oldest.first_at());
        (self.phase == Phase::Sending).then(|| since + BREAKER.min(bound))
    }

    /// Smoothed round-trip time.
    fn srtt(&self) -> Duration {
        match self.rtt.smoothed() {
            Duration::ZERO => self.quic_rtt,
            srtt => srtt,
        }
    }

    /// Size of a full packet on the wire.
    fn wire_size(&self) -> u64 {
        self.mtu + IP_AND_UDP
    }

    fn report(&self, now: Time, count: impl FnOnce(&mut crate::Snapshot)) {
        self.monitor.update(|s| {
            s.state = ConnectionState {
                time: now,
                cwnd: self.controller.flight(),
                pacing_rate: self.controller.plan().map(|plan| plan.rate),
                phase: match self.phase {
                    Phase::Handshake | Phase::Opening { .. } => "opening",
                    Phase::Measuring { .. } => "measuring",
                    Phase::Sending => self.controller.phase(),
                    Phase::Halted { .. } => "halted",
                    Phase::Checking { .. } => "checking",
                },
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

/// The wait after so many tries.
fn retry(first: Duration, tries: u32) -> Duration {
    (first * (1 << tries.min(10))).min(first.max(LONGEST_RETRY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::message::tests::any_message;
    use proptest::prelude::*;

    const MTU: u64 = 1452;

    fn flow(start: Instant) -> BurstFlow {
        let setup = Setup {
            mss: Bytes::new(MTU),
            initial_window: Bytes::new(10 * MTU),
            paced: true,
            ssthresh: None,
            growth: Default::default(),
            seed: 1,
            utc: Duration::ZERO,
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
