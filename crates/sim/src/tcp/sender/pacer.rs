//! Pacing: when the next packet may leave.
//!
//! The pacing rate of a controller is applied packet by packet, or to groups of as many as its send
//! quantum says, which leave together. Otherwise the settings may pace the
//! window at a multiple of cwnd/srtt (RFC 9002 section 7.7 suggests 1.25), in bursts as QUIC stacks
//! allow them: two milliseconds of that rate, but 10 to 256 packets, and at most 10 milliseconds.

use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Usual length of a burst.
const BURST: Duration = Duration::from_millis(2);
/// Minimum burst in packets.
const MIN_BURST: u64 = 10;
/// Maximum burst in packets.
const MAX_BURST: u64 = 256;
/// Maximum length of a burst; stronger than the minimum in packets.
const MAX_BURST_TIME: Duration = Duration::from_millis(10);

/// A token bucket, represented by the time at which it is full again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pacer {
    /// Multiple of cwnd/srtt; `None`: the window is not paced.
    gain: Option<f64>,
    /// When the sent packets would have left at the exact rate.
    full_at: Time,
    until: Time,
    /// Packets of the present group that have left.
    group: u32,
}

impl Pacer {
    pub fn new(gain: Option<f64>) -> Self {
        Self {
            gain,
            full_at: Time::ZERO,
            until: Time::ZERO,
            group: 0,
        }
    }

    /// The earliest time at which the next packet may leave.
    #[inline]
    pub fn until(&self) -> Time {
        self.until
    }

    /// Invoked when a packet of `size` bytes is sent; `cwnd` and `rate` are the controller's window
    /// and its pacing rate after it, with the packets that leave together.
    #[inline(always)]
    pub fn on_sent(
        &mut self,
        now: Time,
        size: u32,
        cwnd: Bytes,
        rate: Option<(Rate, u32)>,
        srtt: Duration,
    ) {
        let size = Bytes::new(u64::from(size));
        if let Some((rate, quantum)) = rate {
            self.full_at = self.full_at.max(now) + rate.time_for(size);
            self.group += 1;
            if self.group >= quantum {
                self.group = 0;
                self.until = self.full_at;
            }
        } else if let Some(gain) = self.gain.filter(|_| !srtt.is_zero()) {
            self.on_sent_from_window(now, size, Rate::over(cwnd, srtt), gain);
        }
    }

    /// The same where the settings pace the window at `gain` times its rate.
    #[inline(never)]
    fn on_sent_from_window(&mut self, now: Time, size: Bytes, window_rate: Rate, gain: f64) {
        let rate = window_rate.mul_f64(gain);
        self.full_at = self.full_at.max(now) + rate.time_for(size);
        // The next packet may leave while the bucket, which holds one burst, has room for it.
        let room = burst(window_rate, size) - size;
        self.until = self.full_at - rate.time_for(room);
    }
}

/// The size of a burst.
fn burst(rate: Rate, packet: Bytes) -> Bytes {
    let usual = rate
        .bytes_in(BURST)
        .clamp(packet.times(MIN_BURST), packet.times(MAX_BURST));
    usual.min(rate.bytes_in(MAX_BURST_TIME).max(packet))
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_cc::Setup;

    /// Departure times in microseconds of ten packets of 1250 bytes, with a window of `segments`
    /// packets and an RTT of 100 ms.
    fn departures(gain: Option<f64>, segments: u64) -> Vec<u64> {
        let mss = Bytes::new(1250);
        let setup = Setup {
            mss,
            initial_window: mss.times(segments),
            paced: true,
            ssthresh: None,
            growth: Default::default(),
            seed: 1,
            time_of_day: Default::default(),
            saved: None,
        };
        let newreno: whimbrel_cc::Spec = "newreno".parse().expect("known");
        let controller = newreno.build(&setup).expect("fed acknowledgments");
        let mut pacer = Pacer::new(gain);
        let mut now = Time::ZERO;
        let mut at = vec![];
        for _ in 0..10 {
            now = now.max(pacer.until());
            at.push(now.as_nanos() / 1000);
            let (cwnd, rate) = (controller.cwnd(), controller.pacing_rate());
            let rate = rate.map(|rate| (rate, 1));
            pacer.on_sent(now, 1250, cwnd, rate, Duration::from_millis(100));
        }
        at
    }

    #[test]
    fn a_group_leaves_together() {
        // 10 packets of 1250 bytes per second, in groups of 1, of 2, and of 1 again.
        let rate = Rate::from_bits_per_sec(100_000);
        let mut pacer = Pacer::new(None);
        let mut now = Time::ZERO;
        let mut at = vec![];
        for quantum in [1, 2, 2, 2, 2, 1, 1] {
            now = now.max(pacer.until());
            at.push(now.as_nanos() / 1_000_000);
            let rate = Some((rate, quantum));
            pacer.on_sent(
                now,
                1250,
                Bytes::new(50_000),
                rate,
                Duration::from_millis(100),
            );
        }
        assert_eq!(at, [0, 100, 100, 300, 300, 500, 600]);
    }

    #[test]
    fn without_a_gain_packets_are_not_paced() {
        assert_eq!(departures(None, 10), [0; 10]);
    }

    #[test]
    fn a_small_window_is_spread_evenly() {
        // 10 packets per 100 ms, times 1.25: one every 8 ms. A burst of 10 ms is one packet.
        assert_eq!(
            departures(Some(1.25), 10),
            [0, 8, 16, 24, 32, 40, 48, 56, 64, 72].map(|ms| ms * 1000)
        );
    }

    #[test]
    fn a_large_window_begins_with_a_burst_of_ten_milliseconds() {
        // 40 packets per 100 ms: 10 ms are four packets; then one every 2 ms.
        assert_eq!(
            departures(Some(1.25), 40),
            [0, 0, 0, 0, 2, 4, 6, 8, 10, 12].map(|ms| ms * 1000)
        );
    }
}
