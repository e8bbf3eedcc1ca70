//! A ranking as JSON and as tables.

use super::columns::{RUN, SCORE};
use super::{Ranking, known};
use crate::Error;
use serde_json::{Value, json};
use whimbrel_report::frame::{Cell, Column, Kind, List};

impl Ranking {
    /// Points, table and scores.
    pub fn json(&self) -> Value {
        let points = self.library.points.iter().map(
            |point| json!({ "id": point.id, "class": point.class.letter(), "claim": point.claim }),
        );
        let table = self.league.table.iter().map(|standing| {
            let classes = standing.classes.iter();
            let classes =
                classes.map(|(class, score)| (class.letter().to_owned(), json!(score.mean)));
            json!({
                "algorithm": standing.controller,
                "all": standing.all.mean,
                "classes": classes.collect::<serde_json::Map<_, _>>(),
            })
        });
        let scores = self.league.cells.iter().map(|cell| {
            let interval = cell.interval();
            let range = cell.range();
            json!({
                "algorithm": cell.controller,
                "point": cell.point,
                "seed_count": cell.scores.len(),
                "score": interval.mean,
                "low": range.map(|(low, _)| low),
                "high": range.map(|(_, high)| high),
            })
        });
        json!({
            "version": self.library.version,
            "points": points.collect::<Vec<_>>(),
            "table": table.collect::<Vec<_>>(),
            "scores": scores.collect::<Vec<_>>(),
        })
    }

    /// All runs as objects, those of references included.
    ///
    /// # Errors
    /// If a number cannot be written as JSON.
    pub fn records(&self) -> Result<Value, Error> {
        let records = known::records(&self.library, &self.runs);
        serde_json::to_value(records).map_err(|error| Error::failed("cannot write JSON", error))
    }

    /// The runs for [`Request::known`](super::Request::known).
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_known(&self, to: &mut dyn std::io::Write) -> std::io::Result<()> {
        known::write(&self.library, &self.runs, to)
    }

    /// The table of runs.
    ///
    /// # Errors
    /// As [`Self::records`].
    pub fn runs_table(&self) -> Result<List, Error> {
        let records = self.records()?;
        let cell = |record: &Value, name: &str, kind: Kind| match (kind, &record[name]) {
            (Kind::Text, Value::String(text)) => Cell::Text(text.clone()),
            (Kind::Integer, Value::Number(n)) => n.as_i64().map_or(Cell::Null, Cell::Integer),
            (Kind::Float, Value::Number(n)) => n.as_f64().map_or(Cell::Null, Cell::Float),
            _ => Cell::Null,
        };
        let row = |record: &Value| {
            let cells = RUN.iter().map(|(name, kind, _)| cell(record, name, *kind));
            cells.collect()
        };
        Ok(List {
            name: "runs".to_owned(),
            columns: columns(&RUN),
            rows: records.as_array().into_iter().flatten().map(row).collect(),
        })
    }

    /// The table of scores.
    pub fn scores_table(&self) -> List {
        let float = |value: Option<f64>| value.map_or(Cell::Null, Cell::Float);
        let row = |cell: &whimbrel_rank::Cell| {
            let range = cell.range();
            let mut points = self.library.points.iter();
            let point = points.find(|point| point.id == cell.point);
            vec![
                Cell::Text(cell.controller.clone()),
                Cell::Text(cell.point.clone()),
                Cell::Text(cell.class.letter().to_owned()),
                point.map_or(Cell::Null, |point| Cell::Text(point.aim.name().to_owned())),
                Cell::Integer(i64::try_from(cell.scores.len()).unwrap_or(i64::MAX)),
                Cell::Float(cell.interval().mean),
                float(range.map(|(low, _)| low)),
                float(range.map(|(_, high)| high)),
                Cell::Float(cell.mean.efficiency),
                Cell::Float(cell.mean.delay),
                Cell::Float(cell.mean.overflow),
                float(cell.kept),
                Cell::Float(cell.mean.completion),
            ]
        };
        List {
            name: "scores".to_owned(),
            columns: columns(&SCORE),
            rows: self.league.cells.iter().map(row).collect(),
        }
    }
}

fn columns(all: &[(&str, Kind, &str)]) -> Vec<Column> {
    all.iter()
        .map(|(name, kind, about)| Column::new(name, *kind, about))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_rank::{League, Library, Measures, Runs, Version};

    #[test]
    fn the_runs_table_has_all_members_of_the_records() {
        let library = Library::matrix(Version::One).expect("the matrix");
        let place = (library.points[0].id.clone(), "cubic".to_owned());
        let ranking = Ranking {
            requested: Vec::new(),
            league: League::new(&library, &[], &Runs::new()),
            library,
            runs: Runs::from([(place, vec![Measures::default()])]),
        };
        let records = ranking.records().expect("JSON");
        let members: Vec<&str> = records[0]
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(members, RUN.map(|(name, ..)| name));
        let table = ranking.runs_table().expect("a table");
        // Not sampled: two cells are null; not stopped: one.
        let nulls = table.rows[0].iter().filter(|cell| **cell == Cell::Null);
        assert_eq!(nulls.count(), 3, "{table:?}");
    }
}
