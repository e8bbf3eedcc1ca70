//! Which files a server may open.

use super::Uses;
use crate::storage::directory_of;
use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use std::fs::File;
use std::path::Path;

/// The rights that the rules handle; an older kernel handles those that it knows.
const RIGHTS: ABI = ABI::V7;

/// What looking up the name of a host reads: the C library's settings and modules, and the files in
/// which other services keep the addresses of name servers.
const NAMES: [&str; 10] = [
    "/etc",
    "/run/systemd/resolve",
    "/run/NetworkManager",
    "/run/resolvconf",
    "/run/nscd",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/nix/store",
];
/// The kernel's types and version, which loading a program into it needs.
const KERNEL: [&str; 2] = ["/sys/kernel/btf", "/proc/sys"];

/// Confines this thread and all that it starts. Returns whether the kernel can. `own` is the
/// process's directory in procfs.
pub(super) fn confine(uses: &Uses, own: Option<&File>) -> Result<bool, RulesetError> {
    let all = AccessFs::from_all(RIGHTS);
    let mut rules = Rules(
        Ruleset::default()
            .handle_access(all)?
            .scope(Scope::from_all(RIGHTS))?
            .create()?,
    );
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let append = AccessFs::WriteFile | AccessFs::MakeReg;
    // Clients create no others.
    let unused = AccessFs::Execute
        | AccessFs::MakeChar
        | AccessFs::MakeBlock
        | AccessFs::MakeSock
        | AccessFs::MakeFifo
        | AccessFs::IoctlDev;
    rules.add(&uses.directory, all & !unused)?;
    if let Some(folder) = &uses.qlog {
        rules.add(folder, read | append | AccessFs::RemoveFile)?;
    }
    // A log that is rotated or a file that is replaced is renamed in its directory.
    if let Some(audit) = &uses.audit {
        rules.add(directory_of(audit), append)?;
    }
    if let Some(config) = &uses.config {
        rules.add(directory_of(config), AccessFs::ReadFile.into())?;
        if let Ok(target) = config.canonicalize() {
            rules.add(directory_of(&target), AccessFs::ReadFile.into())?;
        }
    }
    if let Some(own) = own {
        (&mut rules.0).add_rule(PathBeneath::new(own, AccessFs::ReadFile))?;
    }
    rules.add("/dev/null", AccessFs::ReadFile | AccessFs::WriteFile)?;
    // A statically linked program does not find the system call, and reads these instead.
    for random in ["/dev/random", "/dev/urandom"] {
        rules.add(random, AccessFs::ReadFile.into())?;
    }
    let terminal = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    rules.add("/dev/tty", terminal)?;
    let names = uses.needs.names.then_some(NAMES).into_iter().flatten();
    let kernel = uses
        .kernel_algorithm
        .then_some(KERNEL)
        .into_iter()
        .flatten();
    for path in names.chain(kernel) {
        rules.add(path, read)?;
    }
    let status = rules.0.restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

/// What is permitted.
struct Rules(RulesetCreated);

impl Rules {
    /// Permits `access` to what is at a path and below it, if there is anything.
    fn add(
        &mut self,
        path: impl AsRef<Path>,
        access: BitFlags<AccessFs>,
    ) -> Result<(), RulesetError> {
        let Ok(fd) = PathFd::new(path) else {
            return Ok(());
        };
        let rule = PathBeneath::new(fd, access);
        (&mut self.0).add_rule(rule)?;
        Ok(())
    }
}
