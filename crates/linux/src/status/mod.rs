//! The state of running instances, for other processes of this machine.
//!
//! Each instance listens on an abstract Unix socket `@whimbrel-tcp-PID`, which disappears with the
//! process. It answers a connection of the same user or of root with one JSON object and closes it.
//! Abstract sockets belong to a network namespace, and so do the instances that are found.

mod find;
mod server;

pub use crate::record::ConnectionRecord;
pub use find::{Found, instances};
pub use server::{Instance, Server};

use serde::{Deserialize, Serialize};

/// At most this many connections of an instance are reported.
const CONNECTIONS: usize = 200;
/// Maximum size of an answer. It is far above that of a real one.
const MAX_ANSWER: u64 = 1 << 20;
/// The name of an instance's socket, in front of its PID.
const PREFIX: &str = "whimbrel-tcp-";

/// The state of one instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Its process.
    pub pid: u32,
    /// The algorithm.
    pub controller: String,
    /// The kernel's algorithm that takes over when it is silent.
    pub fallback_controller: String,
    /// What it runs, or the cgroup that it controls.
    pub what: String,
    /// Time since it started.
    pub elapsed_s: f64,
    /// Connections so far.
    pub connections_total: u64,
    /// Connections that went to the fallback algorithm.
    pub fallbacks: u64,
    /// Events that found the kernel's buffer full.
    pub dropped_events: u64,
    /// Windows or rates that the kernel's half clamped.
    pub clamped: u64,
    /// The newest connections, those that are still open first.
    pub connections: Vec<ConnectionRecord>,
}
