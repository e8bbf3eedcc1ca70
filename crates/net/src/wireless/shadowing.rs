//! What obstacles add to a path's loss or take from it.
//!
//! **Log-normal shadowing** (T. S. Rappaport, Wireless Communications, 2nd edition, (4.69a)): over places at the same
//! distance the loss in dB is normal, with a standard deviation of 3 to 12 dB. A link whose ends stand still has one
//! value, drawn for the run. Where ends or what is between them move, it wanders: M. Gudmundson, "Correlation model for
//! shadow fading in mobile radio systems", Electronics Letters 27(23), 1991, has an autocorrelation that falls
//! exponentially with the way gone,
//!
//! ```text
//! R(t) = sigma^2 exp(-t / T)
//! ```
//!
//! written here with time for way: T is the coherence time. It is the first-order autoregressive process, here in steps
//! of T/16, in which it hardly moves (0.35 sigma). Both directions of a link have the same values at the same times (a
//! channel is reciprocal), and the seed decides them whatever is sent.
//!
//! Fast fading, of echoes within a wavelength, is not here: OFDM spreads a frame over it, and it is in no frame error of
//! [`mode`](super::mode).

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::{Decibels, Duration, Time};

/// Steps in a coherence time.
const STEPS: u64 = 16;
/// Most steps followed from one packet to the next. After so many nothing is remembered, and the value is drawn anew.
const MOST_STEPS: u32 = 1 << 14;

/// The shadowing of a link at work.
#[derive(Debug, Clone)]
pub(super) struct Shadowing {
    sigma: f64,
    /// In standard deviations.
    value: f64,
    /// The length of a step and when the next begins, if it moves.
    step: Option<(Duration, Time)>,
    rng: Xoshiro256PlusPlus,
}

impl Shadowing {
    pub fn new(sigma: Decibels, coherence: Option<Duration>, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let value = normal(&mut rng);
        let sigma = sigma.get();
        let length = coherence.filter(|_| sigma != 0.0);
        let length = length.map(|t| Duration::from_nanos((t.as_nanos() / STEPS).max(1)));
        Self {
            sigma,
            value,
            step: length.map(|length| (length, Time::ZERO + length)),
            rng,
        }
    }

    /// What it adds to the received power now.
    pub fn now(&self) -> Decibels {
        Decibels::new(self.sigma * self.value)
    }

    /// Follows it to `at`, which never goes back; true if it has moved.
    #[inline]
    pub fn follow(&mut self, at: Time) -> bool {
        match self.step {
            Some((_, next)) if next <= at && at < Time::MAX => {
                self.walk(at);
                true
            }
            _ => false,
        }
    }

    fn walk(&mut self, at: Time) {
        let Some((length, next)) = &mut self.step else {
            return;
        };
        let keep = (-1.0 / STEPS as f64).exp();
        let spread = (1.0 - keep * keep).sqrt();
        for _ in 0..MOST_STEPS {
            if *next > at {
                return;
            }
            self.value = keep * self.value + spread * normal(&mut self.rng);
            *next += *length;
        }
        self.value = normal(&mut self.rng);
        *next = at + *length;
    }
}

/// A number of the standard normal distribution (G. E. P. Box, M. E. Muller, Annals of Mathematical Statistics 29(2),
/// 1958).
fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    // 1 - u is never zero.
    (-2.0 * (1.0 - u).ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn places_differ_by_the_standard_deviation() {
        let values: Vec<f64> = (0..20_000)
            .map(|seed| Shadowing::new(Decibels::new(4.0), None, seed).now().get())
            .collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let spread = (values.iter().map(|v| v * v).sum::<f64>() / n).sqrt();
        // Standard errors: 4 / sqrt(20 000) = 0.028 and 0.02.
        assert!(mean.abs() < 0.1, "{mean}");
        assert!((spread - 4.0).abs() < 0.07, "{spread}");
        // Beyond two of them lie 4.55 %, or 910 of 20 000 (standard deviation 29).
        let far = values.iter().filter(|v| v.abs() > 8.0).count();
        assert!(far.abs_diff(910) < 100, "{far}");
    }

    #[test]
    fn a_link_that_stands_still_keeps_its_value() {
        let mut still = Shadowing::new(Decibels::new(4.0), None, 1);
        let before = still.now();
        assert!(!still.follow(Time::ZERO + SECOND * 1000));
        assert_eq!(still.now(), before);
        let mut clear = Shadowing::new(Decibels::new(0.0), Some(SECOND), 1);
        assert!(!clear.follow(Time::ZERO + SECOND * 1000));
    }

    #[test]
    fn after_a_coherence_time_it_remembers_a_share_of_one_over_e() {
        let (mut now, mut square, mut product) = (Vec::new(), 0.0, 0.0);
        let mut moving = Shadowing::new(Decibels::new(1.0), Some(SECOND), 3);
        for second in 0..40_000 {
            moving.follow(Time::ZERO + SECOND * second);
            now.push(moving.now().get());
        }
        for pair in now.windows(2) {
            square += pair[0] * pair[0];
            product += pair[0] * pair[1];
        }
        // 0.3679; 40 000 values scatter it by 0.005.
        assert!(
            (product / square - 0.367_9).abs() < 0.02,
            "{}",
            product / square
        );
        assert!((square / 40_000.0 - 1.0).abs() < 0.04);
    }

    #[test]
    fn the_seed_decides_it_whatever_is_sent() {
        let at = |every: u64| {
            let mut moving = Shadowing::new(Decibels::new(4.0), Some(SECOND), 5);
            for ms in (0..=10_000).step_by(every as usize) {
                moving.follow(Time::ZERO + Duration::from_millis(ms));
            }
            moving.now()
        };
        assert_eq!(at(1), at(5000));
    }

    #[test]
    fn a_silence_of_years_costs_no_time() {
        let mut moving = Shadowing::new(Decibels::new(4.0), Some(Duration::from_nanos(1)), 7);
        for year in 1..100 {
            assert!(moving.follow(Time::ZERO + SECOND * (year * 31_536_000)));
            assert!(moving.now().get().abs() < 40.0);
        }
        moving.follow(Time::MAX);
    }
}
