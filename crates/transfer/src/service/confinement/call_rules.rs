//! Which system calls a server may make.
//!
//! The filter refuses calls that a file server never makes and that an attacker who controls it
//! could use: to start programs, to look into other processes, and to reach parts of the kernel
//! that the server does not need. It permits all others, because libraries and kernels change which
//! calls they use.

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::collections::BTreeMap;
use std::io;

/// Calls that are refused, whatever their arguments are.
const REFUSED: [libc::c_long; 49] = [
    // Other programs and other processes.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Namespaces and what is mounted.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Files without their names.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // The whole system.
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    // Parts of the kernel in which mistakes are found again and again.
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_personality,
    libc::SYS_lookup_dcookie,
];
/// Families of sockets that a server uses: those of the network, those of name services, and the
/// list of interfaces.
const FAMILIES: [libc::c_int; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];
/// Kinds of namespaces that a new thread could have for itself. A bit for each.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Calls by their number, and the arguments with which they are refused; without any: always.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Confines this thread and all that it starts. Returns whether the kernel can.
pub(super) fn confine(kernel_algorithm: bool) -> io::Result<bool> {
    give_up_the_clock()?;
    let Ok(architecture) = TargetArch::try_from(std::env::consts::ARCH) else {
        return Ok(false);
    };
    let filters = [
        (rules(kernel_algorithm)?, libc::EPERM),
        // Its flags are in memory, where no filter sees them. Callers fall back to `clone`.
        (Rules::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS),
    ];
    for (rules, error) in filters {
        let refuse = SeccompAction::Errno(error as u32);
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture);
        let program = filter.and_then(BpfProgram::try_from);
        match seccompiler::apply_filter(&program.map_err(io::Error::other)?) {
            Ok(()) => {}
            // The kernel was built without it.
            Err(seccompiler::Error::Prctl(e) | seccompiler::Error::Seccomp(e))
                if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(io::Error::other(error)),
        }
    }
    Ok(true)
}

/// Gives up the right to set the clock. The call that sets it, adjtimex(2), also tells whether
/// something keeps it right, and the default algorithm makes it for each connection.
fn give_up_the_clock() -> io::Result<()> {
    let mut held = capabilities(None)?;
    for set in [
        &mut held.effective,
        &mut held.permitted,
        &mut held.inheritable,
    ] {
        set.remove(CapabilitySet::SYS_TIME);
    }
    Ok(set_capabilities(None, held)?)
}

fn rules(kernel_algorithm: bool) -> io::Result<Rules> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    if !kernel_algorithm {
        rules.insert(libc::SYS_bpf, Vec::new());
    }
    let family = |family: &libc::c_int| condition(SeccompCmpOp::Ne, *family);
    let families = FAMILIES.iter().map(family).collect::<io::Result<_>>()?;
    rules.insert(libc::SYS_socket, vec![rule(families)?]);
    let namespace = |bit: &libc::c_int| {
        let has = SeccompCmpOp::MaskedEq(*bit as u32 as u64);
        rule(vec![condition(has, *bit)?])
    };
    let namespaces = NAMESPACES
        .iter()
        .map(namespace)
        .collect::<io::Result<_>>()?;
    rules.insert(libc::SYS_clone, namespaces);
    #[cfg(target_arch = "x86_64")]
    add_x32(&mut rules);
    Ok(rules)
}

/// A comparison of the first argument.
fn condition(operator: SeccompCmpOp, value: libc::c_int) -> io::Result<SeccompCondition> {
    let value = value as u32 as u64;
    SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, value).map_err(io::Error::other)
}

/// All of these conditions.
fn rule(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

/// Kernels with the ABI x32 have each call under a second number, and some under a third.
#[cfg(target_arch = "x86_64")]
fn add_x32(rules: &mut Rules) {
    const X32: i64 = 0x4000_0000;
    /// `execve`, `ptrace`, `kexec_load`, `process_vm_readv`, `process_vm_writev`, `execveat`.
    const OWN: [i64; 6] = [520, 521, 528, 539, 540, 545];
    let second = rules.clone();
    rules.extend(second.into_iter().map(|(call, rule)| (call | X32, rule)));
    rules.extend(OWN.map(|call| (call | X32, Vec::new())));
}
