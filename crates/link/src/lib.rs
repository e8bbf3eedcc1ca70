//! An emulated path for real traffic, between network namespaces.
//!
//! ```text
//!   namespace "near"                the emulator                 namespace "far"
//!   COMMAND  <-> TUN 10.77.0.1  <-> one Link per direction  <->  TUN 10.77.0.2 <-> far command
//! ```
//! [`run`] makes two network namespaces with a TUN device in each and connects them. It reads a
//! packet from one device, gets its fate from [`whimbrel_net::Link::offer`], holds it until it is
//! due, and writes it to the other device. If the queue marks the packet, the mark is set in the
//! packet's header (RFC 3168). On Wi-Fi both directions use one [`whimbrel_net::Wifi`]. The host's
//! own network is never touched.
//!
//! The ends may have several interfaces, `whimbrel0`, `whimbrel1`, ..., each with a path of its
//! own. The far end has one address for all of them: a program that binds to an interface reaches
//! it there. In general a [`Layout`] says which nodes there are and how links connect them; nodes
//! of a topology forward packets, as routers do.
//!
//! Everything vanishes with the process, however it ends: the namespaces and devices have no names
//! and are held by open files alone; the commands run in a PID namespace, whose processes the
//! kernel kills when the emulator dies. One thing takes longer: a connection that its process left
//! with unsent data holds its buffers until TCP gives up, some seconds after the end, or minutes if
//! the emulator was killed.

mod address;
mod both_ways;
mod bulk;
mod capture;
mod clock;
mod direction;
mod ecn;
mod error;
mod flow_queues;
mod held;
mod hosts;
mod init;
mod interval_log;
mod job;
mod json;
mod layout;
mod log_file;
mod loss_log;
mod lost_segments;
mod managed;
mod namespace;
mod netlink;
mod observer;
mod process;
mod program;
mod report;
mod run;
mod sys;
mod tun;
mod waiting;
mod wifi;

pub use address::{FAR, MAX_INTERFACES, NEAR};
pub use capture::Capture;
pub use error::LinkError;
pub use interval_log::IntervalLog;
pub use job::Peer;
pub use layout::{Layout, MAX_LINKS, MAX_NODES};
pub use loss_log::LossLog;
pub use lost_segments::LostSegments;
pub use namespace::kernel_has;
pub use observer::{LossCause, Observer};
pub use process::{Process, Slot};
pub use program::Program;
pub use report::{DirectionReport, Lateness, PathReport};
pub use run::{Options, Prepared, run};

use whimbrel_net::{LinkSpec, WifiSpec};

/// The maximum size of an IP packet on the path, in bytes.
pub const MTU: u32 = 1500;

/// An emulated path: a link for each direction.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSpec {
    /// From the near namespace, where COMMAND runs, to the far one.
    pub forward: LinkSpec,
    /// From the far namespace to the near one.
    pub backward: LinkSpec,
    /// If set, both directions share this channel, with the near end and the far end as its
    /// stations. The `service` of the directions is then not used.
    pub wifi: Option<WifiSpec>,
    /// Further hops between `forward`'s link and the far end, in their order from near to far: each
    /// with its forward and its backward direction.
    pub hops: Vec<[LinkSpec; 2]>,
    /// Decides which packets are lost and corrupted, by their order in each direction. Arrival
    /// times depend on real time, so two runs are similar but not identical.
    pub seed: u64,
}
