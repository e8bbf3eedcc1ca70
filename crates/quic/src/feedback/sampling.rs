//! Which packets carry a mark: each one on a slow path, a sample in time on a fast one.
//!
//! A mark and its report cost both ends as much as the packet itself, and a packet with a mark of
//! its own leaves in a system call of its own. An algorithm learns nothing more from more than some
//! thousand times of arrival a second. So above [`FAST`] a mark leaves each [`EVERY`], with
//! whatever packets leave together then.
//!
//! The rate is that of a leaky bucket, so that a short burst on a slow path changes nothing, and a
//! flow near the limit does not change its ways with each packet.

use std::time::{Duration, Instant};

/// Above this rate a sample of the packets is marked, bytes per second: 120 Mbit/s, 10,000 full
/// packets a second.
pub(crate) const FAST: u64 = 15_000_000;

/// Time between two marks of a sample: that of a full packet at the rate [`FAST`].
const EVERY: Duration = Duration::from_micros(100);

/// What the bucket holds, as the time in which it leaks at the rate [`FAST`]: 96 kB.
const BUCKET: Duration = Duration::from_micros(6_400);

/// Chooses the packets of one connection that carry marks.
#[derive(Debug, Default)]
pub(crate) struct Sampling {
    /// When the bucket is empty again.
    empty_at: Option<Instant>,
    /// A sample is taken.
    fast: bool,
    /// When the last mark left.
    last: Option<Instant>,
}

impl Sampling {
    /// Whether only a sample of the packets carries marks now.
    pub fn is_sample(&self) -> bool {
        self.fast
    }

    /// Whether the next packet carries a mark.
    pub fn is_due(&self, now: Instant) -> bool {
        let since = |last| now.saturating_duration_since(last);
        !self.fast || self.last.is_none_or(|last| since(last) >= EVERY)
    }

    /// So many bytes left.
    pub fn on_sent(&mut self, now: Instant, bytes: usize) {
        let nanos = (bytes as u64).saturating_mul(1_000_000_000) / FAST;
        let level = match self.empty_at {
            Some(at) => at.saturating_duration_since(now),
            None => Duration::ZERO,
        };
        self.fast &= !level.is_zero();
        let level = level + Duration::from_nanos(nanos);
        self.fast |= level > BUCKET;
        self.empty_at = Some(now + level.min(BUCKET));
    }

    /// A mark left.
    pub fn on_mark(&mut self, now: Instant) {
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: usize = 1500;

    /// Sends packets at this rate, `together` at a time, and returns how many of them were marked.
    fn marked(sampling: &mut Sampling, rate: u64, together: u64, packets: u64) -> u64 {
        let begin = sampling.empty_at.unwrap_or_else(Instant::now) + Duration::from_secs(1);
        let mut marked = 0;
        for packet in 0..packets {
            let first = packet / together * together * PACKET as u64;
            let now = begin + Duration::from_nanos(first * 1_000_000_000 / rate);
            if sampling.is_due(now) {
                sampling.on_mark(now);
                marked += 1;
            }
            sampling.on_sent(now, PACKET);
        }
        marked
    }

    #[test]
    fn below_the_limit_each_packet_is_marked_also_in_bursts() {
        let sampling = &mut Sampling::default();
        for together in [1, 10, 40] {
            assert_eq!(marked(sampling, FAST * 3 / 4, together, 2000), 2000);
        }
    }

    #[test]
    fn above_it_a_sample_in_time_is() {
        let sampling = &mut Sampling::default();
        for (rate, together) in [(2 * FAST, 1), (10 * FAST, 1), (60 * FAST, 40)] {
            let packets = 100_000;
            let spans = packets * PACKET as u64 * 10_000 / rate;
            let marked = marked(sampling, rate, together, packets);
            assert!(sampling.is_sample());
            let expected = spans / 2..=spans + 70;
            assert!(expected.contains(&marked), "{marked} in {spans} spans");
        }
    }

    #[test]
    fn a_flow_that_slows_down_is_marked_whole_again() {
        let sampling = &mut Sampling::default();
        marked(sampling, 10 * FAST, 1, 10_000);
        assert!(sampling.is_sample());
        assert_eq!(marked(sampling, FAST / 2, 1, 1000), 1000);
        assert!(!sampling.is_sample());
    }
}
