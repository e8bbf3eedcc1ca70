//! Round-trip times of a whole connection, and what they say of queues: all that varies on a fixed path is time
//! spent waiting.

use whimbrel_units::Duration;

/// Round-trip times of a connection, one sample at least.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RttStats {
    latest: Duration,
    least: Duration,
    greatest: Duration,
    /// In nanoseconds. 64 bits would be full after two days of a million samples of 100 ms a second.
    sum: u128,
    count: u64,
}

impl RttStats {
    /// The first sample, or one more.
    pub fn with(before: Option<Self>, rtt: Duration) -> Self {
        let (least, greatest, sum, count) =
            before.map_or((rtt, rtt, 0, 0), |b| (b.least, b.greatest, b.sum, b.count));
        Self {
            latest: rtt,
            least: least.min(rtt),
            greatest: greatest.max(rtt),
            sum: sum.saturating_add(u128::from(rtt.as_nanos())),
            count: count.saturating_add(1),
        }
    }

    /// The least of them: the path without queues.
    pub fn least(&self) -> Duration {
        self.least
    }

    /// Their mean.
    pub fn mean(&self) -> Duration {
        // Not above the greatest sample, so it fits.
        Duration::from_nanos((self.sum / u128::from(self.count.max(1))) as u64)
    }

    /// What the last one waited.
    pub fn queue(&self) -> Duration {
        self.latest - self.least
    }

    /// The longest that any waited.
    pub fn longest_queue(&self) -> Duration {
        self.greatest - self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_a_least_a_mean_and_queues() {
        let ms = Duration::from_millis;
        let mut samples = None;
        for rtt in [150, 100, 260, 130] {
            samples = Some(RttStats::with(samples, ms(rtt)));
        }
        let samples = samples.expect("four");
        assert_eq!((samples.least(), samples.mean()), (ms(100), ms(160)));
        assert_eq!(
            (samples.queue(), samples.longest_queue()),
            (ms(30), ms(160))
        );
    }

    #[test]
    fn the_longest_times_there_are_have_a_mean() {
        let longest = Duration::from_nanos(u64::MAX);
        let samples = RttStats::with(Some(RttStats::with(None, longest)), longest);
        assert_eq!(samples.mean(), longest);
    }
}
