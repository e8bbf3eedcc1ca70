//! `--save` of `rank`: every run, or the scores, as files for other tools.

use super::columns::{RUN, SCORE};
use super::file;
use crate::atomic_file::AtomicFile;
use crate::provenance;
use crate::save::{NO_PARQUET, by_extension, table_and_path};
use serde_json::Value;
use std::path::PathBuf;
use std::str::FromStr;
use whimbrel_rank::{League, Library, Runs};
use whimbrel_report::frame::{Cell, Column, Kind, List};
use whimbrel_report::page::Fact;
use whimbrel_units::nearest;

/// What a row describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    /// A run, those of references included.
    Runs,
    /// An algorithm at a point.
    Scores,
}

impl Table {
    const ALL: [(&str, Self); 2] = [("runs", Self::Runs), ("scores", Self::Scores)];
}

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// The format of `--known`; only of runs.
    Json,
    Csv,
    Parquet,
}

impl Format {
    const ALL: [(&str, Self); 3] = [
        (".json", Self::Json),
        (".csv", Self::Csv),
        (".parquet", Self::Parquet),
    ];
}

/// A table and the file it goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Save {
    table: Table,
    path: PathBuf,
    format: Format,
}

impl FromStr for Save {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = table_and_path(text);
        let table = name.map_or(Ok(Table::Runs), table)?;
        let format = by_extension(&path, &Format::ALL)?;
        match (table, format) {
            (Table::Scores, Format::Json) => {
                Err("scores are saved as .csv or .parquet; --json prints them as JSON".to_owned())
            }
            (_, Format::Parquet) if !whimbrel_report::PARQUET => Err(NO_PARQUET.to_owned()),
            _ => Ok(Self {
                table,
                path,
                format,
            }),
        }
    }
}

fn table(name: &str) -> Result<Table, String> {
    let found = Table::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, table)| *table).ok_or_else(|| {
        let names = Table::ALL.map(|(known, _)| known);
        let near = nearest(name, names);
        let meant = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
        format!("unknown table `{name}`{meant}; the tables are runs and scores")
    })
}

/// Open files, to be written when the runs are done.
pub struct Saving<'a>(Vec<(&'a Save, AtomicFile)>);

impl<'a> Saving<'a> {
    /// Opens all files, so that an error appears before long work begins.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn open(all: &'a [Save]) -> anyhow::Result<Self> {
        let open = |save: &'a Save| Ok((save, AtomicFile::open(&save.path)?));
        Ok(Self(all.iter().map(open).collect::<anyhow::Result<_>>()?))
    }

    /// Writes all files.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(self, library: &Library, runs: &Runs, league: &League) -> anyhow::Result<()> {
        for (save, file) in self.0 {
            let table = || match save.table {
                Table::Runs => of_runs(library, runs),
                Table::Scores => Ok(of_scores(library, league)),
            };
            match save.format {
                Format::Json => file::write(file, library, runs)?,
                Format::Csv => {
                    let table = table()?;
                    file.finish(|to| whimbrel_report::csv(&table, to))?;
                }
                Format::Parquet => {
                    let table = table()?;
                    let made = made(library);
                    file.finish(|to| whimbrel_report::parquet(&table, &made, to))?;
                }
            }
        }
        Ok(())
    }
}

/// The provenance of the tables.
fn made(library: &Library) -> Vec<Fact> {
    vec![
        Fact::new("version", provenance::VERSION),
        Fact::new("command", provenance::command()),
        Fact::new("matrix version", library.version.clone()),
    ]
}

fn columns(all: &[(&str, Kind, &str)]) -> Vec<Column> {
    all.iter()
        .map(|(name, kind, about)| Column::new(name, *kind, about))
        .collect()
}

fn of_runs(library: &Library, runs: &Runs) -> anyhow::Result<List> {
    let records = file::records(library, runs)?;
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

fn of_scores(library: &Library, league: &League) -> List {
    let float = |value: Option<f64>| value.map_or(Cell::Null, Cell::Float);
    let row = |cell: &whimbrel_rank::Cell| {
        let range = cell.range();
        let point = library.points.iter().find(|point| point.id == cell.point);
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
        rows: league.cells.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_table_has_all_members_of_the_records() {
        let library = Library::matrix().expect("the matrix");
        let place = (library.points[0].id.clone(), "cubic".to_owned());
        let runs = Runs::from([(place, vec![whimbrel_rank::Measures::default()])]);
        let records = file::records(&library, &runs).expect("JSON");
        let members: Vec<&str> = records[0]
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(members, RUN.map(|(name, ..)| name));
        let table = of_runs(&library, &runs).expect("a table");
        // Not sampled: two cells are null.
        let nulls = table.rows[0].iter().filter(|cell| **cell == Cell::Null);
        assert_eq!(nulls.count(), 2, "{table:?}");
    }

    #[test]
    fn wrong_tables_and_extensions_name_the_right_ones() {
        let error = |text: &str| text.parse::<Save>().expect_err("wrong");
        assert!(error("score=a.csv").contains("did you mean `scores`?"));
        assert!(error("a.jsn").contains("the extensions are .json, .csv and .parquet"));
        assert!(error("scores=a.json").contains("--json prints them"));
        let runs: Save = "runs=a.CSV".parse().expect("right");
        assert_eq!((runs.table, runs.format), (Table::Runs, Format::Csv));
    }
}
