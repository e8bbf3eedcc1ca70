//! The sending end of an AATP connection.
//!
//! It opens the connection, measures the bandwidth with ten packet trains, then sends bursts at the
//! rate that its controller plans, without a pause between them. Each burst is spread evenly over
//! T_burst = max(timer, srtt) (5), (6). A SACK reports on each burst. Missing packets are
//! retransmitted in later bursts, before new data. The controller decides once for each report. The
//! ACK lets the receiver forget the report. Opening and measuring are in [`set_up`], bursts in
//! [`send`], reports in [`report`].
//!
//! **Decided here, because the paper leaves it open:**
//! * The round-trip sample of a report (12) is taken from the last packet that arrived, minus the
//!   time for which the receiver held the report: if the last packet of the burst is lost, the
//!   receiver learns late that the burst is over.
//! * The ACK of a SACK travels in the header of the next data packet ("in-band control"). As a
//!   packet of its own it would precede one data packet of the burst, and that jitter alone exceeds
//!   the threshold.
//! * In an outage no report arrives and the sender continues at its rate. Bursts of which nothing
//!   arrived are reported with the next burst that did arrive, and the controller decides once for
//!   all of them.
//! * A report that arrives after the report of a newer burst (it was lost and retransmitted) causes
//!   retransmissions, but the controller is not notified: the report is outdated.
//! * When all data has been sent and reports are missing for a retransmission timeout (RFC 6298),
//!   unreported data is retransmitted.
//! * With a circuit breaker (RFC 8084), silence halts the sender. It then probes the path once a
//!   second, and starts again with packet trains: it may be another path.

mod report;
mod send;
mod set_up;

use super::ledger::Ledger;
use super::outbox::{Outbox, Writer};
use super::wire::{AckOf, ENDLESS, Message, payload};
use crate::counters::SenderCounters;
use crate::measure::Delays;
use crate::network::{AatpFlow, AatpSettings, TcpSettings};
use crate::packet::Flags;
use crate::ranges::Ranges;
use crate::rtt::RttEstimator;
use std::collections::VecDeque;
use whimbrel_cc::fairness::Priority;
use whimbrel_cc::{BurstController, Setup};
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Interval of the probes of a halted sender.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// Upper bound of the circuit breaker: this many round trips and a second (RFC 8084 section 3.1:
/// some round trips).
const BREAKER_ROUNDS: u64 = 10;
const BREAKER_BASE: Duration = Duration::from_secs(1);
/// Minimum retransmission timeout, as on Linux.
const MIN_RTO: Duration = Duration::from_millis(200);

/// The state of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Closed,
    /// The opening was sent, this many times.
    Opening {
        tries: u32,
        retry_at: Time,
    },
    /// The train of this step was sent, this many times.
    Measuring {
        step: u8,
        tries: u32,
        retry_at: Time,
    },
    /// Bursts are sent.
    Sending,
    /// The circuit breaker halted the sender.
    Halted {
        probe_at: Time,
    },
    /// All data is acknowledged; the closing was sent, this many times.
    Closing {
        tries: u32,
        retry_at: Time,
    },
    Done,
}

/// Measurements of an AATP sender for the outcome.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account {
    /// Bursts that the controller was notified of.
    pub bursts: u64,
    /// Those bursts by the state of the controller afterwards.
    pub states: Vec<(&'static str, u64)>,
    /// Times that the circuit breaker halted the sender.
    pub breaks: u64,
    /// The bandwidth that was measured last.
    pub bandwidth: Rate,
    /// When the bandwidth was first known.
    pub known_at: Option<Time>,
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct Source {
    writer: Writer,
    controller: Box<dyn BurstController>,
    settings: AatpSettings,
    priority: Priority,
    phase: Phase,
    /// Number of the next train.
    next_train: u32,
    reestimate_at: Option<Time>,
    estimator: RttEstimator,
    /// Number of data packets; [`ENDLESS`] if there is no end.
    total: u32,
    /// Payload of the last data packet, and of all others.
    last_payload: u32,
    payload: u32,
    next_sequence: u32,
    acked: Ranges,
    resend: VecDeque<u32>,
    ledger: Ledger,
    next_burst: u32,
    /// SACKs to acknowledge with the next data packets.
    acks: VecDeque<AckOf>,
    /// The first burst whose report the controller may still be notified of.
    next_notified: u32,
    /// When the next packet may leave.
    next_at: Time,
    /// When the last message arrived.
    heard: Time,
    /// When everything had been sent: the retransmission timer runs from there.
    idle_since: Option<Time>,
    /// Counters for the outcome.
    pub counters: SenderCounters,
    /// Measurements for the outcome.
    pub account: Account,
    /// Round trips measured here (12).
    pub rtt: Delays,
}

impl Source {
    /// `seed` is for its controller.
    pub fn new(flow: u32, spec: &AatpFlow, seed: u64) -> Self {
        let settings = spec.settings;
        let packet = settings.packet;
        let payload = payload(packet).get() as u32;
        let (total, last_payload) = match spec.size {
            None => (ENDLESS, payload),
            Some(size) => {
                let packets = size.get().div_ceil(u64::from(payload)).max(1);
                let last = size.get() - (packets - 1) * u64::from(payload);
                (u32::try_from(packets).unwrap_or(ENDLESS - 1), last as u32)
            }
        };
        let built = spec.controller.build_for_bursts(&Setup {
            mss: packet,
            initial_window: packet,
            paced: true,
            ssthresh: None,
            growth: Default::default(),
            seed,
            utc: Duration::ZERO,
            saved: None,
        });
        let controller = built.expect("an AATP flow has an algorithm that is fed bursts");
        Self {
            writer: Writer {
                lane: flow,
                direction: Flags::default(),
            },
            counters: SenderCounters::new(controller.classifies_losses()),
            account: Account::default(),
            controller,
            settings,
            priority: spec.priority,
            phase: Phase::Closed,
            next_train: 0,
            reestimate_at: None,
            estimator: RttEstimator::new(&TcpSettings {
                min_rto: MIN_RTO,
                ..TcpSettings::default()
            }),
            total,
            last_payload,
            payload,
            next_sequence: 0,
            acked: Ranges::default(),
            resend: VecDeque::new(),
            ledger: Ledger::default(),
            next_burst: 0,
            acks: VecDeque::new(),
            next_notified: 0,
            next_at: Time::ZERO,
            heard: Time::ZERO,
            idle_since: None,
            rtt: Delays::new(),
        }
    }

    /// Its controller.
    pub fn controller(&self) -> &dyn BurstController {
        &*self.controller
    }

    /// Smoothed RTT, zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.estimator.srtt()
    }

    /// RTT variation, zero before the first sample.
    pub fn rttvar(&self) -> Duration {
        self.estimator.rttvar()
    }

    /// Sent and not yet reported, in bytes on the wire.
    pub fn in_flight(&self) -> Bytes {
        self.settings.packet.times(self.ledger.packets() as u64)
    }

    /// Number of data packets to send. `None`: endless.
    pub fn total(&self) -> Option<u32> {
        (self.total != ENDLESS).then_some(self.total)
    }

    /// Payload of this many packets. `with_last`: the last packet of the data is one of them.
    pub fn payload(&self, packets: u32, with_last: bool) -> u64 {
        let full = u64::from(packets) * u64::from(self.payload);
        full - u64::from(if with_last {
            self.payload - self.last_payload
        } else {
            0
        })
    }

    /// Opens the connection.
    pub fn start(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.heard = now;
        self.open(now, 0, out);
    }

    /// Sends no new data from now on. Data that was sent is still delivered.
    pub fn stop(&mut self) {
        if self.next_sequence < self.total {
            let announced = self
                .ledger
                .newest()
                .map_or(0, |burst| burst.count - burst.sequences.len() as u32);
            // The current burst was announced with its size, so it is sent to its end.
            let fresh = announced.saturating_sub(self.resend.len() as u32);
            self.total = (self.next_sequence + fresh).min(self.total);
            self.last_payload = self.payload;
        }
    }

    /// When its next timer is due.
    pub fn deadline(&self) -> Option<Time> {
        let sending = match self.phase {
            Phase::Closed | Phase::Done => None,
            Phase::Opening { retry_at, .. }
            | Phase::Measuring { retry_at, .. }
            | Phase::Closing { retry_at, .. } => Some(retry_at),
            Phase::Halted { probe_at } => Some(probe_at),
            Phase::Sending if self.has_more() => Some(self.next_at),
            Phase::Sending => self.idle_since.map(|at| at + self.estimator.rto()),
        };
        let breaker = self.breaker_at();
        [sending, breaker].into_iter().flatten().min()
    }

    /// Handles the timers that are due.
    pub fn on_timer(&mut self, now: Time, out: &mut Outbox<'_>) {
        if self.breaker_at().is_some_and(|at| at <= now) {
            self.account.breaks += 1;
            self.phase = Phase::Halted { probe_at: now };
        }
        match self.phase {
            Phase::Opening { tries, retry_at } if retry_at <= now => self.open(now, tries, out),
            Phase::Measuring {
                step,
                tries,
                retry_at,
            } if retry_at <= now => self.send_train(now, step, tries, out),
            Phase::Halted { probe_at } if probe_at <= now => {
                self.writer.send(now, Message::Probe, out);
                self.phase = Phase::Halted {
                    probe_at: now + PROBE_INTERVAL,
                };
            }
            Phase::Closing { tries, retry_at } if retry_at <= now => self.close(now, tries, out),
            Phase::Sending => self.on_send_timer(now, out),
            _ => {}
        }
    }

    /// A message arrived.
    pub(super) fn on_message(&mut self, now: Time, message: Message, out: &mut Outbox<'_>) {
        if self.phase == Phase::Closed {
            return;
        }
        let silence = now.since(self.heard);
        self.heard = now;
        match message {
            Message::Accept(granted) => {
                if let Phase::Opening { tries, .. } = self.phase {
                    if tries == 1 {
                        self.add_rtt(silence);
                    }
                    match granted {
                        Some(granted) => self.begin(now, granted, out),
                        None => self.send_train(now, 0, 0, out),
                    }
                }
            }
            Message::TrainReport(report) => self.on_train_report(now, report, out),
            Message::Sack(sack) if sack.is_in_range() => self.on_sack(now, &sack, out),
            Message::ProbeAnswer => self.on_alive(now, out),
            Message::Closed => {
                if let Phase::Closing { .. } = self.phase {
                    self.phase = Phase::Done;
                }
            }
            // Messages that only this end sends, and reports that say what cannot be.
            Message::Open(_)
            | Message::Train(_)
            | Message::Data(_)
            | Message::Sack(_)
            | Message::Ack(_)
            | Message::Probe
            | Message::Close => {}
        }
    }

    /// Records why a data packet was lost.
    pub fn note_drop(&mut self, burst: u32, cause: DropCause) {
        self.ledger.note_drop(burst, cause);
    }

    /// The receiver is reachable: a halted sender starts again.
    fn on_alive(&mut self, now: Time, out: &mut Outbox<'_>) {
        if let Phase::Halted { .. } = self.phase {
            self.send_train(now, 0, 0, out);
        }
    }

    /// When the circuit breaker halts the sender if nothing arrives.
    fn breaker_at(&self) -> Option<Time> {
        let longest = self.settings.circuit_breaker?;
        let oldest = self.ledger.oldest()?;
        let bound = self.estimator.srtt() * BREAKER_ROUNDS + BREAKER_BASE;
        let since = self.heard.max(oldest.departure(0));
        (self.phase == Phase::Sending).then(|| since + longest.min(bound))
    }
}
