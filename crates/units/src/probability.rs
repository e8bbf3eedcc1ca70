//! Probabilities and fractions.

use crate::parse::{ParseError, quantity, trimmed};
use std::fmt;
use std::str::FromStr;

/// A probability or fraction, from 0 to 1. Written `1 %` or `0.01`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

impl Probability {
    /// Probability 0: never.
    pub const ZERO: Self = Self(0.0);
    /// Probability 1: always.
    pub const ONE: Self = Self(1.0);

    /// From a number from 0 to 1.
    ///
    /// # Errors
    /// If it is not from 0 to 1.
    #[inline]
    pub fn new(share: f64) -> Result<Self, ParseError> {
        if (0.0..=1.0).contains(&share) {
            Ok(Self(share))
        } else {
            Err(ParseError::new(format!(
                "{share} is not a probability: it must be from 0 to 1 (0 % to 100 %)"
            )))
        }
    }
    /// As a number from 0 to 1.
    #[inline]
    pub const fn get(self) -> f64 {
        self.0
    }
    /// Whether it is zero.
    #[inline]
    pub fn is_zero(self) -> bool {
        self.0 == 0.0
    }
}

impl FromStr for Probability {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        // Dividing by 100 makes `1 %` the same number as `0.01`.
        let percent = quantity(text, &[("%", 1.0), ("", 100.0)], "a probability", "1 %")?;
        Self::new(percent / 100.0)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} %", trimmed(self.0 * 100.0, 6)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_probabilities_are_read() {
        assert_eq!("1 %".parse::<Probability>().map(Probability::get), Ok(0.01));
        assert_eq!(
            "0.01".parse::<Probability>().map(Probability::get),
            Ok(0.01)
        );
        assert!("101 %".parse::<Probability>().is_err());
        assert!("1 percent".parse::<Probability>().is_err());
        assert_eq!(
            "0.1 %".parse::<Probability>().expect("fine").to_string(),
            "0.1 %"
        );
    }

    #[test]
    fn a_small_probability_is_not_shown_as_zero() {
        for text in ["0.125 %", "0.001 %", "0.000001 %"] {
            let read: Probability = text.parse().expect("a probability");
            assert_eq!(read.to_string(), text);
        }
    }
}
