//! The packets of one path, and what an ACK frame of several of them tells an algorithm.

use super::{Flight, Packet, Rounds, Rtt};
use crate::estimators::delivery_rate::RateEstimator;
use crate::interface::Ack;
use whimbrel_units::{Bytes, Time};

/// Counts of the packets of one path. An adapter reports each packet, and the end of each frame.
#[derive(Debug, Clone, Default)]
pub struct Packets {
    /// Bytes in flight.
    pub in_flight: u64,
    /// The packets in flight, in order of transmission.
    pub flight: Flight,
    /// The delivery rate, and the data delivered and lost.
    pub rate: RateEstimator,
    /// Round-trip times.
    pub rtt: Rtt,
    /// Round trips, and the use of the window in them.
    pub rounds: Rounds,
    /// The newest packet acknowledged so far, by order of transmission.
    newest_acked: Option<u64>,
    /// Bytes acknowledged so far in the current ACK frame.
    acked: u64,
    /// The newest packet of them: its order of transmission and when it was sent.
    newest: Option<(u64, Time)>,
    /// The sender had no data to send when the last ACK frame arrived.
    app_limited: bool,
}

/// An acknowledgment that the algorithm has not received yet, since the losses that it reveals go
/// first.
#[derive(Debug, Clone, Copy)]
pub struct PendingAck {
    /// What the algorithm receives, but for the counts that its losses change.
    pub ack: Ack,
    /// The newest packet that it acknowledges, by order of transmission.
    pub newest: u64,
}

impl Packets {
    /// A packet of `bytes` bytes with this number was sent. Returns the bytes in flight with it.
    pub fn sent(&mut self, now: Time, bytes: u64, number: u64) -> Bytes {
        let idle = self.in_flight == 0;
        self.in_flight += bytes;
        let in_flight = Bytes::new(self.in_flight);
        let tag = self.rate.on_sent(now, idle, in_flight);
        self.flight.sent(now, number, tag);
        self.rounds.on_in_flight(self.in_flight);
        in_flight
    }

    /// A packet of `bytes` bytes, sent at `sent`, was acknowledged; `packet` is what
    /// [`flight`](Self::flight) had of it.
    pub fn acked(&mut self, now: Time, sent: Time, bytes: u64, packet: Option<Packet>) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.acked += bytes;
        let size = Bytes::new(bytes);
        let order = match packet {
            Some(packet) => {
                self.rate
                    .on_acked(now, size, packet.order, sent, packet.tag);
                packet.order
            }
            None => {
                self.rate.on_untagged(now, size);
                self.flight.order_at(sent)
            }
        };
        if self.newest.is_none_or(|(newest, _)| order > newest) {
            self.newest = Some((order, sent));
        }
    }

    /// An ACK frame ends, after which `in_flight` bytes are in flight, under a window of `cwnd`;
    /// `None` if it acknowledged nothing new.
    pub fn end_of_acks(
        &mut self,
        now: Time,
        in_flight: u64,
        app_limited: bool,
        cwnd: Bytes,
    ) -> Option<PendingAck> {
        self.in_flight = in_flight;
        self.app_limited = app_limited;
        let acked = std::mem::take(&mut self.acked);
        let (newest, sent) = self.newest.take()?;
        // RFC 9002 section 5.1: a sample is taken only if the largest acknowledged packet is newly
        // acknowledged.
        let is_newest = self.newest_acked.is_none_or(|before| newest > before);
        if is_newest {
            self.newest_acked = Some(newest);
            self.rtt.sample(now.since(sent));
        }
        let cwnd_limited = self.rounds.used(cwnd.get(), app_limited);
        let rate = self.rate.on_end(self.rtt.min());
        if app_limited {
            self.rate.on_app_limited(Bytes::new(in_flight));
        }
        let ack = Ack {
            now,
            acked: Bytes::new(acked),
            rtt: is_newest.then(|| self.rtt.latest()),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            in_flight: Bytes::new(in_flight),
            delivered: self.rate.delivered(),
            delivery_rate: rate.rate,
            app_limited: app_limited || rate.app_limited,
            cwnd_limited,
            in_recovery: false,
            round_start: self.rounds.on_ack(newest, self.flight.next_order()),
            receiver_time: None,
            lost: self.rate.lost(),
            newest: rate.newest,
            ece: false,
        };
        self.flight.forget_old(now);
        Some(PendingAck { ack, newest })
    }

    /// The bytes from which a reduction of the window `cwnd` is computed, if `flight` bytes were in
    /// flight before the loss.
    ///
    /// RFC 9002 (appendix B.6) reduces the window, RFC 5681 (section 3.1) FlightSize, so that a
    /// window that the sender did not use is not kept. A paced sender that uses its window often
    /// has fewer bytes in flight when it detects a loss: then it is the window.
    pub fn reducible(&self, flight: u64, cwnd: Bytes) -> Bytes {
        let used = self.rounds.used(cwnd.get(), self.app_limited);
        let least = if used { cwnd } else { Bytes::ZERO };
        Bytes::new(flight).max(least)
    }

    /// The newest packet acknowledged so far, by order of transmission.
    pub fn newest_acked(&self) -> Option<u64> {
        self.newest_acked
    }

    /// The connection goes on over another path, of which packets sent so far say nothing. Returns
    /// the position of the next packet in the order of transmission.
    pub fn move_path(&mut self) -> u64 {
        self.rtt = Rtt::default();
        let next = self.flight.next_order();
        self.newest_acked = next.checked_sub(1).max(self.newest_acked);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_units::Duration;

    const SIZE: u64 = 1_000;

    /// A path on which `sent` packets are in flight and the first two were acknowledged.
    fn after_an_ack_of_two(sent: u64, cwnd: Bytes, app_limited: bool) -> Packets {
        let mut packets = Packets::default();
        for number in 0..sent {
            packets.sent(Time::ZERO, SIZE, number);
        }
        let now = Time::ZERO + Duration::from_millis(20);
        for number in 0..2 {
            let packet = packets.flight.acknowledged(Time::ZERO, number);
            packets.acked(now, Time::ZERO, SIZE, packet);
        }
        packets.end_of_acks(now, packets.in_flight, app_limited, cwnd);
        packets
    }

    #[test]
    fn a_used_window_is_what_a_loss_reduces_though_pacing_holds_packets_back() {
        let cwnd = Bytes::new(10 * SIZE);
        let reducible = |sent, app_limited| {
            let packets = after_an_ack_of_two(sent, cwnd, app_limited);
            packets.reducible(packets.in_flight, cwnd)
        };
        assert_eq!(reducible(9, false), cwnd, "seven packets are in flight");
        assert_eq!(reducible(9, true), Bytes::new(7 * SIZE), "no data to send");
        assert_eq!(
            reducible(4, false),
            Bytes::new(2 * SIZE),
            "an unused window"
        );
        assert_eq!(reducible(14, false), Bytes::new(12 * SIZE));
    }
}
