//! Mean and standard deviation over seeds, and confidence intervals.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Confidence level of intervals.
const CONFIDENCE: f64 = 0.95;

/// Mean and standard deviation of a few measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stat {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation (over n - 1); `None` for a single measurement.
    pub sd: Option<f64>,
}

impl Stat {
    /// Mean and standard deviation of these numbers; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        Some(Self {
            mean,
            sd: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
        })
    }

    /// The text `5.62 ± 0.13`, with both numbers multiplied by `factor` and with this many
    /// decimals.
    pub fn show(&self, factor: f64, decimals: usize) -> String {
        let mean = self.mean * factor;
        match self.sd {
            Some(sd) => format!("{mean:.decimals$} ± {:.decimals$}", sd * factor),
            None => format!("{mean:.decimals$}"),
        }
    }
}

/// A mean and its 95 % confidence interval by Student's t, which assumes independent measurements
/// with a nearly symmetric distribution, such as means of many runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half of the interval's width; `None` for a single measurement.
    pub half_width: Option<f64>,
}

impl Interval {
    /// The interval of these numbers; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let stat = Stat::of(values)?;
        let n = values.len() as f64;
        let student = StudentsT::new(0.0, 1.0, n - 1.0).ok();
        let t = student.map(|student| student.inverse_cdf((1.0 + CONFIDENCE) / 2.0));
        Some(Self {
            mean: stat.mean,
            half_width: t.zip(stat.sd).map(|(t, sd)| t * sd / n.sqrt()),
        })
    }

    /// Its ends, if they are known.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.half_width
            .map(|half| (self.mean - half, self.mean + half))
    }

    /// Whether the interval excludes 0.
    pub fn is_certain(&self) -> bool {
        self.half_width.is_some_and(|half| self.mean.abs() > half)
    }
}

/// Number of decimals with which the maximum of a column has three or four digits.
pub fn decimals(maximum: f64) -> usize {
    match maximum.abs() {
        x if x >= 1000.0 => 0,
        x if x >= 10.0 => 1,
        x if x >= 1.0 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_standard_deviation_of_a_few_numbers() {
        let stat = Stat::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).expect("eight values");
        assert_eq!(stat.mean, 5.0);
        // Squares add up to 32; over n - 1 = 7.
        assert_eq!(stat.sd, Some((32.0_f64 / 7.0).sqrt()));
        assert_eq!(stat.show(1.0, 2), "5.00 ± 2.14");
        assert_eq!(Stat::of(&[1.0]).expect("one").show(1e3, 0), "1000");
        assert_eq!(Stat::of(&[]), None);
    }

    #[test]
    fn an_interval_has_the_width_of_students_table() {
        // Mean 4, standard deviation sqrt(10/4); t of 4 degrees of freedom is 2.776 in every table.
        let five = Interval::of(&[2.0, 3.0, 4.0, 5.0, 6.0]).expect("five values");
        let half = five.half_width.expect("several values");
        assert!(
            (half - 2.776 * (2.5_f64 / 5.0).sqrt()).abs() < 1e-3,
            "{half}"
        );
        assert!(five.is_certain());
        // Of two values, 12.706: twice half their difference.
        let two = Interval::of(&[1.0, 3.0]).expect("two values");
        let (low, high) = two.ends().expect("two values");
        assert!((low - (2.0 - 12.706)).abs() < 1e-3 && (high - 14.706).abs() < 1e-3);
        assert!(!two.is_certain());
    }

    #[test]
    fn a_single_measurement_has_no_interval() {
        let one = Interval::of(&[7.0]).expect("one value");
        assert_eq!(
            (one.mean, one.half_width, one.is_certain()),
            (7.0, None, false)
        );
        assert_eq!(Interval::of(&[]), None);
        // An interval of width 0 around 0 includes 0.
        assert!(!Interval::of(&[0.0, 0.0]).expect("two").is_certain());
    }
}
