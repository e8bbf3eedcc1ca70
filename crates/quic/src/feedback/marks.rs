//! When packets arrived, by the receiver's clock, for algorithms that are fed acknowledgments
//! ([`Ack::receiver_time`](whimbrel_cc::Ack::receiver_time)).
//!
//! Each packet of such a flow carries a mark, and the receiver reports the newest mark that arrived
//! with each acknowledgment. A report belongs to one packet: the algorithm gets the time only with
//! the acknowledgment whose newest packet that is. Other acknowledgments have none.
//!
//! A report is a peer's word. A false one can only mislead the algorithm of the peer's own
//! transfer: times are passed on as they are, and algorithms use differences of them.

use std::collections::VecDeque;
use whimbrel_units::Time;

/// The marks of a sender.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// The number of the next mark.
    next: u32,
    /// The packets with marks that are in flight: order of transmission and number of the mark.
    sent: VecDeque<(u64, u32)>,
    /// The newest report: the packet's order, and when it arrived.
    arrived: Option<(u64, Time)>,
}

impl Marks {
    /// The number of the next mark.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The packet `order`, in order of transmission, carries the next mark.
    pub fn sent(&mut self, order: u64) {
        self.sent.push_back((order, self.next));
        self.next = self.next.wrapping_add(1);
    }

    /// The packet with the mark `number` arrived at `time`. A number that is not in flight is
    /// ignored.
    pub fn arrived(&mut self, number: u32, time: Time) {
        // Numbers are consecutive, so the place follows from the number.
        let Some((_, first)) = self.sent.front() else {
            return;
        };
        let place = number.wrapping_sub(*first) as usize;
        if let Some((order, _)) = self.sent.get(place) {
            self.arrived = Some((*order, time));
        }
    }

    /// When the packet `order` arrived, if that is known; packets up to it are no longer in flight.
    pub fn acknowledged(&mut self, order: u64) -> Option<Time> {
        while self.sent.front().is_some_and(|(sent, _)| *sent <= order) {
            self.sent.pop_front();
        }
        self.arrived
            .filter(|(arrived, _)| *arrived == order)
            .map(|(_, time)| time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u64) -> Time {
        Time::from_nanos(n)
    }

    #[test]
    fn a_time_belongs_to_the_packet_that_carried_the_mark() {
        let mut marks = Marks::default();
        // Packet 3 carries no mark.
        for order in [0, 1, 2, 4, 5] {
            marks.sent(order);
        }
        marks.arrived(1, at(10));
        assert_eq!(marks.acknowledged(1), Some(at(10)));
        marks.arrived(3, at(40));
        assert_eq!(marks.acknowledged(3), None, "another packet's");
        assert_eq!(marks.acknowledged(4), Some(at(40)));
        marks.arrived(1, at(11));
        marks.arrived(99, at(12));
        assert_eq!(marks.acknowledged(5), None, "reports of nothing in flight");
    }

    #[test]
    fn numbers_may_wrap() {
        let mut marks = Marks {
            next: u32::MAX,
            ..Marks::default()
        };
        marks.sent(7);
        marks.sent(8);
        marks.arrived(0, at(5));
        assert_eq!(marks.acknowledged(8), Some(at(5)));
    }
}
