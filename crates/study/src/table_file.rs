//! A table of results and the file that it goes to: `[TABLE=]FILE`.

use crate::Error;
use crate::atomic_file::{self, AtomicFile};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use whimbrel_report::frame::Rows;
use whimbrel_report::page::Fact;
use whimbrel_units::nearest;

/// A file format, chosen by the extension of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// Comma-separated values, RFC 4180.
    Csv,
    /// Apache Parquet; only a build with that feature can write it.
    Parquet,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Json => ".json",
            Self::Csv => ".csv",
            Self::Parquet => ".parquet",
        }
    }

    /// One of these formats, by the extension in any case.
    fn of(path: &Path, formats: &[Self]) -> Result<Self, String> {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let ending = format!(".{}", ending.to_lowercase());
        let known = || formats.iter().map(|format| format.extension());
        let found = formats.iter().find(|format| format.extension() == ending);
        match found {
            Some(Self::Parquet) if !whimbrel_report::PARQUET => {
                Err("this build has no Parquet; write .csv, or build with `make full`".to_owned())
            }
            Some(format) => Ok(*format),
            None => {
                let near = nearest(&ending, known()).filter(|_| ending.len() > 1);
                let meant = near.map_or(String::new(), |near| format!(", did you mean {near}?"));
                let mut all: Vec<&str> = known().collect();
                let last = all.pop().unwrap_or_default();
                Err(format!(
                    "the extension of `{}` is not a format{meant}; the extensions are {} and {last}",
                    path.display(),
                    all.join(", ")
                ))
            }
        }
    }
}

/// A table and the file that it goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFile<T> {
    /// The table.
    pub table: T,
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
}

impl<T: FromStr<Err: Display>> TableFile<T> {
    /// Reads `[TABLE=]FILE`; without a name it is the `usual` table. A path may contain `=`:
    /// `./TABLE=FILE` names a file.
    ///
    /// # Errors
    /// If the table or the extension is unknown; the text names the right ones.
    pub fn parse(text: &str, usual: T, formats: &[Format]) -> Result<Self, String> {
        let (table, path) = match text.split_once('=') {
            Some((table, path)) if !table.contains(['/', '.']) => {
                (table.parse().map_err(|e: T::Err| e.to_string())?, path)
            }
            _ => (usual, text),
        };
        let path = PathBuf::from(path);
        let format = Format::of(&path, formats)?;
        Ok(Self {
            table,
            path,
            format,
        })
    }
}

/// A file that is open, with what goes to it.
pub type Opened<'a, T> = (&'a TableFile<T>, AtomicFile);

/// Opens files, so that an error appears before long work begins.
///
/// # Errors
/// If one cannot be written, or is named twice.
pub fn open<T>(all: &[TableFile<T>]) -> Result<Vec<Opened<'_, T>>, Error> {
    let paths: Vec<&Path> = all.iter().map(|file| file.path.as_path()).collect();
    atomic_file::check_distinct(&paths)?;
    all.iter()
        .map(|file| Ok((file, AtomicFile::open(&file.path)?)))
        .collect()
}

/// Writes a table as CSV or Parquet.
///
/// # Errors
/// If the file cannot be written.
pub fn write(
    file: AtomicFile,
    format: Format,
    table: &impl Rows,
    made: &[Fact],
) -> Result<(), Error> {
    file.finish(|to| match format {
        Format::Parquet => whimbrel_report::parquet(table, made, to),
        Format::Csv | Format::Json => whimbrel_report::csv(table, to),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_report::frame::Table;

    fn parse(text: &str) -> Result<(Table, PathBuf, Format), String> {
        let file = TableFile::parse(text, Table::Flows, &[Format::Csv, Format::Parquet])?;
        Ok((file.table, file.path, file.format))
    }

    #[test]
    fn a_table_name_may_precede_the_file() {
        let path = PathBuf::from;
        assert_eq!(
            parse("a.CSV"),
            Ok((Table::Flows, path("a.CSV"), Format::Csv))
        );
        assert_eq!(
            parse("./a=b.csv"),
            Ok((Table::Flows, path("./a=b.csv"), Format::Csv))
        );
        let parquet = parse("link-samples=/tmp/x=y.PARQUET");
        match whimbrel_report::PARQUET {
            true => assert_eq!(
                parquet,
                Ok((
                    Table::LinkSamples,
                    path("/tmp/x=y.PARQUET"),
                    Format::Parquet
                ))
            ),
            false => assert!(parquet.expect_err("left out").contains("make full")),
        }
    }

    #[test]
    fn a_wrong_extension_or_table_name_reports_the_right_ones() {
        let error = |text: &str| parse(text).expect_err("wrong");
        assert!(error("a.cvs").contains("did you mean .csv?"));
        assert!(error("a.parq").contains("did you mean .parquet?"));
        for text in ["a", "a.xlsx", ".csv", ""] {
            assert!(
                error(text).contains("the extensions are .csv and .parquet"),
                "{text}"
            );
        }
        assert!(error("link=a.csv").contains("did you mean `links`?"));
    }
}
