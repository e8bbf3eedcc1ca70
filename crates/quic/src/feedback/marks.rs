//! When packets arrived, by the receiver's clock, for algorithms that are fed acknowledgments
//! ([`Ack::receiver_time`](whimbrel_cc::Ack::receiver_time)).
//!
//! Each packet of such a flow carries a mark, or a sample of them does
//! ([`sampling`](super::sampling)). The receiver reports the newest mark that arrived with each
//! acknowledgment. A report belongs to one packet. If each packet carries a mark, the algorithm
//! gets the time only with the acknowledgment whose newest packet that is; other acknowledgments
//! have none. Of a sample it gets the time with the first acknowledgment after it, together with
//! the time at which that packet left.
//!
//! A mark of a sample skips a number. A receiver reports what follows a gap at once.
//!
//! A report is a peer's word. A false one can only mislead the algorithm of the peer's own
//! transfer: times are passed on as they are, and algorithms use differences of them.

use std::collections::VecDeque;
use whimbrel_units::Time;

/// The marks of a sender.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// The number of the next mark, and whether it is of a sample.
    next: (u32, bool),
    /// The packets with marks that are in flight.
    sent: VecDeque<Mark>,
    /// The newest report: the packet, and when it arrived.
    arrived: Option<(Mark, Time)>,
}

/// A packet with a mark.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// Its place in the order of transmission.
    order: u64,
    /// When it left.
    sent: Time,
    number: u32,
    /// Not all packets carry marks.
    sample: bool,
}

/// The arrival of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// When, by the receiver's clock.
    pub at: Time,
    /// When it left, if it is one of a sample and not the newest one that is acknowledged.
    pub sent: Option<Time>,
}

impl Marks {
    /// The number of the next mark. `sample`: not all packets carry marks.
    pub fn number(&mut self, sample: bool) -> u32 {
        let (number, _) = self.next;
        self.next = (number.wrapping_add(u32::from(sample)), sample);
        self.next.0
    }

    /// The packet `order`, in order of transmission, left at `sent` with the last number.
    pub fn sent(&mut self, order: u64, sent: Time) {
        let (number, sample) = self.next;
        self.sent.push_back(Mark {
            order,
            sent,
            number,
            sample,
        });
        self.next = (number.wrapping_add(1), false);
    }

    /// The packet with the mark `number` arrived at `time`. A number that is not in flight is
    /// ignored.
    pub fn arrived(&mut self, number: u32, time: Time) {
        let Some(first) = self.sent.front().map(|mark| mark.number) else {
            return;
        };
        let place = |mark: u32| mark.wrapping_sub(first);
        let found = (self.sent).binary_search_by_key(&place(number), |mark| place(mark.number));
        if let Some(mark) = found.ok().and_then(|index| self.sent.get(index)) {
            self.arrived = Some((*mark, time));
        }
    }

    /// What is known of the arrival of the packet `order`, the newest that is acknowledged; packets
    /// up to it are no longer in flight.
    pub fn acknowledged(&mut self, order: u64) -> Option<Arrived> {
        while self.sent.front().is_some_and(|mark| mark.order <= order) {
            self.sent.pop_front();
        }
        let belongs = |(mark, _): &mut (Mark, Time)| match mark.sample {
            true => mark.order <= order,
            false => mark.order == order,
        };
        let (mark, at) = self.arrived.take_if(belongs)?;
        Some(Arrived {
            at,
            sent: mark.sample.then_some(mark.sent),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u64) -> Time {
        Time::from_nanos(n)
    }

    /// The packet `order` leaves with a mark, at the time `order`. Returns the mark's number.
    fn send(marks: &mut Marks, order: u64, sample: bool) -> u32 {
        let number = marks.number(sample);
        marks.sent(order, at(order));
        number
    }

    #[test]
    fn a_time_belongs_to_the_packet_that_carried_the_mark() {
        let mut marks = Marks::default();
        // Packet 3 carries no mark.
        let orders = [0, 1, 2, 4, 5];
        let numbers = orders.map(|order| send(&mut marks, order, false));
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
        let exactly = |time| {
            Some(Arrived {
                at: time,
                sent: None,
            })
        };
        marks.arrived(1, at(10));
        assert_eq!(marks.acknowledged(1), exactly(at(10)));
        marks.arrived(3, at(40));
        assert_eq!(marks.acknowledged(3), None, "another packet's");
        assert_eq!(marks.acknowledged(4), exactly(at(40)));
        marks.arrived(1, at(11));
        marks.arrived(99, at(12));
        assert_eq!(marks.acknowledged(5), None, "reports of nothing in flight");
    }

    #[test]
    fn a_time_of_a_sample_comes_with_the_next_acknowledgment() {
        let mut marks = Marks::default();
        send(&mut marks, 0, false);
        let numbers = [10, 20, 30].map(|order| send(&mut marks, order, true));
        assert_eq!(numbers, [2, 4, 6], "each skips a number");
        assert_eq!(send(&mut marks, 31, false), 7, "each packet again");
        marks.arrived(3, at(5));
        assert_eq!(marks.acknowledged(9), None, "no such mark");
        marks.arrived(2, at(110));
        assert_eq!(marks.acknowledged(9), None, "not acknowledged yet");
        let sampled = |time, order| {
            let sent = Some(at(order));
            Some(Arrived { at: at(time), sent })
        };
        assert_eq!(marks.acknowledged(15), sampled(110, 10));
        assert_eq!(marks.acknowledged(19), None, "once");
        marks.arrived(6, at(130));
        assert_eq!(marks.acknowledged(30), sampled(130, 30));
    }

    #[test]
    fn numbers_may_wrap() {
        let mut marks = Marks {
            next: (u32::MAX, false),
            ..Marks::default()
        };
        send(&mut marks, 7, false);
        assert_eq!(send(&mut marks, 8, false), 0);
        marks.arrived(0, at(5));
        assert_eq!(marks.acknowledged(8).map(|arrived| arrived.at), Some(at(5)));
    }
}
