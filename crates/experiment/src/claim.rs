//! Compares a paper's claim and numbers with what was measured.

use crate::experiment::{Across, Experiment, RowSpec, Take};
use crate::selection::Selection;
use serde::{Deserialize, Serialize};
use std::fmt;
use whimbrel_report::{Interval, Stat};
use whimbrel_sim::sweep::Run;

/// Whether a paper's claim was confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClaimVerdict {
    /// All rows that expect something are right, and thus decided.
    #[serde(rename = "holds")]
    Holds,
    /// More than half of the rows that expect something are right.
    #[serde(rename = "in part")]
    InPart,
    /// At least half of the rows that expect something are wrong.
    #[serde(rename = "does not hold")]
    DoesNotHold,
    /// Too few rows are decided for any other verdict.
    #[serde(rename = "undecided")]
    Undecided,
    /// The paper does not say what the result depends on, whatever is measured.
    #[serde(rename = "cannot be decided")]
    CannotBeDecided,
    /// The paper's own numbers exclude each other, whatever is measured.
    #[serde(rename = "contradicts itself")]
    ContradictsItself,
}

impl ClaimVerdict {
    /// The verdict if of `expected` rows that expect something, `right` are right and `wrong` are
    /// wrong; the others are undecided, or have no value.
    fn of(right: usize, wrong: usize, expected: usize) -> Self {
        match () {
            () if expected == 0 => Self::Undecided,
            () if right == expected => Self::Holds,
            () if 2 * right > expected => Self::InPart,
            () if 2 * wrong >= expected => Self::DoesNotHold,
            () => Self::Undecided,
        }
    }
}

/// What a row expects of the measured value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Asks {
    /// The paper's number, within a tolerance.
    Number,
    /// A bound: more or less than another value.
    Order,
    /// Nothing; the row informs.
    Nothing,
}

/// How many rows of one kind are right, of those that are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Rows that are right.
    pub right: usize,
    /// Rows that are right or wrong.
    pub decided: usize,
}

impl Count {
    /// The count of these rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a AssessedRow>, asks: Asks) -> Self {
        let mut count = Self::default();
        for right in rows
            .into_iter()
            .filter(|row| row.asks == asks)
            .filter_map(|row| row.right)
        {
            count.decided += 1;
            count.right += usize::from(right);
        }
        count
    }
}

/// `17 of 43`.
impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} of {}", self.right, self.decided))
    }
}

impl fmt::Display for ClaimVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Holds => "holds",
            Self::InPart => "in part",
            Self::DoesNotHold => "does not hold",
            Self::Undecided => "undecided",
            Self::CannotBeDecided => "cannot be decided",
            Self::ContradictsItself => "contradicts itself",
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
    /// What the row expects.
    pub asks: Asks,
    /// Whether the measured value is as expected. `None` if no value is expected, if there is no
    /// measured value, or if the 95 % confidence interval of its mean includes a bound.
    pub right: Option<bool>,
    /// If the interval includes a bound: the number of seeds that would decide it, if mean and
    /// standard deviation stayed as they are.
    pub seeds_to_decide: Option<u64>,
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
        let decided: Vec<&AssessedRow> = rows.iter().filter(|row| row.right.is_some()).collect();
        let right = decided.iter().filter(|row| row.right == Some(true)).count();
        let expected = rows.iter().filter(|row| row.asks != Asks::Nothing).count();
        let reason = reason(&rows, &decided, right, expected);
        let (verdict, reason) = match (&self.contradiction, &self.undecidable) {
            (Some(why), _) => (ClaimVerdict::ContradictsItself, format!("{why}; {reason}")),
            (None, Some(why)) => (ClaimVerdict::CannotBeDecided, format!("{why}; {reason}")),
            (None, None) => {
                let wrong = decided.len() - right;
                (ClaimVerdict::of(right, wrong, expected), reason)
            }
        };
        Assessment {
            verdict,
            reason,
            rows,
        }
    }
}

fn assess(row: &RowSpec, runs: &[Run<'_>]) -> AssessedRow {
    let values = match (&row.over, &row.minus, &row.across) {
        (None, None, _) => per_seed(row, &row.at, runs),
        (None, Some(minus), _) => difference(row, minus, runs),
        (Some(over), _, None) => gain(row, &row.at, over, runs),
        (Some(over), _, Some(across)) => gain_across(row, over, across, runs),
    };
    let stat = values.as_deref().and_then(Stat::of);
    let measured = stat.map(|stat| stat.mean).filter(|mean| mean.is_finite());
    let unit = if row.over.is_some() {
        "%"
    } else {
        row.measure.unit()
    };
    let bounds = Bounds::of(row);
    let judged = values
        .as_deref()
        .filter(|_| measured.is_some())
        .and_then(|values| bounds.judge(values));
    AssessedRow {
        label: row.label.clone(),
        unit: unit.to_owned(),
        paper: row.paper,
        measured,
        measured_stddev: stat.and_then(|stat| stat.sd),
        expected: bounds.words.join(", "),
        asks: match (row.paper, row.above.or(row.below)) {
            (Some(_), _) => Asks::Number,
            (None, Some(_)) => Asks::Order,
            (None, None) => Asks::Nothing,
        },
        right: match judged {
            Some(Judged::Right) => Some(true),
            Some(Judged::Wrong) => Some(false),
            _ => None,
        },
        seeds_to_decide: match judged {
            Some(Judged::Undecided { seeds }) => Some(seeds),
            _ => None,
        },
    }
}

/// The ends of what a row expects, least and most; `None`: open.
pub(crate) fn expected(row: &RowSpec) -> [Option<f64>; 2] {
    let bounds = Bounds::of(row);
    [bounds.above, bounds.below].map(|end| end.map(|(value, _)| value))
}

/// What a row expects: a value between bounds.
struct Bounds {
    /// For the reader.
    words: Vec<String>,
    /// The minimum, and whether it is right itself.
    above: Option<(f64, bool)>,
    below: Option<(f64, bool)>,
}

/// Whether measured values are within bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judged {
    Right,
    Wrong,
    /// So many seeds would decide.
    Undecided {
        seeds: u64,
    },
}

impl Bounds {
    fn of(row: &RowSpec) -> Self {
        let mut bounds = Self {
            words: Vec::new(),
            above: row.above.map(|minimum| (minimum, false)),
            below: row.below.map(|maximum| (maximum, false)),
        };
        if let Some(paper) = row.paper {
            let slack = row.tolerance * paper.abs();
            // The paper's number as it is written.
            bounds.words.push(format!("{paper} ± {}", number(slack)));
            let (least, most) = (paper - slack, paper + slack);
            if bounds.above.is_none_or(|(minimum, _)| minimum < least) {
                bounds.above = Some((least, true));
            }
            if bounds.below.is_none_or(|(maximum, _)| maximum > most) {
                bounds.below = Some((most, true));
            }
        }
        if let Some(minimum) = row.above {
            bounds.words.push(format!("> {}", number(minimum)));
        }
        if let Some(maximum) = row.below {
            bounds.words.push(format!("< {}", number(maximum)));
        }
        bounds
    }

    /// Judges values, one for each seed; `None` if nothing is expected or nothing was measured.
    fn judge(&self, values: &[f64]) -> Option<Judged> {
        if self.words.is_empty() {
            return None;
        }
        let interval = Interval::of(values)?;
        let mean = interval.mean;
        let inside = |x: f64| {
            self.above.is_none_or(|(b, equal)| x > b || equal && x == b)
                && self.below.is_none_or(|(b, equal)| x < b || equal && x == b)
        };
        let verdict = if inside(mean) {
            Judged::Right
        } else {
            Judged::Wrong
        };
        // The bound that is nearest to the mean decides.
        let bounds = [self.above, self.below].into_iter().flatten();
        let nearest = bounds
            .map(|(b, _)| (mean - b).abs())
            .min_by(f64::total_cmp)?;
        let half = interval.half_width.filter(|half| *half > nearest);
        Some(half.map_or(verdict, |half| Judged::Undecided {
            seeds: seeds_to_decide(half, nearest, values.len()),
        }))
    }
}

/// The number of seeds with which half the interval's width, `half` at `seeds` seeds, is
/// `distance`. The width falls with the root of the number; for a few seeds even faster, which is
/// left out.
fn seeds_to_decide(half: f64, distance: f64, seeds: usize) -> u64 {
    let times = (half / distance).powi(2);
    // A mean exactly at the bound is never decided; the conversion saturates.
    (times * seeds as f64).ceil() as u64
}

/// For each seed, the gain of the mean over the points `at` over that of the points `over`, in
/// percent; `None` if a run has no value, or nothing to gain over.
fn gain(row: &RowSpec, at: &Selection, over: &Selection, runs: &[Run<'_>]) -> Option<Vec<f64>> {
    let (at, over) = (per_seed(row, at, runs)?, per_seed(row, over, runs)?);
    at.iter()
        .zip(&over)
        .map(|(a, b)| (*b > 0.0).then(|| 100.0 * (a / b - 1.0)))
        .collect()
}

/// For each seed, the mean over the row's points less that over the points `minus`.
fn difference(row: &RowSpec, minus: &Selection, runs: &[Run<'_>]) -> Option<Vec<f64>> {
    let (at, minus) = (per_seed(row, &row.at, runs)?, per_seed(row, minus, runs)?);
    Some(at.iter().zip(&minus).map(|(a, b)| a - b).collect())
}

/// For each seed, the gains at each point, combined; `None` if one is missing.
fn gain_across(
    row: &RowSpec,
    over: &Selection,
    across: &Across,
    runs: &[Run<'_>],
) -> Option<Vec<f64>> {
    let points: Vec<Vec<f64>> = across
        .values
        .iter()
        .map(|value| {
            let (at, over) = (
                row.at.with(&across.key, value),
                over.with(&across.key, value),
            );
            gain(row, &at, &over, runs)
        })
        .collect::<Option<_>>()?;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    match across.take {
        // The point is chosen by its mean: the largest gain of each seed would be one of noise.
        Take::Maximum => points
            .into_iter()
            .max_by(|a, b| mean(a).total_cmp(&mean(b))),
        Take::Mean => {
            let seeds = points.iter().map(Vec::len).min()?;
            let at_seed = |i| points.iter().map(|gains| gains[i]).collect::<Vec<_>>();
            Some((0..seeds).map(|i| mean(&at_seed(i))).collect())
        }
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

/// How many of the rows that expect something are right, the first three that are wrong with their
/// numbers, and how many are undecided.
fn reason(rows: &[AssessedRow], decided: &[&AssessedRow], right: usize, expected: usize) -> String {
    let mut text = format!("{right} of {expected} right");
    if right == decided.len() {
        let worst = decided
            .iter()
            .filter_map(|row| Some((row.paper?, row.measured?, row)))
            .max_by(|a, b| relative(a.0, a.1).total_cmp(&relative(b.0, b.1)));
        if let Some((.., row)) = worst {
            text += &format!("; furthest from the paper: {}", numbers(row));
        }
    } else {
        let wrong: Vec<&&AssessedRow> = decided
            .iter()
            .filter(|row| row.right != Some(true))
            .collect();
        let shown: Vec<String> = wrong.iter().take(3).map(|row| numbers(row)).collect();
        text += &format!("; wrong: {}", shown.join("; "));
        if let Some(more @ 1..) = wrong.len().checked_sub(3) {
            text += &format!("; and {more} more");
        }
    }
    let seeds: Vec<u64> = rows.iter().filter_map(|row| row.seeds_to_decide).collect();
    if let Some(most) = seeds.iter().max() {
        text += &format!(
            "; undecided: {}, {} would decide",
            seeds.len(),
            in_seeds(*most)
        );
    }
    let unmeasured = |row: &&AssessedRow| row.asks != Asks::Nothing && row.measured.is_none();
    match rows.iter().filter(unmeasured).count() {
        0 => text,
        n => format!("{text}; without a value: {n}"),
    }
}

/// How far a measured value is from the paper's number, as a fraction of it.
fn relative(paper: f64, measured: f64) -> f64 {
    // Of zero there is no fraction: zero itself is as near as can be, anything else far.
    if measured == paper {
        0.0
    } else {
        ((measured - paper) / paper).abs()
    }
}

/// A number of seeds in words, if it is one that anybody would run.
pub fn in_seeds(seeds: u64) -> String {
    match seeds {
        0..=1000 => format!("{seeds} seeds"),
        _ => "more than 1000 seeds".to_owned(),
    }
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
            asks: Asks::Number,
            right: None,
            seeds_to_decide: None,
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
    fn a_zero_that_was_measured_as_one_is_not_furthest_from_the_paper() {
        let right = |label: &str, paper, measured| AssessedRow {
            label: label.to_owned(),
            right: Some(true),
            ..row("ms", paper, measured)
        };
        let rows = [
            right("a", 0.0, 0.0),
            right("b", 4.0, 4.2),
            right("c", 4.0, 4.1),
        ];
        let all: Vec<&AssessedRow> = rows.iter().collect();
        let text = reason(&rows, &all, 3, 3);
        assert!(
            text.contains("furthest from the paper: b: measured 4.2 ms"),
            "{text}"
        );
        let off = [right("a", 0.0, 0.1), right("b", 4.0, 4.2)];
        let all: Vec<&AssessedRow> = off.iter().collect();
        assert!(reason(&off, &all, 2, 2).contains("paper: a:"));
    }

    #[test]
    fn a_bound_on_a_small_loss_is_not_shown_as_zero() {
        let shown = [0.0, 0.001, 0.24, 1.25, 54.0, 145.36].map(number);
        assert_eq!(shown, ["0", "0.001", "0.24", "1.25", "54", "145"]);
    }

    /// Bounds of a row that expects `paper` within 10 %, or more than `above`.
    fn bounds(paper: Option<f64>, above: Option<f64>) -> Bounds {
        let mut bounds = Bounds {
            words: vec![String::new()],
            above: above.map(|minimum| (minimum, false)),
            below: None,
        };
        if let Some(paper) = paper {
            bounds.above = Some((0.9 * paper, true));
            bounds.below = Some((1.1 * paper, true));
        }
        bounds
    }

    #[test]
    fn a_value_whose_interval_includes_a_bound_is_undecided() {
        // Student's t for 2 degrees of freedom is 4.303: the mean is 10 ± 4.303 * 1 / sqrt(3).
        let values = [9.0, 10.0, 11.0];
        let judged = |bounds: Bounds| bounds.judge(&values);
        assert_eq!(judged(bounds(None, Some(7.5))), Some(Judged::Right));
        assert_eq!(judged(bounds(None, Some(12.5))), Some(Judged::Wrong));
        // 2.484 at 3 seeds; 2 needs (2.484 / 2)^2 * 3 = 4.63.
        for above in [8.0, 12.0] {
            let undecided = Some(Judged::Undecided { seeds: 5 });
            assert_eq!(judged(bounds(None, Some(above))), undecided);
        }
        assert_eq!(judged(bounds(Some(30.0), None)), Some(Judged::Wrong));
        assert_eq!(
            judged(bounds(Some(10.0), None)),
            Some(Judged::Undecided { seeds: 19 }),
            "(2.484 / 1)^2 * 3 = 18.5"
        );
    }

    #[test]
    fn one_seed_or_equal_ones_are_decided_by_the_mean() {
        for values in [&[9.0][..], &[9.0, 9.0, 9.0]] {
            let right = bounds(Some(10.0), None).judge(values);
            assert_eq!(right, Some(Judged::Right), "a tolerance includes its end");
            let wrong = bounds(None, Some(9.0)).judge(values);
            assert_eq!(wrong, Some(Judged::Wrong), "a bound does not");
        }
        assert_eq!(bounds(Some(10.0), None).judge(&[]), None);
    }

    #[test]
    fn a_claim_holds_only_if_every_row_is_right_and_decided() {
        use ClaimVerdict::{DoesNotHold, Holds, InPart, Undecided};
        for (right, wrong, expected, verdict) in [
            (0, 0, 0, Undecided),
            (3, 0, 3, Holds),
            (2, 1, 3, InPart),
            (2, 0, 3, InPart),
            (1, 1, 2, DoesNotHold),
            (0, 1, 1, DoesNotHold),
            (0, 2, 3, DoesNotHold),
            (1, 0, 2, Undecided),
            (1, 1, 4, Undecided),
            (0, 0, 3, Undecided),
        ] {
            assert_eq!(ClaimVerdict::of(right, wrong, expected), verdict);
        }
    }
}
