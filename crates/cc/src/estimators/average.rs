//! A running mean of durations: the average RTT of FAST, and the averages of CCaFR.

use whimbrel_units::Duration;

/// A weighted mean: a sample counts 1/span, and is forgotten after about `span` more samples.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Average(Option<f64>);

impl Average {
    /// Adds a sample; `span` is the number of samples that the mean covers, at least 1.
    pub fn add(&mut self, sample: Duration, span: f64) {
        let sample = sample.as_secs_f64();
        self.0 = Some(
            self.0
                .map_or(sample, |mean| mean + (sample - mean) / span.max(1.0)),
        );
    }

    /// The mean in seconds; `None` before the first sample.
    pub fn get(self) -> Option<f64> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_is_the_mean_and_later_ones_have_weights() {
        let ms = Duration::from_millis;
        let mut mean = Average::default();
        assert_eq!(mean.get(), None);
        mean.add(ms(100), 256.0);
        mean.add(ms(356), 256.0);
        // The ns-2 module's (avgRTT*255 + rtt)/256: (25500 + 356)/256 ms = 101 ms.
        let got = mean.get().expect("two samples");
        assert!((got - 0.101).abs() < 1e-9, "{got}");
        mean.add(ms(500), 0.0);
        let got = mean.get().expect("three samples");
        assert!((got - 0.5).abs() < 1e-9, "a span is at least one: {got}");
    }
}
