//! The receiving end of an AATP connection.
//!
//! It answers every burst with a SACK once the burst is over: when its last packet or a packet of a
//! later burst has arrived, or when none has arrived for an interval. A packet of the burst that
//! arrives later still counts as data, but the report has named it as missing. The SACK is
//! retransmitted until its ACK arrives, so that no report is lost. The ACK also gives this end a
//! round-trip sample (13).
//!
//! The data is a file: packets count when they arrive, in any order.

use super::node::Node;
use super::outbox::{Outbox, Writer};
use super::parts::parts;
use super::wire::{
    AckOf, Data, ENDLESS, MAX_PARTS, Message, Open, Sack, Train, TrainReport, gaps_that_fit,
};
use crate::measure::Delays;
use crate::packet::{Block, Flags};
use crate::ranges::Ranges;
use std::collections::VecDeque;
use whimbrel_cc::burst_transport::trains::TRAINS;
use whimbrel_cc::burst_transport::{ArrivedBurst, Granted, Receiver};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Maximum number of reports that wait for their ACK. Older ones are dropped; the sender
/// retransmits data that is not reported.
const MAX_REPORTS: usize = 1024;
/// Bounds of the retransmission interval of a report.
const MIN_PATIENCE: Duration = Duration::from_millis(10);
const MAX_PATIENCE: Duration = Duration::from_secs(1);

/// The receiving end.
#[derive(Debug)]
pub(crate) struct Sink {
    writer: Writer,
    opened: Option<Open>,
    receiver: Receiver,
    received: Ranges,
    delivered: u32,
    /// The last packet of the data has arrived.
    has_last: bool,
    reports: VecDeque<WaitingSack>,
    srtt: Option<Duration>,
    heard: Time,
    closed: bool,
    /// One-way delays of the data packets.
    pub one_way: Delays,
    /// Round trips as measured here (13).
    pub rtt: Delays,
}

/// A SACK that is not acknowledged.
#[derive(Debug)]
struct WaitingSack {
    sack: Sack,
    sent: Time,
    due: Time,
    tries: u32,
}

impl Sink {
    /// The receiving end of a flow.
    pub fn new(flow: u32) -> Self {
        Self {
            writer: Writer {
                path_id: flow,
                direction: Flags::BACKWARD,
            },
            opened: None,
            receiver: Receiver::default(),
            received: Ranges::default(),
            delivered: 0,
            has_last: false,
            reports: VecDeque::new(),
            srtt: None,
            heard: Time::ZERO,
            closed: false,
            one_way: Delays::new(),
            rtt: Delays::new(),
        }
    }

    /// Packets of data that have arrived, each counted once, and whether the last packet is among
    /// them.
    pub fn delivered(&self) -> (u32, bool) {
        (self.delivered, self.has_last)
    }

    /// When its next timer is due.
    pub fn deadline(&self) -> Option<Time> {
        let report = self.reports.iter().map(|r| r.due).min();
        self.receiver.deadline().into_iter().chain(report).min()
    }

    /// A message arrived.
    pub(super) fn on_message(
        &mut self,
        now: Time,
        message: Message,
        node: &mut Node,
        out: &mut Outbox<'_>,
    ) {
        if now.since(self.heard) > self.patience() {
            // The path was silent and works again: reports that it may have lost are retransmitted
            // now.
            self.reports.iter_mut().for_each(|r| r.due = now);
        }
        self.heard = now;
        match message {
            Message::Open(open) => self.on_open(now, open, node, out),
            Message::Train(train) => self.on_train(now, &train, node, out),
            Message::Data(data) => {
                if let Some(ack) = data.ack {
                    self.on_ack(now, ack);
                }
                self.on_data(now, &data, node, out);
            }
            Message::Ack(ack) => self.on_ack(now, ack),
            Message::Probe => self.writer.send(now, Message::ProbeAnswer, out),
            Message::Close => {
                self.leave(now, node);
                self.reports.clear();
                self.writer.send(now, Message::Closed, out);
            }
            // Messages that only this end sends.
            Message::Accept(_)
            | Message::TrainReport(_)
            | Message::Sack(_)
            | Message::ProbeAnswer
            | Message::Closed => {}
        }
        self.on_timer(now, node, out);
    }

    /// Handles the timers that are due.
    pub fn on_timer(&mut self, now: Time, node: &mut Node, out: &mut Outbox<'_>) {
        if let Some(open) = self.opened {
            let (burst, train) = self.receiver.on_timer(now, packet(open));
            if let Some(burst) = burst {
                self.report(now, open, &burst, node, out);
            }
            if let Some(number) = train {
                self.confirm(now, number, open, node, out);
            }
        }
        let patience = self.patience();
        for report in self.reports.iter_mut().filter(|r| r.due <= now) {
            report.sack.again = true;
            report.tries += 1;
            let wait = patience * (1 << report.tries.min(10));
            report.due = now + wait.min(MAX_PATIENCE);
            self.writer
                .send(now, Message::Sack(report.sack.clone()), out);
        }
    }

    /// How long to wait for the first ACK of a report: two round trips.
    fn patience(&self) -> Duration {
        let rtt = self.srtt.unwrap_or(MAX_PATIENCE);
        (rtt * 2).clamp(MIN_PATIENCE, MAX_PATIENCE)
    }

    fn on_open(&mut self, now: Time, open: Open, node: &mut Node, out: &mut Outbox<'_>) {
        // The first answer may have been lost: every opening is answered, the first one counts.
        let open = *self.opened.get_or_insert(open);
        let known = node.known();
        let known = known.filter(|rate| *rate > Rate::ZERO);
        let granted = known.map(|rate| node.join(now, self.writer.path_id, open.priority, rate));
        self.writer.send(now, Message::Accept(granted), out);
    }

    fn on_train(&mut self, now: Time, train: &Train, node: &mut Node, out: &mut Outbox<'_>) {
        let Train {
            number,
            index,
            count,
        } = *train;
        if let Some(open) = self.opened
            && let Some(number) = self
                .receiver
                .on_train(now, number, index, count, packet(open))
        {
            self.confirm(now, number, open, node, out);
        }
    }

    /// A train is over and gave an estimate: reports it.
    fn confirm(
        &mut self,
        now: Time,
        number: u32,
        open: Open,
        node: &mut Node,
        out: &mut Outbox<'_>,
    ) {
        let measured = self.receiver.trains().measured();
        let mean = self.receiver.trains().mean();
        let known = (measured == TRAINS && !self.closed).then(|| Granted {
            bandwidth: mean,
            ..node.join(now, self.writer.path_id, open.priority, mean)
        });
        let report = TrainReport {
            number,
            measured,
            granted: known,
        };
        self.writer.send(now, Message::TrainReport(report), out);
    }

    fn on_data(&mut self, now: Time, data: &Data, node: &mut Node, out: &mut Outbox<'_>) {
        let Some(open) = self.opened else { return };
        if open.packets != ENDLESS && data.sequence >= open.packets {
            return;
        }
        self.one_way.add(Duration::from_nanos(
            now.as_nanos().saturating_sub(data.place.sent),
        ));
        self.keep(data.sequence, open.packets);
        for burst in self.receiver.on_packet(now, &data.place).iter().flatten() {
            self.report(now, open, burst, node, out);
        }
        if self.delivered == open.packets {
            self.leave(now, node);
        }
    }

    fn keep(&mut self, sequence: u32, packets: u32) {
        let packet = Block {
            start: sequence,
            end: sequence.saturating_add(1),
        };
        let mut new = false;
        self.received.insert(packet, |_| new = true);
        self.delivered += u32::from(new);
        self.has_last |= sequence.checked_add(1) == Some(packets);
    }

    /// A burst is over: reports on it.
    fn report(
        &mut self,
        now: Time,
        open: Open,
        burst: &ArrivedBurst,
        node: &mut Node,
        out: &mut Outbox<'_>,
    ) {
        let arrival = &burst.arrival;
        let delivered = arrival.delivered_rate(packet(open));
        let share = node.on_burst(now, self.writer.path_id, delivered);
        let gaps = arrival.gaps();
        let fit = gaps_that_fit(u32::from(open.packet));
        let parts = parts(&gaps, fit, MAX_PARTS, arrival.count());
        let due = now + self.patience();
        for (part, gaps) in parts.iter().enumerate() {
            let sack = Sack {
                burst: arrival.burst(),
                part: part as u8,
                parts: parts.len() as u8,
                again: false,
                count: arrival.count(),
                received: arrival.received(),
                lost_bursts: burst.lost_bursts,
                spans: arrival.spans(),
                held: now.since(arrival.last_at()),
                share,
                gaps: gaps.clone(),
            };
            self.writer.send(now, Message::Sack(sack.clone()), out);
            if self.reports.len() == MAX_REPORTS {
                self.reports.pop_front();
            }
            self.reports.push_back(WaitingSack {
                sack,
                sent: now,
                due,
                tries: 0,
            });
        }
    }

    fn on_ack(&mut self, now: Time, ack: AckOf) {
        let found = self
            .reports
            .iter()
            .position(|r| (r.sack.burst, r.sack.part) == (ack.burst, ack.part));
        let Some(report) = found.and_then(|i| self.reports.remove(i)) else {
            return;
        };
        if report.sack.again {
            return;
        }
        let rtt = now.since(report.sent);
        self.rtt.add(rtt);
        // RFC 6298 section 2.3, as at the other end.
        self.srtt = Some(self.srtt.map_or(rtt, |s| (s * 7).saturating_add(rtt) / 8));
    }

    fn leave(&mut self, now: Time, node: &mut Node) {
        if !self.closed {
            self.closed = true;
            node.leave(now, self.writer.path_id);
        }
    }
}

/// Size of a full packet on the wire.
fn packet(open: Open) -> Bytes {
    Bytes::new(open.packet.into())
}
