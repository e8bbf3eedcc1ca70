//! Bit errors: each bit of a packet, headers included, arrives changed with the same chance, the bit error rate.
//!
//! * a packet of n bytes is corrupted with the chance `1 - (1 - b)^(8n)`, b the bit error rate
//! * its first changed bit is bit k with the chance `(1 - b)^k * b`: how many bits pass before one is changed is
//!   geometrically distributed
//!
//! Units: bits, from 0.
//!
//! **The physics.** Noise that is the same all the time strikes each bit by itself. So it does not matter where a packet
//! begins: from any bit on, the count of bits until the next changed one has the same distribution. It is drawn once and
//! counted down packet by packet, and after a changed bit anew, which costs a packet no draw unless it is struck. Large
//! packets are struck more often than small ones.
//!
//! **When not.** Fading and interference strike many bits of one packet and none of the next: see
//! [`GilbertElliott`](crate::GilbertElliott). Codes that correct errors leave bursts behind, too.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::Probability;

/// Noise at work.
#[derive(Debug, Clone)]
pub(crate) struct BitErrors {
    /// ln(1 - b), not positive; minus infinity if every bit is changed.
    ln_intact: f64,
    /// Bits that pass before the next one is changed.
    intact: u64,
    rng: Xoshiro256PlusPlus,
}

impl BitErrors {
    /// Noise of this bit error rate, which is not zero.
    pub fn new(rate: Probability, rng: Xoshiro256PlusPlus) -> Self {
        let mut errors = Self {
            ln_intact: (-rate.get()).ln_1p(),
            intact: 0,
            rng,
        };
        errors.intact = errors.draw();
        errors
    }

    /// The first changed bit of the next packet, of so many bits.
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

    /// More than k bits pass with the chance (1 - b)^k: k is the logarithm of a random number to the base 1 - b.
    fn draw(&mut self) -> u64 {
        // From 0 on and below 1; the cast saturates.
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
    fn one_in_a_million_strikes_so_many_packets_of_1500_and_of_52_bytes() {
        // 1 - (1 - 1e-6)^12000 = 0.0119283, 1 - (1 - 1e-6)^416 = 0.000415914; of 400,000 packets 4771 and 166, with
        // standard deviations of 69 and 13.
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
    fn the_first_error_lies_early_where_there_are_many() {
        // At 1e-3 the first 320 bits, headers of 40 bytes, stay whole with 0.999^320 = 0.7260, all 12,000 with 6e-6.
        let mut noise = noise(1e-3);
        let firsts: Vec<u32> = (0..10_000).filter_map(|_| noise.strike(12_000)).collect();
        let in_header = firsts.iter().filter(|first| **first < 320).count();
        assert!(firsts.len() > 9_990, "{}", firsts.len());
        assert!(in_header.abs_diff(2740) < 4 * 45, "{in_header}");
    }

    #[test]
    fn certainty_strikes_the_first_bit_and_next_to_nothing_strikes_none() {
        assert_eq!(noise(1.0).strike(8), Some(0));
        let mut noise = noise(f64::MIN_POSITIVE);
        assert!((0..1_000_000).all(|_| noise.strike(u32::MAX).is_none()));
    }
}
