//! What can go wrong, and what to do then.

use nix::errno::Errno;

/// Why a path could not be set up. Its text is meant to be shown to a person.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The process has more than one thread, so that it can neither be forked safely nor change its user namespace.
    #[error("the path must be set up before the process starts threads, and it has {0}")]
    Threads(usize),
    /// The kernel refuses namespaces to this user.
    #[error(
        "this user may not make network namespaces ({errno}): run as root (sudo), or allow unprivileged user \
         namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces=10000 or \
         kernel.apparmor_restrict_unprivileged_userns=0, whichever this system has)"
    )]
    NotAllowed {
        /// What the kernel said.
        errno: Errno,
    },
    /// There is no TUN driver.
    #[error(
        "/dev/net/tun is missing: run `modprobe tun`, or give the container `--device /dev/net/tun`"
    )]
    NoTun,
    /// The TUN driver is closed to this user.
    #[error(
        "this user may not open /dev/net/tun ({errno}): run as root (sudo), or let everybody open it as most \
         distributions do (chmod 666 /dev/net/tun); it gives no rights over the host's network"
    )]
    TunNotAllowed {
        /// What the kernel said.
        errno: Errno,
    },
    /// The namespaces may not have this TCP congestion control as their default.
    #[error("{}", congestion(name, *known, available))]
    Congestion {
        /// What was asked for.
        name: String,
        /// The kernel has it, and reserves it.
        known: bool,
        /// What it has.
        available: String,
    },
    /// A system call failed that should not.
    #[error("{doing}: {errno}")]
    Os {
        /// What was being done.
        doing: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
    /// No command was given.
    #[error("there is no command to run")]
    NoCommand,
    /// A command could not be started.
    #[error("cannot run `{command}`: {why}")]
    Command {
        /// The program.
        command: String,
        /// What the system said.
        why: String,
        /// The status a shell gives: 127 if it was not found, 126 if it could not be run.
        status: u8,
    },
    /// The far command ended with an error before COMMAND was started.
    #[error("the far command ended with status {status} before COMMAND was started")]
    FarEnded {
        /// Its exit status, 128 + signal if it was killed.
        status: u8,
    },
    /// Something failed that should not.
    #[error("{0}")]
    Failed(String),
}

impl LinkError {
    /// For `map_err`: the same call failed while doing this.
    pub(crate) fn os(doing: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::Os { doing, errno }
    }

    /// As [`LinkError::os`], for calls of the standard library.
    pub(crate) fn io(doing: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |e| Self::Os {
            doing,
            errno: Errno::from_raw(e.raw_os_error().unwrap_or(libc::EIO)),
        }
    }
}

/// A kernel lets namespaces choose only what its administrator allows to everybody.
fn congestion(name: &str, known: bool, available: &str) -> String {
    if known {
        format!(
            "this kernel does not let namespaces choose `{name}`: add it to net.ipv4.tcp_allowed_congestion_control on \
             the host, or let the program ask for it by itself (TCP_CONGESTION)"
        )
    } else {
        format!("this kernel has no TCP congestion control `{name}`; it has: {available}")
    }
}
