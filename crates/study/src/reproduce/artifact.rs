//! Results as an artefact for others to check: inputs, outputs, seeds and versions, without
//! anything that differs from one run to the next. So a second run, on any number of threads or on
//! another machine, writes the same bytes.

use super::folder::{PAGE, copy_inputs, csv};
use super::page::{Times, page};
use super::result::ExperimentResult;
use crate::{Error, VERSION, atomic_file};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use whimbrel_report::page::Fact;
use whimbrel_sim::scenario::Setting;
use whimbrel_sim::sweep;

/// The name of the list of everything in the folder.
pub const MANIFEST: &str = "artifact.json";

/// The versions of all dependencies of this program.
const DEPENDENCIES: &[u8] = include_bytes!("../../../../Cargo.lock");

/// What an artefact consists of.
#[derive(Serialize)]
struct Manifest {
    /// The program.
    version: &'static str,
    /// The compiler that made it.
    compiler: &'static str,
    /// BLAKE3 of the list of its dependencies and their versions, Cargo.lock.
    dependencies_blake3: String,
    /// The command that writes it again, without the folder.
    command: String,
    /// The scenarios that were run, by id.
    scenarios: BTreeMap<String, Runs>,
    /// BLAKE3 of each other file, by path.
    blake3: BTreeMap<String, String>,
}

/// The runs of a scenario.
#[derive(Serialize)]
struct Runs {
    /// How many points its sweep has.
    points: usize,
    /// The seeds of its runs.
    seeds: BTreeSet<u64>,
}

/// Writes the page, the results, the inputs and, last, the manifest. `seeds` overrides those of the
/// scenarios, as it did in the runs.
///
/// # Errors
/// If a scenario is wrong, or a file cannot be written.
pub fn write_artifact(
    folder: &Path,
    all: &[ExperimentResult<'_>],
    seeds: Option<&Setting>,
) -> Result<(), Error> {
    let mut ids: Vec<&str> = all.iter().map(|result| result.id).collect();
    ids.sort_unstable();
    let number = seeds.map_or_else(String::new, |seeds| format!(" --seeds {}", seeds.value));
    let command = format!("whimbrel reproduce {}{number}", ids.join(" "));
    let made = vec![
        Fact::new("version", VERSION),
        Fact::new("command", command.clone()),
    ];
    let mut written = copy_inputs(folder, all)?;
    let mut results = Vec::new();
    for result in all {
        let wrong = |error| Error::failed("cannot write the results", error);
        let mut value = serde_json::to_value(result).map_err(wrong)?;
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|key, _| !["seconds", "kept"].contains(&key.as_str()));
        }
        results.push(value);
    }
    atomic_file::write(&folder.join("results.json"), |mut to| {
        serde_json::to_writer_pretty(&mut to, &results)?;
        writeln!(to)
    })?;
    atomic_file::write(&folder.join("results.csv"), |to| csv(all, to))?;
    atomic_file::write(&folder.join(PAGE), |to| {
        whimbrel_report::html(&page(all, made, Times::LeftOut), to)
    })?;
    written.extend(["results.json", "results.csv", PAGE].map(str::to_owned));
    let mut scenarios = BTreeMap::new();
    let settings: Vec<Setting> = seeds.cloned().into_iter().collect();
    for result in all {
        if !scenarios.contains_key(result.scenario) {
            let scenario = result.experiment.scenario(&settings)?;
            let runs = Runs {
                points: scenario.points().len(),
                seeds: sweep::jobs(scenario.points())
                    .iter()
                    .map(|job| job.seed)
                    .collect(),
            };
            scenarios.insert(result.scenario.to_owned(), runs);
        }
    }
    let mut blake3 = BTreeMap::new();
    for name in written {
        let path = folder.join(&name);
        let bytes = fs::read(&path)
            .map_err(|error| Error::failed(format!("cannot read {}", path.display()), error))?;
        blake3.insert(name, blake3::hash(&bytes).to_string());
    }
    let manifest = Manifest {
        version: VERSION,
        compiler: env!("COMPILER"),
        dependencies_blake3: blake3::hash(DEPENDENCIES).to_string(),
        command,
        scenarios,
        blake3,
    };
    atomic_file::write(&folder.join(MANIFEST), |mut to| {
        serde_json::to_writer_pretty(&mut to, &manifest)?;
        writeln!(to)
    })
}
