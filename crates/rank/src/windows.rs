//! Fairness over time: Jain's index in windows, and when the shares became fair.

use whimbrel_sim::{FlowOutcome, FlowSample, jain};

/// Shares count as fair from this index on.
const FAIR: f64 = 0.9;
/// The shares must stay fair for this many windows.
const STAYS: usize = 3;

/// Data delivered by each flow in each window: rows are windows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Windows {
    /// Length of a window, seconds.
    pub length: f64,
    /// Bytes of each flow in each window.
    pub delivered: Vec<Vec<f64>>,
}

impl Windows {
    /// Windows of about `length` seconds, from `from` (seconds) to the end of the run, of sampled
    /// flows. A window consists of whole samples.
    pub fn of(flows: &[&FlowOutcome], from: f64, length: f64) -> Self {
        let samples: Vec<&[FlowSample]> = flows.iter().map(|flow| &flow.samples[..]).collect();
        let count = samples.iter().map(|all| all.len()).min().unwrap_or(0);
        let Some(first) = samples.first().filter(|_| count >= 2) else {
            return Self::default();
        };
        let at = |i: usize| first[i].at.as_secs_f64();
        let interval = at(1) - at(0);
        if interval <= 0.0 {
            return Self::default();
        }
        let step = ((length / interval).round() as usize).max(1);
        let begin = (0..count).find(|&i| at(i) >= from - 1e-9).unwrap_or(count);
        let mut delivered = Vec::new();
        let mut i = begin;
        while i + step < count {
            let of = |all: &&[FlowSample]| {
                all[i + step]
                    .delivered
                    .get()
                    .saturating_sub(all[i].delivered.get()) as f64
            };
            delivered.push(samples.iter().map(of).collect());
            i += step;
        }
        Self {
            length: step as f64 * interval,
            delivered,
        }
    }

    /// Jain's index, mean over the windows; `None` without windows.
    pub fn mean_jain(&self) -> Option<f64> {
        let n = self.delivered.len();
        let sum: f64 = self.indices().sum();
        (n > 0).then(|| sum / n as f64)
    }

    /// Seconds from the first window's begin until the begin of the first of [`STAYS`] successive
    /// windows with fair shares; `None` if there is none.
    pub fn settled(&self) -> Option<f64> {
        let fair: Vec<bool> = self.indices().map(|index| index >= FAIR).collect();
        let first = fair
            .windows(STAYS)
            .position(|few| few.iter().all(|fair| *fair));
        first.map(|window| window as f64 * self.length)
    }

    fn indices(&self) -> impl Iterator<Item = f64> {
        self.delivered.iter().map(|row| jain(row.iter().copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(rows: &[[f64; 2]]) -> Windows {
        Windows {
            length: 2.0,
            delivered: rows.iter().map(|row| row.to_vec()).collect(),
        }
    }

    #[test]
    fn the_index_is_averaged_over_the_windows() {
        // (1 + 3)^2 / (2 x 10) = 0.8, and 1 for equal shares.
        let mean = windows(&[[1.0, 3.0], [2.0, 2.0]]).mean_jain().expect("two");
        assert!((mean - 0.9).abs() < 1e-12, "{mean}");
        assert_eq!(windows(&[]).mean_jain(), None);
    }

    #[test]
    fn shares_are_settled_when_three_windows_are_fair() {
        let [fair, not] = [[1.0, 1.0], [0.0, 1.0]];
        assert_eq!(
            windows(&[not, fair, fair, not, fair, fair, fair]).settled(),
            Some(8.0)
        );
        assert_eq!(windows(&[fair, fair, fair]).settled(), Some(0.0));
        assert_eq!(windows(&[fair, fair, not, fair]).settled(), None);
    }
}
