//! The kernel's half of one instance: programs, maps, the registered algorithm, and the cgroups
//! whose connections use it.

use crate::error::LinuxError;
use crate::options::{Cgroup, Options, Selection};

/// The loaded programs and the registered algorithm. Dropping it unregisters the algorithm;
/// connections that still use it go to the fallback within [`Options::silence`].
#[derive(Debug)]
pub struct Datapath {}

impl Datapath {
    /// Loads the programs and registers an algorithm with a name of its own. Starts no thread.
    ///
    /// # Errors
    /// If the algorithm cannot run on TCP, or a privilege or an option of the kernel is missing.
    pub fn load(options: &Options) -> Result<Self, LinuxError> {
        let _ = options;
        todo!()
    }

    /// The kernel's name of the algorithm, for `TCP_CONGESTION` and
    /// `net.ipv4.tcp_congestion_control`.
    pub fn name(&self) -> &str {
        todo!()
    }

    /// Puts all new connections of a cgroup that `selection` allows under the algorithm.
    ///
    /// # Errors
    /// If the cgroup does not exist or cannot be made, or the kernel refuses.
    pub fn choose(&self, cgroup: &Cgroup, selection: &Selection) -> Result<Chosen, LinuxError> {
        let _ = (cgroup, selection);
        todo!()
    }
}

/// A cgroup whose new connections use the algorithm, until this is dropped.
#[derive(Debug)]
pub struct Chosen {}

impl Chosen {
    /// The cgroup's directory; a command's process joins it by writing its PID to `cgroup.procs`.
    pub fn directory(&self) -> &std::path::Path {
        todo!()
    }
}
