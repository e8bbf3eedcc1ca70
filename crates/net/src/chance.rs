//! Random events with a set probability.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::Probability;

/// An event with a set probability.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Chance {
    threshold: u64,
    /// Boxed: most links lose nothing, and small links fit the cache better.
    rng: Box<Xoshiro256PlusPlus>,
}

impl Chance {
    pub fn new(p: Probability, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            threshold: threshold(p),
            rng: Box::new(rng),
        }
    }

    #[inline]
    pub fn happens(&mut self) -> bool {
        happens(self.threshold, &mut self.rng)
    }
}

/// The probability as a threshold for 64 random bits; `u64::MAX` means certainty.
pub(crate) fn threshold(p: Probability) -> u64 {
    // 2^64 as f64; the cast saturates, so certainty becomes u64::MAX.
    (p.get() * 18_446_744_073_709_551_616.0) as u64
}

/// Draws an event with the probability of this [`threshold`].
#[inline]
pub(crate) fn happens(threshold: u64, rng: &mut Xoshiro256PlusPlus) -> bool {
    match threshold {
        0 => false,
        u64::MAX => true,
        threshold => rng.random::<u64>() < threshold,
    }
}
