//! `--report DIR`: a folder with a page, the results, and the files of the experiments.

use super::page::page;
use super::result::{self, ExperimentResult};
use crate::atomic_file;
use anyhow::Context;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use whimbrel_experiment::Asks;

/// A folder for a report.
pub struct Report {
    folder: PathBuf,
    begin: Instant,
}

impl Report {
    /// Creates the folder, and checks that files can be written to it, before long work begins.
    ///
    /// # Errors
    /// If they cannot.
    pub fn begin(folder: &Path) -> anyhow::Result<Self> {
        atomic_file::check_folder(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            begin: Instant::now(),
        })
    }

    /// The path of the page.
    pub fn page(&self) -> PathBuf {
        self.folder.join("index.html")
    }

    /// Writes all files, the page last, so that its links are valid.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, all: &[ExperimentResult<'_>]) -> anyhow::Result<()> {
        let mut written = BTreeSet::new();
        for file in all.iter().flat_map(|result| result.files) {
            let Some(name) = &file.name else { continue };
            if written.insert(name) {
                let path = self.folder.join("experiments").join(name);
                let folder = path.parent().unwrap_or(&self.folder);
                fs::create_dir_all(folder)
                    .with_context(|| format!("cannot create {}", folder.display()))?;
                atomic_file::write(&path, |to| to.write_all(file.text.as_bytes()))?;
            }
        }
        atomic_file::write(&self.folder.join("results.json"), |to| {
            result::json(all, to)
        })?;
        atomic_file::write(&self.folder.join("results.csv"), |to| csv(all, to))?;
        atomic_file::write(&self.page(), |to| {
            whimbrel_report::html(&page(all, self.begin), to)
        })?;
        Ok(())
    }
}

/// Writes a line for each row.
fn csv(all: &[ExperimentResult<'_>], to: impl Write) -> io::Result<()> {
    let mut lines = csv::Writer::from_writer(to);
    lines.write_record([
        "id",
        "place",
        "label",
        "unit",
        "paper",
        "measured",
        "measured_stddev",
        "difference",
        "difference_unit",
        "asked",
        "asks",
        "right",
        "verdict",
    ])?;
    let number = |n: Option<f64>| n.map_or(String::new(), |n| n.to_string());
    for result in all {
        for result_row in &result.rows {
            let row = &result_row.row;
            lines.write_record([
                result.id,
                result.place,
                &row.label,
                &row.unit,
                &number(row.paper),
                &number(row.measured),
                &number(row.measured_stddev),
                &number(result_row.difference),
                result_row.difference_unit.as_deref().unwrap_or_default(),
                &row.expected,
                match row.asks {
                    Asks::Number => "number",
                    Asks::Order => "order",
                    Asks::Nothing => "nothing",
                },
                row.right
                    .map_or("", |right| if right { "true" } else { "false" }),
                &result.verdict.to_string(),
            ])?;
        }
    }
    lines.flush()
}
