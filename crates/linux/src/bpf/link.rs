//! Attaching programs. A link is a file descriptor: the program is detached when it is closed, also
//! by the end of the process.

use super::object::Program;
use super::syscall::{self, Target};
use crate::error::LinuxError;
use aya_obj::generated::{XDP_FLAGS_SKB_MODE, bpf_attach_type};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// An attached program, until it is dropped.
#[derive(Debug)]
pub(crate) struct Link {
    _fd: OwnedFd,
}

impl Link {
    /// Attaches a program of the kind SockOps to a cgroup, beside those that are there already.
    pub(crate) fn cgroup(program: &Program, cgroup: BorrowedFd<'_>) -> Result<Self, LinuxError> {
        let kind = bpf_attach_type::BPF_CGROUP_SOCK_OPS;
        create(program, Target::Directory(cgroup), kind, 0).map_err(explain(
            "attaching to the cgroup",
            "5.7 or newer with CONFIG_CGROUP_BPF",
        ))
    }

    /// Attaches a program of the kind Xdp to an interface, in the kernel's generic code. That works
    /// on every device and can send a packet back. A driver's own XDP is faster, but may restart
    /// the device, and a veth device sends nothing back unless its peer has a program too.
    pub(crate) fn xdp(program: &Program, interface: u32) -> Result<Self, LinuxError> {
        let target = Target::Interface(interface);
        let kind = bpf_attach_type::BPF_XDP;
        create(program, target, kind, XDP_FLAGS_SKB_MODE)
            .map_err(explain("attaching XDP", "5.9 or newer"))
    }

    /// Attaches a program of the kind Classifier to the packets that arrive at an interface, behind
    /// those that are there already.
    pub(crate) fn ingress(program: &Program, interface: u32) -> Result<Self, LinuxError> {
        let kind = bpf_attach_type::BPF_TCX_INGRESS;
        create(program, Target::Interface(interface), kind, 0).map_err(explain(
            "attaching to arriving packets",
            "6.6 or newer with CONFIG_NET_XGRESS",
        ))
    }
}

fn create(
    program: &Program,
    target: Target<'_>,
    kind: bpf_attach_type,
    flags: u32,
) -> io::Result<Link> {
    let fd = syscall::link_create(program.as_fd(), target, kind as u32, flags)?;
    Ok(Link { _fd: fd })
}

/// Says what an old kernel lacks; other errors say it themselves.
fn explain(doing: &'static str, version: &'static str) -> impl FnOnce(io::Error) -> LinuxError {
    move |error| match error.raw_os_error() {
        Some(libc::EINVAL | libc::ENOSYS) => LinuxError::System(format!(
            "{doing} failed ({error}): it needs Linux {version}",
        )),
        _ => LinuxError::Os { doing, error },
    }
}
