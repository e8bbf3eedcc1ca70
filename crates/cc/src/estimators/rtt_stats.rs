//! RTT statistics of an entire connection. On a fixed path, every variation of the RTT is queueing
//! delay.

use whimbrel_units::Duration;

/// RTT statistics of a connection, with at least one sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RttStats {
    latest: Duration,
    min: Duration,
    max: Duration,
    /// In nanoseconds. 64 bits would overflow after two days of a million samples of 100 ms a
    /// second.
    sum: u128,
    count: u64,
}

impl RttStats {
    /// Adds a sample; `before` is `None` before the first one.
    pub fn with(before: Option<Self>, rtt: Duration) -> Self {
        let (min, max, sum, count) =
            before.map_or((rtt, rtt, 0, 0), |b| (b.min, b.max, b.sum, b.count));
        Self {
            latest: rtt,
            min: min.min(rtt),
            max: max.max(rtt),
            sum: sum.saturating_add(u128::from(rtt.as_nanos())),
            count: count.saturating_add(1),
        }
    }

    /// The minimum: the path without queues.
    pub fn min(&self) -> Duration {
        self.min
    }

    /// The mean.
    pub fn mean(&self) -> Duration {
        // At most the maximum sample, so it fits.
        Duration::from_nanos((self.sum / u128::from(self.count.max(1))) as u64)
    }

    /// The queueing delay of the latest sample.
    pub fn queue(&self) -> Duration {
        self.latest - self.min
    }

    /// The maximum queueing delay.
    pub fn longest_queue(&self) -> Duration {
        self.max - self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_a_minimum_a_mean_and_queueing_delays() {
        let ms = Duration::from_millis;
        let mut samples = None;
        for rtt in [150, 100, 260, 130] {
            samples = Some(RttStats::with(samples, ms(rtt)));
        }
        let samples = samples.expect("four");
        assert_eq!((samples.min(), samples.mean()), (ms(100), ms(160)));
        assert_eq!(
            (samples.queue(), samples.longest_queue()),
            (ms(30), ms(160))
        );
    }

    #[test]
    fn the_mean_of_the_largest_samples_does_not_overflow() {
        let longest = Duration::from_nanos(u64::MAX);
        let samples = RttStats::with(Some(RttStats::with(None, longest)), longest);
        assert_eq!(samples.mean(), longest);
    }
}
