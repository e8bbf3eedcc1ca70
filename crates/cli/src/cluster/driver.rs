//! The Python process that plays parts on a cluster: `whimbrel._driver`. It gets the job
//! as a line of JSON on stdin, and prints events as lines of JSON. It stops when its stdin closes,
//! so it does not outlive this process, however that ends.

use crate::failure::{BadInput, Stopped};
use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::num::NonZeroUsize;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The variable that names another Python.
const PYTHON: &str = "WHIMBREL_PYTHON";
/// What Python runs. Modules in the current folder are not meant. Not `-m`: Ray would add the
/// folder of the package to the path of the workers, and there is a `ray.py`.
const MAIN: &str = "\
import sys
sys.path = [folder for folder in sys.path if folder]
from whimbrel._driver import main
main()";
/// Time between two looks at signals.
const LOOK: Duration = Duration::from_millis(100);
/// A driver that reports nothing for so long hangs: it reports at least every second.
const SILENCE: Duration = Duration::from_secs(180);
/// Time that a driver has to end its cluster.
const END: Duration = Duration::from_secs(20);
/// Lines of its stderr that are shown if it fails.
const LINES: usize = 15;
/// Maximum length of a line that is read, in bytes.
const MAX_LINE: u64 = 1 << 16;

/// What to play.
#[derive(Serialize)]
pub struct Job<'a> {
    /// The text of the scenario.
    pub text: &'a str,
    /// Its path; absolute, since workers have other current folders.
    pub path: PathBuf,
    /// What overrides it: `KEY=VALUE`.
    pub settings: &'a [String],
    /// Where the parts are; absolute.
    pub folder: &'a Path,
    /// The key of the sweep.
    pub key: String,
    /// Runs of a part.
    pub size: usize,
    /// Of the cluster.
    pub address: Option<&'a str>,
    /// Workers of a cluster that is started here.
    pub workers: Option<NonZeroUsize>,
    /// The source that the workers must be built from.
    pub source: &'a str,
}

/// What a driver reports.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    /// It is alive.
    Alive,
    /// Runs were played and stored.
    Done(usize),
    /// All parts are there.
    End,
    /// It cannot go on; the text says why.
    Error(String),
    /// This package is missing.
    Missing(String),
    /// Its package is built from another source.
    OtherSource,
}

/// A driver that was started. Dropping it ends it.
pub struct Driver {
    python: OsString,
    child: Child,
    /// Open as long as it shall go on.
    stdin: Option<ChildStdin>,
    events: Receiver<Event>,
    errors: Option<JoinHandle<VecDeque<String>>>,
    stopped: Arc<AtomicBool>,
}

impl Driver {
    /// Starts Python.
    ///
    /// # Errors
    /// If there is none.
    pub fn start(job: &Job<'_>) -> anyhow::Result<Self> {
        let python = std::env::var_os(PYTHON).unwrap_or_else(|| OsString::from("python3"));
        let stopped = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The second signal ends this process at once.
            signal_hook::flag::register_conditional_shutdown(
                signal,
                128 + signal,
                Arc::clone(&stopped),
            )
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stopped)))
            .context("cannot handle signals")?;
        }
        let mut child = Command::new(&python)
            .args(["-c", MAIN])
            // Ray adds the current folder to the path of the workers: it must not have modules.
            .current_dir(job.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for this process, which then ends the driver in order.
            .process_group(0)
            .spawn()
            .map_err(|error| {
                BadInput::new(format!(
                    "--engine ray needs Python 3.10 or newer, and `{}` cannot be started \
                     ({error}): install it (Debian: apt-get install python3 python3-pip), or name \
                     another in {PYTHON}",
                    python.to_string_lossy()
                ))
            })?;
        let (sender, events) = channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in lines(stdout) {
                    // Other lines are not for this process.
                    if let Ok(event) = serde_json::from_str(&line)
                        && sender.send(event).is_err()
                    {
                        return;
                    }
                }
            });
        }
        let errors = child.stderr.take().map(|stderr| {
            std::thread::spawn(move || {
                let mut last = VecDeque::new();
                for line in lines(stderr) {
                    if last.len() == LINES {
                        last.pop_front();
                    }
                    last.push_back(line);
                }
                last
            })
        });
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            let line = serde_json::to_string(job)?;
            // A driver that ended already says why on stderr.
            let _ = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
        }
        Ok(Self {
            python,
            child,
            stdin,
            events,
            errors,
            stopped,
        })
    }

    /// Waits until all parts are there. `done` is called with the number of further runs.
    ///
    /// # Errors
    /// If it is stopped by a signal, if the cluster does not start or fails, or if a package is
    /// missing; says what to do.
    pub fn follow(&mut self, mut done: impl FnMut(usize)) -> anyhow::Result<()> {
        let mut heard = Instant::now();
        loop {
            if self.stopped.load(Ordering::Relaxed) {
                return Err(Stopped.into());
            }
            match self.events.recv_timeout(LOOK) {
                Ok(Event::Alive) => {}
                Ok(Event::Done(runs)) => done(runs),
                Ok(Event::End) => return Ok(()),
                Ok(Event::Error(text)) => bail!("{text}"),
                Ok(Event::Missing(package)) => return Err(self.missing(&package)),
                Ok(Event::OtherSource) => return Err(self.other_source()),
                Err(RecvTimeoutError::Timeout) if heard.elapsed() > SILENCE => {
                    bail!("Ray did not answer for {} seconds", SILENCE.as_secs());
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(self.failed()),
            }
            heard = Instant::now();
        }
    }

    fn missing(&self, package: &str) -> anyhow::Error {
        let python = self.python.to_string_lossy();
        let (what, from) = match package {
            "whimbrel" => ("the Python package whimbrel", "'./crates/python[ray]'"),
            other => (other, other),
        };
        let place = match package {
            "whimbrel" => " in the folder of whimbrel's source",
            _ => "",
        };
        BadInput::new(format!(
            "--engine ray needs {what}, and `{python}` has none; install it{place}: `{python} -m \
             pip install {from}`, or name another Python in {PYTHON}"
        ))
        .into()
    }

    fn other_source(&self) -> anyhow::Error {
        let python = self.python.to_string_lossy();
        BadInput::new(format!(
            "the Python package whimbrel is of another version than this command, so its runs \
             could differ; install it from the same source: `{python} -m pip install \
             './crates/python[ray]'`, on all machines of the cluster"
        ))
        .into()
    }

    /// Why it ended without a word.
    fn failed(&mut self) -> anyhow::Error {
        self.stdin = None;
        self.end();
        let lines = self.errors.take().and_then(|thread| thread.join().ok());
        let lines: Vec<String> = lines.unwrap_or_default().into();
        let text = lines.join("\n");
        if text.contains("No module named") && text.contains("whimbrel") {
            return self.missing("whimbrel");
        }
        anyhow!("the Python process of --engine ray ended:\n{text}")
    }

    /// Waits for its end; after a while kills it.
    fn end(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < END {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.stdin = None;
        self.end();
        // From now on the first signal ends this process.
        self.stopped.store(true, Ordering::Relaxed);
    }
}

fn lines(from: impl Read) -> impl Iterator<Item = String> {
    let mut from = BufReader::new(from);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match from.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(1..) => Some(String::from_utf8_lossy(&line).trim_end().to_owned()),
            _ => None,
        }
    })
}
