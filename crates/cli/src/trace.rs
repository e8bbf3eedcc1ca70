//! `--trace` of `sim` and `compare`: one run packet by packet, in files for other programs.

use crate::atomic_file::{self, AtomicFile};
use crate::failure::BadInput;
use crate::single_run::{self, Selection};
use anyhow::Context;
use clap::ValueEnum;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use whimbrel_report::trace::{self, Dialect, TraceError, Vantage};
use whimbrel_sim::Network;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep::Job;

/// Which traces to write.
#[derive(clap::Args)]
pub struct TraceArgs {
    /// Write one run packet by packet, with the true cause of each loss; may be repeated
    ///
    /// The extension chooses the format: .pcapng (for Wireshark), .sqlog (qlog) or .qlog (qlog 0.3,
    /// for qvis). The scenario must have one combination; its first seed is traced.
    #[arg(long = "trace", value_name = "FILE", value_parser = TraceFile::parse)]
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

/// A trace file.
#[derive(Clone)]
struct TraceFile {
    path: PathBuf,
    format: Format,
}

#[derive(Clone, Copy)]
enum Format {
    Pcapng,
    Qlog(Dialect),
}

impl TraceFile {
    fn parse(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let ending = path.extension().and_then(|ending| ending.to_str());
        let format = match ending {
            Some("pcapng") => Format::Pcapng,
            Some("sqlog") => Format::Qlog(Dialect::Current),
            Some("qlog") => Format::Qlog(Dialect::Older),
            Some("pcap") => {
                return Err(
                    "the old pcap format has no comments, which state the true cause of \
                            each loss; use .pcapng"
                        .to_owned(),
                );
            }
            _ => {
                return Err(
                    "the extension must be .pcapng (for Wireshark), .sqlog (qlog) or .qlog \
                            (qlog 0.3, for qvis); the recorded rate of a path is `compare \
                            --rate-trace FILE`"
                        .to_owned(),
                );
            }
        };
        Ok(Self { path, format })
    }

    /// The path of the log of one of the flows.
    fn of_flow(&self, flow: usize, flows: usize) -> PathBuf {
        if flows == 1 {
            return self.path.clone();
        }
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let ending = self.path.extension().unwrap_or_default().to_string_lossy();
        self.path
            .with_file_name(format!("{stem}-{}.{ending}", flow + 1))
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
            atomic_file::check(&file.path)?;
        }
        Ok(Some(job))
    }

    /// Writes the traces of the run that [`check`](Self::check) returned.
    ///
    /// # Errors
    /// If a file cannot be written, or the run is too long for a trace.
    pub fn write(&self, job: &Job<'_>) -> anyhow::Result<()> {
        let network = job.point.network(job.seed);
        for file in &self.files {
            self.write_one(file, &network)?;
        }
        Ok(())
    }

    fn write_one(&self, file: &TraceFile, network: &Network) -> anyhow::Result<()> {
        let flows = network.flows.len();
        let mut files = Vec::new();
        let written = match file.format {
            Format::Pcapng => {
                let mut open = AtomicFile::open(&file.path)?;
                let written = trace::pcapng(network, self.at.into(), open.writer());
                files.push(open);
                written
            }
            Format::Qlog(dialect) => {
                let open = |flow| {
                    let path = file.of_flow(flow, flows);
                    let file = AtomicFile::open(&path).map_err(io::Error::other)?;
                    let out = BufWriter::new(file.handle()?);
                    files.push(file);
                    Ok(out)
                };
                trace::qlog(network, self.at.into(), dialect, open)
            }
        };
        written
            .map_err(bad_input)
            .with_context(|| format!("cannot write {}", file.path.display()))?;
        Ok(files.into_iter().try_for_each(AtomicFile::keep)?)
    }
}

/// A run that is too large for a trace is wrong input; a file that cannot be written is not.
fn bad_input(error: TraceError) -> anyhow::Error {
    match error {
        TraceError::Write(error) => error.into(),
        other => BadInput::new(other).into(),
    }
}
