//! What this process may do, and what this kernel can, checked before anything is loaded, so that
//! one clear line names what is missing.
//!
//! The least privileges, all in the initial user namespace:
//!
//! | to | capabilities |
//! |---|---|
//! | load and register the algorithm | CAP_BPF, CAP_PERFMON |
//! | choose the connections of a cgroup, attach to network interfaces | CAP_NET_ADMIN too |

use crate::bpf::btf::Types;
use crate::bpf::syscall;
use crate::error::LinuxError;
use std::fs;
use std::io;
use std::path::Path;

/// A privilege, as Linux names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capability {
    /// Load programs that use pointers of the kernel.
    Perfmon,
    /// Make BPF maps and load programs.
    Bpf,
    /// Load programs of the network.
    NetAdmin,
}

impl Capability {
    /// To register an algorithm.
    pub(crate) const REGISTER: [Self; 2] = [Self::Bpf, Self::Perfmon];
    /// To attach programs to cgroups and interfaces as well.
    pub(crate) const ATTACH: [Self; 3] = [Self::Bpf, Self::Perfmon, Self::NetAdmin];

    fn name(self) -> &'static str {
        match self {
            Self::Bpf => "CAP_BPF",
            Self::Perfmon => "CAP_PERFMON",
            Self::NetAdmin => "CAP_NET_ADMIN",
        }
    }

    /// The bits of the capabilities that grant it (`linux/capability.h`). CAP_SYS_ADMIN still
    /// includes what was split from it.
    fn granted_by(self) -> u64 {
        let sys_admin = 1 << 21;
        match self {
            Self::Bpf => 1 << 39 | sys_admin,
            Self::Perfmon => 1 << 38 | sys_admin,
            Self::NetAdmin => 1 << 12,
        }
    }
}

/// Checks the privileges of this process.
///
/// # Errors
/// One line that names what is missing and what to do.
pub(crate) fn check(needed: &[Capability]) -> Result<(), LinuxError> {
    let status = fs::read_to_string("/proc/self/status")
        .map_err(LinuxError::os("reading /proc/self/status"))?;
    let namespace = fs::read_link("/proc/self/ns/user");
    let process = Process {
        effective: effective(&status).unwrap_or(0),
        initial_namespace: namespace.map_or(true, |link| link == Path::new(INITIAL_NAMESPACE)),
        program: std::env::current_exe()
            .map_or_else(|_| "PROGRAM".to_owned(), |path| path.display().to_string()),
    };
    process.check(needed).map_err(LinuxError::System)?;
    match syscall::probe() {
        Ok(()) => Ok(()),
        Err(error) => Err(refused(error)),
    }
}

/// Why the kernel refuses bpf(2) to a process that has the capabilities.
fn refused(error: io::Error) -> LinuxError {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => LinuxError::System(lacks("CONFIG_BPF_SYSCALL")),
        Some(libc::EPERM | libc::EACCES) => LinuxError::System(format!(
            "the kernel refuses BPF to this process ({error}) although it has the capabilities: a \
             container's seccomp filter, a security module or kernel lockdown forbids it; run this \
             outside of the container",
        )),
        _ => LinuxError::os("making a BPF map")(error),
    }
}

/// The initial user namespace; its number is a constant of the kernel (PROC_USER_INIT_INO).
const INITIAL_NAMESPACE: &str = "user:[4026531837]";

/// What matters of this process.
#[derive(Debug)]
struct Process {
    effective: u64,
    initial_namespace: bool,
    program: String,
}

impl Process {
    fn check(&self, needed: &[Capability]) -> Result<(), String> {
        let names = |list: &[Capability]| -> Vec<&str> {
            list.iter().map(|capability| capability.name()).collect()
        };
        if !self.initial_namespace {
            return Err(format!(
                "Linux TCP cannot be controlled from a user namespace (a rootless container, or \
                 `unshare --user`): run this outside of it, as root or with {}",
                names(needed).join(" and "),
            ));
        }
        let missing: Vec<Capability> = needed
            .iter()
            .copied()
            .filter(|capability| self.effective & capability.granted_by() == 0)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!(
            "this process lacks {}: run it with `sudo`, or allow it to all users with \
             `sudo setcap {}+ep {}`",
            names(&missing).join(" and "),
            names(&Capability::ATTACH).join(",").to_lowercase(),
            self.program,
        ))
    }
}

/// The effective capabilities in a `/proc/PID/status`.
fn effective(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Reads the kernel's types, and checks by them what the kernel can.
///
/// # Errors
/// One line that names the version of Linux or the option that is missing.
pub(crate) fn kernel() -> Result<Types, LinuxError> {
    let bytes = fs::read(Types::PATH).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => LinuxError::System(lacks("CONFIG_DEBUG_INFO_BTF")),
        _ => LinuxError::os("reading /sys/kernel/btf/vmlinux")(error),
    })?;
    let types = Types::parse(bytes)
        .map_err(|why| LinuxError::System(format!("cannot read {}: {why}", Types::PATH)))?;
    check_kernel(&types).map_err(LinuxError::System)?;
    Ok(types)
}

fn check_kernel(types: &Types) -> Result<(), String> {
    if types
        .structure("bpf_struct_ops_tcp_congestion_ops")
        .is_none()
    {
        return Err(lacks("CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT or CONFIG_INET"));
    }
    // Until Linux 6.10 the function learned nothing of the acknowledgment but the rate sample.
    let parameters = (types.structure("tcp_congestion_ops"))
        .and_then(|operations| types.parameters(operations.member("cong_control")?.1.kind));
    if parameters != Some(4) {
        return Err(format!(
            "this kernel, Linux {}, is too old: Linux 6.10 or newer is needed",
            release(),
        ));
    }
    Ok(())
}

/// Whether cgroups can have programs.
pub(crate) fn has_cgroup_programs(types: &Types) -> bool {
    // Without the option, the structure is there and empty.
    types
        .structure("cgroup_bpf")
        .is_some_and(|found| found.size > 0)
}

/// Checks that cgroups can have programs.
///
/// # Errors
/// One line that names the option that is missing.
pub(crate) fn check_cgroups(has_programs: bool) -> Result<(), LinuxError> {
    match has_programs {
        true => Ok(()),
        false => Err(LinuxError::System(lacks("CONFIG_CGROUP_BPF"))),
    }
}

fn lacks(option: &str) -> String {
    format!(
        "this kernel, Linux {}, was built without {option}: use another kernel",
        release()
    )
}

/// The version of the running kernel.
fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").map_or_else(
        |_| "of unknown version".to_owned(),
        |text| text.trim().to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(effective: u64) -> Process {
        Process {
            effective,
            initial_namespace: true,
            program: "/usr/bin/whimbrel".to_owned(),
        }
    }

    #[test]
    fn the_line_names_what_is_missing_and_the_command_that_grants_all() {
        let bpf_only = process(1 << 39);
        let line = bpf_only
            .check(&Capability::ATTACH)
            .expect_err("two are missing");
        assert!(
            line.contains("lacks CAP_PERFMON and CAP_NET_ADMIN:"),
            "{line}"
        );
        let setcap = "sudo setcap cap_bpf,cap_perfmon,cap_net_admin+ep /usr/bin/whimbrel";
        assert!(line.contains(setcap), "{line}");
        assert!(!line.contains('\n'));
    }

    #[test]
    fn the_least_capabilities_suffice() {
        assert_eq!(
            process(1 << 39 | 1 << 38).check(&Capability::REGISTER),
            Ok(())
        );
        let with_network = process(1 << 39 | 1 << 38 | 1 << 12);
        assert_eq!(with_network.check(&Capability::ATTACH), Ok(()));
        assert_eq!(process(1 << 21).check(&Capability::REGISTER), Ok(()));
        assert!(process(1 << 21).check(&Capability::ATTACH).is_err());
    }

    #[test]
    fn capabilities_of_a_user_namespace_do_not_count() {
        let contained = Process {
            initial_namespace: false,
            ..process(u64::MAX)
        };
        let line = contained
            .check(&Capability::REGISTER)
            .expect_err("they do not count");
        assert!(line.contains("user namespace"), "{line}");
    }

    #[test]
    fn a_refused_call_names_the_option_or_what_may_forbid_it() {
        let line = |code| refused(io::Error::from_raw_os_error(code)).to_string();
        assert!(line(libc::ENOSYS).contains("CONFIG_BPF_SYSCALL"));
        assert!(line(libc::EPERM).contains("seccomp"));
    }

    #[test]
    fn effective_capabilities_are_read_from_the_status() {
        let status = "Name:\tx\nCapPrm:\t0000000000000001\nCapEff:\t000000c000001000\n";
        assert_eq!(effective(status), Some(0xc0_0000_1000));
        assert_eq!(effective("Name:\tx\n"), None);
    }
}
