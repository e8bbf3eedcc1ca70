//! Quantities of radio links: distances, frequencies, powers and ratios of powers.

use crate::parse::{ParseError, quantity, trimmed};
use std::fmt;
use std::str::FromStr;

/// A distance in metres, not negative. Written `150 m`, `92 km`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Distance(f64);

impl Distance {
    /// From metres; a negative number or NaN gives zero.
    pub const fn from_metres(metres: f64) -> Self {
        Self(metres.max(0.0))
    }

    /// In metres.
    pub const fn metres(self) -> f64 {
        self.0
    }
}

impl FromStr for Distance {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let units = [("m", 1.0), ("km", 1e3)];
        let metres = quantity(text, &units, "a distance", "150 m")?;
        finite(metres, text, "a distance").map(Self)
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&if self.0 < 1e3 {
            format!("{} m", trimmed(self.0, 3))
        } else {
            format!("{} km", trimmed(self.0 / 1e3, 6))
        })
    }
}

/// A frequency or a bandwidth in hertz, not negative. Written `2.437 GHz`, `10 MHz`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Frequency(f64);

impl Frequency {
    /// From hertz; a negative number or NaN gives zero.
    pub const fn from_hertz(hertz: f64) -> Self {
        Self(hertz.max(0.0))
    }

    /// In hertz.
    pub const fn hertz(self) -> f64 {
        self.0
    }
}

impl FromStr for Frequency {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let units = [("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)];
        let hertz = quantity(text, &units, "a frequency", "2.437 GHz")?;
        finite(hertz, text, "a frequency").map(Self)
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&if self.0 < 1e9 {
            format!("{} MHz", trimmed(self.0 / 1e6, 6))
        } else {
            format!("{} GHz", trimmed(self.0 / 1e9, 6))
        })
    }
}

/// A power relative to a milliwatt, in dBm. Written `20 dBm`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Power(f64);

impl Power {
    /// From dBm.
    pub const fn from_dbm(dbm: f64) -> Self {
        Self(dbm)
    }

    /// In dBm.
    pub const fn dbm(self) -> f64 {
        self.0
    }
}

impl FromStr for Power {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        signed(text, &[("dBm", 1.0)], "a power", "20 dBm").map(Self)
    }
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} dBm", trimmed(self.0, 2)))
    }
}

/// A ratio of powers in dB: a gain, a loss, a spread. Written `4 dB`, an antenna's gain also `17
/// dBi`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Decibels(f64);

impl Decibels {
    /// From a number of dB.
    pub const fn new(decibels: f64) -> Self {
        Self(decibels)
    }

    /// As a number of dB.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// As a ratio of powers.
    pub fn ratio(self) -> f64 {
        10f64.powf(self.0 / 10.0)
    }
}

impl FromStr for Decibels {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        signed(
            text,
            &[("dB", 1.0), ("dBi", 1.0)],
            "a ratio of powers",
            "4 dB",
        )
        .map(Self)
    }
}

impl fmt::Display for Decibels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} dB", trimmed(self.0, 2)))
    }
}

/// Reads a quantity that may be negative.
fn signed(text: &str, units: &[(&str, f64)], what: &str, example: &str) -> Result<f64, ParseError> {
    let (sign, rest) = match text.trim().strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    finite(sign * quantity(rest, units, what, example)?, text, what)
}

/// Refuses absurdly large values, so that sums of quantities stay finite.
fn finite(value: f64, text: &str, what: &str) -> Result<f64, ParseError> {
    if value.abs() <= 1e15 {
        Ok(value)
    } else {
        Err(ParseError::new(format!("`{text}` is too large for {what}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_distances_and_frequencies_are_read() {
        let metres = |text: &str| text.parse::<Distance>().map(Distance::metres);
        assert_eq!((metres("150 m"), metres("92km")), (Ok(150.0), Ok(92_000.0)));
        assert!(metres("3 mi").is_err() && metres("-3 m").is_err() && metres("3").is_err());
        let hertz = |text: &str| text.parse::<Frequency>().map(Frequency::hertz);
        assert_eq!(hertz("2.4 GHz"), Ok(2_400_000_000.0));
        assert_eq!(hertz("10 MHz"), Ok(10_000_000.0));
        assert!(hertz("10 Mhz").is_err());
        let shown = Distance::from_metres(92_000.0).to_string();
        assert_eq!(shown, "92 km");
        assert_eq!(Frequency::from_hertz(5.8e9).to_string(), "5.8 GHz");
    }

    #[test]
    fn powers_and_ratios_may_be_negative() {
        assert_eq!("-82 dBm".parse::<Power>().map(Power::dbm), Ok(-82.0));
        assert_eq!("17 dBi".parse::<Decibels>().map(Decibels::get), Ok(17.0));
        assert_eq!("-3 dB".parse::<Decibels>().map(Decibels::get), Ok(-3.0));
        assert!("20 dB".parse::<Power>().is_err());
        // 3 dB are a factor of nearly two, 10 dB a factor of ten.
        assert!((Decibels::new(3.0).ratio() - 1.995_26).abs() < 1e-5);
        assert!((Decibels::new(10.0).ratio() - 10.0).abs() < 1e-12);
    }

    #[test]
    fn absurdly_large_values_are_refused() {
        assert!("9999999999999999999999 km".parse::<Distance>().is_err());
        assert_eq!(Distance::from_metres(f64::NAN).metres(), 0.0);
        assert_eq!(Frequency::from_hertz(-1.0).hertz(), 0.0);
    }
}
