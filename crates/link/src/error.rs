//! Errors, with texts that say what to do.

use nix::errno::Errno;

/// Why a path could not be set up. Its text is meant for users.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The process has more than one thread, so it can neither fork safely nor change its user
    /// namespace.
    #[error("the path must be set up before the process starts threads, and it has {0}")]
    Threads(usize),
    /// The kernel refuses namespaces to this user.
    #[error(
        "this user may not make network namespaces ({errno}): run as root (sudo), or allow unprivileged user \
         namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces=10000 or \
         kernel.apparmor_restrict_unprivileged_userns=0, whichever this system has)"
    )]
    NotAllowed {
        /// The kernel's error.
        errno: Errno,
    },
    /// There is no TUN driver.
    #[error(
        "/dev/net/tun is missing: run `modprobe tun`, or give the container `--device /dev/net/tun`"
    )]
    NoTun,
    /// This user may not use the TUN driver.
    #[error(
        "this user may not open /dev/net/tun ({errno}): run as root (sudo), or let every user open it as most \
         distributions do (chmod 666 /dev/net/tun); it gives no rights over the host's network"
    )]
    TunNotAllowed {
        /// The kernel's error.
        errno: Errno,
    },
    /// The namespaces may not use this TCP congestion control as their default.
    #[error("{}", congestion(name, *known, available))]
    Congestion {
        /// The requested name.
        name: String,
        /// The kernel has it, but does not allow it for namespaces.
        known: bool,
        /// The names that the kernel has.
        available: String,
    },
    /// A system call failed unexpectedly.
    #[error("{doing}: {errno}")]
    Os {
        /// What the call was for.
        doing: &'static str,
        /// The kernel's error.
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
        /// The system's error.
        why: String,
        /// The status that a shell returns: 127 if it was not found, 126 if it could not be run.
        status: u8,
    },
    /// A peer ended with an error before COMMAND was started.
    #[error("the {node} command ended with status {status} before COMMAND was started")]
    PeerEnded {
        /// The name of its node.
        node: String,
        /// Its exit status, 128 + signal if it was killed.
        status: u8,
    },
    /// Something else failed unexpectedly.
    #[error("{0}")]
    Failed(String),
}

impl LinkError {
    /// For `map_err`: a call failed while `doing` this.
    pub(crate) fn os(doing: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::Os { doing, errno }
    }

    /// Like [`LinkError::os`], for calls of the standard library.
    pub(crate) fn io(doing: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |e| Self::Os {
            doing,
            errno: Errno::from_raw(e.raw_os_error().unwrap_or(libc::EIO)),
        }
    }
}

/// The text of [`LinkError::Congestion`]. Namespaces may use only what the administrator allows for
/// all users.
fn congestion(name: &str, known: bool, available: &str) -> String {
    if known {
        format!(
            "this kernel does not let namespaces choose `{name}`: add it to net.ipv4.tcp_allowed_congestion_control on \
             the host, or let the program request it itself (TCP_CONGESTION)"
        )
    } else {
        format!("this kernel has no TCP congestion control `{name}`; it has: {available}")
    }
}
