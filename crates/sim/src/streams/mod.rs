//! The data of a multipath connection: streams, and messages that arrive one by one.
//!
//! TCP has one ordered stream: while a segment is missing, everything after it waits at the
//! receiver, even if it has nothing to do with the missing segment (head-of-line blocking). Several
//! streams over one connection share its window, its acknowledgments and its recovery, but each is
//! delivered in its own order, so a loss delays one stream. Streams change when data is delivered,
//! not how fast it is sent: windows and packets on the wire are the same.
//!
//! R. Stewart, M. Tüxen, K. Nielsen, "Stream Control Transmission Protocol", RFC 9260, 2022; R.
//! Stewart et al., "Stream Schedulers and User Message Interleaving for SCTP", RFC 8260, 2017; J.
//! Iyengar, M. Thomson, "QUIC", RFC 9000, 2021. Streams over TCP itself, with the window of FAST:
//! S. A. Awan, M. J. Arshad, "Enhancing Fast TCP's Performance Using Single TCP Connection for
//! Parallel Traffic Flows to Prevent Head-of-Line Blocking", IEEE Access 7, 2019 (MFAST), as
//! described in S. Ahmad, M. J. Arshad, "Enhanced Multistream Fast TCP", Applied Sciences 9(21),
//! 2019, sections 1 and 2.
//!
//! * New segments are taken from the streams that have data in turn, one segment each ([`backlog`];
//!   Round-Robin per Packet, RFC 8260 section 3.3), or complete messages are sent in the order in
//!   which they arrived (First-Come, First-Served, section 3.1).
//! * Each message has segments of its own: no segment carries parts of two messages (no bundling,
//!   no Nagle's algorithm).
//! * Segments are numbered over all streams and acknowledged by that number, like the bytes of TCP
//!   and the TSNs of SCTP. Each stream is delivered in its own order ([`delivery`]), and its bytes
//!   as soon as they are in order.
//! * An acknowledgment also says how many segments were delivered. The sender sends at most the
//!   receive window of segments beyond that. Delivered data frees room, data held behind a hole
//!   does not (a_rwnd of RFC 9260 section 6.2, flow control of RFC 9000 section 4.1). With one
//!   stream it is the Data ACK of RFC 8684, the number of the next segment expected.
//! * The latency of a message is the time from its arrival at the sender to the delivery of its
//!   last byte. It is blocked for as long as it is complete at the receiver before that
//!   ([`ledger`]).
//!
//! Where it departs from the RFCs: the window counts whole segments, however small. Headers do not
//! grow by what streams need (SCTP's chunk header has 16 bytes; set `header` accordingly). Streams
//! exist from the beginning and never end. No stream has a window or a priority of its own. A
//! window does not shrink while a connection is idle (RFC 5681 section 4.1 and RFC 9260 section
//! 7.2.1 would reduce it).
//!
//! The full texts of the RFCs were not available when this was written: what they define was, the
//! section numbers could not be verified. The MFAST paper was not available either.

mod arrivals;
mod backlog;
mod delivery;
mod ledger;

use crate::network::TcpFlow;
use crate::outcome::{Distribution, MessageOutcome, StreamOutcome};
use crate::tcp::Mapping;
use arrivals::Arrivals;
use backlog::{Backlog, Piece};
use delivery::Delivery;
use ledger::Ledger;
use whimbrel_units::{Bytes, Time};

/// Maximum number of streams of a connection: identifiers have 16 bits (RFC 9260 section 3.3.1).
pub(crate) const MAX_STREAMS: u32 = u16::MAX as u32;

/// The data of a connection, at its sender and at its receiver, in segments.
#[derive(Debug)]
pub(crate) struct Data {
    // At the sender.
    backlog: Backlog,
    /// The number of the next segment to be sent for the first time.
    next: u32,
    /// Segments that the other end is known to have delivered.
    acknowledged: u32,
    /// Receive window in segments.
    window: u32,
    messages: Option<Messages>,
    // At the receiver.
    delivery: Delivery,
    /// Segments delivered, and bytes delivered on each stream.
    delivered: u32,
    bytes: Vec<u64>,
}

/// The messages that are to arrive, and what happens to the others.
#[derive(Debug)]
struct Messages {
    arrivals: Arrivals,
    ledger: Ledger,
}

impl Data {
    /// The data of a flow. `seed` is for the random draws.
    pub fn new(tcp: &TcpFlow, seed: u64) -> Self {
        let count = tcp.streams.count.clamp(1, MAX_STREAMS);
        let mss = tcp.settings.mss;
        let window = tcp.settings.receive_window.get() / mss.get();
        let mut backlog = Backlog::new(count, tcp.streams.interleave, mss);
        let messages = tcp.streams.messages.map(|spec| Messages {
            arrivals: Arrivals::new(spec, seed),
            ledger: Ledger::new(count),
        });
        if messages.is_none() {
            push_bulk(&mut backlog, tcp.size, count);
        }
        Self {
            backlog,
            next: 0,
            acknowledged: 0,
            window: u32::try_from(window).unwrap_or(u32::MAX).max(1),
            messages,
            delivery: Delivery::new(count),
            delivered: 0,
            bytes: vec![0; count as usize],
        }
    }

    // ------------------------------------------------------------------ the sender

    /// The connection is established: its application starts.
    pub fn begin(&mut self, now: Time) {
        if let Some(messages) = &mut self.messages {
            messages.arrivals.begin(now);
        }
        self.on_timer(now);
    }

    /// The application submits no more. Bulk data ends with what was sent; messages that have
    /// arrived are still sent.
    pub fn stop(&mut self) {
        match &mut self.messages {
            Some(messages) => messages.arrivals.stop(),
            None => self.backlog.clear(),
        }
    }

    /// When the next message arrives.
    pub fn deadline(&self) -> Option<Time> {
        self.messages.as_ref().and_then(|m| m.arrivals.next())
    }

    /// Takes the messages that have arrived by `now`.
    pub fn on_timer(&mut self, now: Time) {
        let Some(Messages { arrivals, ledger }) = &mut self.messages else {
            return;
        };
        while let Some((at, size)) = arrivals.take(now) {
            let segments = self.backlog.push(Some(size));
            ledger.on_arrival(at, segments);
        }
    }

    /// The next segment, if there is one and the receive window has room for it.
    pub fn next(&self) -> Option<Mapping> {
        let piece = self.next_piece()?;
        Some(Mapping {
            data: self.next,
            payload: piece.payload,
        })
    }

    fn next_piece(&self) -> Option<Piece> {
        let open = self.next < u32::MAX && self.next - self.acknowledged < self.window;
        self.backlog.next().filter(|_| open)
    }

    /// Bytes that wait to be sent for the first time, in whole segments.
    pub fn waiting(&self) -> Bytes {
        match self.backlog.is_empty() {
            true => Bytes::ZERO,
            false => self.backlog.bytes(),
        }
    }

    /// The next segment was sent.
    pub fn take(&mut self) {
        if let Some(piece) = self.next_piece() {
            self.backlog.take(piece);
            self.delivery.on_sent(piece);
            self.next += 1;
        }
    }

    /// The other end had delivered this many segments when it sent the acknowledgment. A later
    /// acknowledgment on a faster path may have arrived before.
    pub fn on_data_ack(&mut self, delivered: u32) {
        self.acknowledged = self.acknowledged.max(delivered.min(self.next));
    }

    /// Whether the other end is known to have delivered a segment. Valid with one stream only:
    /// there, everything before a number is delivered.
    pub fn is_acknowledged(&self, data: u32) -> bool {
        data < self.acknowledged
    }

    /// Whether the other end is known to have delivered all data that there will ever be.
    pub fn all_acknowledged(&self) -> bool {
        self.is_all(self.acknowledged)
    }

    fn is_all(&self, segments: u32) -> bool {
        let over = self.messages.as_ref().is_none_or(|m| m.arrivals.is_over());
        over && self.backlog.is_empty() && segments == self.next
    }

    // ------------------------------------------------------------------ the receiver

    /// A segment arrived. Returns its bytes if it had not arrived before. Delivers what is now in
    /// order.
    pub fn on_data(&mut self, now: Time, data: u32) -> Option<u32> {
        let arrived = self.delivery.on_data(data)?;
        let mut ledger = self.messages.as_mut().map(|m| &mut m.ledger);
        if let Some(ledger) = &mut ledger {
            ledger.on_data(now, arrived.message);
        }
        while let Some(piece) = self.delivery.deliver(arrived.stream) {
            self.delivered += 1;
            self.bytes[piece.stream as usize] += u64::from(piece.payload);
            if let Some(ledger) = ledger.as_mut().filter(|_| piece.ends) {
                ledger.on_delivery(now, piece.message, piece.stream);
            }
        }
        Some(arrived.payload)
    }

    /// Segments delivered to the application.
    pub fn delivered(&self) -> u32 {
        self.delivered
    }

    /// Their bytes.
    pub fn payload_delivered(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// Whether all data that there will ever be is delivered.
    pub fn is_complete(&self) -> bool {
        self.is_all(self.delivered)
    }

    /// The distribution of the latency of the messages; empty if there are none.
    pub fn latencies(&mut self) -> Distribution {
        let messages = self.messages.as_mut();
        messages.map(|m| m.ledger.latencies()).unwrap_or_default()
    }

    /// The outcome of the messages, if there are any, and of each stream.
    pub fn outcome(&mut self) -> (Option<MessageOutcome>, Vec<StreamOutcome>) {
        let stream = |(i, bytes): (usize, &u64)| {
            let of = self.messages.as_ref().map(|m| m.ledger.of_stream(i));
            let (messages, latency) = of.unwrap_or_default();
            StreamOutcome {
                delivered: Bytes::new(*bytes),
                messages,
                latency,
            }
        };
        let streams = self.bytes.iter().enumerate().map(stream).collect();
        (self.messages.as_mut().map(|m| m.ledger.outcome()), streams)
    }
}

/// Adds bulk data in equal parts on all streams. The remainder goes to the first ones, a byte each.
fn push_bulk(backlog: &mut Backlog, size: Option<Bytes>, streams: u32) {
    let streams = u64::from(streams);
    let part = |stream: u64| {
        size.map(|size| {
            let size = size.get();
            Bytes::new(size / streams + u64::from(stream < size % streams))
        })
    };
    let parts = (0..streams).map(part);
    // The parts do not grow, so all parts after an empty one are empty.
    for part in parts.take_while(|part| *part != Some(Bytes::ZERO)) {
        backlog.push(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Streams, TcpSettings};

    /// Bulk data on this many streams, with a receive window of four and a half segments of 1000
    /// bytes.
    fn bulk(count: u32, size: Option<u64>) -> Data {
        let tcp = TcpFlow {
            controller: "newreno".parse().expect("registered"),
            size: size.map(Bytes::new),
            two_way: false,
            streams: Streams {
                count,
                ..Streams::default()
            },
            settings: TcpSettings {
                mss: Bytes::new(1000),
                receive_window: Bytes::new(4500),
                ..TcpSettings::default()
            },
        };
        Data::new(&tcp, 1)
    }

    /// Sends what may be sent: the numbers and bytes of the segments.
    fn send(data: &mut Data) -> Vec<(u32, u32)> {
        let one = || {
            let mapping = data.next()?;
            data.take();
            Some((mapping.data, mapping.payload))
        };
        std::iter::from_fn(one).collect()
    }

    #[test]
    fn delivered_data_frees_room_and_held_data_does_not() {
        let mut data = bulk(2, None);
        assert_eq!(
            send(&mut data).len(),
            4,
            "4 whole segments fit into 4500 bytes"
        );
        // Segment 0, of the first stream, is lost: 2 is held, 1 and 3 of the second stream are
        // delivered.
        for number in 1..4 {
            assert_eq!(data.on_data(Time::ZERO, number), Some(1000));
        }
        assert_eq!(data.on_data(Time::ZERO, 3), None, "it had arrived before");
        assert_eq!((data.delivered(), data.payload_delivered()), (2, 2000));
        data.on_data_ack(data.delivered());
        assert_eq!(send(&mut data), [(4, 1000), (5, 1000)]);
        // On one stream nothing is delivered, and there is no room.
        let mut data = bulk(1, None);
        send(&mut data);
        for number in 1..4 {
            data.on_data(Time::ZERO, number);
        }
        data.on_data_ack(data.delivered());
        assert_eq!((data.delivered(), data.next()), (0, None));
        data.on_data(Time::ZERO, 0);
        assert_eq!(data.delivered(), 4);
    }

    #[test]
    fn old_and_invalid_acknowledgments_change_nothing() {
        let mut data = bulk(1, None);
        send(&mut data);
        data.on_data_ack(2);
        data.on_data_ack(1);
        assert!(data.is_acknowledged(1) && !data.is_acknowledged(2));
        assert_eq!(send(&mut data), [(4, 1000), (5, 1000)]);
        data.on_data_ack(u32::MAX);
        assert!(!data.is_acknowledged(6), "segment 6 was never sent");
    }

    #[test]
    fn the_last_segment_is_short_and_completes_the_data() {
        let mut data = bulk(1, Some(2500));
        assert_eq!(send(&mut data), [(0, 1000), (1, 1000), (2, 500)]);
        (0..3).for_each(|number| {
            assert!(!data.is_complete());
            data.on_data(Time::ZERO, number);
        });
        assert!(data.is_complete() && !data.all_acknowledged());
        data.on_data_ack(3);
        assert!(data.all_acknowledged());
        assert_eq!(data.payload_delivered(), 2500);
    }

    #[test]
    fn after_a_stop_the_data_ends_with_what_was_sent() {
        let mut data = bulk(2, Some(100_000));
        data.take();
        data.take();
        data.stop();
        assert_eq!(data.next(), None);
        data.on_data(Time::ZERO, 0);
        assert!(!data.is_complete());
        data.on_data(Time::ZERO, 1);
        assert!(data.is_complete());
        assert_eq!(data.payload_delivered(), 2000);
    }
}
