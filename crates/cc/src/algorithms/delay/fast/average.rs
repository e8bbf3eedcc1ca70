//! A running mean of spans of time: the average RTT of FAST, and beside it the average spacing of ACKs of EMFAST.

use whimbrel_units::Duration;

/// A weighted mean in which a sample counts 1/span, and so is forgotten after about `span` more of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Average(Option<f64>);

impl Average {
    /// Takes in one sample; `span` is how many the mean goes over, 1 or more.
    pub fn add(&mut self, sample: Duration, span: f64) {
        let sample = sample.as_secs_f64();
        self.0 = Some(
            self.0
                .map_or(sample, |mean| mean + (sample - mean) / span.max(1.0)),
        );
    }

    /// Seconds; `None` before the first sample.
    pub fn get(self) -> Option<f64> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_is_the_mean_and_later_ones_count_by_the_span() {
        let ms = Duration::from_millis;
        let mut mean = Average::default();
        assert_eq!(mean.get(), None);
        mean.add(ms(100), 256.0);
        mean.add(ms(356), 256.0);
        // The module's (avgRTT*255 + rtt)/256: (25500 + 356)/256 ms are 101.
        let got = mean.get().expect("two samples");
        assert!((got - 0.101).abs() < 1e-9, "{got}");
        mean.add(ms(500), 0.0);
        let got = mean.get().expect("three samples");
        assert!((got - 0.5).abs() < 1e-9, "no span is less than one: {got}");
    }
}
