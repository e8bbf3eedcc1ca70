//! `--save` and `--iperf3` of `sim` and `compare`: result files for other tools.

use crate::failure::BadInput;
use std::path::PathBuf;
use whimbrel_report::frame::Table;
use whimbrel_study::saved::Wanted;
use whimbrel_study::table_file::{Format, TableFile};
use whimbrel_units::Duration;

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
    /// What to save.
    ///
    /// # Errors
    /// If an interval is given and nothing has samples.
    pub fn wanted(&self) -> Result<Wanted, BadInput> {
        let wanted = Wanted {
            save: self.save.clone(),
            iperf3: self.iperf3.clone(),
            interval: self.interval,
        };
        if wanted.interval.is_some() && wanted.iperf3.is_none() && !wanted.wants_samples() {
            return Err(BadInput::new(
                "--interval needs a file with samples: add --save samples=FILE or --iperf3 FILE",
            ));
        }
        Ok(wanted)
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
