//! The congestion control algorithms that the running kernel has.

use std::fs;
use std::io;

/// How the names of all instances' algorithms, and of their cgroups, begin.
pub(crate) const PREFIX: &str = "whim_";

/// All of them, names separated by spaces.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// The kernel's own algorithms that are loaded, such as `cubic`; not those that instances of this
/// library have registered.
///
/// # Errors
/// If the kernel's list cannot be read.
pub fn kernel_algorithms() -> io::Result<Vec<String>> {
    let mut names = registered()?;
    names.retain(|name| !name.starts_with(PREFIX));
    Ok(names)
}

/// All algorithms, those of instances in any namespace included.
pub(crate) fn registered() -> io::Result<Vec<String>> {
    let names = fs::read_to_string(AVAILABLE)?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}
