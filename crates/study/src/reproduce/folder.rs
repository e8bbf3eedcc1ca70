//! Results as a folder: a page, the results as JSON and CSV, and the files of the experiments.

use super::page::{Times, page};
use super::result::{self, ExperimentResult};
use crate::{Error, atomic_file};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use whimbrel_experiment::Asks;
use whimbrel_report::page::Fact;

/// The name of the page in the folder.
pub const PAGE: &str = "index.html";

/// Writes all files, the page last, so that its links are valid. `made` says how the results were
/// made.
///
/// # Errors
/// If a file cannot be written.
pub fn write_folder(
    folder: &Path,
    all: &[ExperimentResult<'_>],
    made: Vec<Fact>,
) -> Result<(), Error> {
    copy_inputs(folder, all)?;
    atomic_file::write(&folder.join("results.json"), |to| result::json(all, to))?;
    atomic_file::write(&folder.join("results.csv"), |to| csv(all, to))?;
    atomic_file::write(&folder.join(PAGE), |to| {
        whimbrel_report::html(&page(all, made, Times::Shown), to)
    })
}

/// Writes the files that were run below `experiments/`; returns their paths in the folder.
pub(super) fn copy_inputs(
    folder: &Path,
    all: &[ExperimentResult<'_>],
) -> Result<BTreeSet<String>, Error> {
    let mut written = BTreeSet::new();
    for file in all.iter().flat_map(|result| result.files) {
        let Some(name) = &file.name else { continue };
        let name = format!("experiments/{name}");
        let path = folder.join(&name);
        if written.insert(name) {
            fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(Error::writing(&path))?;
            atomic_file::replace(&path, |to| to.write_all(file.text.as_bytes()))?;
        }
    }
    Ok(written)
}

/// Writes a line for each row.
pub(super) fn csv(all: &[ExperimentResult<'_>], to: impl Write) -> io::Result<()> {
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
