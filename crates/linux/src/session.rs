//! One use of an algorithm from start to end: a program whose connections are controlled, or a
//! service until a signal.

use crate::command::{self, NotStarted, Received, Signals};
use crate::status::{Instance, Server};
use crate::{Agent, Cgroup, Ended, LinuxError, Selection};
use nix::sys::signal::Signal;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;
use whimbrel_units::Duration;

/// After this time, [`News::Waiting`] is reported.
const EXPLAIN: Duration = Duration::from_millis(500);
/// Time between two checks for unacknowledged data.
const CHECK: std::time::Duration = std::time::Duration::from_millis(50);

/// Whose connections are controlled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Those of this command, which runs in a cgroup of its own.
    Command(Vec<OsString>),
    /// The new ones of an existing cgroup, such as a running service's.
    Service {
        /// The cgroup.
        cgroup: PathBuf,
        /// Its path as the user wrote it.
        written: PathBuf,
    },
}

impl Subject {
    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::Service { written, .. } => written.display().to_string(),
            Self::Command(words) => {
                let words = words.iter().map(|word| word.to_string_lossy());
                words.collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// What happens during a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News<'a> {
    /// Another instance controls connections of the same cgroup; those that it chooses stay with
    /// it.
    Shared,
    /// The new connections of this cgroup are controlled, until a signal.
    Controlling(&'a Path),
    /// The command has ended, and so many connections have unacknowledged data.
    Waiting(usize),
}

/// Why a session failed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The command could not be started.
    #[error(transparent)]
    NotStarted(#[from] NotStarted),
    /// The connections cannot be controlled.
    #[error(transparent)]
    Linux(#[from] LinuxError),
    /// The kernel refused a call.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// One use of an algorithm.
#[derive(Debug)]
pub struct Session<'a> {
    /// Whose connections.
    pub subject: Subject,
    /// Which of them.
    pub selection: Selection,
    /// How long unacknowledged data is waited for after the command has ended.
    pub linger: Duration,
    /// The algorithm, as the status shows it.
    pub controller: String,
    /// The kernel's algorithm that takes over.
    pub fallback: String,
    /// Signals to this process.
    pub signals: &'a Signals,
    /// When it began.
    pub begin: Instant,
}

impl Session<'_> {
    /// Runs to the end of the command, or until a signal.
    ///
    /// # Errors
    /// If the connections cannot be chosen, or the command cannot be started.
    pub fn run(&self, agent: &Agent, news: impl Fn(News<'_>)) -> Result<Ended, SessionError> {
        let cgroup = match &self.subject {
            Subject::Command(_) => Cgroup::New,
            Subject::Service { cgroup, .. } => Cgroup::Existing(cgroup.clone()),
        };
        let chosen = agent.datapath().choose(&cgroup, &self.selection)?;
        if chosen.is_shared() {
            news(News::Shared);
        }
        let directory = chosen.directory().to_owned();
        let instance = Instance {
            controller: self.controller.clone(),
            fallback: self.fallback.clone(),
            what: self.subject.words(),
            begin: self.begin,
        };
        std::thread::scope(|scope| {
            let _server = Server::start(scope, instance, || agent.report())?;
            let status = match &self.subject {
                Subject::Command(words) => {
                    let child = command::start(words, &directory, self.signals)?;
                    Some(command::attend(child, self.signals)?)
                }
                Subject::Service { cgroup, .. } => {
                    news(News::Controlling(cgroup));
                    self.until_stopped()?;
                    None
                }
            };
            let elapsed = self.begin.elapsed().into();
            // The connections of a service go on; those of a command end.
            let unfinished = match status {
                Some(_) => self.linger(agent, &news)?,
                None => 0,
            };
            Ok(Ended {
                status,
                elapsed,
                unfinished,
            })
        })
    }

    /// Waits for Ctrl-C.
    fn until_stopped(&self) -> io::Result<()> {
        loop {
            if let Some(Received::End(..)) = self.signals.wait(None)? {
                return Ok(());
            }
        }
    }

    /// Waits until all data is acknowledged: a closed socket still sends what it holds. Returns the
    /// number of connections that have not finished.
    fn linger(&self, agent: &Agent, news: &impl Fn(News<'_>)) -> io::Result<usize> {
        let begin = Instant::now();
        let mut explained = false;
        loop {
            let unfinished = agent.unfinished();
            let waited = Duration::from(begin.elapsed());
            if unfinished == 0 || waited >= self.linger {
                return Ok(unfinished);
            }
            if !explained && waited >= EXPLAIN {
                explained = true;
                news(News::Waiting(unfinished));
            }
            match self.signals.wait(Some(CHECK))? {
                Some(Received::End(Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP, _)) => {
                    return Ok(unfinished);
                }
                _ => continue,
            }
        }
    }
}
