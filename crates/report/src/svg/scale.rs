//! Numbers, units and ticks as people read them; `assets/values.js` has as much of it as zooming
//! and pointing need.

use crate::figure::Axis;
use serde::Serialize;

/// Separates groups of digits.
const THIN: char = '\u{202f}';
/// Units that take a prefix when numbers are large, and the one that takes it when they are small.
const LARGE: [&str; 5] = ["bit/s", "B/s", "B", "bit", "Hz"];
const PREFIXES: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
const SMALL_PREFIXES: [(f64, &str); 3] = [(1.0, ""), (1e-3, "m"), (1e-6, "µ")];

/// An axis' values in the unit in which they are read.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Scale {
    /// Size of the unit in units of the figure.
    factor: f64,
    /// Label and unit.
    #[serde(skip)]
    pub name: String,
    pub label: String,
    unit: String,
}

impl Scale {
    /// The unit that fits a maximum.
    pub fn new(axis: &Axis, maximum: f64) -> Self {
        let prefixes: &[(f64, &str)] = if LARGE.contains(&axis.unit.as_str()) {
            &PREFIXES
        } else if axis.unit == "s" {
            &SMALL_PREFIXES
        } else {
            &[(1.0, "")]
        };
        let fits = prefixes.iter().find(|(size, _)| maximum >= *size);
        let (factor, prefix) = *fits.or(prefixes.last()).unwrap_or(&(1.0, ""));
        let unit = format!("{prefix}{}", axis.unit);
        let name = match (axis.label.as_str(), unit.as_str()) {
            (label, "") => label.to_owned(),
            ("", unit) => format!("({unit})"),
            (label, unit) => format!("{label} ({unit})"),
        };
        let label = axis.label.clone();
        Self {
            factor,
            name,
            label,
            unit,
        }
    }

    /// A value with its unit.
    pub fn text(&self, value: f64, digits: usize) -> String {
        let number = self.number(value, digits);
        match self.unit.as_str() {
            "" => number,
            "%" => format!("{number}{THIN}%"),
            unit => format!("{number} {unit}"),
        }
    }

    /// A value with at most this many significant digits.
    pub fn number(&self, value: f64, digits: usize) -> String {
        number(value / self.factor, digits)
    }
}

/// A number with at most `digits` significant digits, its whole part not rounded, as a power of ten
/// where it is very large or small.
pub(super) fn number(value: f64, digits: usize) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "–".to_owned();
    }
    if size == 0.0 {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "−" } else { "" };
    let exponential = format!("{:.*e}", digits.saturating_sub(1), size);
    let (mantissa, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(1e-5..1e7).contains(&size) {
        let ten = format!("10{}", superscript(exponent));
        return match without_zeros(mantissa) {
            "1" => format!("{sign}{ten}"),
            mantissa => format!("{sign}{mantissa}×{ten}"),
        };
    }
    let decimals = i32::try_from(digits).unwrap_or(i32::MAX) - 1 - exponent;
    let text = format!("{size:.*}", usize::try_from(decimals).unwrap_or(0));
    let text = if decimals > 0 {
        without_zeros(&text)
    } else {
        &text
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let point = if part.is_empty() { "" } else { "." };
    let whole = if whole.len() > 4 {
        grouped(whole)
    } else {
        whole.to_owned()
    };
    format!("{sign}{whole}{point}{part}")
}

/// A number of percent.
pub(super) fn percent(value: f64) -> String {
    format!("{}{THIN}%", number(value, 3))
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// Digits in groups of three.
pub(super) fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(THIN);
        }
        text.push(digit);
    }
    text
}

fn superscript(exponent: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        // The others stand one after the other in Unicode.
        c => c
            .to_digit(10)
            .and_then(|n| char::from_u32(0x2070 + n))
            .unwrap_or(c),
    };
    exponent.to_string().chars().map(digit).collect()
}

/// The range of an axis in a picture.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Range {
    pub low: f64,
    pub high: f64,
    log: bool,
    inverse: bool,
    #[serde(flatten)]
    pub scale: Scale,
}

impl Range {
    /// A range for these values. A linear one begins at zero if `from_zero`, unless all values lie
    /// in a small part far from it; `room` leaves space at the ends.
    pub fn new(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        from_zero: bool,
        room: bool,
    ) -> Self {
        let usable = values.filter(|value| has_place(axis.log, *value));
        let (mut low, mut high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (a.min(v), b.max(v))
        });
        if low > high {
            (low, high) = if axis.log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        let scale = Scale::new(axis, low.abs().max(high.abs()));
        let (low, high) = if axis.log {
            logarithmic(low, high, room || !from_zero)
        } else {
            linear(low, high, from_zero, room)
        };
        Self {
            low,
            high,
            log: axis.log,
            inverse: axis.inverse,
            scale,
        }
    }

    /// Where a value lies between the ends: 0 to 1. Values beyond an end are moved to it.
    pub fn part(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        let part = part.clamp(0.0, 1.0);
        if self.inverse { 1.0 - part } else { part }
    }

    /// Whether a value has a place on the axis.
    pub fn has(&self, value: f64) -> bool {
        has_place(self.log, value)
    }

    /// Round numbers, about `count` of them on a linear axis.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        if self.log {
            log_ticks(self.low, self.high)
        } else {
            ticks(self.low, self.high, count)
        }
    }
}

/// Whether a value can be drawn: ratios and differences of such values are finite.
fn has_place(log: bool, value: f64) -> bool {
    value.abs() < 1e100 && (!log || value > 1e-100)
}

fn logarithmic(low: f64, high: f64, room: bool) -> (f64, f64) {
    if low == high {
        return (low / 2.0, high * 2.0);
    }
    let margin = if room {
        (high / low).powf(0.06).max(1.08)
    } else {
        1.0
    };
    (low / margin, high * margin)
}

fn linear(low: f64, high: f64, from_zero: bool, room: bool) -> (f64, f64) {
    let range = high - low;
    // A range far from zero that is neither so wide that zero fits in nor so narrow that it would
    // magnify noise.
    let far = range > 0.02 * high && range < 0.15 * high;
    let zero = from_zero && low >= 0.0 && !far;
    let span = if zero { high } else { range };
    let margin = match span {
        span if span > 0.0 && (room || !from_zero) => 0.05 * span,
        span if span > 0.0 => 0.0,
        _ if high != 0.0 => 0.1 * high.abs(),
        _ => 1.0,
    };
    let mut bottom = if zero { 0.0 } else { low - margin };
    if from_zero && low >= 0.0 {
        bottom = bottom.max(0.0);
    }
    let top = high + margin;
    let step = nice_step((top - bottom) / 5.0);
    let next = (top / step - 1e-9).ceil() * step;
    let near = room && next - top < 0.12 * (top - bottom);
    (bottom, if near { next } else { top })
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `step`.
fn nice_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let fits = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|f| f * power >= step * 0.999_999);
    fits.unwrap_or(10.0) * power
}

/// Round numbers in a range, about `count`.
pub(super) fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    if high <= low || !(high - low).is_finite() {
        return vec![low];
    }
    let step = nice_step((high - low) / count.max(1) as f64);
    let first = (low / step - 1e-9).ceil();
    (0..100)
        .map(|i| (first + f64::from(i)) * step)
        .take_while(|tick| *tick <= high + step * 1e-9)
        .collect()
}

/// Powers of ten in a range, and round numbers between them where there is room.
pub(super) fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = (high / low).log10();
    let factors: &[f64] = match decades {
        d if d > 4.0 => &[1.0],
        d if d > 2.2 => &[1.0, 3.0],
        d if d > 0.7 => &[1.0, 2.0, 5.0],
        _ => {
            let all = ticks(low, high, 5).into_iter();
            return all.filter(|tick| *tick > 0.0).collect();
        }
    };
    let every = (decades / 10.0).ceil().max(1.0) as usize;
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let in_range = |tick: &f64| *tick >= low * 0.999_999 && *tick <= high * 1.000_001;
    (first..=last)
        .step_by(every)
        .flat_map(|exponent| factors.iter().map(move |f| f * 10f64.powi(exponent)))
        .filter(in_range)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_digits_as_are_read() {
        for (value, digits, expected) in [
            (0.0, 4, "0"),
            (0.001_234_5, 3, "0.00123"),
            (12.0, 5, "12"),
            (-2.5, 3, "−2.5"),
            (12_345.6, 3, "12\u{202f}346"),
            (100.0, 2, "100"),
            (1e-7, 3, "10⁻⁷"),
            (2.5e12, 3, "2.5×10¹²"),
            (f64::NAN, 3, "–"),
        ] {
            assert_eq!(number(value, digits), expected, "{value}");
        }
    }

    #[test]
    fn units_take_the_prefix_that_fits_the_maximum() {
        let name = |label, unit, maximum| Scale::new(&Axis::new(label, unit), maximum).name;
        assert_eq!(name("window", "B", 25_000.0), "window (kB)");
        assert_eq!(name("goodput", "bit/s", 2e9), "goodput (Gbit/s)");
        assert_eq!(name("delay", "s", 0.02), "delay (ms)");
        assert_eq!(name("goodput", "Mbit/s", 2e9), "goodput (Mbit/s)");
        assert_eq!(name("share", "", 1.0), "share");
    }

    #[test]
    fn ticks_are_round_and_within_the_range() {
        assert_eq!(ticks(0.0, 10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(log_ticks(1.0, 30.0), [1.0, 2.0, 5.0, 10.0, 20.0]);
        let decades = log_ticks(0.9e-3, 1.1e3);
        assert_eq!(decades.len(), 7);
        assert!((decades[6] / 1e3 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_range_begins_at_zero_unless_all_values_are_far_from_it() {
        let range = |values: [f64; 2]| {
            let range = Range::new(&Axis::new("x", ""), values.into_iter(), true, true);
            (range.low, range.high)
        };
        assert_eq!(range([1.0, 9.4]).0, 0.0);
        assert!(range([90.0, 100.0]).0 > 80.0);
        assert_eq!(range([99.0, 100.0]).0, 0.0);
    }

    #[test]
    fn an_inverse_axis_has_its_maximum_at_the_left() {
        let axis = Axis {
            log: true,
            inverse: true,
            ..Axis::new("delay", "s")
        };
        let range = Range::new(&axis, [1.0, 100.0].into_iter(), false, false);
        assert!(range.part(1.0) > range.part(10.0));
        assert!(!range.has(0.0) && range.has(0.1));
    }
}
