//! Independent random streams from one seed.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Streams of one seed: each begins 2^128 draws after the one before it, so they never overlap.
pub(crate) struct Streams(Xoshiro256PlusPlus);

impl Streams {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The next stream.
    pub fn next(&mut self) -> Xoshiro256PlusPlus {
        self.0.jump();
        self.0.clone()
    }
}
