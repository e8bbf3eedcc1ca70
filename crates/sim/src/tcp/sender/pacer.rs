//! When the next packet may leave.
//!
//! A controller that sets a rate is obeyed packet by packet. Otherwise a sender may be told to spread its
//! window: at a multiple of cwnd/srtt (RFC 9002 section 7.7 suggests 1.25), in bursts as QUIC stacks allow
//! them: two milliseconds' worth, but 10 to 256 packets, and never more than 10 milliseconds' worth.

use whimbrel_cc::Controller;
use whimbrel_units::{Bytes, Duration, Rate, Time};

const BURST: Duration = Duration::from_millis(2);
const LEAST_BURST: u64 = 10;
const GREATEST_BURST: u64 = 256;
const LONGEST_BURST: Duration = Duration::from_millis(10);

/// When the next packet may leave: a token bucket, kept as the time at which it is full again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pacer {
    /// Multiple of cwnd/srtt, if the window is to be spread.
    gain: Option<f64>,
    /// When all that was sent would have left at the exact rate.
    full_at: Time,
    until: Time,
}

impl Pacer {
    pub fn new(gain: Option<f64>) -> Self {
        Self {
            gain,
            full_at: Time::ZERO,
            until: Time::ZERO,
        }
    }

    /// The next packet may not leave before this.
    #[inline]
    pub fn until(&self) -> Time {
        self.until
    }

    /// A packet of `size` bytes left.
    #[inline]
    pub fn on_sent(&mut self, now: Time, size: u32, controller: &dyn Controller, srtt: Duration) {
        let size = Bytes::new(u64::from(size));
        if let Some(rate) = controller.pacing_rate() {
            self.full_at = self.full_at.max(now) + rate.time_for(size);
            self.until = self.full_at;
        } else if let Some(gain) = self.gain.filter(|_| !srtt.is_zero()) {
            let window_rate = Rate::over(controller.cwnd(), srtt);
            let rate = window_rate.mul_f64(gain);
            self.full_at = self.full_at.max(now) + rate.time_for(size);
            // One more packet fits while the bucket, a burst large, is not used up.
            let room = burst(window_rate, size) - size;
            self.until = self.full_at - rate.time_for(room);
        }
    }
}

/// How much may leave at once.
fn burst(rate: Rate, packet: Bytes) -> Bytes {
    let usual = rate
        .bytes_in(BURST)
        .clamp(packet.times(LEAST_BURST), packet.times(GREATEST_BURST));
    usual.min(rate.bytes_in(LONGEST_BURST).max(packet))
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_cc::Setup;

    /// Departures of ten packets of 1250 bytes with a window of `segments` of them, 100 ms, from rest.
    fn departures(gain: Option<f64>, segments: u64) -> Vec<u64> {
        let mss = Bytes::new(1250);
        let setup = Setup {
            mss,
            initial_window: mss.times(segments),
            paced: true,
            ssthresh: None,
            seed: 1,
        };
        let controller = "newreno"
            .parse::<whimbrel_cc::Spec>()
            .expect("known")
            .build(&setup);
        let mut pacer = Pacer::new(gain);
        let mut now = Time::ZERO;
        let mut at = vec![];
        for _ in 0..10 {
            now = now.max(pacer.until());
            at.push(now.as_nanos() / 1000);
            pacer.on_sent(now, 1250, &*controller, Duration::from_millis(100));
        }
        at
    }

    #[test]
    fn without_a_gain_nothing_waits() {
        assert_eq!(departures(None, 10), [0; 10]);
    }

    #[test]
    fn a_small_window_is_spread_evenly() {
        // 10 packets in 100 ms, a quarter faster: one each 8 ms; 10 ms' worth is one packet.
        assert_eq!(
            departures(Some(1.25), 10),
            [0, 8, 16, 24, 32, 40, 48, 56, 64, 72].map(|ms| ms * 1000)
        );
    }

    #[test]
    fn a_large_window_leaves_in_bursts_of_ten_milliseconds() {
        // 40 packets in 100 ms: 10 ms are four packets; then one each 2 ms.
        assert_eq!(
            departures(Some(1.25), 40),
            [0, 0, 0, 0, 2, 4, 6, 8, 10, 12].map(|ms| ms * 1000)
        );
    }
}
