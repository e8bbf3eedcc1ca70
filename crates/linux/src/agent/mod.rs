//! Answers events: a thread that reads the ring, feeds each connection's adapter, writes commands
//! and the heartbeat, and records what happened.

use crate::connection::Connection;
use crate::datapath::Datapath;
use crate::error::LinuxError;
use crate::options::Options;
use whimbrel_units::Duration;

/// The thread that answers a datapath's events.
#[derive(Debug)]
pub struct Agent {}

/// What happened so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// The connections, in the order in which they began. If there were more than
    /// [`Agent::MAX_CONNECTIONS`], those that ended first are missing.
    pub connections: Vec<Connection>,
    /// Connections in all.
    pub total: u64,
    /// Events that the kernel wrote.
    pub events: u64,
    /// Events lost because the ring was full.
    pub dropped_events: u64,
    /// Connections that went to the fallback algorithm.
    pub fallbacks: u64,
    /// Windows or rates that the kernel's half clamped.
    pub clamped: u64,
    /// Time from an event to its command in shared memory: median.
    pub answer_p50: Duration,
    /// The same, 99th percentile.
    pub answer_p99: Duration,
    /// CPU time of the thread.
    pub cpu: Duration,
    /// Whether the thread has real-time priority.
    pub real_time: bool,
}

impl Agent {
    /// Maximum number of connections in a report.
    pub const MAX_CONNECTIONS: usize = 10_000;

    /// Starts the thread.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(datapath: Datapath, options: Options) -> Result<Self, LinuxError> {
        let _ = (datapath, options);
        todo!()
    }

    /// The datapath, to choose more connections.
    pub fn datapath(&self) -> &Datapath {
        todo!()
    }

    /// What happened so far, without samples.
    pub fn report(&self) -> Report {
        todo!()
    }

    /// The number of connections that still have unacknowledged data.
    pub fn unfinished(&self) -> usize {
        todo!()
    }

    /// Stops the thread and returns everything, samples included. Connections that are still open
    /// go to the fallback algorithm within [`Options::silence`].
    pub fn finish(self) -> Report {
        todo!()
    }
}
