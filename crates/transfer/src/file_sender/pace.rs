//! A cap on the rate of file data.

use crate::lock::lock;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use whimbrel_units::Rate;

/// Data is released in slices of this time.
const SLICE: Duration = Duration::from_millis(10);
/// Time that a pause or a late timer may leave for later, so that late timers do not lower the
/// rate.
const CREDIT: Duration = Duration::from_millis(50);
/// Limits of a slice, bytes.
const SMALLEST: u64 = 1200;
const LARGEST: u64 = 256 << 10;

/// Lets data pass at a constant rate. Several tasks share it.
///
/// Data passes once its time is over, not when it begins: from the first call on, no more passes
/// than the rate times the time.
#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_second: f64,
    /// When the time of all data that was asked for is over.
    next: Mutex<Option<Instant>>,
}

impl Pace {
    /// A cap; a rate of zero is taken as one bit per second.
    pub fn new(rate: Rate) -> Self {
        Self {
            bytes_per_second: rate.as_bits_per_sec().max(1) as f64 / 8.0,
            next: Mutex::default(),
        }
    }

    /// How much to ask for at once, bytes.
    pub fn slice(&self) -> usize {
        let bytes = self.bytes_per_second * SLICE.as_secs_f64();
        (bytes as u64).clamp(SMALLEST, LARGEST) as usize
    }

    /// Waits until so many bytes may pass.
    pub async fn pass(&self, bytes: usize) {
        sleep_until(self.reserve(bytes, Instant::now())).await;
    }

    /// When so many bytes may pass. Time that was not used before is lost, except for [`CREDIT`].
    fn reserve(&self, bytes: usize, now: Instant) -> Instant {
        let mut next = lock(&self.next);
        let earliest = now.checked_sub(CREDIT).unwrap_or(now);
        let start = next.map_or(now, |next| next.max(earliest));
        let end = start + Duration::from_secs_f64(bytes as f64 / self.bytes_per_second);
        *next = Some(end);
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn data_passes_at_the_rate() {
        for mbits in [1, 50, 8000] {
            let pace = Pace::new(Rate::from_bits_per_sec(mbits * 1_000_000));
            let (start, mut passed) = (Instant::now(), 0);
            while start.elapsed() < Duration::from_secs(5) {
                pace.pass(pace.slice()).await;
                passed += pace.slice();
            }
            let rate = passed as f64 * 8.0 / start.elapsed().as_secs_f64() / 1e6;
            assert!(
                (rate / mbits as f64 - 1.0).abs() < 0.02,
                "{rate} of {mbits} Mbit/s"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_passes_than_the_rate_permits_however_late_the_timers_are() {
        let pace = Pace::new(Rate::from_bits_per_sec(40_000_000));
        let (start, mut passed) = (Instant::now(), 0);
        for late in [0, 0, 35, 7, 0, 90, 0, 1, 49].into_iter().cycle().take(300) {
            pace.pass(pace.slice()).await;
            passed += pace.slice();
            let permitted = start.elapsed().as_secs_f64() * 40e6 / 8.0;
            assert!(passed as f64 <= permitted + 1.0, "{passed} of {permitted}");
            tokio::time::sleep(Duration::from_millis(late)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_not_made_up_for() {
        let pace = Pace::new(Rate::from_bits_per_sec(8_000_000));
        pace.pass(1000).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let (start, mut passed) = (Instant::now(), 0);
        while start.elapsed() < Duration::from_secs(1) {
            pace.pass(10_000).await;
            passed += 10_000;
        }
        assert!((1_000_000..1_100_000).contains(&passed), "{passed}");
    }
}
