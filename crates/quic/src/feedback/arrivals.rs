//! What a receiver tells a sender whose algorithm is fed acknowledgments: when marked packets
//! arrived.
//!
//! The newest mark is reported after each second marked packet, as QUIC acknowledges each second
//! packet (RFC 9000 section 13.2.2), and at once after a gap. So a report leaves in the packet that
//! carries the acknowledgment for the same packet.
//!
//! **In step.** Packets without a mark count for QUIC but not here: a probe for the MTU, or the
//! loss of a packet that carried only an acknowledgment. From then on each report would be of the
//! packet before the acknowledged one, or after it, and belong to no acknowledgment. A small
//! packet that leaves without a report is such an acknowledgment, so the count begins anew with
//! it, as QUIC's does. If it leaves some time after the last mark, QUIC's timer has acknowledged a
//! lone packet. The next one may be lone, too, and is reported at once.

use super::message::Message;
use std::time::{Duration, Instant};
use whimbrel_units::Time;

/// Marked packets between two reports.
const EVERY: u32 = 2;

/// An acknowledgment that leaves so long after the last mark waited for the timer.
const WAITED: Duration = Duration::from_millis(1);

/// The marks that arrived and are not reported.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    newest: Option<(u32, Time)>,
    /// When the last one was processed.
    processed: Option<Instant>,
    /// Marks since QUIC's last acknowledgment, as far as that is known.
    since: u32,
    /// The last acknowledgment waited for QUIC's timer.
    lone: bool,
    due: bool,
}

impl Arrivals {
    /// The mark `number` arrived at `at` by the kernel's clock, and is processed at `now`.
    pub fn on_mark(&mut self, now: Instant, number: u32, at: Time) {
        let (expected, is_newer) = match self.newest {
            None => (true, true),
            Some((newest, _)) => {
                let ahead = number.wrapping_sub(newest);
                (ahead == 1, (1..=u32::MAX / 2).contains(&ahead))
            }
        };
        self.since = self.since.saturating_add(1);
        self.processed = Some(now);
        self.due |= !expected || self.lone || self.since >= EVERY;
        self.lone &= self.since < EVERY;
        if is_newer {
            self.newest = Some((number, at));
        }
    }

    /// A small packet leaves that carries no report: an acknowledgment.
    pub fn on_acknowledgment(&mut self, now: Instant) {
        if let Some(at) = self.processed
            && self.since > 0
        {
            self.lone = now.saturating_duration_since(at) >= WAITED;
            self.since = 0;
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
        // The acknowledgment of a lone packet follows.
        self.since = u32::from(self.lone);
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

    /// A receiver, and its time.
    struct Bench {
        arrivals: Arrivals,
        now: Instant,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                arrivals: Arrivals::default(),
                now: Instant::now(),
            }
        }

        /// The report that leaves when the mark `number` has arrived.
        fn mark(&mut self, number: u32) -> Option<u32> {
            let at = Time::from_nanos(u64::from(number));
            self.arrivals.on_mark(self.now, number, at);
            match self.arrivals.take() {
                Some(Message::Arrived { number, time }) => {
                    assert_eq!(u64::from(number), time);
                    Some(number)
                }
                _ => None,
            }
        }

        /// QUIC's own acknowledgment leaves after so long.
        fn acknowledge(&mut self, after: Duration) {
            self.now += after;
            self.arrivals.on_acknowledgment(self.now);
        }
    }

    #[test]
    fn each_second_mark_is_reported_and_a_gap_at_once() {
        let mut bench = Bench::new();
        assert_eq!(bench.mark(0), None);
        assert_eq!(bench.mark(1), Some(1));
        assert_eq!(bench.mark(2), None);
        assert_eq!(bench.mark(4), Some(4), "3 is missing");
        assert_eq!(bench.mark(3), Some(4), "late: the newest again");
        assert_eq!(bench.mark(5), None);
        assert_eq!(bench.mark(6), Some(6));
    }

    #[test]
    fn reports_are_in_step_again_after_a_packet_without_a_mark() {
        let mut bench = Bench::new();
        assert_eq!(bench.mark(0), None);
        // QUIC counts a packet without a mark, and acknowledges both.
        bench.acknowledge(Duration::ZERO);
        for number in (1..20).step_by(2) {
            assert_eq!(bench.mark(number), None);
            assert_eq!(bench.mark(number + 1), Some(number + 1));
        }
    }

    #[test]
    fn lone_packets_are_reported_at_once_while_they_are_lone() {
        let mut bench = Bench::new();
        assert_eq!(bench.mark(0), None);
        for number in 1..5 {
            bench.acknowledge(Duration::from_millis(5));
            assert_eq!(bench.mark(number), Some(number));
        }
        assert_eq!(bench.mark(5), Some(5), "acknowledged with 4");
        assert_eq!(bench.mark(6), None);
        assert_eq!(bench.mark(7), Some(7));
    }
}
