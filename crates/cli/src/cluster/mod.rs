//! `--engine ray`: the runs of a scenario on a Ray cluster. The Python package starts or finds the
//! cluster and plays parts of the runs there, each to a file ([`parts`]); this process reads them.
//! What is printed and saved is made from the runs, as if they had been played here.

mod driver;
pub mod parts;

use crate::atomic_file;
use crate::failure::BadInput;
use crate::play::{Everything, Play, PlayArgs};
use crate::runs::Progress;
use anyhow::Context;
use driver::{Driver, Job};
use etcetera::{BaseStrategy, choose_base_strategy};
use parts::Parts;
use std::path::{Path, PathBuf};
use whimbrel_report::Row;
use whimbrel_sim::scenario::{Scenario, Setting};
use whimbrel_sim::sweep::{self, Run};

/// Where the runs are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    /// On threads of this process
    Threads,
    /// On a Ray cluster, by the Python package `whimbrel` (docs/python.md)
    Ray,
}

/// How to use a cluster.
#[derive(Debug, clap::Args)]
pub struct ClusterArgs {
    /// Where the runs are played; does not change the results
    #[arg(long, value_enum, value_name = "ENGINE", default_value = "threads")]
    pub engine: Engine,
    /// With --engine ray: the address of a running cluster, `HOST:PORT` or `auto`
    ///
    /// Default: $RAY_ADDRESS. Without both, a cluster is started on this machine for the time of
    /// the command. It listens on loopback only, and has --threads workers.
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,
    /// With --engine ray: a folder that all machines share, for finished parts; they stay there
    ///
    /// The same command continues from the parts that are there. Default: a folder in the user's
    /// cache, which is removed when all runs are done.
    #[arg(long, value_name = "DIR")]
    storage: Option<PathBuf>,
}

impl ClusterArgs {
    /// Refuses flags of a cluster without one.
    ///
    /// # Errors
    /// If one is given.
    pub fn check(&self) -> anyhow::Result<()> {
        let given = [
            (self.address.is_some(), "--address"),
            (self.storage.is_some(), "--storage"),
        ];
        match given.iter().find(|(given, _)| *given) {
            Some((_, flag)) if self.engine != Engine::Ray => {
                Err(BadInput::new(format!("{flag} needs --engine ray")).into())
            }
            _ => Ok(()),
        }
    }
}

/// Every point with every seed, on a cluster.
pub struct OnCluster<'a> {
    /// Which cluster.
    pub args: &'a ClusterArgs,
    /// The text of the scenario.
    pub text: &'a str,
    /// Its path for error messages; traces are relative to its folder.
    pub path: &'a Path,
    /// What overrides the file.
    pub settings: &'a [Setting],
}

impl Play for OnCluster<'_> {
    fn run<'a>(&self, scenario: &'a Scenario, args: &PlayArgs) -> anyhow::Result<Vec<Run<'a>>> {
        let jobs = sweep::jobs(scenario.points());
        let settings: Vec<String> = self
            .settings
            .iter()
            .map(|setting| format!("{}={}", setting.key, setting.value))
            .collect();
        let size = parts::size(jobs.len());
        let key = parts::key(scenario, self.text, &settings, parts::KIND, size);
        let folder = match &self.args.storage {
            Some(folder) => folder.clone(),
            None => choose_base_strategy()?
                .cache_dir()
                .join("whimbrel/swept")
                .join(&key.to_hex()[..16]),
        };
        atomic_file::check_folder(&folder)?;
        // Workers have another current folder.
        let folder = folder.canonicalize().context("cannot use the folder")?;
        let mut parts = Parts::new(&folder, key, size, &jobs);
        parts.read()?;
        let progress = Progress::new(jobs.len(), "runs");
        progress.add(parts.done() as f64);
        if parts.done() < jobs.len() {
            let job = Job {
                text: self.text,
                path: std::path::absolute(self.path).unwrap_or_else(|_| self.path.to_owned()),
                settings: &settings,
                folder: &folder,
                key: key.to_hex().to_string(),
                size,
                address: self.args.address.as_deref(),
                workers: args.threads,
                source: whimbrel_sim::SOURCE,
            };
            let mut driver = Driver::start(&job)?;
            let ended = driver.follow(|runs| {
                progress.add(runs as f64);
            });
            parts.read()?;
            if let Err(error) = ended {
                let (done, all) = (parts.done(), jobs.len());
                return Err(match done {
                    0 => error,
                    _ => error.context(format!(
                        "{done} of {all} runs are done; the same command continues from there"
                    )),
                });
            }
        }
        let runs = parts.finish()?;
        if self.args.storage.is_none() {
            // The runs are complete: what cannot be removed only takes space.
            let _ = std::fs::remove_dir_all(&folder);
        }
        Ok(runs)
    }

    fn rows(&self, runs: &[Run<'_>]) -> Vec<Row> {
        Everything.rows(runs)
    }

    fn notes(&self, rows: &[Row]) -> Vec<String> {
        Everything.notes(rows)
    }

    fn text(&self, runs: &[Run<'_>]) -> String {
        Everything.text(runs)
    }
}
