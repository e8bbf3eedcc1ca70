//! `--save` and `--known`: what every run measured, as a file.

use crate::atomic_file::AtomicFile;
use crate::failure::BadInput;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use whimbrel_rank::{Library, Measures, Runs};

/// The maximum size of a file that is read.
const MAX_BYTES: u64 = 1 << 30;

/// A file of `--save`.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// The version of the matrix.
    version: String,
    /// Every run.
    runs: Vec<Run>,
}

/// One run.
#[derive(Serialize, Deserialize)]
struct Run {
    point: String,
    /// A hash of the point's file: a changed point is another point.
    content: String,
    algorithm: String,
    #[serde(flatten)]
    measures: Measures,
}

/// All runs as objects, those of references included.
///
/// # Errors
/// If a number cannot be written as JSON.
pub fn records(library: &Library, runs: &Runs) -> anyhow::Result<serde_json::Value> {
    Ok(serde_json::to_value(all_runs(library, runs))?)
}

fn all_runs(library: &Library, runs: &Runs) -> Vec<Run> {
    let mut all = Vec::new();
    for ((id, algorithm), measures) in runs {
        let content = content(library, id).unwrap_or_default();
        all.extend(measures.iter().map(|m| Run {
            point: id.clone(),
            content: content.clone(),
            algorithm: algorithm.clone(),
            measures: *m,
        }));
    }
    all
}

/// Writes all runs, those of references included, for `--known`.
pub fn write(file: AtomicFile, library: &Library, runs: &Runs) -> anyhow::Result<()> {
    let saved = Saved {
        version: library.version.clone(),
        runs: all_runs(library, runs),
    };
    file.finish(|to| {
        serde_json::to_writer(&mut *to, &saved)?;
        writeln!(to)
    })?;
    Ok(())
}

/// Reads the runs of a file at the points of the library, and the names of its algorithms. Runs at
/// other points, or at points whose files have changed, are left out.
///
/// # Errors
/// If the file cannot be read, or is not of `--save`.
pub fn read(path: &Path, library: &Library) -> anyhow::Result<(Runs, BTreeSet<String>)> {
    let bad = |why: String| BadInput::new(format!("--known {}: {why}", path.display()));
    let about = std::fs::metadata(path).map_err(|error| bad(error.to_string()))?;
    if about.len() > MAX_BYTES {
        return Err(bad(format!("it is larger than {} MiB", MAX_BYTES >> 20)).into());
    }
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let saved: Saved = serde_json::from_str(&text).map_err(|error| {
        bad(format!(
            "not a file of `whimbrel rank --save FILE.json`: {error}"
        ))
    })?;
    let mut runs = Runs::new();
    let mut names = BTreeSet::new();
    let mut changed = BTreeSet::new();
    for run in saved.runs {
        match content(library, &run.point) {
            Some(content) if content == run.content => {
                names.insert(run.algorithm.clone());
                runs.entry((run.point, run.algorithm))
                    .or_default()
                    .push(run.measures);
            }
            Some(_) => {
                changed.insert(run.point);
            }
            None => {}
        }
    }
    if !changed.is_empty() {
        let names: Vec<String> = changed.into_iter().collect();
        eprintln!(
            "note: these points have changed since {} was written, and are run again: {}",
            path.display(),
            names.join(", ")
        );
    }
    if runs.is_empty() {
        return Err(bad("it has no runs at these points".to_owned()).into());
    }
    Ok((runs, names))
}

fn content(library: &Library, id: &str) -> Option<String> {
    let point = library.points.iter().find(|point| point.id == id)?;
    let hash = blake3::hash(point.text.as_bytes()).to_hex();
    Some(hash[..16].to_owned())
}
