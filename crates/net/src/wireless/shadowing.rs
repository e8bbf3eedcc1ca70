//! Shadowing: the change of a path's loss by obstacles.
//!
//! **Log-normal shadowing** (T. S. Rappaport, Wireless Communications, 2nd edition, (4.69a)): over
//! places at the same distance, the loss in dB has a normal distribution with a standard deviation
//! of 3 to 12 dB. A link whose ends do not move has one value, drawn for the run. If the ends or
//! obstacles move, the value changes: in M. Gudmundson, "Correlation model for shadow fading in
//! mobile radio systems", Electronics Letters 27(23), 1991, the autocorrelation falls exponentially
//! with the distance moved,
//!
//! ```text
//! R(t) = sigma^2 exp(-t / T)
//! ```
//!
//! written here with time instead of distance: T is the coherence time. This is a first-order
//! autoregressive process, here in steps of T/16, each of which changes the value little (0.35
//! sigma). Both directions of a link have the same values at the same times (radio propagation is
//! reciprocal), and the seed determines them independently of traffic.
//!
//! Fast fading by echoes within a wavelength is not modelled: OFDM averages it over a frame, and
//! the frame error rates of [`mode`](super::mode) do not include it.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::{Decibels, Duration, Time};

/// Steps per coherence time.
const STEPS: u64 = 16;
/// The maximum number of steps followed from one packet to the next. After so many steps the
/// process has no memory of its value, which is drawn anew.
const MAX_STEPS: u32 = 1 << 14;

/// The shadowing of a link.
#[derive(Debug, Clone)]
pub(super) struct Shadowing {
    sigma: f64,
    /// In standard deviations.
    value: f64,
    /// The length of a step and the time of the next one, if the value changes.
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

    /// The current change of the received power.
    pub fn now(&self) -> Decibels {
        Decibels::new(self.sigma * self.value)
    }

    /// Advances the value to `at`, which never goes back. Returns whether it has changed.
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
        for _ in 0..MAX_STEPS {
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

/// Draws from the standard normal distribution (G. E. P. Box, M. E. Muller, Annals of Mathematical
/// Statistics 29(2), 1958).
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
    fn values_of_seeds_have_the_standard_deviation() {
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
    fn without_coherence_time_or_deviation_the_value_stays() {
        let mut still = Shadowing::new(Decibels::new(4.0), None, 1);
        let before = still.now();
        assert!(!still.follow(Time::ZERO + SECOND * 1000));
        assert_eq!(still.now(), before);
        let mut clear = Shadowing::new(Decibels::new(0.0), Some(SECOND), 1);
        assert!(!clear.follow(Time::ZERO + SECOND * 1000));
    }

    #[test]
    fn the_autocorrelation_after_a_coherence_time_is_one_over_e() {
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
        // 0.3679, with a standard deviation of 0.005 for 40 000 values.
        assert!(
            (product / square - 0.367_9).abs() < 0.02,
            "{}",
            product / square
        );
        assert!((square / 40_000.0 - 1.0).abs() < 0.04);
    }

    #[test]
    fn the_seed_determines_the_value_whatever_the_traffic() {
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
    fn years_of_silence_take_no_time() {
        let mut moving = Shadowing::new(Decibels::new(4.0), Some(Duration::from_nanos(1)), 7);
        for year in 1..100 {
            assert!(moving.follow(Time::ZERO + SECOND * (year * 31_536_000)));
            assert!(moving.now().get().abs() < 40.0);
        }
        moving.follow(Time::MAX);
    }
}
