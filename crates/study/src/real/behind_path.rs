//! Programs behind an emulated path, as `whimbrel link` runs them: with logs, and with one of
//! Whimbrel's algorithms on their TCP.

use super::algorithm::{Congestion, Ended, Registered};
use super::emulated::Topology;
use super::tcp_ended;
use super::{path_table, topology_json, topology_tables};
use crate::{BadInput, Error, atomic_file};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use whimbrel_link::{
    Capture, IntervalLog, LinkError, LossLog, Observer, Options, PathReport, PathSpec, Prepared,
    Program,
};
use whimbrel_linux::LinuxError;
use whimbrel_units::Duration;

/// What runs, on which path.
#[derive(Debug)]
pub struct Request {
    /// The nodes, what runs at each, and what observes the path.
    pub options: Options,
    /// The path of each link.
    pub paths: Vec<PathSpec>,
    /// The topology, if the nodes have names.
    pub topology: Option<Topology>,
    /// The TCP congestion control of all nodes.
    pub congestion: Congestion,
    /// Files to write.
    pub files: Files,
}

/// The files of a run; they must not exist as anything but such outputs.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// The statistics of the path and the connections as JSON.
    pub json: Option<PathBuf>,
    /// Rate, queue, waiting time and losses of each direction over time as CSV.
    pub csv: Option<PathBuf>,
    /// Time between the lines of the CSV file.
    pub every: Duration,
    /// Each packet as pcapng.
    pub pcap: Option<PathBuf>,
    /// Each lost UDP datagram as CSV, with the cause.
    pub lost: Option<PathBuf>,
}

/// Why programs did not run behind a path.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The path or a command could not be started.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The algorithm could not be started.
    #[error(transparent)]
    Linux(#[from] LinuxError),
}

/// What ends a log, and the path of its file.
type Log = (Box<dyn Fn() -> io::Result<()>>, PathBuf);

/// All that a run needs; no program runs, and the process has no further thread yet.
pub struct Ready {
    options: Options,
    paths: Vec<PathSpec>,
    topology: Option<Topology>,
    registered: Option<Registered>,
    json: Option<(File, PathBuf)>,
    logs: Vec<Log>,
}

impl Request {
    /// Opens the files, so that an error appears before hours of running, and registers the
    /// algorithm with the kernel.
    ///
    /// # Errors
    /// If a file cannot be written, or the algorithm cannot run on this system's TCP.
    pub fn ready(self) -> Result<Ready, Error> {
        let Self {
            mut options,
            paths,
            topology,
            congestion,
            files,
        } = self;
        if let (Congestion::Whimbrel(spec), Some(_)) = (&congestion, &topology) {
            return Err(BadInput::new(format!(
                "{spec}: in a topology only an algorithm of the kernel's own can control TCP"
            ))
            .into());
        }
        let json = files.json.as_deref().map(create).transpose()?;
        let mut logs: Vec<Log> = Vec::new();
        let mut observers: Vec<Arc<dyn Observer>> = Vec::new();
        if let Some((file, path)) = files.lost.as_deref().map(create).transpose()? {
            let log = Arc::new(LossLog::new(file));
            observers.push(Arc::clone(&log) as _);
            logs.push((Box::new(move || log.finish()), path));
        }
        if let Some((file, path)) = files.csv.as_deref().map(create).transpose()? {
            let log = Arc::new(IntervalLog::new(file, files.every));
            observers.push(Arc::clone(&log) as _);
            logs.push((Box::new(move || log.finish()), path));
        }
        if let Some((file, path)) = files.pcap.as_deref().map(create).transpose()? {
            let log = Arc::new(Capture::new(file).map_err(Error::writing(&path))?);
            observers.push(Arc::clone(&log) as _);
            logs.push((Box::new(move || log.finish()), path));
        }
        let registered = register(congestion, &mut options)?;
        options.observers.extend(observers);
        Ok(Ready {
            options,
            paths,
            topology,
            registered,
            json,
            logs,
        })
    }
}

/// A file that is written from here on.
fn create(path: &Path) -> Result<(File, PathBuf), Error> {
    atomic_file::check(path)?;
    let file = File::create(path).map_err(|e| BadInput::new(format!("{}: {e}", path.display())))?;
    Ok((file, path.to_owned()))
}

/// Sets the congestion control of all nodes. Registers it with the kernel if it is Whimbrel's.
fn register(congestion: Congestion, options: &mut Options) -> Result<Option<Registered>, Error> {
    match congestion {
        Congestion::Host => Ok(None),
        Congestion::Kernel(name) => {
            options.congestion = Some(name);
            Ok(None)
        }
        Congestion::Whimbrel(spec) => {
            let what = format!("`{spec}` cannot run on Linux TCP");
            let registered = Registered::new(spec, options);
            Ok(Some(
                registered.map_err(|error| Error::failed(what, error))?,
            ))
        }
    }
}

impl Ready {
    /// The nodes, and what runs at each.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Shows the path to one more observer.
    pub fn observe(&mut self, observer: Arc<dyn Observer>) {
        self.options.observers.push(observer);
    }

    /// Makes the namespaces, and starts all programs but COMMAND. From here on the process may have
    /// threads.
    ///
    /// # Errors
    /// If the system does not allow it, or a program cannot be started.
    pub fn prepare(self, command: Vec<OsString>) -> Result<Waiting, LinkError> {
        let prepared = Prepared::new(&Program::Command(command), &self.options)?;
        Ok(Waiting {
            ready: self,
            prepared,
        })
    }
}

/// Programs that wait for COMMAND.
pub struct Waiting {
    ready: Ready,
    prepared: Prepared,
}

impl Waiting {
    /// Runs COMMAND to its end.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run(self) -> Result<Outcome, RunError> {
        let Self {
            mut ready,
            prepared,
        } = self;
        let registered = ready.registered.take();
        let running = registered.map(Registered::start).transpose()?;
        let report = prepared.run_all(&ready.paths)?;
        let ended = running.map(|running| running.finish(report.elapsed));
        Ok(Outcome {
            report,
            ended,
            topology: ready.topology,
            json: ready.json,
            logs: ready.logs,
        })
    }
}

/// What happened on the path.
pub struct Outcome {
    /// The statistics of the path, and the exit status of COMMAND.
    pub report: PathReport,
    ended: Option<Ended>,
    topology: Option<Topology>,
    json: Option<(File, PathBuf)>,
    logs: Vec<Log>,
}

impl Outcome {
    /// The tables of the path, and of connections under Whimbrel's algorithms.
    pub fn text(&self) -> String {
        let mut text = match &self.topology {
            Some(topology) => topology_tables(&self.report, topology),
            None => path_table(&self.report),
        };
        if let Some(ended) = &self.ended {
            text += &format!("\n{}", tcp_ended::text(ended, self.report.status));
        }
        text
    }

    /// The same as JSON.
    pub fn json(&self) -> Value {
        let mut value = match &self.topology {
            Some(topology) => topology_json(&self.report, topology),
            None => self.report.json(),
        };
        if let Some(ended) = &self.ended {
            value["tcp"] = tcp_ended::json(ended, self.report.status);
        }
        value
    }

    /// Completes the files.
    ///
    /// # Errors
    /// If one could not be written; names it.
    pub fn finish(self) -> Result<(), Error> {
        let failed = |path: &Path| {
            let name = path.display().to_string();
            move |error: io::Error| Error::failed(name, error)
        };
        if let Some((file, path)) = &self.json {
            let mut file: &File = file;
            writeln!(file, "{:#}", self.json()).map_err(failed(path))?;
        }
        for (finish, path) in &self.logs {
            finish().map_err(failed(path))?;
        }
        Ok(())
    }
}
