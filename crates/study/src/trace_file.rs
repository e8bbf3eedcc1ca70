//! Traces of one run, packet by packet, as files for other programs.

use crate::atomic_file::AtomicFile;
use crate::{BadInput, Error};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use whimbrel_report::trace::{self, Dialect, TraceError, Vantage};
use whimbrel_sim::Network;

/// A trace file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    path: PathBuf,
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Pcapng,
    Qlog(Dialect),
}

impl FromStr for TraceFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
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
                            (qlog 0.3, for qvis)"
                        .to_owned(),
                );
            }
        };
        Ok(Self { path, format })
    }
}

impl TraceFile {
    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
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

    /// Runs a network, and writes what passes at this end of its flows.
    ///
    /// # Errors
    /// If the file cannot be written, or the run is too long for a trace.
    pub fn write(&self, network: &Network, at: Vantage) -> Result<(), Error> {
        let flows = network.flows.len();
        let mut files = Vec::new();
        let written = match self.format {
            Format::Pcapng => {
                let mut open = AtomicFile::open(&self.path)?;
                let written = trace::pcapng(network, at, open.writer());
                files.push(open);
                written
            }
            Format::Qlog(dialect) => {
                let open = |flow| {
                    let path = self.of_flow(flow, flows);
                    let file = AtomicFile::open(&path).map_err(io::Error::other)?;
                    let out: Box<dyn io::Write> = Box::new(BufWriter::new(file.handle()?));
                    files.push(file);
                    Ok(out)
                };
                trace::qlog(network, at, dialect, open)
            }
        };
        written.map_err(|error| match error {
            TraceError::Write(error) => Error::writing(&self.path)(error),
            // A run that is too large for a trace is wrong input.
            other => BadInput::new(format!("cannot write {}: {other}", self.path.display())).into(),
        })?;
        files.into_iter().try_for_each(AtomicFile::keep)
    }
}
