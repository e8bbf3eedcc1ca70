//! System calls that no library wraps: interface requests and priorities. All their `unsafe` code
//! is here.

use nix::errno::Errno;
use std::ffi::CString;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};

/// A request about one network interface (netdevice(7)).
pub(crate) struct InterfaceRequest(libc::ifreq);

impl InterfaceRequest {
    /// A request about the interface of this name, which is cut to 15 bytes.
    pub fn new(name: &str) -> Self {
        let mut ifr_name = [0; libc::IFNAMSIZ];
        for (to, from) in ifr_name
            .iter_mut()
            .take(libc::IFNAMSIZ - 1)
            .zip(name.bytes())
        {
            *to = from as libc::c_char;
        }
        // The longest member of the union, so that the whole union is initialised.
        let ifru_map = libc::__c_anonymous_ifru_map {
            mem_start: 0,
            mem_end: 0,
            base_addr: 0,
            irq: 0,
            dma: 0,
            port: 0,
        };
        Self(libc::ifreq {
            ifr_name,
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_map },
        })
    }

    /// With flags, as for `SIOCSIFFLAGS` and `TUNSETIFF`.
    pub fn flags(mut self, flags: libc::c_int) -> Self {
        // All flags in use fit in the kernel's 16 bits.
        self.0.ifr_ifru.ifru_flags = flags as libc::c_short;
        self
    }

    /// With a number, as for `SIOCSIFMTU` (bytes).
    pub fn number(mut self, number: libc::c_int) -> Self {
        self.0.ifr_ifru.ifru_mtu = number;
        self
    }

    /// With an IPv4 address, as for `SIOCSIFADDR` and `SIOCSIFNETMASK`.
    pub fn address(mut self, address: Ipv4Addr) -> Self {
        let mut sa_data = [0; 14];
        // A `sockaddr_in`: two bytes of port, then the address in network order.
        for (to, from) in sa_data[2..6].iter_mut().zip(address.octets()) {
            *to = from as libc::c_char;
        }
        let sa_family = libc::AF_INET as libc::sa_family_t;
        self.0.ifr_ifru.ifru_addr = libc::sockaddr { sa_family, sa_data };
        self
    }

    /// Makes the request on this socket or device.
    pub fn send(&mut self, fd: impl AsFd, request: libc::Ioctl) -> Result<(), Errno> {
        // SAFETY: the requests that this crate makes all take a pointer to an `ifreq`, and keep it
        // no longer than the call; `self.0` is one, wholly initialised.
        let result = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), request, &raw mut self.0) };
        Errno::result(result).map(drop)
    }
}

/// Sets what the kernel may leave to a TUN device (`TUN_F_*`).
pub(crate) fn set_offload(tun: impl AsFd, features: libc::c_uint) -> Result<(), Errno> {
    let (fd, features) = (tun.as_fd().as_raw_fd(), libc::c_ulong::from(features));
    // SAFETY: this request takes a number and no pointer.
    let result = unsafe { libc::ioctl(fd, libc::TUNSETOFFLOAD as libc::Ioctl, features) };
    Errno::result(result).map(drop)
}

/// Adds a route to one host over a device, of this metric (route(7), SIOCADDRT).
pub(crate) fn add_route(
    fd: impl AsFd,
    host: Ipv4Addr,
    device: &str,
    metric: libc::c_short,
) -> Result<(), Errno> {
    let address = |octets: [u8; 4]| {
        let mut sa_data = [0; 14];
        for (to, from) in sa_data[2..6].iter_mut().zip(octets) {
            *to = from as libc::c_char;
        }
        let sa_family = libc::AF_INET as libc::sa_family_t;
        libc::sockaddr { sa_family, sa_data }
    };
    let name = CString::new(device).map_err(|_| Errno::EINVAL)?;
    // SAFETY: `rtentry` is plain data, for which all zeros are valid.
    let mut route: libc::rtentry = unsafe { std::mem::zeroed() };
    route.rt_dst = address(host.octets());
    route.rt_genmask = address([255; 4]);
    route.rt_flags = libc::RTF_UP | libc::RTF_HOST;
    // The kernel takes one off (`rtentry_to_fib_config`).
    route.rt_metric = metric + 1;
    route.rt_dev = name.as_ptr().cast_mut();
    // SAFETY: SIOCADDRT takes a pointer to an `rtentry`, reads it and the name that it points to,
    // and keeps neither; both live through the call.
    let result = unsafe {
        libc::ioctl(
            fd.as_fd().as_raw_fd(),
            libc::SIOCADDRT as libc::Ioctl,
            &raw mut route,
        )
    };
    Errno::result(result).map(drop)
}

/// Gives the calling thread priority over others, if the user may. The emulator needs little time,
/// and its work is caused by the commands' traffic, so it cannot starve them. Without priority it
/// would be milliseconds late whenever the commands keep all cores busy.
pub(crate) fn hurry() {
    let first = libc::sched_param { sched_priority: 1 };
    // SAFETY: `first` is a valid `sched_param` that lives through the call; 0 is the calling
    // thread.
    let real_time = unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const first) };
    if real_time != 0 {
        // SAFETY: no pointers; 0 is the calling thread (on Linux, not the process).
        let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    }
}
