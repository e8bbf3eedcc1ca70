//! The result of an experiment: as the cache stores it, and as JSON shows it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use whimbrel_experiment::{AssessedRow, Assessment, ClaimVerdict, Difference, Experiment, File};
use whimbrel_report::figure::Figure;

/// The result of an experiment, as the cache stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reproduced {
    /// Its rows and its verdict.
    pub assessment: Assessment,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Run time of its scenario; experiments that share a scenario share its runs.
    pub seconds: f64,
    /// The time when the runs were finished.
    pub at: Timestamp,
}

/// The result of an experiment, as JSON shows it.
#[derive(Debug, Clone, Serialize)]
pub struct ExperimentResult<'a> {
    /// Its id: the file below experiments/, without the extension.
    pub id: &'a str,
    /// The paper.
    pub paper: &'a str,
    /// The claim is ours and not in the paper's count.
    pub beyond: bool,
    /// Where in the paper.
    pub place: &'a str,
    /// What is claimed.
    pub claim: &'a str,
    /// Open points of the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'a str>,
    /// Whether the claim holds.
    pub verdict: ClaimVerdict,
    /// Why.
    pub reason: String,
    /// The id of the scenario: its file below experiments/, without the extension.
    pub scenario: &'a str,
    /// Its rows.
    pub rows: Vec<ResultRow>,
    /// Run time of the scenario; experiments that share a scenario share its runs.
    pub seconds: f64,
    /// The time when a cached result was computed; `None` for a new result.
    #[serde(rename = "kept")]
    pub cached: Option<Timestamp>,
    /// Its figures.
    #[serde(skip)]
    pub figures: Vec<Figure>,
    /// The experiment.
    #[serde(skip)]
    pub experiment: &'a Experiment,
    /// Its files.
    #[serde(skip)]
    pub files: &'a [File],
}

/// One row, as JSON shows it.
#[derive(Debug, Clone, Serialize)]
pub struct ResultRow {
    /// The row as it was assessed.
    #[serde(flatten)]
    pub row: AssessedRow,
    /// The measured value minus the paper's number, in the unit below.
    pub difference: Option<f64>,
    /// The unit of the difference: `% of the paper`, `points`, or the row's own.
    pub difference_unit: Option<String>,
}

impl<'a> ExperimentResult<'a> {
    /// The result of an experiment with these files; `cached` if it is from the cache.
    pub fn new(
        experiment: &'a Experiment,
        files: &'a [File],
        reproduced: Reproduced,
        cached: bool,
    ) -> Self {
        let Reproduced {
            assessment,
            figures,
            seconds,
            at,
        } = reproduced;
        Self {
            id: &experiment.id,
            paper: &experiment.paper,
            beyond: experiment.beyond,
            place: &experiment.place,
            claim: &experiment.claim,
            note: experiment.note.as_deref(),
            verdict: assessment.verdict,
            reason: assessment.reason,
            scenario: &experiment.scenario_id,
            rows: assessment.rows.into_iter().map(ResultRow::new).collect(),
            seconds,
            cached: cached.then_some(at),
            figures,
            experiment,
            files,
        }
    }

    /// The folder of the experiment, which is a short name for the paper.
    pub fn folder(&self) -> &'a str {
        folder(self.id)
    }
}

/// The folder of an experiment.
pub fn folder(id: &str) -> &str {
    id.split_once('/').map_or("", |(folder, _)| folder)
}

/// The head of a group of experiments.
pub fn paper_title(paper: &str, beyond: bool) -> String {
    if beyond {
        format!("Beyond the paper: {paper}")
    } else {
        paper.to_owned()
    }
}

/// The position of an experiment among others: by paper; experiments beyond the paper last.
pub fn place(experiment: &Experiment) -> impl Ord + use<> {
    let id = &experiment.id;
    (folder(id).to_owned(), experiment.beyond, order(id))
}

/// The position of an id among others, in the order of its numbers: 3.5 before 3.10.
fn order(id: &str) -> Vec<(u64, String)> {
    let digit = |c: char| c.is_ascii_digit();
    let mut parts = Vec::new();
    let mut rest = id;
    while !rest.is_empty() {
        let number = &rest[..rest.find(|c| !digit(c)).unwrap_or(rest.len())];
        rest = &rest[number.len()..];
        let text = &rest[..rest.find(digit).unwrap_or(rest.len())];
        rest = &rest[text.len()..];
        // A number that does not fit comes last.
        let value = if number.is_empty() {
            0
        } else {
            number.parse().unwrap_or(u64::MAX)
        };
        parts.push((value, text.to_owned()));
    }
    parts
}

/// Groups by folder, paper, and whether the claim is beyond the paper, in order. `key` returns an
/// experiment's id, paper, and that.
pub fn by_paper<T>(all: &[T], key: impl Fn(&T) -> (&str, &str, bool)) -> Vec<Vec<&T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for one in all {
        let same = |known: &&mut Vec<&T>| {
            let (a, b) = (key(known[0]), key(one));
            (folder(a.0), a.1, a.2) == (folder(b.0), b.1, b.2)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

impl ResultRow {
    fn new(row: AssessedRow) -> Self {
        let difference = row.difference().map(|difference| match difference {
            Difference::Percent(value) => (value, "% of the paper".to_owned()),
            Difference::Points(value) => (value, "points".to_owned()),
            Difference::Absolute(value) => (value, row.unit.clone()),
        });
        let (difference, difference_unit) = difference.unzip();
        Self {
            row,
            difference,
            difference_unit,
        }
    }
}

/// Writes the results as JSON.
///
/// # Errors
/// If they cannot be written.
pub fn json(all: &[ExperimentResult<'_>], mut to: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut to, all)?;
    writeln!(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ordered_by_their_numbers() {
        let mut ids = [
            "b/table-1",
            "a/fig-3.10",
            "a/fig-4.2",
            "a/fig-3.9",
            "a/fig-3.5",
            "a/any",
            "a/fig-3.5-b",
        ];
        ids.sort_by_key(|id| order(id));
        assert_eq!(
            ids,
            [
                "a/any",
                "a/fig-3.5",
                "a/fig-3.5-b",
                "a/fig-3.9",
                "a/fig-3.10",
                "a/fig-4.2",
                "b/table-1"
            ]
        );
    }

    #[test]
    fn experiments_beyond_a_paper_are_a_separate_group() {
        let all = [
            ("a/1", "P", false),
            ("a/2", "P", true),
            ("a/3", "P", false),
            ("b/1", "P", true),
        ];
        let groups = by_paper(&all, |one| *one);
        let ids: Vec<Vec<&str>> = groups
            .iter()
            .map(|group| group.iter().map(|one| one.0).collect())
            .collect();
        assert_eq!(ids, [vec!["a/1", "a/3"], vec!["a/2"], vec!["b/1"]]);
    }
}
