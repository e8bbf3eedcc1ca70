//! Pauses between batches of packets where an algorithm paces a fast path.
//!
//! noq lets each packet leave as soon as the pacing rate permits it. At 1 Gbit/s that is one in
//! 12 us: each would take a system call at both ends, and a merge by the kernel at neither. Linux
//! lets TCP send the data of a millisecond, at most 64 KiB, at once (`sk_pacing_shift`), and BBR
//! calls this its send quantum (draft-ietf-ccwg-bbr-04 section 4.6.3). So after the last packet
//! that the rate permits, the connection is left alone until a quantum has come together.
//!
//! Where a path is slow each packet leaves by itself: a millisecond has few packets, and the times
//! of arrival of all packets are measured.

use crate::feedback::FAST;
use noq_proto::congestion::ControllerMetrics;
use std::time::{Duration, Instant};

/// What noq's clock and ours may differ by.
const SLACK: Duration = Duration::from_micros(1);

/// The pause of a connection until its next batch.
#[derive(Debug, Default)]
pub(super) struct Quantum {
    until: Option<Instant>,
}

impl Quantum {
    /// Whether packets wait.
    pub fn is_waiting(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// A deadline of noq, or the end of the pause if that is later.
    pub fn after(&self, deadline: Instant) -> Instant {
        self.until.map_or(deadline, |until| until.max(deadline))
    }

    /// noq was asked for packets at `now`, and made `sent` bytes of them. `next`: its next deadline;
    /// `packet`: the size of a full packet, bytes. If the deadline is that of the next packet at
    /// the pacing rate, packets wait until there is a quantum of them. That also holds if noq made
    /// a few: on a busy host each call takes so long that the rate permits some more.
    pub fn after_transmit(
        &mut self,
        now: Instant,
        sent: u64,
        next: Option<Instant>,
        metrics: &ControllerMetrics,
        packet: u64,
    ) {
        self.until = None;
        let (Some(next), Some(rate), Some(quantum)) =
            (next, metrics.pacing_rate, metrics.send_quantum)
        else {
            return;
        };
        if rate < FAST || quantum < 2 * packet || sent + packet > quantum {
            return;
        }
        let time = |bytes: u64| Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / rate);
        if next <= now + time(packet) + SLACK {
            // What noq had left is less than a packet, and so is what the pause is too short.
            self.until = Some(now + time(quantum - packet));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u64 = 1500;

    fn metrics(rate: u64, quantum: u64) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.pacing_rate = Some(rate);
        metrics.send_quantum = Some(quantum);
        metrics
    }

    #[test]
    fn a_paced_fast_path_waits_for_a_quantum() {
        let (now, mut quantum) = (Instant::now(), Quantum::default());
        // A packet takes 12 us.
        let next = Some(now + Duration::from_micros(10));
        let paced = metrics(125_000_000, 61_500);
        quantum.after_transmit(now, 61_500, next, &paced, PACKET);
        assert!(
            !quantum.is_waiting(now),
            "a whole one left, and another may follow"
        );
        quantum.after_transmit(now, 6 * PACKET, next, &paced, PACKET);
        let until = now + Duration::from_micros(480);
        assert!(quantum.is_waiting(now) && !quantum.is_waiting(until));
        assert_eq!(quantum.after(now), until);
        let later = until + SLACK;
        assert_eq!(quantum.after(later), later);
    }

    #[test]
    fn nothing_else_waits() {
        let (now, mut quantum) = (Instant::now(), Quantum::default());
        let fast = metrics(125_000_000, 61_500);
        // The next deadline is no packet's: the application has no data, or the window is full.
        let timeout = Some(now + Duration::from_millis(20));
        // An algorithm without a rate is paced by noq, which makes batches.
        let unpaced = ControllerMetrics::default();
        let soon = Some(now + Duration::from_micros(5));
        let cases = [
            (None, &fast),
            (timeout, &fast),
            (soon, &metrics(FAST - 1, 15_000)),
            (soon, &unpaced),
        ];
        for (next, metrics) in cases {
            quantum.after_transmit(now, 0, next, metrics, PACKET);
            assert!(!quantum.is_waiting(now));
        }
    }
}
