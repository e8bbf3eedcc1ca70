//! Bit and symbol error rates by modulation.
//!
//! **OFDM** (G. Pei, T. R. Henderson, "Validation of OFDM error rate model in ns-3", Boeing 2010;
//! read in ns-3's `nist-error-rate-model.cc`). With s the signal-to-noise ratio and Gray coding,
//! the bit error rates are
//!
//! ```text
//! BPSK    1/2 erfc(sqrt(s))
//! QPSK    1/2 erfc(sqrt(s / 2))
//! 16-QAM  3/8 erfc(sqrt(s / 10))
//! 64-QAM  7/24 erfc(sqrt(s / 42))
//! ```
//!
//! **DSSS and CCK** (802.11b: G. Pei, T. R. Henderson, "Validation of ns-3 802.11b PHY model",
//! Boeing 2009; read in ns-3's `dsss-error-rate-model.cc`). The noise is that of 22 MHz, so a
//! symbol's energy divided by the noise density is s x 22 MHz divided by the symbol rate:
//! * 1 Mbit/s, DBPSK at 1 Msymbol/s: the bit error rate is 1/2 exp(-22 s)
//! * 2 Mbit/s, DQPSK with Eb/N0 = 11 s: (sqrt(2) + 1) / sqrt(8 pi sqrt(2) x) exp(-(2 - sqrt(2)) x),
//!   x = 11 s
//! * CCK at 1.375 Msymbol/s: the symbol error rate is P(e) at 5.5 Mbit/s (4 bits, e = 8 s) and 1 -
//!   (1 - P(e / 2))^2 at 11 Mbit/s (8 bits, e = 8 s), where P(e) = 1 - integral from -b to infinity
//!   of (2 Phi(x + b) - 1)^7 phi(x) dx, b = sqrt(2 e): the right one of 8 correlators has the
//!   largest magnitude
//!
//! **Overview.** Each further bit per symbol brings the points closer together, which costs about 3
//! dB. The noise is white and Gaussian. There is no fading within a frame and no echo; fading from
//! frame to frame is part of the shadowing.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// A modulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Modulation {
    /// OFDM with 1, 2, 4 or 6 bits on a subcarrier: BPSK, QPSK, 16-QAM, 64-QAM.
    Ofdm(Constellation),
    /// 802.11b at 1 Mbit/s.
    Dbpsk,
    /// 802.11b at 2 Mbit/s.
    Dqpsk,
    /// 802.11b at 5.5 Mbit/s.
    Cck4,
    /// 802.11b at 11 Mbit/s.
    Cck8,
}

/// The constellation of a subcarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Constellation {
    /// 1 bit.
    Bpsk,
    /// 2 bits.
    Qpsk,
    /// 4 bits.
    Qam16,
    /// 6 bits.
    Qam64,
}

impl Constellation {
    /// Bits per subcarrier and symbol.
    pub const fn bits(self) -> u64 {
        match self {
            Self::Bpsk => 1,
            Self::Qpsk => 2,
            Self::Qam16 => 4,
            Self::Qam64 => 6,
        }
    }

    /// The bit error rate at this signal-to-noise ratio.
    pub fn bit_error(self, snr: f64) -> f64 {
        let (share, spread) = match self {
            Self::Bpsk => (1.0 / 2.0, 1.0),
            Self::Qpsk => (1.0 / 2.0, 2.0),
            Self::Qam16 => (3.0 / 8.0, 10.0),
            Self::Qam64 => (7.0 / 24.0, 42.0),
        };
        (share * erfc((snr / spread).max(0.0).sqrt())).min(0.5)
    }
}

/// The symbol error rate of 802.11b at a signal-to-noise ratio in 22 MHz, and the bits per symbol.
pub(super) fn dsss_symbol_error(modulation: Modulation, snr: f64) -> (f64, f64) {
    // The chip rate is 11 MHz, and the noise bandwidth twice that.
    let snr = snr.max(0.0);
    match modulation {
        Modulation::Dbpsk => (0.5 * (-22.0 * snr).exp(), 1.0),
        Modulation::Dqpsk => (dqpsk(11.0 * snr), 1.0),
        Modulation::Cck4 => (correlators(8.0 * snr), 4.0),
        Modulation::Cck8 => {
            let half = correlators(4.0 * snr);
            (half * (2.0 - half), 8.0)
        }
        Modulation::Ofdm(constellation) => (constellation.bit_error(snr), 1.0),
    }
}

fn dqpsk(x: f64) -> f64 {
    let scale = (SQRT_2 + 1.0) / (8.0 * PI * SQRT_2 * x).sqrt();
    // An approximation for strong signals, not defined for zero signal.
    let share = scale * (-(2.0 - SQRT_2) * x).exp();
    if share < 0.5 { share } else { 0.5 }
}

/// P(e): the probability that one of 7 wrong correlators exceeds the right one.
fn correlators(energy: f64) -> f64 {
    /// Beyond this bound the normal density is below 1e-22.
    const FAR: f64 = 10.0;
    const STEPS: u32 = 400;
    let b = (2.0 * energy).sqrt();
    let from = (-b).max(-FAR);
    let h = (FAR - from) / f64::from(STEPS);
    // Computes the error, not its complement, so that small values keep their digits: 1 - (1 - w)^7
    // with w = erfc((x + b) / sqrt(2)).
    let wrong = |x: f64| {
        let w = erfc((x + b).max(0.0) * FRAC_1_SQRT_2);
        -(7.0 * (-w).ln_1p()).exp_m1() * (-x * x / 2.0).exp() / (2.0 * PI).sqrt()
    };
    let sum: f64 = (0..=STEPS)
        .map(|i| {
            let weight = match i {
                0 | STEPS => 1.0,
                i if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * wrong(from + h * f64::from(i))
        })
        .sum();
    // Below -b the right correlator's value has the wrong sign.
    (sum * h / 3.0 + 0.5 * erfc(b * FRAC_1_SQRT_2)).min(1.0)
}

/// The complementary error function for x >= 0, to about 14 digits: by its series near zero, by its
/// continued fraction beyond (Abramowitz, Stegun, Handbook of Mathematical Functions, 7.1.6 and
/// 7.1.14).
pub(super) fn erfc(x: f64) -> f64 {
    let scale = (-x * x).exp();
    if x < 2.0 {
        // erf x = 2/sqrt(pi) e^(-x^2) sum 2^n x^(2n+1) / (1 3 5 ... (2n+1)).
        let mut term = x;
        let mut sum = x;
        for n in 1..60 {
            term *= 2.0 * x * x / f64::from(2 * n + 1);
            sum += term;
        }
        return 1.0 - 2.0 / PI.sqrt() * scale * sum;
    }
    // erfc x = e^(-x^2) / sqrt(pi) 1/(x + (1/2)/(x + 1/(x + (3/2)/(x + ...)))).
    let fraction = (1..60).rev().fold(x, |f, n| x + f64::from(n) / 2.0 / f);
    scale / (PI.sqrt() * fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_matches_the_tables() {
        // Abramowitz, Stegun, Table 7.1: erf 0.5 = 0.520 499 8778, erf 1 = 0.842 700 7929, erf 1.5
        // = 0.966 105 1465, erf 1.98 = 0.994 893 6, erf 2 = 0.995 322 2650; Table 7.3: x e^(x^2)
        // erfc x = 0.540 (x = 3: erfc 3 = 2.209 049 700e-5).
        let table = [
            (0.0, 1.0),
            (0.5, 1.0 - 0.520_499_877_8),
            (1.0, 1.0 - 0.842_700_792_9),
            (1.5, 1.0 - 0.966_105_146_5),
            (2.0, 1.0 - 0.995_322_265_0),
            (3.0, 2.209_049_700e-5),
        ];
        for (x, expected) in table {
            let found = erfc(x);
            assert!((found - expected).abs() < 2e-10, "{x}: {found}");
        }
        // erfc 5 = 1.537 459 794e-12.
        assert!((erfc(5.0) / 1.537_459_794e-12 - 1.0).abs() < 1e-8);
        // Both forms agree where they meet.
        assert!((erfc(2.0) / erfc(2.0 - 1e-12) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn bit_error_rates_of_constellations_match_textbooks() {
        // BPSK at 9.6 dB has a bit error rate of 1e-5 (Proakis, Digital Communications, Figure
        // 5.2-4), QPSK the same at 3 dB more.
        let bpsk = Constellation::Bpsk.bit_error(10f64.powf(0.96));
        assert!((bpsk / 1e-5 - 1.0).abs() < 0.05, "{bpsk:e}");
        let qpsk = Constellation::Qpsk.bit_error(2.0 * 10f64.powf(0.96));
        assert!((qpsk / bpsk - 1.0).abs() < 1e-9);
        assert_eq!(Constellation::Qam64.bit_error(0.0), 7.0 / 24.0);
    }

    #[test]
    fn without_a_signal_symbols_are_guessed() {
        // 4 bits are 16 symbols: 8 correlators with a sign each.
        let (wrong, bits) = dsss_symbol_error(Modulation::Cck4, 0.0);
        assert!((wrong - 15.0 / 16.0).abs() < 1e-6, "{wrong}");
        assert_eq!(bits, 4.0);
        for modulation in [Modulation::Dbpsk, Modulation::Dqpsk] {
            assert_eq!(dsss_symbol_error(modulation, 0.0).0, 0.5);
        }
    }
}
