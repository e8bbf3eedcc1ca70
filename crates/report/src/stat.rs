//! Mean and spread over seeds, and how far a mean can be trusted.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// How sure a confidence interval is to hold the truth.
const CONFIDENCE: f64 = 0.95;

/// Mean and standard deviation of a few measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stat {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation (over n - 1); `None` if there is one measurement only.
    pub sd: Option<f64>,
}

impl Stat {
    /// Of some numbers; `None` if there is none.
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

    /// Written as `5.62 ± 0.13`, both times `factor`, with so many decimals.
    pub fn show(&self, factor: f64, decimals: usize) -> String {
        let mean = self.mean * factor;
        match self.sd {
            Some(sd) => format!("{mean:.decimals$} ± {:.decimals$}", sd * factor),
            None => format!("{mean:.decimals$}"),
        }
    }
}

/// A mean and its 95 % confidence interval by Student's t: of measurements that are independent of each other and spread
/// about evenly to both sides, as means of many runs are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half of the interval's width; `None` if there is one measurement only: then nothing is known of it.
    pub half_width: Option<f64>,
}

impl Interval {
    /// Of some numbers; `None` if there is none.
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

    /// Whether it is known that the truth is not 0.
    pub fn is_certain(&self) -> bool {
        self.half_width.is_some_and(|half| self.mean.abs() > half)
    }
}

/// Decimals that leave three or four digits of the greatest number of a column.
pub fn decimals(greatest: f64) -> usize {
    match greatest.abs() {
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
    fn mean_and_spread() {
        let stat = Stat::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).expect("eight values");
        assert_eq!(stat.mean, 5.0);
        // Squares add up to 32; over n - 1 = 7.
        assert_eq!(stat.sd, Some((32.0_f64 / 7.0).sqrt()));
        assert_eq!(stat.show(1.0, 2), "5.00 ± 2.14");
        assert_eq!(Stat::of(&[1.0]).expect("one").show(1e3, 0), "1000");
        assert_eq!(Stat::of(&[]), None);
    }

    #[test]
    fn an_interval_is_as_wide_as_students_table_says() {
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
    fn of_one_measurement_and_of_none_nothing_is_certain() {
        let one = Interval::of(&[7.0]).expect("one value");
        assert_eq!(
            (one.mean, one.half_width, one.is_certain()),
            (7.0, None, false)
        );
        assert_eq!(Interval::of(&[]), None);
        // No difference at all, ever.
        assert!(!Interval::of(&[0.0, 0.0]).expect("two").is_certain());
    }
}
