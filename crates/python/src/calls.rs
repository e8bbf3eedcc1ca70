//! `advise`, `rank`, `hunt` and `reproduce`: their results as text, and their lists as tables.

use crate::arguments::advice;
use crate::attended::attended;
use crate::failure::raise;
use crate::table::NativeTable;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;
use whimbrel_cc::Spec;
use whimbrel_cc::registry;
use whimbrel_study::controllers::Choice;
use whimbrel_study::{self as study, BadInput, Error, Observer};

fn records(value: &Value) -> PyResult<NativeTable> {
    NativeTable::of_records(value.as_array().map_or(&[], Vec::as_slice))
}

/// Returns the JSON text and the table of candidates.
#[pyfunction]
#[pyo3(signature = (arguments, threads, progress = None))]
pub fn advise(
    py: Python<'_>,
    arguments: BTreeMap<String, Vec<String>>,
    threads: Option<NonZeroUsize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, NativeTable)> {
    let request = advice(arguments).map_err(|error| raise(py, &error))?;
    let request = study::advise::Request { threads, ..request };
    let work = |observer: &dyn Observer| study::advise::advise(&request, observer);
    let done = attended(py, progress.as_ref(), work)?;
    let candidates = done.map_err(|error| raise(py, &error))?;
    let all = study::advice::json(&request, &candidates, Value::Null);
    Ok((all.to_string(), records(&all["table"])?))
}

/// Returns the tables of standings, scores and runs.
#[pyfunction]
#[pyo3(signature = (controllers, seeds, classes, only, points, threads, progress = None))]
#[allow(clippy::too_many_arguments)] // One for each keyword of `whimbrel.rank`.
pub fn rank(
    py: Python<'_>,
    controllers: Vec<String>,
    seeds: Option<u32>,
    classes: Vec<String>,
    only: Vec<String>,
    points: Option<PathBuf>,
    threads: Option<NonZeroUsize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(NativeTable, NativeTable, NativeTable)> {
    let request = || -> Result<study::rank::Request, Error> {
        Ok(study::rank::Request {
            controllers: parsed("controllers", &controllers, |text| text.parse::<Choice>())?,
            seeds: seeds.unwrap_or(study::rank::USUAL_SEEDS),
            classes: parsed("classes", &classes, study::rank::class)?,
            only,
            points,
            threads,
            ..study::rank::Request::default()
        })
    };
    let request = request().map_err(|error| raise(py, &error))?;
    let work = |observer: &dyn Observer| -> Result<_, Error> {
        let ranking = study::rank::rank(&request, None, observer)?;
        Ok((ranking.json(), ranking.records()?))
    };
    let done = attended(py, progress.as_ref(), work)?;
    let (all, runs) = done.map_err(|error| raise(py, &error))?;
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
        records(&runs)?,
    ))
}

/// Returns the JSON text, and the tables of families and finds. `limits` are evaluations, seed,
/// seeds, fresh and finds, as far as they are given.
#[pyfunction]
#[pyo3(signature = (name, classifier, against, families, limits, minutes, threads, progress = None))]
#[allow(clippy::too_many_arguments)] // One for each kind of keyword of `whimbrel.hunt`.
pub fn hunt(
    py: Python<'_>,
    name: Option<String>,
    classifier: Option<String>,
    against: Vec<String>,
    families: Vec<String>,
    limits: BTreeMap<String, u32>,
    minutes: Option<f64>,
    threads: Option<NonZeroUsize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, NativeTable, NativeTable)> {
    let request = || -> Result<study::hunt::Request, Error> {
        let target = match (&name, &classifier) {
            (Some(name), None) => {
                let name = name
                    .parse()
                    .map_err(|why| BadInput::in_argument("name", why))?;
                let against = parsed("against", &against, |text| text.parse::<Spec>())?;
                study::hunt::Target::algorithm(&name, &against)?
            }
            (None, Some(name)) => study::hunt::Target::classifier(name)?,
            _ => {
                let why = "give the name of an algorithm, or `classifier`";
                return Err(BadInput::in_argument("name", why).into());
            }
        };
        let time = minutes.map(|minutes| match minutes > 0.0 && minutes < 1e6 {
            true => Ok(Duration::from_secs_f64(minutes * 60.0)),
            false => Err(BadInput::in_argument("minutes", "must be above 0")),
        });
        let usual = study::hunt::Request::new(target);
        let of = |key: &'static str, usual: u32| match limits.get(key) {
            Some(0) => Err(BadInput::in_argument(key, "must be at least 1")),
            Some(limit) => Ok(*limit),
            None => Ok(usual),
        };
        Ok(study::hunt::Request {
            families: families.clone(),
            evaluations: of("evaluations", usual.evaluations)?,
            seed: of("seed", 1)?.into(),
            seeds: of("seeds", usual.seeds)?,
            fresh: of("fresh", usual.fresh)?,
            finds: of("finds", 1)? as usize,
            time: time.transpose()?,
            threads,
            ..usual
        })
    };
    let request = request().map_err(|error| raise(py, &error))?;
    let work = |observer: &dyn Observer| study::hunt::hunt(&request, observer);
    let done = attended(py, progress.as_ref(), work)?;
    let all = done.map_err(|error| raise(py, &error))?.json();
    let finds: Vec<Value> = all["finds"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|find| {
            let mut find = find.clone();
            if let Some(find) = find.as_object_mut() {
                find.remove("sentences");
            }
            find
        })
        .collect();
    let families = records(&all["families"])?;
    Ok((all.to_string(), families, NativeTable::of_records(&finds)?))
}

/// Parses each value of an argument.
fn parsed<T, E: std::fmt::Display>(
    argument: &'static str,
    values: &[String],
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, BadInput> {
    let one = |text: &String| parse(text).map_err(|why| BadInput::in_argument(argument, why));
    values.iter().map(one).collect()
}

/// Returns the tables of experiments and of rows.
#[pyfunction]
#[pyo3(signature = (ids, seeds, experiments, threads, progress = None))]
pub fn reproduce(
    py: Python<'_>,
    ids: Vec<String>,
    seeds: Option<u32>,
    experiments: Option<PathBuf>,
    threads: Option<NonZeroUsize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(NativeTable, NativeTable)> {
    let request = study::reproduce::Request {
        ids,
        experiments,
        seeds,
        again: false,
        threads,
    };
    let work = |observer: &dyn Observer| -> Result<Value, Error> {
        let found = request.find()?.runnable(observer)?;
        let plan = request.plan(found, None)?;
        let all = study::reproduce::reproduce(&plan, None, observer, |_| Ok(()))?;
        serde_json::to_value(all).map_err(|error| Error::failed("cannot write JSON", error))
    };
    let done = attended(py, progress.as_ref(), work)?;
    let all = done.map_err(|error| raise(py, &error))?;
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
