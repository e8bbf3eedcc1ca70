//! Notices that this host's network changed: addresses and routes come and go, or the host slept.
//!
//! The kernel reports changes of links, addresses and routes on a netlink socket (rtnetlink(7)).
//! What changed is not read from the messages: the driver asks the kernel which address it would
//! now use towards each peer (`route.rs`), which takes every routing rule into account.
//! Where netlink is not allowed, the driver still notices that packets can no longer leave from a
//! vanished address.
//!
//! While a host sleeps, its monotonic clock stands still and CLOCK_BOOTTIME goes on, so a growing
//! difference of the two tells of a sleep.

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use nix::time::{ClockId, clock_gettime};
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Groups of rtnetlink messages: links, and addresses and routes of both families
/// (`linux/rtnetlink.h`).
const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;
/// Minimum time between two looks at the routes: a change comes as a burst of messages.
const PAUSE: Duration = Duration::from_millis(50);
/// A shorter sleep is not one: the two clocks are read one after the other.
const SLEEP: Duration = Duration::from_secs(1);

/// What the watch noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Links, addresses or routes changed, which need not concern any peer.
    Routes,
    /// The host slept.
    Slept,
}

/// Watches this host's network and its sleep.
#[derive(Debug)]
pub(super) struct NetworkWatch {
    netlink: Option<OwnedFd>,
    sleep: SleepWatch,
    /// When the first message arrived since the last look at the routes.
    pending: Option<Instant>,
    looked: Option<Instant>,
}

impl NetworkWatch {
    /// Watches the network namespace of the calling thread.
    pub fn new() -> Self {
        Self {
            netlink: netlink().ok(),
            sleep: SleepWatch::default(),
            pending: None,
            looked: None,
        }
    }

    /// What a driver polls for reading, if the system reports changes.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.netlink.as_ref().map(AsFd::as_fd)
    }

    /// The descriptor is readable.
    pub fn on_readable(&mut self, now: Instant) {
        let Some(netlink) = &self.netlink else { return };
        let mut space = [0; 8192];
        loop {
            match recv(netlink.as_raw_fd(), &mut space, MsgFlags::MSG_DONTWAIT) {
                Ok(0) | Err(Errno::EAGAIN) => break,
                // ENOBUFS: messages were dropped, so there were some.
                Ok(_) | Err(Errno::EINTR | Errno::ENOBUFS) => {
                    self.pending.get_or_insert(now);
                }
                Err(_) => {
                    self.netlink = None;
                    break;
                }
            }
        }
    }

    /// A packet could not leave from an address that this host has no longer.
    pub fn suspect(&mut self, now: Instant) {
        self.pending.get_or_insert(now);
    }

    /// The change to react to now, if any. Routes are reported once for a burst of messages.
    pub fn poll(&mut self, now: Instant) -> Option<Change> {
        if self.sleep.slept(boot_time_ahead()) {
            return Some(Change::Slept);
        }
        let due = self.deadline().is_some_and(|at| at <= now);
        if due {
            self.pending = None;
            self.looked = Some(now);
        }
        due.then_some(Change::Routes)
    }

    /// When to call [`Self::poll`] although nothing else happens.
    pub fn deadline(&self) -> Option<Instant> {
        let earliest = self.looked.map(|looked| looked + PAUSE);
        self.pending
            .max(earliest)
            .filter(|_| self.pending.is_some())
    }
}

fn netlink() -> nix::Result<OwnedFd> {
    let fd = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        SockProtocol::NetlinkRoute,
    )?;
    bind(fd.as_raw_fd(), &NetlinkAddr::new(0, GROUPS))?;
    Ok(fd)
}

/// How far CLOCK_BOOTTIME is ahead of the monotonic clock: the time asleep since boot. Zero where
/// the system does not say.
fn boot_time_ahead() -> Duration {
    let read = |clock| clock_gettime(clock).map(Duration::from);
    match (
        read(ClockId::CLOCK_BOOTTIME),
        read(ClockId::CLOCK_MONOTONIC),
    ) {
        (Ok(boot), Ok(monotonic)) => boot.saturating_sub(monotonic),
        _ => Duration::ZERO,
    }
}

/// Watches the time asleep.
#[derive(Debug, Default)]
struct SleepWatch {
    before: Option<Duration>,
}

impl SleepWatch {
    /// Whether the host slept since the last call. `asleep`: its time asleep since boot.
    fn slept(&mut self, asleep: Duration) -> bool {
        let before = self.before.replace(asleep).unwrap_or(asleep);
        asleep.saturating_sub(before) >= SLEEP
    }
}

/// Whether this host has the address.
pub(super) fn is_local(address: IpAddr) -> bool {
    // Other errors (no port left, no descriptor left) say nothing about the address.
    UdpSocket::bind((address.to_canonical(), 0))
        .err()
        .is_none_or(|error| error.kind() != io::ErrorKind::AddrNotAvailable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_of_the_time_asleep_is_a_sleep() {
        let mut watch = SleepWatch::default();
        let seconds = Duration::from_secs;
        // The first reading says nothing, however long the host slept before.
        assert!(!watch.slept(seconds(5000)));
        assert!(!watch.slept(seconds(5000) + Duration::from_millis(3)));
        assert!(watch.slept(seconds(5060)));
        assert!(!watch.slept(seconds(5060)), "reported once");
    }

    #[test]
    fn a_burst_of_messages_is_looked_at_once() {
        let mut watch = NetworkWatch {
            netlink: None,
            sleep: SleepWatch::default(),
            pending: None,
            looked: None,
        };
        let now = Instant::now();
        assert_eq!((watch.poll(now), watch.deadline()), (None, None));
        watch.suspect(now);
        assert_eq!(watch.deadline(), Some(now));
        assert_eq!(watch.poll(now), Some(Change::Routes));
        assert_eq!(watch.poll(now), None);
        watch.suspect(now + PAUSE / 4);
        assert_eq!(watch.poll(now + PAUSE / 2), None);
        assert_eq!(watch.deadline(), Some(now + PAUSE));
        assert_eq!(watch.poll(now + PAUSE), Some(Change::Routes));
    }

    #[test]
    fn loopback_is_local() {
        // 192.0.2.0/24 is for documentation: no host has it.
        let foreign = IpAddr::from([192, 0, 2, 77]);
        assert!(is_local(IpAddr::from([127, 0, 0, 1])) && !is_local(foreign));
    }
}
