//! An emulated path for real traffic, between network namespaces.
//!
//! ```text
//!   namespace "near"                the emulator                 namespace "far"
//!   COMMAND  <-> TUN 10.77.0.1  <-> one Link per direction  <->  TUN 10.77.0.2 <-> far command
//! ```
//! [`run`] makes two network namespaces with a TUN device in each, and stands between them: it reads a
//! packet from one device, asks [`whimbrel_net::Link::offer`] what becomes of it, holds it until it is
//! due, and writes it to the other. A queue that marks sets the mark in the packet's own header, if its sender understands
//! marks (RFC 3168). On Wi-Fi both directions ask one [`whimbrel_net::Wifi`]. The host's own network is
//! never touched.
//!
//! Everything vanishes with the process, however it ends: the namespaces and devices have no names and
//! live as long as somebody holds them; the commands run in a PID namespace whose first process
//! the kernel kills when the emulator dies, and all others with it. One thing takes longer: a connection that its process
//! left with unsent data holds its buffers until TCP gives up, some seconds after the end, or minutes if the
//! emulator itself was killed.

mod address;
mod clock;
mod codel;
mod direction;
mod ecn;
mod error;
mod held;
mod init;
mod namespace;
mod netlink;
mod report;
mod run;
mod sys;
mod tun;
mod waiting;
mod wifi;

pub use address::{FAR, NEAR};
pub use error::LinkError;
pub use report::{DirectionReport, Lateness, Report};
pub use run::{Options, run};

use whimbrel_net::{LinkSpec, WifiSpec};

/// Greatest IP packet that the path carries, bytes.
pub const MTU: u32 = 1500;

/// An emulated path: a link for each direction.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSpec {
    /// From the near namespace, where COMMAND runs, to the far one.
    pub forward: LinkSpec,
    /// From the far namespace to the near one.
    pub backward: LinkSpec,
    /// If set, both directions share this channel, with the near end as one station and the far end as the other. Of
    /// their own descriptions the service is without meaning then.
    pub wifi: Option<WifiSpec>,
    /// Decides which packets are lost and corrupted, by their order on each direction. When packets come
    /// is up to real time, so two runs are alike, not the same.
    pub seed: u64,
}
