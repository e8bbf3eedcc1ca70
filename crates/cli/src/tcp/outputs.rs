//! Flags of the files with the time line of the connections: CSV, qlog, and a page.

use std::path::PathBuf;
use whimbrel_study::Error;
use whimbrel_study::atomic_file;
use whimbrel_study::tcp::{ConnectionsPage, logs, time_line};

/// Files with the time line of the connections.
#[derive(Default, clap::Args)]
pub struct OutputArgs {
    /// Write the state of each connection over time as CSV
    #[arg(long, value_name = "FILE.csv", help_heading = "Time line")]
    pub time_line: Option<PathBuf>,
    /// Write it as qlog, a file DIR/*.sqlog for each connection
    #[arg(long, value_name = "DIR", help_heading = "Time line")]
    pub qlog: Option<PathBuf>,
    /// Write a page with figures over time
    #[arg(long, value_name = "FILE.html", help_heading = "Time line")]
    pub report: Option<PathBuf>,
}

impl OutputArgs {
    /// Whether any file needs samples.
    pub fn any(&self) -> bool {
        self.time_line.is_some() || self.qlog.is_some() || self.report.is_some()
    }

    /// Checks that the files can be written, before long work begins.
    ///
    /// # Errors
    /// If one cannot.
    pub fn check(&self) -> anyhow::Result<()> {
        for path in [&self.time_line, &self.report].into_iter().flatten() {
            atomic_file::check(path)?;
        }
        if let Some(folder) = &self.qlog {
            atomic_file::check_folder(folder)?;
        }
        Ok(())
    }

    /// Writes the files. Returns lines about what they leave out.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn write(&self, page: &ConnectionsPage<'_>) -> Result<Vec<String>, Error> {
        let report = page.summary.report;
        let mut notes = Vec::new();
        if let Some(path) = &self.time_line {
            atomic_file::write(path, |to| time_line(report, to))?;
        }
        if let Some(folder) = &self.qlog {
            notes.extend(logs(folder, page)?);
        }
        if let Some(path) = &self.report {
            atomic_file::write_page(path, &page.report())?;
        }
        Ok(notes)
    }
}
