//! Data rates.

use crate::parse::{ParseError, quantity, to_integer, trimmed};
use crate::rounding::rounded;
use crate::{Bytes, Duration};
use std::fmt;
use std::str::FromStr;

/// A data rate in bits per second.
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
pub struct Rate(u64);

impl Rate {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// From bits per second.
    #[inline]
    pub const fn from_bits_per_sec(bps: u64) -> Self {
        Self(bps)
    }
    /// From bytes per second.
    #[inline]
    pub const fn from_bytes_per_sec(bps: u64) -> Self {
        Self(bps.saturating_mul(8))
    }
    /// In bits per second.
    #[inline]
    pub const fn as_bits_per_sec(self) -> u64 {
        self.0
    }
    /// In bytes per second, rounded down.
    #[inline]
    pub const fn as_bytes_per_sec(self) -> u64 {
        self.0 / 8
    }
    /// The mean rate of `bytes` in `span`; zero if `span` is zero.
    #[inline]
    pub fn over(bytes: Bytes, span: Duration) -> Self {
        let ns = span.as_nanos();
        if ns == 0 {
            return Self::ZERO;
        }
        // Up to two gigabytes fit in 64 bits, whose division is much faster.
        match bytes.get().checked_mul(8_000_000_000) {
            Some(bits) => Self(bits / ns),
            None => {
                let bits = u128::from(bytes.get()) * 8_000_000_000;
                Self(u64::try_from(bits / u128::from(ns)).unwrap_or(u64::MAX))
            }
        }
    }
    /// How long `bytes` take at this rate, rounded down to the nanosecond; [`Duration::MAX`] at
    /// rate zero.
    #[inline]
    pub fn time_for(self, bytes: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // As in `over`.
        match bytes.get().checked_mul(8_000_000_000) {
            Some(bits) => Duration::from_nanos(bits / self.0),
            None => {
                let ns = u128::from(bytes.get()) * 8_000_000_000 / u128::from(self.0);
                Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
            }
        }
    }
    /// How many bytes pass in `span`, rounded down: the bandwidth-delay product.
    #[inline]
    pub fn bytes_in(self, span: Duration) -> Bytes {
        // As in `over`: up to two gigabytes.
        match self.0.checked_mul(span.as_nanos()) {
            Some(bits) => Bytes::new(bits / 8_000_000_000),
            None => {
                let bytes = u128::from(self.0) * u128::from(span.as_nanos()) / 8_000_000_000;
                Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
            }
        }
    }
    /// This rate times a factor of at least zero.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self(rounded(self.0 as f64 * factor))
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const UNITS: &[(&str, f64)] = &[
            ("bit/s", 1.0),
            ("kbit/s", 1e3),
            ("Mbit/s", 1e6),
            ("Gbit/s", 1e9),
            ("bps", 1.0),
            ("kbps", 1e3),
            ("Mbps", 1e6),
            ("Gbps", 1e9),
            ("B/s", 8.0),
            ("kB/s", 8e3),
            ("MB/s", 8e6),
            ("GB/s", 8e9),
        ];
        let bps = quantity(text, UNITS, "a rate", "8 Mbit/s")?;
        Ok(Self(to_integer(bps, text, "a rate")?))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bps = self.0 as f64;
        let text = match self.0 {
            0..1_000 => format!("{} bit/s", self.0),
            1_000..1_000_000 => format!("{} kbit/s", trimmed(bps / 1e3, 3)),
            1_000_000..1_000_000_000 => format!("{} Mbit/s", trimmed(bps / 1e6, 3)),
            _ => format!("{} Gbit/s", trimmed(bps / 1e9, 3)),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_rates_are_read() {
        assert_eq!("8 Mbit/s".parse(), Ok(Rate::from_bits_per_sec(8_000_000)));
        assert_eq!(
            "1.5Gbps".parse(),
            Ok(Rate::from_bits_per_sec(1_500_000_000))
        );
        assert_eq!("1 MB/s".parse(), Ok(Rate::from_bits_per_sec(8_000_000)));
        let error = "8 mbits".parse::<Rate>().expect_err("no unit").to_string();
        assert!(error.contains("did you mean `Mbit/s`?"), "{error}");
        for (written, meant) in [
            ("50Mb", "Mbit/s"),
            ("5 Mb/s", "Mbit/s"),
            ("5 Gb/s", "Gbit/s"),
            ("50 MB", "MB/s"),
            ("5 kb", "kbit/s"),
            ("1 G", "Gbit/s"),
        ] {
            let error = written.parse::<Rate>().expect_err("no unit").to_string();
            assert!(
                error.contains(&format!("did you mean `{meant}`?")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_1500_byte_packet_takes_12_us_at_1_gbit() {
        let rate = Rate::from_bits_per_sec(1_000_000_000);
        assert_eq!(rate.time_for(Bytes::new(1500)), Duration::from_micros(12));
        // 1 Gbit/s x 90 ms = 11.25 MB in flight.
        assert_eq!(
            rate.bytes_in(Duration::from_millis(90)),
            Bytes::new(11_250_000)
        );
        assert_eq!(
            Rate::over(Bytes::new(11_250_000), Duration::from_millis(90)),
            rate
        );
        assert_eq!(Rate::ZERO.time_for(Bytes::new(1)), Duration::MAX);
        // 5 GB: more bits and nanoseconds than 64 bits hold.
        assert_eq!(
            rate.time_for(Bytes::new(5_000_000_000)),
            Duration::from_secs(40)
        );
    }
}
