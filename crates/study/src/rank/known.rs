//! What every run measured, as a file for a later ranking.

use crate::{BadInput, Error, Observer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use whimbrel_rank::{Library, Measures, Runs};

/// The maximum size of a file that is read.
const MAX_BYTES: u64 = 1 << 30;

/// A file.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// The version of the matrix.
    version: String,
    /// Every run.
    runs: Vec<Run>,
}

/// One run.
#[derive(Serialize, Deserialize)]
pub struct Run {
    point: String,
    /// A hash of the point's file and of the traces that it names: a changed point is another
    /// point.
    content: String,
    algorithm: String,
    #[serde(flatten)]
    measures: Measures,
}

/// All runs, those of references included.
pub fn records(library: &Library, runs: &Runs) -> Vec<Run> {
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

/// Writes all runs, those of references included.
///
/// # Errors
/// If they cannot be written.
pub fn write(library: &Library, runs: &Runs, to: &mut dyn Write) -> io::Result<()> {
    let saved = Saved {
        version: library.version.clone(),
        runs: records(library, runs),
    };
    serde_json::to_writer(&mut *to, &saved)?;
    writeln!(to)
}

/// Reads the runs of a file at the points of the library, and the names of its algorithms. Runs at
/// other points, or at points whose files have changed, are left out.
///
/// # Errors
/// If the file cannot be read, or is not of a ranking.
pub fn read(
    path: &Path,
    library: &Library,
    observer: &dyn Observer,
) -> Result<(Runs, BTreeSet<String>), Error> {
    let bad = |why: String| BadInput::in_argument("known", format!("{}: {why}", path.display()));
    let about = std::fs::metadata(path).map_err(|error| bad(error.to_string()))?;
    if about.len() > MAX_BYTES {
        return Err(bad(format!("it is larger than {} MiB", MAX_BYTES >> 20)).into());
    }
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let saved: Saved = serde_json::from_str(&text)
        .map_err(|error| bad(format!("it has no runs of a ranking as JSON: {error}")))?;
    let mut runs = Runs::new();
    let mut names = BTreeSet::new();
    let mut changed = BTreeSet::new();
    for run in saved.runs {
        match content(library, &run.point) {
            Some(content) if content == run.content => {
                names.insert(run.algorithm.clone());
                let seed = run.measures.seed;
                let Run {
                    point, algorithm, ..
                } = &run;
                let place = (point.clone(), algorithm.clone());
                let known: &mut Vec<Measures> = runs.entry(place).or_default();
                // An interval over the seeds takes them for independent.
                if known.iter().any(|other| other.seed == seed) {
                    return Err(bad(format!(
                        "it has two runs of `{algorithm}` at `{point}` with the seed {seed}"
                    ))
                    .into());
                }
                known.push(run.measures);
            }
            Some(_) => {
                changed.insert(run.point);
            }
            None => {}
        }
    }
    if !changed.is_empty() {
        let names: Vec<String> = changed.into_iter().collect();
        observer.note(&format!(
            "note: these points have changed since {} was written, and are run again: {}",
            path.display(),
            names.join(", ")
        ));
    }
    if runs.is_empty() {
        return Err(bad("it has no runs at these points".to_owned()).into());
    }
    Ok((runs, names))
}

fn content(library: &Library, id: &str) -> Option<String> {
    let point = library.points.iter().find(|point| point.id == id)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(point.text.as_bytes());
    // The text has only the names of traces.
    if let Some(traces) = point.traces() {
        hasher.update(&traces.to_le_bytes());
    }
    let hash = hasher.finalize().to_hex();
    Some(hash[..16].to_owned())
}
