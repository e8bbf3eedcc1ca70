//! The sending end of an AATP connection.
//!
//! [`Sender`] opens the connection, measures the bandwidth with ten packet trains, and halts in an
//! outage. Bursts leave at the rate that its controller plans, without a pause between them. Each
//! is spread evenly over T_burst = max(timer, srtt) (5), (6). A SACK reports on each burst. Missing
//! packets are retransmitted in later bursts, before new data. The controller decides once for each
//! report. The ACK lets the receiver forget the report. Bursts are in [`send`], reports in
//! [`report`].
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
//! * With a circuit breaker, a halted sender probes the path once a second, and starts again with
//!   ten packet trains: it may be another path.

mod report;
mod send;

use super::ledger::Ledger;
use super::outbox::{Outbox, Writer};
use super::wire::{AckOf, ENDLESS, Message, Open, Train, payload};
use crate::counters::SenderCounters;
use crate::measure::Delays;
use crate::network::{AatpFlow, AatpSettings, TcpSettings};
use crate::packet::Flags;
use crate::ranges::Ranges;
use crate::rtt::RttEstimator;
use crate::seed::Draw;
use std::collections::VecDeque;
use whimbrel_cc::burst_transport::trains;
use whimbrel_cc::burst_transport::{Action, Control, PathView, Sender, SenderOptions};
use whimbrel_cc::fairness::Priority;
use whimbrel_cc::{BurstController, Setup};
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Interval of the probes of a halted sender.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum retransmission timeout, as on Linux.
const MIN_RTO: Duration = Duration::from_millis(200);

/// Measurements of an AATP sender for the outcome.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account {
    /// Bursts that the controller was notified of.
    pub bursts: u64,
    /// Those bursts by the state of the controller afterwards.
    pub states: Vec<(&'static str, u64)>,
    /// When the bandwidth was first known.
    pub known_at: Option<Time>,
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct Source {
    writer: Writer,
    sender: Sender,
    settings: AatpSettings,
    priority: Priority,
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
    /// SACKs to acknowledge with the next data packets.
    acks: VecDeque<AckOf>,
    /// The first burst whose report the controller may still be notified of.
    next_notified: u32,
    /// When the next packet may leave.
    next_at: Time,
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
    /// `draw` is for its controller.
    pub fn new(flow: u32, spec: &AatpFlow, draw: Draw) -> Self {
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
            seed: draw.seed,
            time_of_day: draw.time_of_day,
            saved: None,
        });
        let controller = built.expect("an AATP flow has an algorithm that is fed bursts");
        Self {
            writer: Writer {
                path_id: flow,
                direction: Flags::default(),
            },
            counters: SenderCounters::new(controller.classifies_losses()),
            account: Account::default(),
            sender: Sender::new(
                controller,
                SenderOptions {
                    circuit_breaker: settings.circuit_breaker,
                    check: false,
                    reestimate: settings.reestimate,
                    exact: true,
                },
            ),
            settings,
            priority: spec.priority,
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
            acks: VecDeque::new(),
            next_notified: 0,
            next_at: Time::ZERO,
            idle_since: None,
            rtt: Delays::new(),
        }
    }

    /// Its controller.
    pub fn controller(&self) -> &dyn BurstController {
        &*self.sender.controller
    }

    /// How often the circuit breaker halted it.
    pub fn halts(&self) -> u64 {
        self.sender.halts()
    }

    /// The bandwidth that was measured last.
    pub fn bandwidth(&self) -> Rate {
        self.sender.bandwidth()
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
        let open = self.sender.open(now);
        self.follow(now, open, out);
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
        let sending = match self.sender.is_sending() {
            true if self.has_more() => Some(self.next_at),
            true => self.idle_since.map(|at| at + self.estimator.rto()),
            false => None,
        };
        let sender = self.sender.deadline(self.oldest(), self.srtt());
        sending.into_iter().chain(sender).min()
    }

    /// Handles the timers that are due.
    pub fn on_timer(&mut self, now: Time, out: &mut Outbox<'_>) {
        let (oldest, srtt, path) = (self.oldest(), self.srtt(), self.path());
        let next = self.sender.on_timer(now, oldest, srtt, &path);
        self.follow(now, next, out);
        if self.sender.is_sending() {
            self.on_send_timer(now, out);
        }
    }

    /// A message arrived.
    pub(super) fn on_message(&mut self, now: Time, message: Message, out: &mut Outbox<'_>) {
        if !self.sender.has_begun() {
            return;
        }
        let silence = now.since(self.sender.heard());
        self.sender.on_heard(now);
        let next = match message {
            Message::Accept(granted) => {
                if self.sender.has_opened_once() {
                    self.add_rtt(silence);
                }
                let path = self.path();
                self.sender.on_accept(now, granted, &path)
            }
            Message::TrainReport(report) => {
                // Only a check of the path would need the rate of one train.
                let (number, granted, path) = (report.number, report.granted, self.path());
                self.sender
                    .on_train_report(now, number, Rate::ZERO, granted, &path)
            }
            Message::Sack(sack) if sack.is_in_range() => return self.on_sack(now, &sack, out),
            Message::ProbeAnswer => self.sender.on_alive(now, &self.path()),
            Message::Closed => {
                self.sender.on_closed();
                Action::Nothing
            }
            // Messages that only this end sends, and reports that say what cannot be.
            Message::Open(_)
            | Message::Train(_)
            | Message::Data(_)
            | Message::Sack(_)
            | Message::Ack(_)
            | Message::Probe
            | Message::Close => Action::Nothing,
        };
        self.follow(now, next, out);
    }

    /// Does what the sender wants.
    fn follow(&mut self, now: Time, next: Action, out: &mut Outbox<'_>) {
        match next {
            Action::Send(control) => self.send_control(now, control, out),
            Action::Begin => {
                self.account.known_at.get_or_insert(now);
                self.next_at = now;
                self.give_up_all();
                self.on_send_timer(now, out);
            }
            Action::Resume | Action::Nothing => {}
        }
    }

    fn send_control(&mut self, now: Time, control: Control, out: &mut Outbox<'_>) {
        let message = match control {
            Control::Open => Message::Open(Open {
                priority: self.priority,
                packet: self.settings.packet.get() as u16,
                packets: self.total,
            }),
            Control::Train { number, count } => {
                let size = self.settings.packet.get() as u32;
                for index in 0..count {
                    let train = Train {
                        number,
                        index,
                        count,
                    };
                    self.writer
                        .send_padded(now, Message::Train(train), size, out);
                }
                return;
            }
            Control::Probe => Message::Probe,
            Control::Close => Message::Close,
        };
        self.writer.send(now, message, out);
    }

    /// When the oldest unreported burst began.
    fn oldest(&self) -> Option<Time> {
        // Only the circuit breaker needs it.
        self.settings.circuit_breaker?;
        self.ledger.oldest().map(|burst| burst.departure(0))
    }

    pub(super) fn path(&self) -> PathView {
        let rto = self.estimator.rto();
        PathView {
            packet: self.settings.packet,
            close: rto,
            train: rto + trains::PATIENCE * 2,
            probe: PROBE_INTERVAL,
        }
    }

    /// Records why a data packet was lost.
    pub fn note_drop(&mut self, burst: u32, cause: DropCause) {
        self.ledger.note_drop(burst, cause);
    }
}
