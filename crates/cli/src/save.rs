//! `--save` and `--iperf3` of `sim` and `compare`: result files for other tools.

use crate::atomic_file::AtomicFile;
use crate::failure::BadInput;
use crate::one_run::{self, Fix};
use crate::origin::Origin;
use crate::provenance;
use crate::runs::run_all;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use whimbrel_report::frame::{Frame, Table};
use whimbrel_report::iperf3::Test;
use whimbrel_report::page::Fact;
use whimbrel_sim::scenario::{Point, Scenario};
use whimbrel_sim::sweep::{self, Job, Run};
use whimbrel_units::{Duration, nearest};

/// Why a build cannot write Parquet.
pub const NO_PARQUET: &str = "this build has no Parquet; write .csv, or build with `make full`";
/// Default time between samples.
const SAMPLE: Duration = Duration::from_millis(100);
/// Default time between the reports of `--iperf3`: iperf3's own default.
const IPERF3_INTERVAL: Duration = Duration::from_secs(1);
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
    #[arg(long = "save", value_name = "[TABLE=]FILE.csv|.parquet")]
    save: Vec<Save>,
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

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Parquet,
}

impl Format {
    const ALL: [(&'static str, Self); 2] = [(".csv", Self::Csv), (".parquet", Self::Parquet)];
}

/// The parts of `[TABLE=]FILE`. A path may contain `=`: `./TABLE=FILE` names a file.
pub fn table_and_path(text: &str) -> (Option<&str>, PathBuf) {
    match text.split_once('=') {
        Some((table, path)) if !table.contains(['/', '.']) => (Some(table), path.into()),
        _ => (None, text.into()),
    }
}

/// The format of a file by its extension, in any case.
///
/// # Errors
/// If the extension is unknown; the text names the known ones.
pub fn by_extension<T: Copy>(path: &Path, formats: &[(&str, T)]) -> Result<T, String> {
    let ending = path
        .extension()
        .map(|ending| format!(".{}", ending.to_string_lossy().to_lowercase()));
    let names = || formats.iter().map(|(name, _)| *name);
    let found = formats
        .iter()
        .find(|(name, _)| ending.as_deref() == Some(name));
    found.map(|(_, format)| *format).ok_or_else(|| {
        let near = ending.and_then(|ending| nearest(&ending, names()));
        let meant = near.map_or(String::new(), |near| format!(", did you mean {near}?"));
        let mut all: Vec<&str> = names().collect();
        let last = all.pop().unwrap_or_default();
        format!(
            "the extension of `{}` is not a format{meant}; the extensions are {} and {last}",
            path.display(),
            all.join(", ")
        )
    })
}

/// A table and the file it goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Save {
    table: Table,
    path: PathBuf,
    format: Format,
}

impl FromStr for Save {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (table, path) = table_and_path(text);
        let table = match table {
            Some(table) => table
                .parse()
                .map_err(|e: whimbrel_report::frame::UnknownTable| e.to_string())?,
            None => Table::Flows,
        };
        let format = by_extension(&path, &Format::ALL)?;
        if format == Format::Parquet && !whimbrel_report::PARQUET {
            return Err(NO_PARQUET.to_owned());
        }
        Ok(Self {
            table,
            path,
            format,
        })
    }
}

/// Open files, to be written when the runs are done.
pub struct Saving<'a> {
    args: &'a SaveArgs,
    tables: Vec<(&'a Save, AtomicFile)>,
    iperf3: Option<(Job<'a>, AtomicFile)>,
}

impl<'a> Saving<'a> {
    /// Opens all files, so that an error appears before long work begins.
    ///
    /// # Errors
    /// If a file cannot be written, or the options do not fit the scenario.
    pub fn open(args: &'a SaveArgs, scenario: &'a Scenario, fix: Fix) -> anyhow::Result<Self> {
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
        let paths = args.save.iter().map(|save| &save.path).chain(&args.iperf3);
        let paths: Vec<&PathBuf> = paths.collect();
        for (i, path) in paths.iter().enumerate() {
            if paths[..i].contains(path) {
                let text = format!("{} is saved twice: choose different files", path.display());
                return Err(BadInput::new(text).into());
            }
        }
        let iperf3 = match &args.iperf3 {
            Some(path) => Some((measured(scenario, fix)?, AtomicFile::open(path)?)),
            None => None,
        };
        let open = |save: &'a Save| Ok((save, AtomicFile::open(&save.path)?));
        Ok(Self {
            args,
            tables: args.save.iter().map(open).collect::<anyhow::Result<_>>()?,
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
        origin: &Origin<'_>,
        threads: Option<NonZeroUsize>,
    ) -> anyhow::Result<()> {
        let made = made(origin.text);
        let resampled = self
            .args
            .wants_samples()
            .then(|| self.args.resampled(scenario))
            .flatten();
        let again = match &resampled {
            Some(scenario) => run_all(&sweep::jobs(scenario.points()), threads)?,
            None => Vec::new(),
        };
        for (save, file) in self.tables {
            let of_samples = save.table.is_of_samples() && resampled.is_some();
            let frame = Frame::new(save.table, if of_samples { &again } else { runs });
            file.finish(|to| match save.format {
                Format::Csv => whimbrel_report::csv(&frame, to),
                Format::Parquet => whimbrel_report::parquet(&frame, &made, to),
            })?;
        }
        if let Some((job, file)) = self.iperf3 {
            let length = self.args.interval.unwrap_or(IPERF3_INTERVAL);
            let mut network = job.point.network(job.seed);
            network.sample = Some(length);
            let outcome = whimbrel_sim::run(&network);
            let title = match origin.title {
                "" => format!("seed {}", job.seed),
                title => format!("{title}, seed {}", job.seed),
            };
            let test = Test::of_run(&outcome, length, provenance::VERSION, &title);
            file.finish(|to| {
                serde_json::to_writer_pretty(&mut *to, &test).map_err(io::Error::from)?;
                writeln!(to)
            })?;
        }
        Ok(())
    }
}

impl SaveArgs {
    fn wants_samples(&self) -> bool {
        self.save.iter().any(|save| save.table.is_of_samples())
    }

    /// The scenario with the requested samples; `None` if it already sets them.
    fn resampled(&self, scenario: &Scenario) -> Option<Scenario> {
        let wanted = |point: &Point| self.interval.or(point.sample()).unwrap_or(SAMPLE);
        let points = scenario.points();
        let interval = wanted(points.first()?);
        let has = |point: &Point| point.sample() == Some(wanted(point));
        (!points.iter().all(has)).then(|| {
            let mut scenario = scenario.clone();
            scenario.set_sample(interval);
            scenario
        })
    }
}

/// The run that `--iperf3` saves.
fn measured(scenario: &Scenario, fix: Fix) -> Result<Job<'_>, BadInput> {
    let job = one_run::only(scenario, fix, "--iperf3")?;
    let flows = job.point.flows();
    let controlled = flows
        .iter()
        .any(|flow| flow.count > 0 && flow.controller.is_some());
    controlled.then_some(job).ok_or_else(|| {
        BadInput::new("--iperf3 needs a TCP or AATP flow, but the scenario has none")
    })
}

/// The provenance of the results.
fn made(scenario: &str) -> Vec<Fact> {
    vec![
        Fact::new("version", provenance::VERSION),
        Fact::new("command", provenance::command()),
        Fact::new("scenario", scenario),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_name_may_precede_the_file() {
        let parquet = if whimbrel_report::PARQUET {
            Ok((
                Table::LinkSamples,
                PathBuf::from("/tmp/x=y.PARQUET"),
                Format::Parquet,
            ))
        } else {
            Err(NO_PARQUET.to_owned())
        };
        let save = |text: &str| text.parse::<Save>().map(|s| (s.table, s.path, s.format));
        let path = PathBuf::from;
        assert_eq!(
            save("a.csv"),
            Ok((Table::Flows, path("a.csv"), Format::Csv))
        );
        assert_eq!(save("link-samples=/tmp/x=y.PARQUET"), parquet);
        assert_eq!(
            save("./a=b.csv"),
            Ok((Table::Flows, path("./a=b.csv"), Format::Csv))
        );
    }

    #[test]
    fn a_wrong_extension_or_table_name_reports_the_right_ones() {
        let error = |text: &str| text.parse::<Save>().expect_err("wrong");
        assert!(error("a.cvs").contains("did you mean .csv?"));
        assert!(error("a.parq").contains("did you mean .parquet?"));
        for text in ["a", "a.xlsx", ".csv", ""] {
            assert!(
                error(text).contains("the extensions are .csv and .parquet"),
                "{text}"
            );
        }
        assert!(error("link=a.csv").contains("did you mean `links`?"));
    }
}
