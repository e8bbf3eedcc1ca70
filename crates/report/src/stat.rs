//! Mean and spread over seeds.

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

/// Decimals that leave three or four digits of the greatest number of a column.
pub(crate) fn decimals(greatest: f64) -> usize {
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
}
