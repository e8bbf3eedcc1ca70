//! The network namespaces of the nodes.

use crate::error::LinkError;
use crate::layout::{Layout, Node, Port};
use crate::tun;
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt::TcpCongestion,
};
use nix::unistd::{getegid, geteuid};
use std::fs::{self, File};
use std::os::fd::OwnedFd;

/// The maximum TCP buffer in the namespaces, in bytes: 1 Gbit/s x 1 s of RTT is 125 MB, and the
/// kernel counts each segment's overhead too.
const MAX_TCP_BUFFER: u32 = 256 << 20;

/// A namespace and the TUN devices in it.
pub(crate) struct Network {
    /// Keeps the namespace alive, and serves to enter it.
    pub namespace: File,
    /// The paths' sides of the devices, by number.
    pub tuns: Vec<OwnedFd>,
}

impl Drop for Network {
    /// Ends connections that their processes left with unsent data. Otherwise the kernel would keep
    /// retransmitting for minutes, and the namespace would live as long. The buffers of such
    /// connections count against `net.ipv4.tcp_mem`, which all namespaces of the host share; when
    /// it is used up, TCP drops received segments, in later runs too. This is set only at the end,
    /// because an outage must not break a connection whose process has ended. Best effort.
    fn drop(&mut self) {
        if setns(&self.namespace, CloneFlags::CLONE_NEWNET).is_ok() {
            // TCP gives up when the second retransmission is due (tcp_orphan_retries,
            // ip-sysctl.rst).
            let _ = fs::write("/proc/sys/net/ipv4/tcp_orphan_retries", "1");
        }
    }
}

/// The networks of all nodes.
pub(crate) struct Networks {
    /// In the order of the layout's nodes.
    pub all: Vec<Network>,
    /// Settings that could not be made, for the user.
    pub notes: Vec<String>,
}

impl Networks {
    /// The path's side of an interface.
    pub fn tun(&self, port: Port) -> &OwnedFd {
        &self.all[port.node].tuns[port.interface]
    }
}

/// Makes the networks of all nodes. Afterwards the calling thread is in its own network namespace
/// if it has the right to return to it; otherwise (in a user namespace) it stays in that of the
/// first node.
pub(crate) fn make(
    layout: &Layout,
    congestion: Option<&str>,
    ecn: bool,
) -> Result<Networks, LinkError> {
    let own = current()?;
    let mut notes = Vec::new();
    let nodes = layout.nodes.iter().rev();
    let networks = nodes.map(|node| network(node, congestion, ecn, &mut notes));
    let mut all = networks.collect::<Result<Vec<_>, _>>()?;
    all.reverse();
    let _ = setns(&own, CloneFlags::CLONE_NEWNET);
    notes.dedup();
    Ok(Networks { all, notes })
}

fn network(
    node: &Node,
    congestion: Option<&str>,
    ecn: bool,
    notes: &mut Vec<String>,
) -> Result<Network, LinkError> {
    enter_new()?;
    let namespace = current()?;
    // Packets to one interface may arrive over another (ip-sysctl.rst). Best effort: it is the
    // kernel's own default.
    for name in ["all", "default"] {
        let _ = fs::write(format!("/proc/sys/net/ipv4/conf/{name}/rp_filter"), "0");
    }
    if node.forwards {
        fs::write("/proc/sys/net/ipv4/ip_forward", "1")
            .map_err(LinkError::io("letting a node forward packets"))?;
    }
    let mut tuns = Vec::new();
    for (number, address) in node.addresses.iter().enumerate() {
        tuns.push(tun::make(number, *address, node.mask)?);
    }
    for (host, interface) in &node.routes {
        tun::add_route(*host, *interface)?;
    }
    set_tcp(congestion, ecn, notes)?;
    Ok(Network { namespace, tuns })
}

/// The thread's network namespace.
fn current() -> Result<File, LinkError> {
    File::open("/proc/thread-self/ns/net").map_err(LinkError::io("opening a network namespace"))
}

/// Enters a new network namespace; as an ordinary user, in a new user namespace.
fn enter_new() -> Result<(), LinkError> {
    match unshare(CloneFlags::CLONE_NEWNET) {
        Err(Errno::EPERM) => {}
        other => return other.map_err(LinkError::os("making a network namespace")),
    }
    let (uid, gid) = (geteuid(), getegid());
    let refused = |errno| LinkError::NotAllowed { errno };
    unshare(CloneFlags::CLONE_NEWUSER).map_err(refused)?;
    // Root inside is the user outside, with rights over the namespaces that it makes and nothing
    // else (user_namespaces(7)). `setgroups` must be denied before groups can be mapped.
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(LinkError::io("mapping the user into a user namespace"))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("0 {uid} 1"))?;
    write("gid_map", format!("0 {gid} 1"))?;
    unshare(CloneFlags::CLONE_NEWNET).map_err(refused)
}

/// Configures TCP in the current namespace for large bandwidth-delay products, and so that runs do
/// not influence each other.
fn set_tcp(congestion: Option<&str>, ecn: bool, notes: &mut Vec<String>) -> Result<(), LinkError> {
    let ipv4 = |name: &str| format!("/proc/sys/net/ipv4/{name}");
    let settings = [
        ("tcp_rmem", format!("4096 131072 {MAX_TCP_BUFFER}")),
        ("tcp_wmem", format!("4096 65536 {MAX_TCP_BUFFER}")),
        ("tcp_no_metrics_save", "1".to_owned()),
    ];
    // 1: requests ECN and accepts it (the kernel's ip-sysctl.rst).
    let ecn = ecn.then(|| ("tcp_ecn", "1".to_owned()));
    for (name, value) in settings.into_iter().chain(ecn) {
        if let Err(e) = fs::write(ipv4(name), &value) {
            notes.push(format!(
                "net.ipv4.{name} could not be set to `{value}` in the namespaces: {e}"
            ));
        }
    }
    if let Some(name) = congestion
        && fs::write(ipv4("tcp_congestion_control"), name).is_err()
    {
        let available =
            fs::read_to_string(ipv4("tcp_available_congestion_control")).unwrap_or_default();
        return Err(LinkError::Congestion {
            name: name.to_owned(),
            known: available.split_whitespace().any(|n| n == name),
            available: available.trim().to_owned(),
        });
    }
    Ok(())
}

/// Whether the kernel has a TCP congestion control of this name. Loads its module if there is one
/// and the user may.
pub fn kernel_has(name: &str) -> bool {
    // TCP_CA_NAME_MAX is 16, with the zero behind the name; a longer name would be cut.
    if name.is_empty() || name.len() > 15 {
        return false;
    }
    let kind = SockType::Stream;
    let Ok(socket) = socket(AddressFamily::Inet, kind, SockFlag::SOCK_CLOEXEC, None) else {
        return false;
    };
    // EPERM: it exists, and this user may not choose it.
    let chosen = setsockopt(&socket, TcpCongestion, &name.to_owned().into());
    matches!(chosen, Ok(()) | Err(Errno::EPERM))
}

/// Number of packets that the kernel dropped at an interface because the emulator did not read them
/// in time. The calling thread enters the namespace.
pub(crate) fn missed(networks: &Networks, port: Port) -> Option<u64> {
    let namespace = &networks.all[port.node].namespace;
    setns(namespace, CloneFlags::CLONE_NEWNET).ok()?;
    let table = fs::read_to_string("/proc/thread-self/net/dev").ok()?;
    dropped_by(&table, &tun::name(port.interface))
}

/// The column "transmit, drop" of `/proc/net/dev`: after 8 columns of received traffic come bytes,
/// packets, errors and drops.
fn dropped_by(table: &str, device: &str) -> Option<u64> {
    let line = table
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    line.split_whitespace().nth(11)?.parse().ok()
}

/// Number of segments that TCP at this node dropped on arrival for lack of memory. The calling
/// thread enters the namespace.
pub(crate) fn dropped_on_arrival(network: &Network) -> Option<u64> {
    setns(&network.namespace, CloneFlags::CLONE_NEWNET).ok()?;
    let table = fs::read_to_string("/proc/thread-self/net/netstat").ok()?;
    Some(dropped_by_tcp(&table))
}

/// Reads `/proc/net/netstat`, which has a line of names above a line of values. Sums three counters
/// of segments: in order, out of order, and while the process held the socket.
fn dropped_by_tcp(table: &str) -> u64 {
    let mut lines = table.lines().filter_map(|l| l.strip_prefix("TcpExt:"));
    let (names, values) = (
        lines.next().unwrap_or_default(),
        lines.next().unwrap_or_default(),
    );
    names
        .split_whitespace()
        .zip(values.split_whitespace())
        .filter(|(name, _)| ["TCPRcvQDrop", "TCPOFODrop", "TCPBacklogDrop"].contains(name))
        .filter_map(|(_, value)| value.parse::<u64>().ok())
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_read_from_the_right_column() {
        let table = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
whimbrel0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
";
        assert_eq!(dropped_by(table, "whimbrel0"), Some(12));
        assert_eq!(dropped_by(table, "lo"), Some(0));
        assert_eq!(dropped_by(table, "eth0"), None);
        assert_eq!(dropped_by("lo:", "lo"), None);
    }

    #[test]
    fn each_segment_that_tcp_dropped_counts_once() {
        let table = "\
TcpExt: SyncookiesSent PruneCalled RcvPruned TCPBacklogDrop TCPOFODrop TCPZeroWindowDrop TCPRcvQDrop
TcpExt: 1 2 4 8 16 32 64
IpExt: InNoRoutes TCPOFODrop
IpExt: 1 1
";
        assert_eq!(dropped_by_tcp(table), 88);
        assert_eq!(dropped_by_tcp("TcpExt: TCPOFODrop\n"), 0);
        assert_eq!(dropped_by_tcp(""), 0);
    }
}
