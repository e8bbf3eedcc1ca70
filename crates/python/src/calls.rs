//! What `whimbrel advise`, `rank` and `reproduce` print with `--json`: as text, and their lists as
//! tables.

use crate::attended::attended;
use crate::failure::raise;
use crate::table::NativeTable;
use pyo3::prelude::*;
use serde_json::{Value, json};
use whimbrel_cc::registry::{self};
use whimbrel_cli::library::{self, Failure};

/// A call of the library.
type Call = fn(&[String]) -> Result<Value, Failure>;

fn call(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    words: &[String],
    call: Call,
) -> PyResult<Value> {
    let done = attended(py, progress, |_| call(words))?;
    done.map_err(|failure| raise(py, &failure))
}

fn records(value: &Value) -> PyResult<NativeTable> {
    NativeTable::of_records(value.as_array().map_or(&[], Vec::as_slice))
}

/// Returns the JSON text and the table of candidates.
#[pyfunction]
#[pyo3(signature = (words, progress = None))]
pub fn advise(
    py: Python<'_>,
    words: Vec<String>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, NativeTable)> {
    let all = call(py, progress.as_ref(), &words, library::advise)?;
    Ok((all.to_string(), records(&all["table"])?))
}

/// Returns the tables of standings, scores and runs.
#[pyfunction]
#[pyo3(signature = (words, progress = None))]
pub fn rank(
    py: Python<'_>,
    words: Vec<String>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(NativeTable, NativeTable, NativeTable)> {
    let all = call(py, progress.as_ref(), &words, library::rank)?;
    let standing = |one: &Value| {
        let mut flat = json!({ "algorithm": one["algorithm"], "all": one["all"] });
        for (class, score) in one["classes"].as_object().into_iter().flatten() {
            flat[class] = score.clone();
        }
        flat
    };
    let table = all["table"].as_array().map_or(&[][..], Vec::as_slice);
    let standings: Vec<Value> = table.iter().map(standing).collect();
    Ok((
        NativeTable::of_records(&standings)?,
        records(&all["scores"])?,
        records(&all["runs"])?,
    ))
}

/// Returns the tables of experiments and of rows.
#[pyfunction]
#[pyo3(signature = (words, progress = None))]
pub fn reproduce(
    py: Python<'_>,
    words: Vec<String>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(NativeTable, NativeTable)> {
    let all = call(py, progress.as_ref(), &words, library::reproduce)?;
    let mut experiments = Vec::new();
    let mut rows = Vec::new();
    for one in all.as_array().into_iter().flatten() {
        for row in one["rows"].as_array().into_iter().flatten() {
            let mut row = row.clone();
            row["id"] = one["id"].clone();
            rows.push(row);
        }
        let mut one = one.clone();
        if let Some(object) = one.as_object_mut() {
            object.remove("rows");
        }
        experiments.push(one);
    }
    Ok((
        NativeTable::of_records(&experiments)?,
        NativeTable::of_records(&rows)?,
    ))
}

/// The table of algorithms.
#[pyfunction]
pub fn controllers() -> PyResult<NativeTable> {
    let all: Vec<Value> = registry::controllers()
        .iter()
        .map(|entry| {
            json!({
                "name": entry.name,
                "family": entry.family(),
                "summary": entry.summary,
                "citation": entry.citation,
                "transport": if entry.is_fed_bursts() { "aatp" } else { "tcp, quic" },
                "parameters": entry.parameters.iter().map(|p| p.name).collect::<Vec<_>>().join(", "),
            })
        })
        .collect();
    NativeTable::of_records(&all)
}
