//! `--trace`: one run of `sim` or `compare`, packet by packet, in files that other programs read.

use crate::aside::{self, Aside};
use crate::failure::BadInput;
use crate::one_run::{self, Fix};
use anyhow::Context;
use clap::ValueEnum;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use whimbrel_report::trace::{self, Dialect, TraceError, Vantage};
use whimbrel_sim::Network;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep::Job;

/// What to write of a run's packets.
#[derive(clap::Args)]
pub struct TraceArgs {
    /// Write a run packet by packet, with the truth about each loss: .pcapng for Wireshark, .sqlog for qlog's tools, .qlog for
    /// qvis. Of one combination, with its first seed. May be given several times
    #[arg(long = "trace", value_name = "FILE", value_parser = TraceFile::parse)]
    files: Vec<TraceFile>,
    /// At which end of the flows a trace is taken
    #[arg(
        long = "trace-at",
        value_enum,
        default_value = "sender",
        requires = "files"
    )]
    at: At,
}

/// At which end a trace is taken.
#[derive(Clone, Copy, ValueEnum)]
enum At {
    /// Data as it leaves, acknowledgments as they come
    Sender,
    /// Data as it comes, acknowledgments as they leave
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

/// A file that is asked for.
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
                return Err("old pcap has no room for comments, where the truth about losses stands; write .pcapng".to_owned());
            }
            _ => {
                return Err("the ending says what is written: .pcapng (for Wireshark), .sqlog (qlog) or .qlog (qlog 0.3, for \
                     qvis)".to_owned());
            }
        };
        Ok(Self { path, format })
    }

    /// Where the log of a flow goes, of so many.
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
    /// Before anything is run: the run that a trace is of, if one is asked for and can be written.
    ///
    /// # Errors
    /// If the scenario is more than one run, or a file cannot be made.
    pub fn check<'a>(&self, scenario: &'a Scenario, fix: Fix) -> anyhow::Result<Option<Job<'a>>> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let job = one_run::only(scenario, fix, "--trace")?;
        for file in &self.files {
            aside::check(&file.path)?;
        }
        Ok(Some(job))
    }

    /// Writes what is asked for, of the run that [`check`](Self::check) gave.
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
        let mut asides = Vec::new();
        let written = match file.format {
            Format::Pcapng => {
                let mut aside = Aside::open(&file.path)?;
                let written = trace::pcapng(network, self.at.into(), aside.writer());
                asides.push(aside);
                written
            }
            Format::Qlog(dialect) => {
                let open = |flow| {
                    let aside =
                        Aside::open(&file.of_flow(flow, flows)).map_err(io::Error::other)?;
                    let out = BufWriter::new(aside.handle()?);
                    asides.push(aside);
                    Ok(out)
                };
                trace::qlog(network, self.at.into(), dialect, open)
            }
        };
        written
            .map_err(bad_input)
            .with_context(|| format!("cannot write {}", file.path.display()))?;
        asides.into_iter().try_for_each(Aside::keep)
    }
}

/// What is too large for a trace is for the user to mend; what cannot be written is not.
fn bad_input(error: TraceError) -> anyhow::Error {
    match error {
        TraceError::Write(error) => error.into(),
        other => BadInput::new(other).into(),
    }
}
