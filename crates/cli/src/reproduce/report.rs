//! `--report DIR`: a folder with all that came of it.

use super::page::page;
use super::told::{self, Told};
use crate::aside;
use anyhow::Context;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A folder that is to hold a report.
pub struct Report {
    folder: PathBuf,
    begin: Instant,
}

impl Report {
    /// Sees that the folder can be written to, before long work begins.
    ///
    /// # Errors
    /// If it cannot.
    pub fn begin(folder: &Path) -> anyhow::Result<Self> {
        aside::check_folder(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            begin: Instant::now(),
        })
    }

    /// Where the page lies.
    pub fn page(&self) -> PathBuf {
        self.folder.join("index.html")
    }

    /// Writes all: the page last, so that it leads to nothing that is not there yet.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn write(&self, all: &[Told<'_>]) -> anyhow::Result<()> {
        let mut written = BTreeSet::new();
        for file in all.iter().flat_map(|told| told.files) {
            let Some(name) = &file.name else { continue };
            if written.insert(name) {
                let path = self.folder.join("experiments").join(name);
                let folder = path.parent().unwrap_or(&self.folder);
                fs::create_dir_all(folder)
                    .with_context(|| format!("cannot make {}", folder.display()))?;
                aside::write(&path, |to| to.write_all(file.text.as_bytes()))?;
            }
        }
        aside::write(&self.folder.join("results.json"), |to| told::json(all, to))?;
        aside::write(&self.folder.join("results.csv"), |to| csv(all, to))?;
        aside::write(&self.page(), |to| {
            whimbrel_report::html(&page(all, self.begin), to)
        })
    }
}

/// A line for each row.
fn csv(all: &[Told<'_>], to: impl Write) -> io::Result<()> {
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
        "right",
        "verdict",
    ])?;
    let number = |n: Option<f64>| n.map_or(String::new(), |n| n.to_string());
    for told in all {
        for told_row in &told.rows {
            let row = &told_row.row;
            lines.write_record([
                told.id,
                told.place,
                &row.label,
                &row.unit,
                &number(row.paper),
                &number(row.measured),
                &number(row.measured_stddev),
                &number(told_row.difference),
                told_row.difference_unit.as_deref().unwrap_or_default(),
                &row.asked,
                row.right
                    .map_or("", |right| if right { "true" } else { "false" }),
                &told.verdict.to_string(),
            ])?;
        }
    }
    lines.flush()
}
