//! What came of an experiment: as it is kept, and as programs are told of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use whimbrel_experiment::{Difference, Experiment, File, JudgedRow, Judgement, Verdict};
use whimbrel_report::figure::Figure;

/// What came of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reproduced {
    /// Its rows and its verdict.
    pub judgement: Judgement,
    /// What its runs show.
    pub figures: Vec<Figure>,
    /// What they took; experiments that share a scenario share them.
    pub seconds: f64,
    /// When they were over.
    pub at: Timestamp,
}

/// One experiment as it is told.
#[derive(Debug, Clone, Serialize)]
pub struct Told<'a> {
    pub id: &'a str,
    pub paper: &'a str,
    pub place: &'a str,
    pub claim: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'a str>,
    pub verdict: Verdict,
    pub reason: String,
    /// The file that the scenario is in, below the experiments, without its ending.
    pub scenario: &'a str,
    pub rows: Vec<ToldRow>,
    /// What its runs took; experiments that share a scenario share them.
    pub seconds: f64,
    /// When it was run, if that was not now.
    pub kept: Option<Timestamp>,
    #[serde(skip)]
    pub figures: Vec<Figure>,
    #[serde(skip)]
    pub experiment: &'a Experiment,
    #[serde(skip)]
    pub files: &'a [File],
}

/// One row as it is told.
#[derive(Debug, Clone, Serialize)]
pub struct ToldRow {
    #[serde(flatten)]
    pub row: JudgedRow,
    /// Ours less the paper's number.
    pub difference: Option<f64>,
    /// Of the difference: `% of the paper`, `points`, or the row's own.
    pub difference_unit: Option<String>,
}

impl<'a> Told<'a> {
    /// Of an experiment, its files and what came of it; `kept` says that this was not now.
    pub fn new(
        experiment: &'a Experiment,
        files: &'a [File],
        reproduced: Reproduced,
        kept: bool,
    ) -> Self {
        let Reproduced {
            judgement,
            figures,
            seconds,
            at,
        } = reproduced;
        Self {
            id: &experiment.id,
            paper: &experiment.paper,
            place: &experiment.place,
            claim: &experiment.claim,
            note: experiment.note.as_deref(),
            verdict: judgement.verdict,
            reason: judgement.reason,
            scenario: &experiment.scenario_id,
            rows: judgement.rows.into_iter().map(ToldRow::new).collect(),
            seconds,
            kept: kept.then_some(at),
            figures,
            experiment,
            files,
        }
    }

    /// The folder that it is in: what people call the paper.
    pub fn folder(&self) -> &'a str {
        folder(self.id)
    }
}

/// The folder that an experiment is in.
pub fn folder(id: &str) -> &str {
    id.split_once('/').map_or("", |(folder, _)| folder)
}

/// Where an id stands among others: as people count, 3.5 before 3.10.
pub fn order(id: &str) -> Vec<(u64, String)> {
    let digit = |c: char| c.is_ascii_digit();
    let mut parts = Vec::new();
    let mut rest = id;
    while !rest.is_empty() {
        let number = &rest[..rest.find(|c| !digit(c)).unwrap_or(rest.len())];
        rest = &rest[number.len()..];
        let text = &rest[..rest.find(digit).unwrap_or(rest.len())];
        rest = &rest[text.len()..];
        // A number that is too long for one stands behind all others.
        let value = if number.is_empty() {
            0
        } else {
            number.parse().unwrap_or(u64::MAX)
        };
        parts.push((value, text.to_owned()));
    }
    parts
}

/// Parts that stand under the same heading, in order: of the same folder and the same paper. What is asked beyond a paper
/// stands in its folder under a heading of its own.
pub fn by_paper<T>(all: &[T], id: impl Fn(&T) -> &str, paper: impl Fn(&T) -> &str) -> Vec<Vec<&T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for one in all {
        let same = |group: &&mut Vec<&T>| {
            folder(id(group[0])) == folder(id(one)) && paper(group[0]) == paper(one)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

impl ToldRow {
    fn new(row: JudgedRow) -> Self {
        let told = row.difference().map(|difference| match difference {
            Difference::Percent(value) => (value, "% of the paper".to_owned()),
            Difference::Points(value) => (value, "points".to_owned()),
            Difference::Absolute(value) => (value, row.unit.clone()),
        });
        let (difference, difference_unit) = told.unzip();
        Self {
            row,
            difference,
            difference_unit,
        }
    }
}

/// A list of them.
pub fn json(all: &[Told<'_>], mut to: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut to, all)?;
    writeln!(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_in_the_order_of_their_numbers() {
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
    fn what_is_asked_beyond_a_paper_stands_under_its_own_heading() {
        let all = [("a/1", "P"), ("a/2", "none"), ("a/3", "P"), ("b/1", "none")];
        let groups = by_paper(&all, |one| one.0, |one| one.1);
        let ids: Vec<Vec<&str>> = groups
            .iter()
            .map(|group| group.iter().map(|one| one.0).collect())
            .collect();
        assert_eq!(ids, [vec!["a/1", "a/3"], vec!["a/2"], vec!["b/1"]]);
    }
}
