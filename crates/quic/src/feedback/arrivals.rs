//! What a receiver tells a sender whose algorithm is fed acknowledgments: when marked packets
//! arrived.
//!
//! The newest mark is reported after each second marked packet, as QUIC acknowledges each second
//! packet (RFC 9000 section 13.2.2), and at once after a gap. So a report leaves in the packet that
//! carries the acknowledgment for the same packet.

use super::message::Message;
use whimbrel_units::Time;

/// Marked packets between two reports.
const EVERY: u32 = 2;

/// The marks that arrived and are not reported.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    newest: Option<(u32, Time)>,
    unreported: u32,
    due: bool,
}

impl Arrivals {
    /// The mark `number` arrived.
    pub fn on_mark(&mut self, number: u32, at: Time) {
        let (expected, is_newer) = match self.newest {
            None => (true, true),
            Some((newest, _)) => {
                let ahead = number.wrapping_sub(newest);
                (ahead == 1, (1..=u32::MAX / 2).contains(&ahead))
            }
        };
        self.unreported += 1;
        self.due |= !expected || self.unreported >= EVERY;
        if is_newer {
            self.newest = Some((number, at));
        }
    }

    /// Whether any mark has arrived.
    pub fn is_active(&self) -> bool {
        self.newest.is_some()
    }

    /// The report that is due.
    pub fn take(&mut self) -> Option<Message> {
        if !std::mem::take(&mut self.due) {
            return None;
        }
        self.unreported = 0;
        let (number, time) = self.newest?;
        Some(Message::Arrived {
            number,
            time: time.as_nanos(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_mark_is_reported_and_a_gap_at_once() {
        let mut arrivals = Arrivals::default();
        let mut mark = |number: u32| {
            arrivals.on_mark(number, Time::from_nanos(u64::from(number)));
            match arrivals.take() {
                Some(Message::Arrived { number, time }) => {
                    assert_eq!(u64::from(number), time);
                    Some(number)
                }
                _ => None,
            }
        };
        assert_eq!(mark(0), None);
        assert_eq!(mark(1), Some(1));
        assert_eq!(mark(2), None);
        assert_eq!(mark(4), Some(4), "3 is missing");
        assert_eq!(mark(3), Some(4), "late: the newest again");
        assert_eq!(mark(5), None);
        assert_eq!(mark(6), Some(6));
    }
}
