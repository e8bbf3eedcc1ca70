//! Every run of a ranking, or the scores, as files for other tools.

use super::Ranking;
use crate::Error;
use crate::atomic_file::AtomicFile;
use crate::table_file::{self, Format, TableFile};
use std::str::FromStr;
use whimbrel_report::page::Fact;
use whimbrel_units::nearest;

/// What a row describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// A run, those of references included.
    Runs,
    /// An algorithm at a point.
    Scores,
}

impl FromStr for Table {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "runs" => Ok(Self::Runs),
            "scores" => Ok(Self::Scores),
            _ => {
                let near = nearest(name, ["runs", "scores"]);
                let meant = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
                Err(format!(
                    "unknown table `{name}`{meant}; the tables are runs and scores"
                ))
            }
        }
    }
}

/// Reads a file to save: `[TABLE=]FILE`.
///
/// # Errors
/// If the table or the extension is unknown, or they do not fit together.
pub fn file_to_save(text: &str) -> Result<TableFile<Table>, String> {
    let formats = [Format::Json, Format::Csv, Format::Parquet];
    let file = TableFile::parse(text, Table::Runs, &formats)?;
    match (file.table, file.format) {
        (Table::Scores, Format::Json) => {
            Err("scores are saved as .csv or .parquet, not as JSON".to_owned())
        }
        _ => Ok(file),
    }
}

impl Ranking {
    /// Writes a file with its provenance. JSON is the format of [`super::Request::known`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(
        &self,
        save: &TableFile<Table>,
        file: AtomicFile,
        mut made: Vec<Fact>,
    ) -> Result<(), Error> {
        if save.format == Format::Json {
            return file.finish(|to| self.write_known(to));
        }
        let table = match save.table {
            Table::Runs => self.runs_table()?,
            Table::Scores => self.scores_table(),
        };
        made.push(Fact::new("matrix version", self.library.version.clone()));
        table_file::write(file, save.format, &table, &made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_tables_and_extensions_name_the_right_ones() {
        let error = |text: &str| file_to_save(text).expect_err("wrong");
        assert!(error("score=a.csv").contains("did you mean `scores`?"));
        assert!(error("a.jsn").contains("the extensions are .json, .csv and .parquet"));
        assert!(error("scores=a.json").contains(".csv or .parquet"));
        let runs = file_to_save("runs=a.CSV").expect("right");
        assert_eq!((runs.table, runs.format), (Table::Runs, Format::Csv));
    }
}
