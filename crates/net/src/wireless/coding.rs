//! Error-correcting codes: the convolutional code of 802.11 and 802.16, and 802.16's Reed-Solomon
//! code.
//!
//! **Convolutional code.** Constraint length 7, generators 133 and 171 (octal), punctured to the
//! higher rates: the code of IEEE Std 802.11 (17.3.5.6 of the 2016 edition) and of IEEE Std 802.16
//! OFDM (8.3.3.2.2 of the 2009 edition). With hard decisions on bits that are flipped with
//! probability p, the decoder's bit error rate is bounded by
//!
//! ```text
//! Pb <= 1/(2k) sum_d c_d D^d,   D = sqrt(4 p (1 - p))
//! ```
//!
//! for a rate of k bits in k+1, where c_d are the bit errors of all paths at distance d: the bound
//! of G. Pei, T. R. Henderson, "Validation of OFDM error rate model in ns-3", Boeing 2010, with the
//! c_d of P. Frenger, P. Orten, T. Ottosson, "Convolutional codes with optimum distance spectrum",
//! IEEE Communications Letters 3(11), 1999 (rates 1/2, 2/3, 3/4) and of D. Haccoun, G. Begin,
//! "High-rate punctured convolutional codes for Viterbi and sequential decoding", IEEE Transactions
//! on Communications 37(11), 1989 (5/6). The numbers were read in ns-3's
//! `nist-error-rate-model.cc`, not in these papers; they are facts about the code.
//!
//! **Overview.** A decoder errs when noise makes a wrong path look nearer than the right one; the
//! nearest wrong paths matter most. The bound counts each wrong path separately, so it exceeds one
//! about half a decibel below the threshold, where no frame is received anyway. Receivers with soft
//! decisions are about 2 dB better.
//!
//! **Reed-Solomon code.** n bytes carry k data bytes; up to t = (n - k) / 2 wrong bytes are
//! corrected. It corrects errors that the convolutional code leaves. Here these bit errors are
//! independent: a byte is wrong with probability 1 - (1 - Pb)^8, and a block is wrong if more than
//! t of its bytes are. Real decoders err in bursts of a few bytes, which the standard does not
//! spread (its interleaver is before the inner decoder): with the same Pb fewer blocks are hit,
//! each by more wrong bytes.

/// The rate of the convolutional code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeRate {
    /// 1/2.
    Half,
    /// 2/3.
    TwoThirds,
    /// 3/4.
    ThreeQuarters,
    /// 5/6.
    FiveSixths,
}

/// Bit errors of all wrong paths by their distance.
struct Spectrum {
    /// Input bits per step of the code.
    bits: f64,
    /// The minimum distance, and the step to the next distance.
    distance: i32,
    step: i32,
    errors: &'static [f64],
}

impl CodeRate {
    const fn spectrum(self) -> Spectrum {
        let (bits, distance, step, errors): (_, _, _, &[f64]) = match self {
            Self::Half => (
                1.0,
                10,
                2,
                &[
                    36.0,
                    211.0,
                    1404.0,
                    11_633.0,
                    77_433.0,
                    502_690.0,
                    3_322_763.0,
                    21_292_910.0,
                    134_365_911.0,
                ],
            ),
            Self::TwoThirds => (
                2.0,
                6,
                1,
                &[
                    3.0,
                    70.0,
                    285.0,
                    1276.0,
                    6160.0,
                    27_128.0,
                    117_019.0,
                    498_860.0,
                    2_103_891.0,
                    8_784_123.0,
                ],
            ),
            Self::ThreeQuarters => (
                3.0,
                5,
                1,
                &[
                    42.0,
                    201.0,
                    1492.0,
                    10_469.0,
                    62_935.0,
                    379_644.0,
                    2_253_373.0,
                    13_073_811.0,
                    75_152_755.0,
                    428_005_675.0,
                ],
            ),
            Self::FiveSixths => (
                5.0,
                4,
                1,
                &[
                    92.0,
                    528.0,
                    8694.0,
                    79_453.0,
                    792_114.0,
                    7_375_573.0,
                    67_884_974.0,
                    610_875_423.0,
                    5_427_275_376.0,
                    47_664_215_639.0,
                ],
            ),
        };
        Spectrum {
            bits,
            distance,
            step,
            errors,
        }
    }

    /// The bit error rate after decoding for this bit error rate before; at most one half.
    pub fn bit_error(self, channel: f64) -> f64 {
        let spectrum = self.spectrum();
        let d = (4.0 * channel * (1.0 - channel)).max(0.0).sqrt();
        let paths = spectrum.errors.iter().zip(0..);
        let sum: f64 = paths
            .map(|(errors, i)| errors * d.powi(spectrum.distance + spectrum.step * i))
            .sum();
        (sum / (2.0 * spectrum.bits)).min(0.5)
    }
}

/// A shortened and punctured Reed-Solomon code of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReedSolomon {
    /// Bytes of a block.
    pub n: u32,
    /// Of these, bytes of data; at least one.
    pub k: u32,
}

impl ReedSolomon {
    /// The probability that a block is not corrected at this bit error rate, which is at most one
    /// half.
    pub fn block_error(self, bit_error: f64) -> f64 {
        let right = (1.0 - bit_error).powi(8);
        let wrong = 1.0 - right;
        let corrected = (self.n - self.k) / 2;
        // Terms of the binomial distribution, each computed from the one before. The first is at
        // least 2^-960.
        let mut term = right.powi(self.n as i32);
        let mut sum = 0.0;
        for i in 0..=self.n {
            if i > corrected {
                sum += term;
            }
            term *= f64::from(self.n - i) / f64::from(i + 1) * wrong / right;
        }
        sum.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_term_of_the_bound_is_the_free_distance() {
        // p = 1e-4: D = sqrt(4e-4 x 0.9999) = 0.019 999. Rate 1/2: 36 D^10 / 2 = 18 x 1.0234e-17
        // (D^2 = 3.9996e-4), and 211 D^12 / 2 adds 0.23 %.
        let half = CodeRate::Half.bit_error(1e-4);
        assert!((half / 1.845e-16 - 1.0).abs() < 0.003, "{half:e}");
        // Rate 3/4: 42 D^5 / 6 = 7 x 3.1993e-9 = 2.2395e-8; 201 D^6 / 6 = 33.5 x 6.3981e-11 =
        // 2.14e-9 more, then 3.2e-10 and 4.5e-11.
        let punctured = CodeRate::ThreeQuarters.bit_error(1e-4);
        assert!((punctured / 2.49e-8 - 1.0).abs() < 0.005, "{punctured:e}");
    }

    #[test]
    fn bit_errors_of_one_half_and_zero_stay_as_they_are() {
        let rates = [
            CodeRate::Half,
            CodeRate::TwoThirds,
            CodeRate::ThreeQuarters,
            CodeRate::FiveSixths,
        ];
        for rate in rates {
            assert_eq!(rate.bit_error(0.5), 0.5);
            assert_eq!(rate.bit_error(0.0), 0.0);
        }
    }

    #[test]
    fn a_block_is_wrong_if_more_bytes_are_wrong_than_can_be_corrected() {
        // Without parity one wrong byte of 12 is enough: 1 - (1 - 0.001)^96 = 0.0916.
        let none = ReedSolomon { n: 12, k: 12 };
        assert!((none.block_error(0.001) - 0.0916).abs() < 1e-4);
        // (40, 36) corrects 2 bytes. A byte is wrong with 1 - 0.999^8 = 0.007 972. P(3) = C(40, 3)
        // p^3 (1 - p)^37 = 9880 x 5.067e-7 x 0.7437 = 0.003 723; P(4) = 91 390 x 4.039e-9 x 0.7497
        // = 0.000 277; P(5) 0.000 016: the sum is 0.004 016.
        let two = ReedSolomon { n: 40, k: 36 };
        assert!((two.block_error(0.001) - 0.004_016).abs() < 5e-6);
        assert_eq!(two.block_error(0.0), 0.0);
        assert!((ReedSolomon { n: 120, k: 108 }).block_error(0.5) > 0.999_999);
    }
}
