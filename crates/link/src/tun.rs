//! TUN devices: a network interface whose packets a process reads and writes.

use crate::error::LinkError;
use crate::sys::{self, InterfaceRequest};
use crate::{MTU, netlink};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::OwnedFd;

/// The name of interface `number` in both namespaces: `whimbrel0`, `whimbrel1`, ...
pub(crate) fn name(number: usize) -> String {
    format!("whimbrel{number}")
}

/// Number of packets that can wait between the kernel's IP layer and the emulator. If they do not
/// fit, the kernel drops them before the path sees them. So this is larger than any burst that the
/// emulator has to catch up with: TCP sends up to a window at once.
const RING: u32 = 20_000;

/// Lets packets to `host` leave over interface `number` if nothing prefers another: a program that
/// binds to the interface reaches it.
pub(crate) fn add_route(host: Ipv4Addr, number: usize) -> Result<(), LinkError> {
    let socket =
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(LinkError::io("opening a socket"))?;
    let metric = libc::c_short::try_from(100 + number).unwrap_or(libc::c_short::MAX);
    sys::add_route(&socket, host, &name(number), metric).map_err(LinkError::os("setting a route"))
}

/// Makes TUN device `number` in the current network namespace, with `address` on it, and brings it
/// and the loopback up.
pub(crate) fn make(number: usize, address: Ipv4Addr, mask: Ipv4Addr) -> Result<OwnedFd, LinkError> {
    let name = &name(number)[..];
    let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let tun = open("/dev/net/tun", flags, Mode::empty()).map_err(|errno| match errno {
        Errno::ENOENT | Errno::ENODEV | Errno::ENXIO => LinkError::NoTun,
        Errno::EACCES | Errno::EPERM => LinkError::TunNotAllowed { errno },
        errno => LinkError::Os {
            doing: "opening /dev/net/tun",
            errno,
        },
    })?;
    // A header before each packet, see `bulk`.
    let kind = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    InterfaceRequest::new(name)
        .flags(kind)
        .send(&tun, libc::TUNSETIFF as libc::Ioctl)
        .map_err(LinkError::os("making a TUN device"))?;
    // What the kernel may leave to the device: checksums, and the segmentation of TCP and, since
    // Linux 6.2, of UDP. IPv6 is not used, but the kernel takes both versions of UDP or none.
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4;
    let all = tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6;
    sys::set_offload(&tun, all)
        .or_else(|_| sys::set_offload(&tun, tcp))
        .map_err(LinkError::os("setting up segmentation by the TUN device"))?;
    // IPv6 would send router solicitations over the path. Best effort: IPv6 may be absent.
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");

    netlink::set_transmit_queue(name, RING).map_err(LinkError::os("setting the transmit queue"))?;

    // Any socket of the network namespace serves for the requests.
    let socket =
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(LinkError::io("opening a socket"))?;
    let about = InterfaceRequest::new;
    let steps = [
        (
            about(name).number(MTU as libc::c_int),
            libc::SIOCSIFMTU,
            "setting the MTU",
        ),
        (
            about(name).address(address),
            libc::SIOCSIFADDR,
            "setting the address",
        ),
        (
            about(name).address(mask),
            libc::SIOCSIFNETMASK,
            "setting the netmask",
        ),
        (
            about(name).flags(libc::IFF_UP | libc::IFF_RUNNING),
            libc::SIOCSIFFLAGS,
            "bringing the device up",
        ),
        (
            about("lo").flags(libc::IFF_UP | libc::IFF_RUNNING),
            libc::SIOCSIFFLAGS,
            "bringing the loopback up",
        ),
    ];
    for (mut request, number, doing) in steps {
        request
            .send(&socket, number as libc::Ioctl)
            .map_err(LinkError::os(doing))?;
    }
    Ok(tun)
}
