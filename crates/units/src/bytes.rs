//! Amounts of data.

use crate::parse::{ParseError, quantity, to_integer, trimmed};
use crate::rounding::rounded;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;

/// An amount of data in bytes. Subtraction saturates at zero.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Bytes(u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Self = Self(0);
    /// The maximum amount: "no limit".
    pub const MAX: Self = Self(u64::MAX);

    /// From a number of bytes.
    #[inline]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }
    /// The number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
    /// Whether it is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// This amount times a factor of at least zero, rounded to the nearest byte.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self(rounded(self.0 as f64 * factor))
    }
    /// `count` times this amount, or the maximum if it does not fit.
    #[inline]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
    /// The sum, or the maximum if it does not fit.
    #[inline]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Add for Bytes {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Bytes {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_sub(other.0);
    }
}
impl Sum for Bytes {
    #[inline]
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, |a, b| a + b)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const UNITS: &[(&str, f64)] = &[
            ("B", 1.0),
            ("bytes", 1.0),
            ("kB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("TB", 1e12),
            ("KiB", 1024.0),
            ("MiB", 1_048_576.0),
            ("GiB", 1_073_741_824.0),
            ("TiB", 1_099_511_627_776.0),
        ];
        let bytes = quantity(text, UNITS, "an amount of data", "64 MiB")?;
        Ok(Self(to_integer(bytes, text, "an amount of data")?))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        let text = match self.0 {
            0..1_000 => format!("{} B", self.0),
            1_000..1_000_000 => format!("{} kB", trimmed(bytes / 1e3, 3)),
            1_000_000..1_000_000_000 => format!("{} MB", trimmed(bytes / 1e6, 3)),
            _ => format!("{} GB", trimmed(bytes / 1e9, 3)),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_amounts_are_read() {
        assert_eq!("64 MiB".parse(), Ok(Bytes::new(64 << 20)));
        assert_eq!("1 GB".parse(), Ok(Bytes::new(1_000_000_000)));
        assert_eq!("1460 B".parse(), Ok(Bytes::new(1460)));
        assert!("1460".parse::<Bytes>().is_err());
        assert_eq!(Bytes::new(1500).to_string(), "1.5 kB");
    }

    #[test]
    fn large_amounts_are_shown_to_three_decimals() {
        for (bytes, shown) in [
            (67_108_864, "67.109 MB"),
            (1_500_000_000, "1.5 GB"),
            (12_345_678_901, "12.346 GB"),
        ] {
            assert_eq!(Bytes::new(bytes).to_string(), shown);
        }
    }
}
