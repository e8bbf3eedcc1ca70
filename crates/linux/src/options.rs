//! The settings of one instance.

use crate::connection::Addresses;
pub use crate::wire::MAX_RULES;
use std::fmt::Debug;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use whimbrel_cc::{Spec, Verdict};
use whimbrel_units::Duration;

/// The settings of one instance.
#[derive(Debug, Clone)]
pub struct Options {
    /// The congestion control algorithm.
    pub controller: Spec,
    /// The kernel's algorithm that takes over when this process is silent, such as `cubic`.
    pub fallback: String,
    /// The silence after which it takes over.
    pub silence: Duration,
    /// While events are frequent, this process looks at them once in this time, because waking it
    /// for each costs far more than the answer. While they are rare, each wakes it. Zero: each
    /// always does.
    pub wake_interval: Duration,
    /// Request real-time scheduling (`SCHED_FIFO`) for the thread that answers.
    pub real_time: bool,
    /// Interval of the time line; `None` records none.
    pub sampling: Option<Duration>,
    /// Determines the random choices of algorithms that make some.
    pub seed: u64,
    /// Start connections at a rate that the path carried for an earlier one between the same
    /// addresses, within the last day, carefully (RFC 9959).
    pub resume_rate: bool,
    /// Exchange NACKs over network interfaces with these names, at both ends of connections; an
    /// empty list: all that are up but the loopback. `None`: no NACKs.
    pub nack: Option<Vec<String>>,
    /// The path's record of why it dropped packets, if the path is ours.
    pub truth: Option<Arc<dyn Truth>>,
    /// Write all events to this file, to examine them or to test with them: see
    /// [`recording`](crate::recording).
    pub record: Option<PathBuf>,
}

impl Options {
    /// The defaults for an algorithm.
    pub fn new(controller: Spec) -> Self {
        Self {
            controller,
            fallback: "cubic".to_owned(),
            silence: Duration::from_secs(1),
            wake_interval: Duration::from_micros(250),
            real_time: false,
            sampling: None,
            seed: 1,
            resume_rate: false,
            nack: None,
            truth: None,
            record: None,
        }
    }
}

/// A path that knows why it dropped each segment.
pub trait Truth: Debug + Send + Sync {
    /// Why the last transmission of the segment that begins at sequence number `seq` (and ends
    /// before `end`) was dropped on its way from `addresses.local` to `addresses.remote`; `None` if
    /// the path did not drop it.
    fn cause(&self, addresses: &Addresses, seq: u32, end: u32) -> Option<Verdict>;
}

/// Which connections of a cgroup are controlled. An empty list allows everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Local or remote ports, at most [`MAX_RULES`].
    pub ports: Vec<u16>,
    /// Remote networks, at most [`MAX_RULES`].
    pub networks: Vec<Network>,
}

/// A range of addresses: `10.0.0.0/8`, `2001:db8::/32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// Its address.
    pub address: IpAddr,
    /// The number of leading bits that must agree: at most 32 for IPv4, 128 for IPv6.
    pub bits: u8,
}

/// The cgroup whose connections are controlled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cgroup {
    /// A new one below this process's own, for one command. It is removed at the end.
    New,
    /// An existing one, such as a service's: a directory below `/sys/fs/cgroup`.
    Existing(PathBuf),
}
