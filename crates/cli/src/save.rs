//! `--save` and `--iperf3` of `sim` and `compare`: result files for other tools.

use crate::atomic_file::AtomicFile;
use crate::failure::BadInput;
use crate::progress::Bar;
use crate::provenance;
use crate::single_run::{self, Selection};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use whimbrel_report::frame::{Frame, Table};
use whimbrel_report::page::Fact;
use whimbrel_sim::scenario::{Point, Scenario};
use whimbrel_sim::sweep::{self, Job, Run};
use whimbrel_study::iperf3;
use whimbrel_study::page::Subject;
use whimbrel_study::runs::{resampled, run_all};
use whimbrel_study::table_file::{self, Format, TableFile};
use whimbrel_units::Duration;

/// Maximum number of samples of a flow or link in a run.
const MAX_SAMPLES: u64 = 1_000_000;
/// Minimum time between samples.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// Which results to save, and how.
#[derive(clap::Args)]
pub struct SaveArgs {
    /// Save results as CSV or Parquet, chosen by the extension; may be repeated
    ///
    /// FILE alone saves a row for each flow of each run. TABLE=FILE saves another table: runs,
    /// flows, paths, streams, links, destinations, and over time samples, link-samples,
    /// destination-samples, episodes (of loss). Columns have the names of --json, joined by `_`.
    /// Swept keys are columns, too, with another column in base units: link.L.loss_ratio is 0.01
    /// for `1 %`. docs/reference/formats.md lists all columns and shows how to read the files with
    /// DuckDB and pandas.
    #[arg(long = "save", value_name = "[TABLE=]FILE.csv|.parquet", value_parser = file_to_save)]
    save: Vec<TableFile<Table>>,
    /// Save one run in the format of `iperf3 -J`
    ///
    /// The scenario must have one combination; its first seed is saved. What a simulation does not
    /// have (hosts, dates, processors) is left out.
    #[arg(long, value_name = "FILE.json")]
    iperf3: Option<PathBuf>,
    /// Time between samples of --save [default: the scenario's `sample`, or 100 ms] and between
    /// reports of --iperf3 [default: 1 s]
    #[arg(long, value_name = "TIME", value_parser = interval)]
    interval: Option<Duration>,
}

impl SaveArgs {
    /// Whether anything is to be saved.
    pub fn any(&self) -> bool {
        !self.save.is_empty() || self.iperf3.is_some()
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let time: Duration = text
        .parse()
        .map_err(|e: whimbrel_units::ParseError| e.to_string())?;
    if time < MIN_INTERVAL {
        return Err(format!("must be at least {MIN_INTERVAL}"));
    }
    Ok(time)
}

/// Reads the value of `--save`.
fn file_to_save(text: &str) -> Result<TableFile<Table>, String> {
    TableFile::parse(text, Table::Flows, &[Format::Csv, Format::Parquet])
}

/// Open files, to be written when the runs are done.
pub struct Saving<'a> {
    args: &'a SaveArgs,
    tables: Vec<(&'a TableFile<Table>, AtomicFile)>,
    iperf3: Option<(Job<'a>, AtomicFile)>,
}

impl<'a> Saving<'a> {
    /// Opens all files, so that an error appears before long work begins.
    ///
    /// # Errors
    /// If a file cannot be written, or the options do not fit the scenario.
    pub fn open(
        args: &'a SaveArgs,
        scenario: &'a Scenario,
        selection: Selection,
    ) -> anyhow::Result<Self> {
        if args.interval.is_some() && args.iperf3.is_none() && !args.wants_samples() {
            return Err(BadInput::new(
                "--interval needs a file with samples: add --save samples=FILE or --iperf3 FILE",
            )
            .into());
        }
        let longest = scenario.points().iter().map(Point::duration).max();
        if let (Some(interval), Some(longest)) = (args.interval, longest)
            && longest.as_nanos() / interval.as_nanos().max(1) > MAX_SAMPLES
        {
            return Err(BadInput::new(format!(
                "--interval {interval} gives more than {MAX_SAMPLES} samples in a run of {longest}: \
                 choose a longer interval"
            ))
            .into());
        }
        if let Some(path) = &args.iperf3
            && args.save.iter().any(|save| save.path == *path)
        {
            return Err(BadInput::new(format!(
                "{} is saved twice: choose different files",
                path.display()
            ))
            .into());
        }
        let iperf3 = match &args.iperf3 {
            Some(path) => Some((measured(scenario, selection)?, AtomicFile::open(path)?)),
            None => None,
        };
        Ok(Self {
            args,
            tables: table_file::open(&args.save)?,
            iperf3,
        })
    }

    /// Writes all files. `runs` are all runs of the scenario. Tables over time that need other
    /// samples than the scenario sets come from another run, so that the printed results do not
    /// change.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(
        self,
        scenario: &Scenario,
        runs: &[Run<'_>],
        subject: &Subject<'_>,
        threads: Option<NonZeroUsize>,
    ) -> anyhow::Result<()> {
        let mut made = provenance::of_file();
        made.push(Fact::new("scenario", subject.text));
        let resampled = self
            .args
            .wants_samples()
            .then(|| resampled(scenario, self.args.interval))
            .flatten();
        let again = match &resampled {
            Some(scenario) => run_all(&sweep::jobs(scenario.points()), threads, &Bar::new())?,
            None => Vec::new(),
        };
        for (save, file) in self.tables {
            let of_samples = save.table.is_of_samples() && resampled.is_some();
            let frame = Frame::new(save.table, if of_samples { &again } else { runs });
            table_file::write(file, save.format, &frame, &made)?;
        }
        if let Some((job, file)) = self.iperf3 {
            iperf3::write(file, &job, self.args.interval, subject.title)?;
        }
        Ok(())
    }
}

impl SaveArgs {
    fn wants_samples(&self) -> bool {
        self.save.iter().any(|save| save.table.is_of_samples())
    }
}

/// The run that `--iperf3` saves.
fn measured(scenario: &Scenario, selection: Selection) -> Result<Job<'_>, BadInput> {
    let job = single_run::only(scenario, selection, "--iperf3")?;
    let controlled = iperf3::has_controller(&job);
    controlled.then_some(job).ok_or_else(|| {
        BadInput::new("--iperf3 needs a TCP or AATP flow, but the scenario has none")
    })
}
