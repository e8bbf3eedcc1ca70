//! `--trace`: one run of `sim` or `compare`, packet by packet, in files that other programs read.

use crate::failure::BadInput;
use anyhow::Context;
use clap::ValueEnum;
use std::fs::Permissions;
use std::io::{self, BufWriter};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use whimbrel_report::trace::{self, Dialect, TraceError, Vantage};
use whimbrel_sim::scenario::{Point, Scenario};

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

    fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// A file beside it that takes its place when it is whole.
    fn aside(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new()
            .prefix(".whimbrel-trace-")
            // Less what the user's mask forbids, as for any file.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(self.folder())
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

/// How a command takes a value that makes a sweep one run.
#[derive(Clone, Copy)]
pub enum Fix {
    /// By a key of the scenario: `--set link.L.loss='1 %'`.
    Set,
    /// By flags of its own: keys of the scenario, and the flags that they have.
    Flags(&'static [(&'static str, &'static str)]),
}

impl TraceArgs {
    /// Before anything is run: whether a trace can be written, if one is asked for.
    ///
    /// # Errors
    /// If the scenario is more than one run, or a file cannot be made.
    pub fn check(&self, scenario: &Scenario, fix: Fix) -> anyhow::Result<()> {
        if self.files.is_empty() {
            return Ok(());
        }
        let points = scenario.points();
        if points.len() > 1 {
            return Err(BadInput::new(several(points, fix)).into());
        }
        for file in &self.files {
            file.aside().with_context(|| {
                format!(
                    "cannot write {}: no file can be made there",
                    file.path.display()
                )
            })?;
        }
        Ok(())
    }

    /// Writes what is asked for.
    ///
    /// # Errors
    /// If a file cannot be written, or the run is too long for a trace.
    pub fn write(&self, scenario: &Scenario) -> anyhow::Result<()> {
        let [point] = scenario.points() else {
            return Ok(());
        };
        for file in &self.files {
            self.write_one(file, point)
                .with_context(|| format!("cannot write {}", file.path.display()))?;
        }
        Ok(())
    }

    fn write_one(&self, file: &TraceFile, point: &Point) -> anyhow::Result<()> {
        let Some(seed) = point.seeds().first() else {
            return Ok(());
        };
        let network = point.network(*seed);
        let flows = network.flows.len();
        let mut asides = Vec::new();
        match file.format {
            Format::Pcapng => {
                let mut aside = file.aside()?;
                let out = BufWriter::new(aside.as_file_mut());
                trace::pcapng(&network, self.at.into(), out).map_err(bad_input)?;
                asides.push((aside, file.path.clone()));
            }
            Format::Qlog(dialect) => {
                let open = |flow| {
                    let aside = file.aside()?;
                    let out = BufWriter::new(aside.reopen()?);
                    asides.push((aside, file.of_flow(flow, flows)));
                    Ok(out)
                };
                trace::qlog(&network, self.at.into(), dialect, open).map_err(bad_input)?;
            }
        }
        for (aside, path) in asides {
            aside.persist(path)?;
        }
        Ok(())
    }
}

/// What is too large for a trace is for the user to mend; what cannot be written is not.
fn bad_input(error: TraceError) -> anyhow::Error {
    match error {
        TraceError::Write(error) => error.into(),
        other => BadInput::new(other).into(),
    }
}

/// A sweep is not one run: which values to choose.
fn several(points: &[Point], fix: Fix) -> String {
    let mut choices: Vec<(&str, Vec<String>)> = Vec::new();
    for parameter in points.iter().flat_map(Point::parameters) {
        let value = parameter.value.to_string();
        match choices.iter_mut().find(|(key, _)| *key == parameter.key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => choices.push((&parameter.key, vec![value])),
        }
    }
    choices.retain(|(_, values)| values.len() > 1);
    let choose = |(key, values): &(&str, Vec<String>)| {
        let value = &values[0];
        match fix {
            Fix::Set => format!("--set {key}='{value}'"),
            Fix::Flags(flags) => match flags.iter().find(|(of, _)| of == key) {
                // It is given as a round trip, and the scenario has the delay of each direction.
                Some((_, "--rtt")) => "--rtt with one value".to_owned(),
                Some((_, flag)) => format!("{flag} '{value}'"),
                None => format!("one value of {key}"),
            },
        }
    };
    let chosen: Vec<String> = choices.iter().map(choose).collect();
    format!(
        "a trace is of one run, and there are {} combinations; choose one, e.g. {}",
        points.len(),
        chosen.join(" ")
    )
}
