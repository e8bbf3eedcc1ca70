//! Compares a paper's claim and numbers with what was measured.

use crate::experiment::{Experiment, RowSpec};
use crate::selection::Selection;
use serde::{Deserialize, Serialize};
use std::fmt;
use whimbrel_report::Stat;
use whimbrel_sim::sweep::Run;

/// Whether a paper's claim was confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClaimVerdict {
    /// All rows with an expected value are right.
    #[serde(rename = "holds")]
    Holds,
    /// Some of these rows are right.
    #[serde(rename = "in part")]
    InPart,
    /// None of these rows is right.
    #[serde(rename = "does not hold")]
    DoesNotHold,
}

impl fmt::Display for ClaimVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::InPart => "in part",
            Self::DoesNotHold => "does not hold",
        })
    }
}

/// The result of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// The reason, in a sentence with the numbers.
    pub reason: String,
    /// All rows, in order.
    pub rows: Vec<AssessedRow>,
}

/// One row with its measured value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssessedRow {
    /// What the number is, for the reader.
    pub label: String,
    /// The unit of all its numbers; empty if they have none.
    pub unit: String,
    /// The paper's number.
    pub paper: Option<f64>,
    /// The measured value: mean over the seeds. `None` if a run has no such value.
    pub measured: Option<f64>,
    /// Standard deviation over the seeds; `None` with only one seed.
    pub measured_stddev: Option<f64>,
    /// The expected value, for the reader; empty if there is none.
    #[serde(rename = "asked")]
    pub expected: String,
    /// Whether the measured value is as expected; `None` if no value is expected.
    pub right: Option<bool>,
}

/// The difference of the measured value from the paper's number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Difference {
    /// In percent of the paper's number.
    Percent(f64),
    /// In percentage points: the number itself is in percent.
    Points(f64),
    /// In the number's own unit: the paper's number is zero.
    Absolute(f64),
}

/// For the reader: `+3.2 %`, `-12 points`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // About two digits.
        let share = |value: f64| format!("{:.*}", usize::from(value.abs() < 10.0), value.abs());
        let (value, digits, unit) = match *self {
            Self::Percent(value) => (value, share(value), " %"),
            Self::Points(value) => (value, share(value), " points"),
            Self::Absolute(value) => (value, number(value.abs()), ""),
        };
        let sign = match value {
            _ if ["0", "0.0"].contains(&digits.as_str()) => "",
            value if value < 0.0 => "-",
            _ => "+",
        };
        f.pad(&format!("{sign}{digits}{unit}"))
    }
}

impl AssessedRow {
    /// The difference of the measured value from the paper's number, if both are known.
    pub fn difference(&self) -> Option<Difference> {
        let (paper, measured) = (self.paper?, self.measured?);
        Some(match self.unit.as_str() {
            "%" => Difference::Points(measured - paper),
            _ if paper == 0.0 => Difference::Absolute(measured),
            _ => Difference::Percent(100.0 * (measured - paper) / paper.abs()),
        })
    }
}

impl Experiment {
    /// Compares all runs of its scenario with the paper.
    pub fn assess(&self, runs: &[Run<'_>]) -> Assessment {
        let rows: Vec<AssessedRow> = self.rows.iter().map(|row| assess(row, runs)).collect();
        let assessed: Vec<&AssessedRow> = rows.iter().filter(|row| row.right.is_some()).collect();
        let right = assessed
            .iter()
            .filter(|row| row.right == Some(true))
            .count();
        let verdict = match right {
            n if n == assessed.len() => ClaimVerdict::Holds,
            0 => ClaimVerdict::DoesNotHold,
            _ => ClaimVerdict::InPart,
        };
        Assessment {
            verdict,
            reason: reason(&assessed, right),
            rows,
        }
    }
}

fn assess(row: &RowSpec, runs: &[Run<'_>]) -> AssessedRow {
    let at = per_seed(row, &row.at, runs);
    let values = match &row.over {
        None => at,
        Some(over) => at.zip(per_seed(row, over, runs)).and_then(|(at, over)| {
            at.iter()
                .zip(&over)
                .map(|(a, b)| (*b > 0.0).then(|| 100.0 * (a / b - 1.0)))
                .collect()
        }),
    };
    let stat = values.and_then(|values| Stat::of(&values));
    let measured = stat.map(|stat| stat.mean).filter(|mean| mean.is_finite());
    let unit = if row.over.is_some() {
        "%"
    } else {
        row.measure.unit()
    };
    let mut expected = Vec::new();
    let mut right = true;
    // A value that could not be measured meets no expectation.
    let mut expect = |words: String, holds: &dyn Fn(f64) -> bool| {
        expected.push(words);
        right &= measured.is_some_and(holds);
    };
    if let Some(paper) = row.paper {
        let slack = row.tolerance * paper.abs();
        // The paper's number as it is written.
        expect(format!("{paper} ± {}", number(slack)), &|m| {
            (m - paper).abs() <= slack
        });
    }
    if let Some(minimum) = row.above {
        expect(format!("> {}", number(minimum)), &|m| m > minimum);
    }
    if let Some(maximum) = row.below {
        expect(format!("< {}", number(maximum)), &|m| m < maximum);
    }
    AssessedRow {
        label: row.label.clone(),
        unit: unit.to_owned(),
        paper: row.paper,
        measured,
        measured_stddev: stat.and_then(|stat| stat.sd),
        right: (!expected.is_empty()).then_some(right),
        expected: expected.join(", "),
    }
}

/// For each seed, the measure's mean over the selected points; `None` if a run has no value.
fn per_seed(row: &RowSpec, at: &Selection, runs: &[Run<'_>]) -> Option<Vec<f64>> {
    // Points may have different seeds: the index of a run among the runs of its point counts.
    let mut sums: Vec<(f64, f64)> = Vec::new();
    for runs in runs.chunk_by(|a, b| std::ptr::eq(a.point, b.point)) {
        if !runs
            .first()
            .is_some_and(|run| at.takes(run.point.parameters()))
        {
            continue;
        }
        for (i, run) in runs.iter().enumerate() {
            let value = row.measure.of(run, row.flows.as_deref(), row.period)?;
            if sums.len() == i {
                sums.push((0.0, 0.0));
            }
            sums[i].0 += value;
            sums[i].1 += 1.0;
        }
    }
    (!sums.is_empty()).then(|| sums.iter().map(|(sum, n)| sum / n).collect())
}

/// How many rows are right, and the first three that are not, with their numbers.
fn reason(assessed: &[&AssessedRow], right: usize) -> String {
    let all = assessed.len();
    if right == all {
        let worst = assessed
            .iter()
            .filter_map(|row| Some((row.paper?, row.measured?, row)))
            .max_by(|a, b| (a.1 / a.0 - 1.0).abs().total_cmp(&(b.1 / b.0 - 1.0).abs()));
        return match worst {
            Some((.., row)) => format!(
                "{all} of {all} right; furthest from the paper: {}",
                numbers(row)
            ),
            None => format!("{all} of {all} right"),
        };
    }
    let wrong: Vec<&&AssessedRow> = assessed
        .iter()
        .filter(|row| row.right != Some(true))
        .collect();
    let shown: Vec<String> = wrong.iter().take(3).map(|row| numbers(row)).collect();
    let more = wrong.len().saturating_sub(3);
    let more = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    format!("{right} of {all} right; wrong: {}{more}", shown.join("; "))
}

fn numbers(row: &AssessedRow) -> String {
    let unit = if row.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", row.unit)
    };
    let measured = row
        .measured
        .map_or("no value".to_owned(), |m| format!("{}{unit}", number(m)));
    format!(
        "{}: measured {measured}, expected {}{unit}",
        row.label, row.expected
    )
}

/// About three digits.
fn number(x: f64) -> String {
    let decimals = match x.abs() {
        x if x >= 100.0 => 0,
        x if x >= 10.0 => 1,
        x if x >= 0.1 => 2,
        _ => 4,
    };
    let text = format!("{x:.decimals$}");
    if decimals == 0 {
        text
    } else {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(unit: &str, paper: f64, measured: f64) -> AssessedRow {
        AssessedRow {
            label: String::new(),
            unit: unit.to_owned(),
            paper: Some(paper),
            measured: Some(measured),
            measured_stddev: None,
            expected: String::new(),
            right: None,
        }
    }

    #[test]
    fn numbers_differ_in_percent_and_percentages_in_points() {
        for (unit, paper, measured, expected) in [
            ("Mbit/s", 4.0, 5.0, "+25 %"),
            ("ms", 1000.0, 137.5, "-86 %"),
            // From -20 to -30 is a decrease.
            ("s", -20.0, -30.0, "-50 %"),
            // A gain of 60 % instead of the paper's 83 % is 23 points less, not 28 % less.
            ("%", 83.0, 60.0, "-23 points"),
            ("", 0.0, 0.25, "+0.25"),
            ("Mbit/s", 4.0, 4.1, "+2.5 %"),
            ("Mbit/s", 4.0, 4.0, "0.0 %"),
            ("Mbit/s", 4.0, 3.999_999_9, "0.0 %"),
        ] {
            let difference = row(unit, paper, measured).difference();
            assert_eq!(difference.map(|d| d.to_string()).as_deref(), Some(expected));
        }
        let unmeasured = AssessedRow {
            measured: None,
            ..row("s", 1.0, 1.0)
        };
        assert_eq!(unmeasured.difference(), None);
    }

    #[test]
    fn a_bound_on_a_small_loss_is_not_shown_as_zero() {
        let shown = [0.0, 0.001, 0.24, 1.25, 54.0, 145.36].map(number);
        assert_eq!(shown, ["0", "0.001", "0.24", "1.25", "54", "145"]);
    }
}
