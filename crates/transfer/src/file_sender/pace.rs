//! A cap on the rate of file data.

use crate::lock::lock;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use whimbrel_units::Rate;

/// Data is released in slices of this time.
const SLICE: Duration = Duration::from_millis(10);
/// Limits of a slice, bytes.
const SMALLEST: u64 = 1200;
const LARGEST: u64 = 256 << 10;

/// Lets data pass at a constant rate. Several tasks share it.
#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_second: f64,
    /// When the next data may pass.
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

    /// When so many bytes may pass. What was not used before is lost, except for one slice, so that
    /// late timers do not lower the rate.
    fn reserve(&self, bytes: usize, now: Instant) -> Instant {
        let mut next = lock(&self.next);
        let earliest = now.checked_sub(5 * SLICE).unwrap_or(now);
        let start = next.unwrap_or(now).max(earliest);
        *next = Some(start + Duration::from_secs_f64(bytes as f64 / self.bytes_per_second));
        start
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
