//! Scenarios, and their runs as tables.

use crate::arguments::comparison;
use crate::attended::attended;
use crate::failure::raise;
use crate::table::{NativeTable, batch};
use arrow_array::RecordBatch;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use whimbrel_report::frame::{Column, Frame, Table};
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::{Point, Scenario, Setting};
use whimbrel_sim::sweep::{self, Job, Run};
use whimbrel_study::{BadInput, Error, Observer};

/// Runs whose outcomes are in memory at a time, before they become rows.
const CHUNK: usize = 4096;

/// A scenario that was read.
#[pyclass(frozen, module = "whimbrel._whimbrel")]
pub struct NativeScenario {
    scenario: Arc<Scenario>,
    /// Its text.
    #[pyo3(get)]
    text: String,
    /// The path of its file.
    #[pyo3(get)]
    path: PathBuf,
    /// The settings that override the file: `KEY=VALUE`.
    #[pyo3(get)]
    settings: Vec<String>,
}

#[pymethods]
impl NativeScenario {
    /// Reads a scenario. `path` names the file in errors; paths in it are relative to its folder.
    #[staticmethod]
    fn read(py: Python<'_>, text: String, path: PathBuf, settings: Vec<String>) -> PyResult<Self> {
        let read = || -> Result<Scenario, Error> {
            let settings: Result<Vec<Setting>, String> =
                settings.iter().map(|setting| setting.parse()).collect();
            let settings = settings.map_err(BadInput::new)?;
            let document = Document::parse(&text, &path)?;
            Ok(Scenario::from_document(document, &settings)?)
        };
        let scenario = py.detach(read).map_err(|error| raise(py, &error))?;
        Ok(Self {
            scenario: Arc::new(scenario),
            text,
            path,
            settings,
        })
    }

    /// The scenario that the keyword arguments of `whimbrel.compare` stand for.
    #[staticmethod]
    fn of_comparison(py: Python<'_>, arguments: BTreeMap<String, Vec<String>>) -> PyResult<Self> {
        let make = || -> Result<_, Error> {
            let spec = comparison(arguments)?.scenario()?;
            Ok((Scenario::new(&spec)?, spec.to_string()))
        };
        let (scenario, text) = py.detach(make).map_err(|error| raise(py, &error))?;
        Ok(Self {
            scenario: Arc::new(scenario),
            text,
            path: PathBuf::from("compare.toml"),
            settings: Vec::new(),
        })
    }

    /// The swept values of each point, as written.
    #[getter]
    fn points(&self) -> Vec<BTreeMap<String, String>> {
        let values = |point: &Point| {
            let all = point.parameters().iter();
            all.map(|p| (p.key.clone(), p.value.to_string())).collect()
        };
        self.scenario.points().iter().map(values).collect()
    }

    /// Number of runs: points times seeds.
    fn __len__(&self) -> usize {
        self.scenario
            .points()
            .iter()
            .map(|point| point.seeds().len())
            .sum()
    }

    /// Whether its runs have samples over time.
    #[getter]
    fn sampled(&self) -> bool {
        self.scenario
            .points()
            .iter()
            .any(|point| point.sample().is_some())
    }

    /// The key of a sweep of this scenario: a hash over everything that determines its files, which
    /// hold this table of `size` runs each.
    fn key(&self, table: &str, size: usize) -> String {
        whimbrel_study::sweeps::key(&self.scenario, &self.text, &self.settings, table, size)
    }

    /// Plays the runs `first` to `first + count` and returns the tables by their names.
    #[pyo3(signature = (tables, first = 0, count = None, threads = None, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        tables: Vec<String>,
        first: usize,
        count: Option<usize>,
        threads: Option<usize>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<BTreeMap<String, NativeTable>> {
        let wanted = wanted(&tables).map_err(|error| raise(py, &error))?;
        let threads = threads.and_then(NonZeroUsize::new);
        let done = attended(py, progress.as_ref(), |observer| {
            play(&self.scenario, &wanted, first, count, threads, observer)
        })?;
        done.map_err(|error| raise(py, &error))
    }
}

fn wanted(names: &[String]) -> Result<Vec<Table>, Error> {
    let all: Result<Vec<Table>, _> = names.iter().map(|name| name.parse::<Table>()).collect();
    Ok(all.map_err(|error| BadInput::in_argument("tables", error))?)
}

fn part<'j, 'a>(jobs: &'j [Job<'a>], first: usize, count: Option<usize>) -> &'j [Job<'a>] {
    let rest = jobs.get(first..).unwrap_or_default();
    &rest[..count.unwrap_or(rest.len()).min(rest.len())]
}

fn frame<'a>(table: Table, scenario: &'a Scenario, runs: &'a [Run<'a>], first: usize) -> Frame<'a> {
    Frame::part(table, scenario.points().iter(), runs, first as u64)
}

fn play(
    scenario: &Scenario,
    wanted: &[Table],
    first: usize,
    count: Option<usize>,
    threads: Option<NonZeroUsize>,
    observer: &dyn Observer,
) -> Result<BTreeMap<String, NativeTable>, Error> {
    let jobs = sweep::jobs(scenario.points());
    let jobs = part(&jobs, first, count);
    observer.begin(jobs.len() as f64, "runs");
    let mut batches: Vec<Vec<RecordBatch>> = wanted.iter().map(|_| Vec::new()).collect();
    for (number, chunk) in jobs.chunks(CHUNK).enumerate() {
        let runs = sweep::run_while(chunk, threads, || observer.done(1.0).is_continue())?;
        for (table, batches) in wanted.iter().zip(&mut batches) {
            let frame = frame(*table, scenario, &runs, first + number * CHUNK);
            let batch = batch(&frame);
            batches.push(batch.map_err(|error| Error::failed("cannot make a table", error))?);
        }
    }
    let named = |(table, batches): (&Table, Vec<RecordBatch>)| {
        let columns: Vec<Column> = frame(*table, scenario, &[], 0).columns().to_vec();
        (table.name().to_owned(), NativeTable::new(&columns, batches))
    };
    Ok(wanted.iter().zip(batches).map(named).collect())
}
