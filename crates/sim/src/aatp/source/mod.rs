//! The sending end of an AATP connection.
//!
//! It opens the connection, measures the bandwidth with ten packet trains, then sends burst after burst at the rate that
//! its law plans: burst by burst, without a pause between them, each spread evenly over T_burst = max(timer, srtt) (5),
//! (6). Every burst is reported by a SACK; what is missing is sent again in later bursts, before new data; the law
//! decides once for each report; the ACK lets the receiver forget it. Opening and measuring are in [`set_up`], bursts in
//! [`send`], reports in [`report`].
//!
//! **Open in the paper, decided here:**
//! * A burst is paced, not sent at line rate (see [`whimbrel_cc`]'s `aatp` for why), so a new rate counts from the next
//!   burst on.
//! * The round-trip sample of a report (12) is taken from the last packet that arrived, less what the receiver held the
//!   report: if the burst's last packet was lost, the receiver knows only later that the burst is over.
//! * The ACK of a SACK travels in the header of the next data packet ("in-band control"). As a packet of its own it would
//!   sit in front of one data packet of the burst, and the jitter of that alone is more than the threshold allows.
//! * In an outage no report comes, and the sender goes on at its rate; bursts of which nothing arrived are reported with
//!   the next one that did, and the law decides once for all of them.
//! * A report that comes later than that of a newer burst (it was lost and sent again) is used to resend, but the law is
//!   not told: what it says is old.
//! * When all data was sent and reports stay out for a retransmission timeout (RFC 6298), what is unreported is sent again.
//! * The circuit breaker (RFC 8084), if there is one: silence halts the sender, which then only asks once a second
//!   whether the path is back, and begins anew with packet trains: it may be another path.

mod report;
mod send;
mod set_up;

use super::ledger::Ledger;
use super::message::Writer;
use super::payload;
use super::wire::{AckOf, ENDLESS, Message};
use crate::counters::SenderCounters;
use crate::engine::packet::Flags;
use crate::engine::payload_pool::Outbox;
use crate::measure::Delays;
use crate::network::{AatpFlow, AatpSettings, TcpSettings};
use crate::ranges::Ranges;
use crate::rtt::RttEstimator;
use std::collections::VecDeque;
use whimbrel_cc::fairness::Priority;
use whimbrel_cc::{Controller, Setup};
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// A halted sender asks so often whether the path is back.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// No circuit breaker waits longer than so many round trips and a second (RFC 8084 section 3.1: some round trips).
const BREAKER_ROUNDS: u64 = 10;
const BREAKER_BASE: Duration = Duration::from_secs(1);
/// Least retransmission timeout, as Linux's.
const MIN_RTO: Duration = Duration::from_millis(200);

/// How far the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Closed,
    /// The opening was sent so many times.
    Opening {
        tries: u32,
        retry_at: Time,
    },
    /// The train of this step was sent so many times.
    Measuring {
        step: u8,
        tries: u32,
        retry_at: Time,
    },
    /// Bursts leave.
    Sending,
    /// The circuit breaker halted it.
    Halted {
        probe_at: Time,
    },
    /// All data is acknowledged; the receiver is told so many times.
    Closing {
        tries: u32,
        retry_at: Time,
    },
    Done,
}

/// What only an AATP sender counts for the outcome.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account {
    /// Bursts whose reports the law was told.
    pub bursts: u64,
    pub states: Vec<(&'static str, u64)>,
    pub breaks: u64,
    /// What was measured last.
    pub bandwidth: Rate,
    /// When it was first known.
    pub known_at: Option<Time>,
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct Source {
    writer: Writer,
    controller: Box<dyn Controller>,
    settings: AatpSettings,
    priority: Priority,
    phase: Phase,
    /// Number of the next train.
    next_train: u32,
    reestimate_at: Option<Time>,
    estimator: RttEstimator,
    /// Packets of data there are in all; [`ENDLESS`].
    total: u32,
    /// Payload of the last of them, and of all others.
    last_payload: u32,
    payload: u32,
    next_sequence: u32,
    acked: Ranges,
    resend: VecDeque<u32>,
    ledger: Ledger,
    next_burst: u32,
    /// SACKs to acknowledge with the next data packets.
    acks: VecDeque<AckOf>,
    /// The first burst whose report may still be told to the law.
    next_told: u32,
    /// When the next packet may leave.
    next_at: Time,
    /// When something was last heard.
    heard: Time,
    /// When the last packet of data was sent, if all was: the retransmission timer runs from there.
    idle_since: Option<Time>,
    pub counters: SenderCounters,
    pub account: Account,
    /// Round trips as measured here (12).
    pub rtt: Delays,
}

impl Source {
    /// `seed` is for its law.
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
        let controller = spec.controller.build(&Setup {
            mss: packet,
            initial_window: packet,
            paced: true,
            ssthresh: None,
            seed,
        });
        Self {
            writer: Writer {
                lane: flow,
                direction: Flags::default(),
            },
            counters: SenderCounters::new(&*controller),
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
            next_told: 0,
            next_at: Time::ZERO,
            heard: Time::ZERO,
            idle_since: None,
            rtt: Delays::new(),
        }
    }

    /// Its law.
    pub fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    /// Smoothed round-trip time, zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.estimator.srtt()
    }

    /// How much round-trip times vary, zero before the first sample.
    pub fn rttvar(&self) -> Duration {
        self.estimator.rttvar()
    }

    /// Sent and not yet reported, as sizes on the wire.
    pub fn in_flight(&self) -> Bytes {
        self.settings.packet.times(self.ledger.packets() as u64)
    }

    /// Packets of data there are to send; `None`: endless.
    pub fn total(&self) -> Option<u32> {
        (self.total != ENDLESS).then_some(self.total)
    }

    /// Payload of so many packets, the data's last among them or not.
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

    /// No new data from now on: what was sent is still delivered.
    pub fn stop(&mut self) {
        if self.next_sequence < self.total {
            let announced = self
                .ledger
                .newest()
                .map_or(0, |burst| burst.count - burst.sequences.len() as u32);
            // The burst under way was announced with its size: it is sent to its end.
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

    /// Does what timers ask for.
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
                self.writer.send(now, &Message::Probe, out);
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
                    if granted.bandwidth > 0 {
                        self.begin(now, granted.bandwidth, granted.allocated, out);
                    } else {
                        self.send_train(now, 0, 0, out);
                    }
                }
            }
            Message::TrainReport(report) => self.on_train_report(now, report, out),
            Message::Sack(sack) => self.on_sack(now, &sack, out),
            Message::ProbeAnswer => self.on_alive(now, out),
            Message::Closed => {
                if let Phase::Closing { .. } = self.phase {
                    self.phase = Phase::Done;
                }
            }
            // The other end's words.
            Message::Open(_)
            | Message::Train(_)
            | Message::Data(_)
            | Message::Ack(_)
            | Message::Probe
            | Message::Close => {}
        }
    }

    /// Notes what really became of a data packet.
    pub fn note_drop(&mut self, burst: u32, cause: DropCause) {
        self.ledger.note_drop(burst, cause);
    }

    /// The receiver is there: a halted sender begins anew.
    fn on_alive(&mut self, now: Time, out: &mut Outbox<'_>) {
        if let Phase::Halted { .. } = self.phase {
            self.send_train(now, 0, 0, out);
        }
    }

    /// When the circuit breaker halts the sender unless something is heard.
    fn breaker_at(&self) -> Option<Time> {
        let longest = self.settings.circuit_breaker?;
        let oldest = self.ledger.oldest()?;
        let bound = self.estimator.srtt() * BREAKER_ROUNDS + BREAKER_BASE;
        let since = self.heard.max(oldest.departure(0));
        (self.phase == Phase::Sending).then(|| since + longest.min(bound))
    }
}
