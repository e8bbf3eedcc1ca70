//! The receiving end of an AATP connection.
//!
//! It answers every burst with a SACK once the burst is over: when its last packet or a packet of a
//! later burst has arrived, or when none has arrived for an interval. A packet of the burst that
//! arrives later still counts as data, but the report has named it as missing. The SACK is
//! retransmitted until its ACK arrives, so that no report is lost. The ACK also gives this end a
//! round-trip sample (13).
//!
//! The data is a file: packets count when they arrive, in any order.

use super::message::Writer;
use super::node::Node;
use super::parts::parts;
use super::wire::{
    AckOf, Data, ENDLESS, Granted, MAX_PARTS, Message, Open, Sack, Train, TrainReport,
    gaps_that_fit,
};
use crate::engine::packet::{Block, Flags};
use crate::engine::payload_pool::Outbox;
use crate::measure::Delays;
use crate::ranges::Ranges;
use std::collections::VecDeque;
use whimbrel_cc::burst_transport::trains::TRAINS;
use whimbrel_cc::burst_transport::{Arrival, Trains};
use whimbrel_units::{Duration, Time};

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
    trains: Trains,
    received: Ranges,
    delivered: u32,
    /// The last packet of the data has arrived.
    has_last: bool,
    arriving: Option<Arrival>,
    /// The first burst that has not been reported.
    next_burst: u32,
    reports: VecDeque<Report>,
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
struct Report {
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
                lane: flow,
                direction: Flags::BACKWARD,
            },
            opened: None,
            trains: Trains::default(),
            received: Ranges::default(),
            delivered: 0,
            has_last: false,
            arriving: None,
            next_burst: 0,
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
        let burst = self.arriving.as_ref().map(Arrival::deadline);
        let report = self.reports.iter().map(|r| r.due).min();
        [burst, report, self.trains.deadline()]
            .into_iter()
            .flatten()
            .min()
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
            Message::Probe => self.writer.send(now, &Message::ProbeAnswer, out),
            Message::Close => {
                self.leave(now, node);
                self.reports.clear();
                self.writer.send(now, &Message::Closed, out);
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
        if self.arriving.as_ref().is_some_and(|a| a.deadline() <= now) {
            self.report(now, node, out);
        }
        if let Some(open) = self.opened
            && let Some(number) = self.trains.on_timer(now, open.packet())
        {
            self.confirm(now, number, open, node, out);
        }
        let patience = self.patience();
        for report in self.reports.iter_mut().filter(|r| r.due <= now) {
            report.sack.again = true;
            report.tries += 1;
            let wait = patience * (1 << report.tries.min(10));
            report.due = now + wait.min(MAX_PATIENCE);
            let message = Message::Sack(report.sack.clone());
            self.writer.send(now, &message, out);
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
        let granted = match node.known() {
            Some(rate) => node.join(now, self.writer.lane, open.priority, rate).into(),
            None => Granted::default(),
        };
        self.writer.send(now, &Message::Accept(granted), out);
    }

    fn on_train(&mut self, now: Time, train: &Train, node: &mut Node, out: &mut Outbox<'_>) {
        if let Some(open) = self.opened
            && let Some(number) =
                self.trains
                    .on_packet(now, train.number, train.index, train.count, open.packet())
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
        let measured = self.trains.measured();
        let mean = self.trains.mean();
        let granted = if measured == TRAINS && !self.closed {
            let granted = node.join(now, self.writer.lane, open.priority, mean);
            Granted {
                bandwidth: mean.as_bits_per_sec(),
                ..granted.into()
            }
        } else {
            Granted::default()
        };
        let report = TrainReport {
            number,
            measured,
            granted,
        };
        self.writer.send(now, &Message::TrainReport(report), out);
    }

    fn on_data(&mut self, now: Time, data: &Data, node: &mut Node, out: &mut Outbox<'_>) {
        let Some(open) = self.opened else { return };
        if open.packets != ENDLESS && data.sequence >= open.packets {
            return;
        }
        self.one_way.add(Duration::from_nanos(
            now.as_nanos().saturating_sub(data.sent),
        ));
        self.keep(data.sequence, open.packets);
        if data.burst >= self.next_burst {
            let another = self
                .arriving
                .as_ref()
                .is_some_and(|a| a.burst() != data.burst);
            if another {
                if self
                    .arriving
                    .as_ref()
                    .is_some_and(|a| a.burst() > data.burst)
                {
                    return; // Overtaken by a later burst: it will be reported as lost.
                }
                self.report(now, node, out);
            }
            let packet = data.in_burst();
            let over = match &mut self.arriving {
                Some(arrival) => arrival.add(now, &packet),
                None => {
                    self.arriving = Arrival::new(now, &packet);
                    self.arriving.as_ref().is_some_and(Arrival::has_last)
                }
            };
            if over {
                self.report(now, node, out);
            }
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

    /// The current burst is over: reports on it.
    fn report(&mut self, now: Time, node: &mut Node, out: &mut Outbox<'_>) {
        let (Some(arrival), Some(open)) = (self.arriving.take(), self.opened) else {
            return;
        };
        let delivered = arrival.delivered_rate(open.packet());
        let share = node.on_burst(now, self.writer.lane, delivered);
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
                lost_bursts: arrival.burst() - self.next_burst,
                spans: arrival.spans(),
                held: now.since(arrival.last_at()).as_nanos(),
                share,
                gaps: gaps.clone(),
            };
            self.writer.send(now, &Message::Sack(sack.clone()), out);
            if self.reports.len() == MAX_REPORTS {
                self.reports.pop_front();
            }
            self.reports.push_back(Report {
                sack,
                sent: now,
                due,
                tries: 0,
            });
        }
        self.next_burst = arrival.burst().saturating_add(1);
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
            node.leave(now, self.writer.lane);
        }
    }
}
