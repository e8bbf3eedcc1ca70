//! Bit errors: each bit of a packet, headers included, is changed with the same probability, the
//! bit error rate.
//!
//! * a packet of n bytes is corrupted with probability `1 - (1 - b)^(8n)`, b the bit error rate
//! * its first changed bit is bit k with probability `(1 - b)^k * b`: the number of intact bits
//!   before a changed one has a geometric distribution
//!
//! Units: bits, counted from 0.
//!
//! **The physics.** Stationary noise changes each bit independently. So it does not matter where a
//! packet begins: from any bit on, the number of bits until the next changed one has the same
//! distribution. It is drawn once, counted down packet by packet, and drawn again after a changed
//! bit; intact packets need no draw. Large packets are corrupted more often than small ones.
//!
//! **When it does not apply.** Fading and interference change many bits of one packet and none of
//! the next: see [`GilbertElliott`](crate::GilbertElliott). Error-correcting codes also leave
//! bursts.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::Probability;

/// The state of the noise.
#[derive(Debug, Clone)]
pub(crate) struct BitErrors {
    /// ln(1 - b), not positive; minus infinity if every bit is changed.
    ln_intact: f64,
    /// Number of intact bits before the next changed one.
    intact: u64,
    rng: Xoshiro256PlusPlus,
}

impl BitErrors {
    /// Noise with this bit error rate, which is not zero.
    pub fn new(rate: Probability, rng: Xoshiro256PlusPlus) -> Self {
        let mut errors = Self {
            ln_intact: (-rate.get()).ln_1p(),
            intact: 0,
            rng,
        };
        errors.intact = errors.draw();
        errors
    }

    /// The first changed bit of the next packet, which has `bits` bits; `None` if it is intact.
    #[inline]
    pub fn strike(&mut self, bits: u32) -> Option<u32> {
        match u32::try_from(self.intact) {
            Ok(first) if first < bits => {
                self.intact = self.draw();
                Some(first)
            }
            _ => {
                self.intact -= u64::from(bits);
                None
            }
        }
    }

    /// Draws the number of intact bits. At least k bits are intact with probability (1 - b)^k, so k
    /// is the logarithm of a random number to the base 1 - b.
    fn draw(&mut self) -> u64 {
        // From 0 to below 1; the cast saturates.
        let above: f64 = self.rng.random();
        ((-above).ln_1p() / self.ln_intact) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn noise(rate: f64) -> BitErrors {
        let rate = Probability::new(rate).expect("a probability");
        BitErrors::new(rate, Xoshiro256PlusPlus::seed_from_u64(7))
    }

    #[test]
    fn the_fraction_of_corrupted_packets_follows_their_length() {
        // 1 - (1 - 1e-6)^12000 = 0.0119283, 1 - (1 - 1e-6)^416 = 0.000415914; of 400,000 packets
        // 4771 and 166, with standard deviations of 69 and 13.
        for (bits, expected, deviation) in [(12_000, 4771, 69), (416, 166, 13)] {
            let mut noise = noise(1e-6);
            let struck = (0..400_000).filter_map(|_| noise.strike(bits)).count();
            assert!(
                struck.abs_diff(expected) < 4 * deviation,
                "{bits} bits: {struck}"
            );
        }
    }

    #[test]
    fn at_a_high_error_rate_the_first_error_is_early() {
        // At 1e-3 the first 320 bits, headers of 40 bytes, are intact with probability 0.999^320 =
        // 0.7260, all 12,000 bits with 6e-6.
        let mut noise = noise(1e-3);
        let firsts: Vec<u32> = (0..10_000).filter_map(|_| noise.strike(12_000)).collect();
        let in_header = firsts.iter().filter(|first| **first < 320).count();
        assert!(firsts.len() > 9_990, "{}", firsts.len());
        assert!(in_header.abs_diff(2740) < 4 * 45, "{in_header}");
    }

    #[test]
    fn error_rate_one_changes_the_first_bit_and_a_tiny_one_changes_none() {
        assert_eq!(noise(1.0).strike(8), Some(0));
        let mut noise = noise(f64::MIN_POSITIVE);
        assert!((0..1_000_000).all(|_| noise.strike(u32::MAX).is_none()));
    }
}
