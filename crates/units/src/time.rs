//! Instants and spans in integer nanoseconds.

use crate::parse::{ParseError, quantity, to_integer, trimmed};
use crate::rounding::rounded;
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

const NANOS: u64 = 1_000_000_000;

/// A span of time, in nanoseconds: 0 to 584 years.
///
/// Subtraction saturates at zero: a span is never negative.
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
pub struct Duration(u64);

impl Duration {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// The maximum span.
    pub const MAX: Self = Self(u64::MAX);

    /// From nanoseconds.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }
    /// From microseconds.
    #[inline]
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }
    /// From milliseconds.
    #[inline]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }
    /// From whole seconds.
    #[inline]
    pub const fn from_secs(s: u64) -> Self {
        Self(s * NANOS)
    }
    /// From seconds. A negative number or NaN gives zero, a number too large the maximum span.
    #[inline]
    pub fn from_secs_f64(s: f64) -> Self {
        Self(rounded(s * NANOS as f64))
    }
    /// In nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// In seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }
    /// In milliseconds.
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Whether it is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// This span times a factor of at least zero.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self(rounded(self.0 as f64 * factor))
    }
    /// The sum, or the maximum span if it does not fit.
    #[inline]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
    /// The product, or the maximum span if it does not fit.
    #[inline]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Duration {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
impl SubAssign for Duration {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_sub(other.0);
    }
}
impl Mul<u64> for Duration {
    type Output = Self;
    #[inline]
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}
impl Div<u64> for Duration {
    type Output = Self;
    #[inline]
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}
impl From<std::time::Duration> for Duration {
    #[inline]
    fn from(d: std::time::Duration) -> Self {
        Self(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}
impl From<Duration> for std::time::Duration {
    #[inline]
    fn from(d: Duration) -> Self {
        Self::from_nanos(d.0)
    }
}

impl FromStr for Duration {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const UNITS: &[(&str, f64)] = &[
            ("ns", 1.0),
            ("us", 1e3),
            ("µs", 1e3),
            ("ms", 1e6),
            ("s", 1e9),
            ("min", 60e9),
            ("h", 3600e9),
        ];
        let ns = quantity(text, UNITS, "a time", "50 ms")?;
        Ok(Self(to_integer(ns, text, "a time")?))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let text = match self.0 {
            0 => "0 s".to_owned(),
            1..1_000 => format!("{} ns", self.0),
            1_000..1_000_000 => format!("{} us", trimmed(ns / 1e3, 3)),
            1_000_000..NANOS => format!("{} ms", trimmed(ns / 1e6, 3)),
            _ => format!("{} s", trimmed(ns / 1e9, 3)),
        };
        f.pad(&text)
    }
}

/// An instant: nanoseconds since the origin of the clock that drives the code (the start of a
/// simulated run, or of the process in real time).
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
pub struct Time(u64);

impl Time {
    /// The clock's origin.
    pub const ZERO: Self = Self(0);
    /// The maximum instant: "never".
    pub const MAX: Self = Self(u64::MAX);

    /// From nanoseconds since the origin.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }
    /// In nanoseconds since the origin.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// In seconds since the origin.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }
    /// The span since `earlier`; zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    #[inline]
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}
impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}
impl Sub<Duration> for Time {
    type Output = Self;
    #[inline]
    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn written_times_are_read() {
        assert_eq!("50 ms".parse(), Ok(Duration::from_millis(50)));
        assert_eq!("1.5s".parse(), Ok(Duration::from_millis(1500)));
        assert_eq!("2 min".parse(), Ok(Duration::from_secs(120)));
        assert_eq!("0".parse(), Ok(Duration::ZERO));
    }

    #[test]
    fn a_wrong_unit_names_the_nearest() {
        let error = "50 msec"
            .parse::<Duration>()
            .expect_err("msec is not a unit")
            .to_string();
        assert!(error.contains("did you mean `ms`?"), "{error}");
        let error = "50".parse::<Duration>().expect_err("no unit").to_string();
        assert!(error.contains("unit is missing"), "{error}");
        assert!("-1 s".parse::<Duration>().is_err());
        assert!("1e30 s".parse::<Duration>().is_err());
        assert!("NaN s".parse::<Duration>().is_err());
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in ".*") {
            let _ = text.parse::<Duration>();
        }
        #[test]
        fn a_displayed_time_reads_back(ms in 0u64..1_000_000) {
            let d = Duration::from_millis(ms);
            prop_assert_eq!(d.to_string().parse(), Ok(d));
        }
    }
}
