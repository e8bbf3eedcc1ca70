//! The noise of Jitter Ratios on a path: how far a burst seems stretched or compressed although no
//! queue grew.
//!
//! **The physics.** A Jitter Ratio compares two spans, and each has the error of two time stamps:
//! the sender's scheduling, interrupts, frames that wait for the air, other traffic. On a path of
//! 20 ms with errors of 50 us a ratio is off by some 0.3 %, many times LTD near capacity (10^-4).
//! Without a floor such noise decides whether a loss is congestion.
//!
//! **The estimate.** Ratios of the last [`BURSTS`] bursts scatter around the stretch of the queue.
//! Bursts with losses count too: on a path with much random loss there are no others. The median
//! absolute deviation measures the scatter and ignores the few bursts that a queue did stretch;
//! 1.4826 of it is the standard deviation of normal noise. LTD compares the smoothed ratio `(1 -
//! alpha)*smooth + alpha*Jr`, whose standard deviation is `sqrt(alpha/(2 - alpha))` of a single
//! one's. The floor is twice that: noise alone exceeds it once in 44 decisions. It is at least
//! [`RESOLUTION`] of the last burst: no pair of clocks tells less. (Without that, one burst of 20
//! ms that is late by 70 ns makes congestion of every loss for a minute: after a random loss the
//! increase and LTD are zero, and the smoothed ratio decays but does not end.)
//!
//! **When it misleads.** A queue that swings by as much in most bursts is taken for noise, and the
//! floor hides it; so the floor is at most [`MAX`]: a stretch of 5 % is never noise. Before
//! [`LEAST`] bursts only the clocks' error is known.

use crate::interface::Spans;
use std::collections::VecDeque;
use whimbrel_units::Duration;

/// Bursts in an estimate.
pub const BURSTS: usize = 32;
/// Bursts before the first estimate.
pub const LEAST: usize = 8;
/// The maximum floor.
pub const MAX: f64 = 0.05;

/// The error of a span even on a path without noise: two time stamps at each end.
pub const RESOLUTION: Duration = Duration::from_micros(4);

/// From the median absolute deviation to the standard deviation of normal noise.
const SIGMA: f64 = 1.4826;
/// The floor in standard deviations of the smoothed ratio.
const DEVIATIONS: f64 = 2.0;
/// `sqrt(alpha/(2 - alpha))` for alpha = 1/8, the default of every classifier by jitter.
const SMOOTHED: f64 = 0.258_198_889_747_161_1;

/// Estimates the noise of one path.
#[derive(Debug, Clone, Default)]
pub struct SpanNoise {
    ratios: VecDeque<f64>,
    floor: f64,
}

impl SpanNoise {
    /// A burst arrived with these spans.
    pub fn add(&mut self, spans: Spans) {
        let Some(ratio) = spans.jitter_ratio() else {
            return;
        };
        if self.ratios.len() == BURSTS {
            self.ratios.pop_front();
        }
        self.ratios.push_back(ratio);
        let scatter = if self.ratios.len() >= LEAST {
            DEVIATIONS * SMOOTHED * SIGMA * self.deviation()
        } else {
            0.0
        };
        let finest = RESOLUTION.as_secs_f64() / spans.received.as_secs_f64();
        self.floor = scatter.max(finest).min(MAX);
    }

    /// The floor under LTD, a fraction of a burst from 0 to 0.05.
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// Forgets everything: the path is another one.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// The median absolute deviation of the ratios.
    fn deviation(&self) -> f64 {
        let mut sorted = [0.0; BURSTS];
        let sorted = &mut sorted[..self.ratios.len()];
        for (place, ratio) in sorted.iter_mut().zip(&self.ratios) {
            *place = *ratio;
        }
        let middle = median(sorted);
        for ratio in sorted.iter_mut() {
            *ratio = (*ratio - middle).abs();
        }
        median(sorted)
    }
}

/// The upper median; sorts the values.
fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::building_blocks::splitmix::SplitMix64;

    const SENT: u64 = 20_000_000;

    fn spans(received_ns: f64) -> Spans {
        Spans {
            sent: Duration::from_nanos(SENT),
            received: Duration::from_nanos(received_ns as u64),
        }
    }

    /// The floor after bursts with uniform errors of up to `error` ns at each end, of which every
    /// `queue`-th is stretched by a tenth.
    fn floor(error: f64, queue: usize) -> f64 {
        let mut random = SplitMix64::new(1);
        let mut noise = SpanNoise::default();
        for n in 0..200 {
            let queued = if n % queue == 0 {
                0.1 * SENT as f64
            } else {
                0.0
            };
            let mut stamp = || (2.0 * random.unit() - 1.0) * error;
            noise.add(spans(SENT as f64 + queued + stamp() - stamp()));
        }
        noise.floor()
    }

    #[test]
    fn a_path_without_noise_has_the_clocks_own() {
        // 4 us of 20 ms.
        assert!((floor(0.0, 1000) - 0.0002).abs() < 1e-9);
        assert_eq!(SpanNoise::default().floor(), 0.0);
    }

    #[test]
    fn the_floor_is_two_deviations_of_the_smoothed_ratio() {
        // The difference of two uniform errors of 100 us has a standard deviation of 100/sqrt(1.5)
        // = 82 us, 0.41 % of 20 ms; smoothed 0.105 %, twice that 0.21 %. The median of the
        // triangular deviation is 0.879 of normal noise's.
        let floor = floor(100_000.0, 1000);
        assert!((0.0014..0.0026).contains(&floor), "{floor}");
    }

    #[test]
    fn bursts_that_a_queue_stretched_do_not_raise_it_much() {
        let (alone, some) = (floor(100_000.0, 1000), floor(100_000.0, 4));
        assert!(some < 2.0 * alone, "{some} {alone}");
    }

    #[test]
    fn it_is_bounded() {
        assert_eq!(floor(15_000_000.0, 1000), MAX);
    }
}
