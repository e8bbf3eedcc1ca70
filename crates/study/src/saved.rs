//! Results as files for other tools: tables, and one run as iperf3 prints it.

use crate::atomic_file::AtomicFile;
use crate::runs::{resampled, run_all};
use crate::single_run::{self, Selection};
use crate::table_file::{self, TableFile};
use crate::{BadInput, Error, Observer, iperf3};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use whimbrel_report::frame::{Frame, Table};
use whimbrel_report::page::Fact;
use whimbrel_sim::scenario::{Point, Scenario};
use whimbrel_sim::sweep::{self, Job, Run};
use whimbrel_units::Duration;

/// Maximum number of samples of a flow or link in a run.
const MAX_SAMPLES: u64 = 1_000_000;

/// Which results to save.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Tables.
    pub save: Vec<TableFile<Table>>,
    /// The file for one run as iperf3 prints it.
    pub iperf3: Option<PathBuf>,
    /// Time between samples, and between the reports of iperf3; `None`: the usual ones.
    pub interval: Option<Duration>,
}

impl Wanted {
    /// Whether anything is to be saved.
    pub fn any(&self) -> bool {
        !self.save.is_empty() || self.iperf3.is_some()
    }
}

/// Open files, to be written when the runs are done.
pub struct Saving<'a> {
    wanted: &'a Wanted,
    tables: Vec<(&'a TableFile<Table>, AtomicFile)>,
    iperf3: Option<(Job<'a>, AtomicFile)>,
}

impl<'a> Saving<'a> {
    /// Opens all files, so that an error appears before long work begins.
    ///
    /// # Errors
    /// If a file cannot be written, or the options do not fit the scenario.
    pub fn open(
        wanted: &'a Wanted,
        scenario: &'a Scenario,
        selection: Selection,
    ) -> Result<Self, Error> {
        let longest = scenario.points().iter().map(Point::duration).max();
        if let (Some(interval), Some(longest)) = (wanted.interval, longest)
            && longest.as_nanos() / interval.as_nanos().max(1) > MAX_SAMPLES
        {
            let why = format!(
                "{interval} gives more than {MAX_SAMPLES} samples in a run of {longest}: choose a \
                 longer interval"
            );
            return Err(BadInput::in_argument("interval", why).into());
        }
        if let Some(path) = &wanted.iperf3
            && wanted.save.iter().any(|save| save.path == *path)
        {
            return Err(BadInput::new(format!(
                "{} is saved twice: choose different files",
                path.display()
            ))
            .into());
        }
        let iperf3 = match &wanted.iperf3 {
            Some(path) => Some((measured(scenario, selection)?, AtomicFile::open(path)?)),
            None => None,
        };
        Ok(Self {
            wanted,
            tables: table_file::open(&wanted.save)?,
            iperf3,
        })
    }

    /// Writes all files with their provenance. `runs` are all runs of the scenario. Tables over time that need other
    /// samples than the scenario sets come from another run, so that the printed results do not
    /// change.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(
        self,
        scenario: &Scenario,
        runs: &[Run<'_>],
        title: &str,
        made: &[Fact],
        threads: Option<NonZeroUsize>,
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        let resampled = self
            .wanted
            .wants_samples()
            .then(|| resampled(scenario, self.wanted.interval))
            .flatten();
        let again = match &resampled {
            Some(scenario) => run_all(&sweep::jobs(scenario.points()), threads, observer)?,
            None => Vec::new(),
        };
        for (save, file) in self.tables {
            let of_samples = save.table.is_of_samples() && resampled.is_some();
            let frame = Frame::new(save.table, if of_samples { &again } else { runs });
            table_file::write(file, save.format, &frame, made)?;
        }
        if let Some((job, file)) = self.iperf3 {
            iperf3::write(file, &job, self.wanted.interval, title)?;
        }
        Ok(())
    }
}

impl Wanted {
    /// Whether a table over time is to be saved.
    pub fn wants_samples(&self) -> bool {
        self.save.iter().any(|save| save.table.is_of_samples())
    }
}

/// The run that is saved as iperf3 prints it.
fn measured(scenario: &Scenario, selection: Selection) -> Result<Job<'_>, BadInput> {
    let job = single_run::only(scenario, selection, "iperf3")?;
    let controlled = iperf3::has_controller(&job);
    controlled.then_some(job).ok_or_else(|| {
        let why = "needs a TCP or AATP flow, but the scenario has none";
        BadInput::in_argument("iperf3", why)
    })
}
