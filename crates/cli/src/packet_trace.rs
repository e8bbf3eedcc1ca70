//! `--trace` of `sim` and `compare`: one run packet by packet, in files for other programs.

use crate::atomic_file;
use clap::ValueEnum;
use whimbrel_report::trace::Vantage;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep::Job;
use whimbrel_study::single_run::{self, Selection};
use whimbrel_study::trace_file::TraceFile;

/// Which traces to write.
#[derive(clap::Args)]
pub struct TraceArgs {
    /// Write one run packet by packet, with the true cause of each loss; may be repeated
    ///
    /// The extension chooses the format: .pcapng (for Wireshark), .sqlog (qlog) or .qlog (qlog 0.3,
    /// for qvis). The scenario must have one combination; its first seed is traced.
    #[arg(long = "trace", value_name = "FILE", value_parser = str::parse::<TraceFile>)]
    files: Vec<TraceFile>,
    /// The end of the flows at which the trace is taken
    #[arg(
        long = "trace-at",
        value_enum,
        default_value = "sender",
        requires = "files"
    )]
    at: At,
}

/// The end of the flows at which a trace is taken.
#[derive(Clone, Copy, ValueEnum)]
enum At {
    /// Data when it is sent, acknowledgments when they arrive
    Sender,
    /// Data when it arrives, acknowledgments when they are sent
    Receiver,
}

impl From<At> for Vantage {
    fn from(at: At) -> Self {
        match at {
            At::Sender => Self::Sender,
            At::Receiver => Self::Receiver,
        }
    }
}

impl TraceArgs {
    /// The run to trace, if the user requested a trace. Call it before any run.
    ///
    /// # Errors
    /// If the scenario has several combinations, or a file cannot be written.
    pub fn check<'a>(
        &self,
        scenario: &'a Scenario,
        selection: Selection,
    ) -> anyhow::Result<Option<Job<'a>>> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let job = single_run::only(scenario, selection, "--trace")?;
        for file in &self.files {
            atomic_file::check(file.path())?;
        }
        Ok(Some(job))
    }

    /// Writes the traces of the run that [`check`](Self::check) returned.
    ///
    /// # Errors
    /// If a file cannot be written, or the run is too long for a trace.
    pub fn write(&self, job: &Job<'_>) -> Result<(), whimbrel_study::Error> {
        let network = job.point.network(job.seed);
        let mut files = self.files.iter();
        files.try_for_each(|file| file.write(&network, self.at.into()))
    }
}
