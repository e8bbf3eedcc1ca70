//! Holding what was measured against what the paper says.

use crate::read::{Experiment, RowSpec, Selection};
use serde::{Deserialize, Serialize};
use std::fmt;
use whimbrel_report::Stat;
use whimbrel_sim::sweep::Run;

/// Whether a paper's claim came out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// All judged rows are right.
    #[serde(rename = "holds")]
    Holds,
    /// Some are.
    #[serde(rename = "in part")]
    InPart,
    /// None is.
    #[serde(rename = "does not hold")]
    DoesNotHold,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::InPart => "in part",
            Self::DoesNotHold => "does not hold",
        })
    }
}

/// What came of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in a sentence with the numbers.
    pub reason: String,
    /// All rows, in order.
    pub rows: Vec<JudgedRow>,
}

/// One row with what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedRow {
    /// What it is.
    pub label: String,
    /// Unit of all its numbers; empty if they have none.
    pub unit: String,
    /// The paper's number.
    pub paper: Option<f64>,
    /// Ours: mean over the seeds; `None` if some run had no such number.
    pub measured: Option<f64>,
    /// Standard deviation over the seeds; `None` if there was one only.
    pub measured_stddev: Option<f64>,
    /// What was asked of it, for people; empty if nothing.
    pub asked: String,
    /// Whether it is right; `None` if nothing was asked.
    pub right: Option<bool>,
}

/// How far ours is from the paper's number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Difference {
    /// In % of the paper's number.
    Percent(f64),
    /// In percentage points: the number is in % itself.
    Points(f64),
    /// In the number's own unit: the paper's is zero, and nothing is so many percent of that.
    Absolute(f64),
}

/// As people read it: `+3.2 %`, `-12 points`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // People say a difference in two digits or so.
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

impl JudgedRow {
    /// How far ours is from the paper's number, if there are both.
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
    /// Judges all runs of its scenario.
    pub fn judge(&self, runs: &[Run<'_>]) -> Judgement {
        let rows: Vec<JudgedRow> = self.rows.iter().map(|row| judge(row, runs)).collect();
        let judged: Vec<&JudgedRow> = rows.iter().filter(|row| row.right.is_some()).collect();
        let right = judged.iter().filter(|row| row.right == Some(true)).count();
        let verdict = match right {
            n if n == judged.len() => Verdict::Holds,
            0 => Verdict::DoesNotHold,
            _ => Verdict::InPart,
        };
        Judgement {
            verdict,
            reason: reason(&judged, right),
            rows,
        }
    }
}

fn judge(row: &RowSpec, runs: &[Run<'_>]) -> JudgedRow {
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
    let mut asked = Vec::new();
    let mut right = true;
    // A number that could not be measured satisfies nothing.
    let mut ask = |words: String, holds: &dyn Fn(f64) -> bool| {
        asked.push(words);
        right &= measured.is_some_and(holds);
    };
    if let Some(paper) = row.paper {
        let slack = row.tolerance * paper.abs();
        // The paper's number as it was written.
        ask(format!("{paper} ± {}", number(slack)), &|m| {
            (m - paper).abs() <= slack
        });
    }
    if let Some(least) = row.above {
        ask(format!("> {}", number(least)), &|m| m > least);
    }
    if let Some(greatest) = row.below {
        ask(format!("< {}", number(greatest)), &|m| m < greatest);
    }
    JudgedRow {
        label: row.label.clone(),
        unit: unit.to_owned(),
        paper: row.paper,
        measured,
        measured_stddev: stat.and_then(|stat| stat.sd),
        right: (!asked.is_empty()).then_some(right),
        asked: asked.join(", "),
    }
}

/// For each seed, the measure's mean over the selected points. `None` if a run has no such number.
fn per_seed(row: &RowSpec, at: &Selection, runs: &[Run<'_>]) -> Option<Vec<f64>> {
    // Points may have seeds of their own: what counts is a run's place among its point's runs.
    let mut sums: Vec<(f64, f64)> = Vec::new();
    for runs in runs.chunk_by(|a, b| std::ptr::eq(a.point, b.point)) {
        if !runs
            .first()
            .is_some_and(|run| at.takes(run.point.parameters()))
        {
            continue;
        }
        for (i, run) in runs.iter().enumerate() {
            let value = row.measure.of(run, row.flows.as_deref(), row.window)?;
            if sums.len() == i {
                sums.push((0.0, 0.0));
            }
            sums[i].0 += value;
            sums[i].1 += 1.0;
        }
    }
    (!sums.is_empty()).then(|| sums.iter().map(|(sum, n)| sum / n).collect())
}

/// How many rows are right, and those that are not, the first three with their numbers.
fn reason(judged: &[&JudgedRow], right: usize) -> String {
    let all = judged.len();
    if right == all {
        let worst = judged
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
    let wrong: Vec<&&JudgedRow> = judged
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

fn numbers(row: &JudgedRow) -> String {
    let unit = if row.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", row.unit)
    };
    let measured = row
        .measured
        .map_or("nothing".to_owned(), |m| format!("{}{unit}", number(m)));
    format!(
        "{}: {measured} measured, {}{unit} asked",
        row.label, row.asked
    )
}

/// Three digits or so.
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

    fn row(unit: &str, paper: f64, measured: f64) -> JudgedRow {
        JudgedRow {
            label: String::new(),
            unit: unit.to_owned(),
            paper: Some(paper),
            measured: Some(measured),
            measured_stddev: None,
            asked: String::new(),
            right: None,
        }
    }

    #[test]
    fn a_number_differs_in_percent_of_the_papers_and_a_percentage_in_points() {
        for (unit, paper, measured, expected) in [
            ("Mbit/s", 4.0, 5.0, "+25 %"),
            ("ms", 1000.0, 137.5, "-86 %"),
            // Down from -20 to -30 is down.
            ("s", -20.0, -30.0, "-50 %"),
            // A gain of 60 % where the paper has 83 % is 23 points less; it is not 28 % less.
            ("%", 83.0, 60.0, "-23 points"),
            ("", 0.0, 0.25, "+0.25"),
            ("Mbit/s", 4.0, 4.1, "+2.5 %"),
            ("Mbit/s", 4.0, 4.0, "0.0 %"),
            ("Mbit/s", 4.0, 3.999_999_9, "0.0 %"),
        ] {
            let difference = row(unit, paper, measured).difference();
            assert_eq!(difference.map(|d| d.to_string()).as_deref(), Some(expected));
        }
        let unmeasured = JudgedRow {
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
