//! Directories of cgroup2: this process's own, and temporary ones below it.
//!
//! The kernel does not remove a cgroup with the process that made it, so a temporary one belongs to
//! a guard: a shell that makes the directory, waits for the end of a pipe whose other end only this
//! process has, moves what is left in the cgroup to the cgroup above, and removes the directory. It
//! does so after any end of this process, SIGKILL included. Its own process group keeps it from an
//! interrupt typed at the terminal. Only the end of a PID namespace also ends a guard in it; then
//! the empty directory stays until the next instance makes one beside it.
//!
//! cgroup2 may be mounted at `/sys/fs/cgroup`, at `/sys/fs/cgroup/unified` beside version 1, or
//! nowhere: on a system without systemd, and behind `ip netns exec`, which covers `/sys`. In the
//! last case the guard mounts it in a mount namespace of its own. Nobody else sees that mount, it
//! ends with the guard, and this process reaches it through `/proc/GUARD/root`.

use crate::error::LinuxError;
use crate::kernel_algorithms::PREFIX;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

/// Where the guard mounts cgroup2 if it is not mounted: the usual place, a directory of sysfs.
const MOUNT_POINT: &str = "/sys/fs/cgroup";
/// Names that are tried for a cgroup.
const MAX_NAMES: u32 = 16;

/// A cgroup that is removed on drop, and after any end of this process.
#[derive(Debug)]
pub(crate) struct Temporary {
    directory: PathBuf,
    guard: Child,
}

/// What the guard does: `$1` is the cgroup, `$2` the one above. Processes may still be forking
/// while it moves them, hence the repetition.
const GUARD: &str = r#"
trap '' HUP INT PIPE QUIT TERM
mkdir "$1" || exit 1
echo made
exec >/dev/null 2>&1
read -r _
tries=0
while [ -d "$1" ] && [ "$tries" -lt 100 ]; do
  while read -r pid; do echo "$pid" > "$2/cgroup.procs"; done < "$1/cgroup.procs"
  rmdir "$1" && exit
  tries=$((tries + 1))
  sleep 0.05
done
"#;

impl Temporary {
    /// Makes a cgroup below this process's own, whose name is `name`, a hyphen and a count. Before,
    /// removes empty ones of instances that do not run any more.
    ///
    /// # Errors
    /// If there is no cgroup2, or this process may not make a cgroup.
    pub(crate) fn create(
        name: &str,
        is_running: impl Fn(&str) -> bool,
    ) -> Result<Self, LinuxError> {
        let Some(above) = own()? else {
            return Self::create_unmounted(name);
        };
        remove_stale(&above, &is_running);
        // One with the same name may still be there, of a datapath that was dropped before it.
        let directory = (0..)
            .map(|count: u32| above.join(format!("{name}-{count}")))
            .find(|directory| !directory.exists())
            .unwrap_or_else(|| above.join(name));
        match Self::guarded(guard(&directory, &above), directory)? {
            Ok(temporary) => Ok(temporary),
            Err(why) => Err(LinuxError::System(format!(
                "{why}; run this as root, or in a cgroup that this user may change \
                 (`systemd-run --user --scope -p Delegate=yes`), or choose an existing cgroup"
            ))),
        }
    }

    /// The same where cgroup2 is not mounted.
    fn create_unmounted(name: &str) -> Result<Self, LinuxError> {
        let at = if Path::new(MOUNT_POINT).is_dir() {
            MOUNT_POINT
        } else {
            "/mnt"
        };
        // This process's own cgroup, unless it is outside of what the mount shows.
        let cgroups = fs::read_to_string("/proc/self/cgroup")
            .map_err(LinuxError::os("reading /proc/self/cgroup"))?;
        let path = path_of(&cgroups).filter(|path| !path.starts_with("/.."));
        let above = Path::new(at).join(path.unwrap_or("/").trim_start_matches('/'));
        let mut why = String::new();
        for count in 0..MAX_NAMES {
            let directory = above.join(format!("{name}-{count}"));
            let mut guard = guard(&directory, &above);
            // SAFETY: between fork and exec these functions only make system calls.
            unsafe { guard.pre_exec(move || mount_privately(at)) };
            match Self::guarded(guard, directory)? {
                Ok(mut temporary) => {
                    let root = format!("/proc/{}/root", temporary.guard.id());
                    let below = temporary
                        .directory
                        .strip_prefix("/")
                        .unwrap_or(Path::new(""));
                    temporary.directory = Path::new(&root).join(below);
                    return Ok(temporary);
                }
                Err(text) => why = text,
            }
        }
        Err(LinuxError::System(format!(
            "cgroup2 is not mounted, and no cgroup could be made: {why}"
        )))
    }

    /// Starts a guard and waits until it has made its cgroup. Returns why it could not.
    fn guarded(mut guard: Command, directory: PathBuf) -> Result<Result<Self, String>, LinuxError> {
        let doing = "starting /bin/sh, which makes and removes the cgroup";
        let mut guard = guard.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => LinuxError::System(
                "cgroup2 is not mounted, and this user may not mount it: run this as root"
                    .to_owned(),
            ),
            _ => LinuxError::os(doing)(error),
        })?;
        let (out, errors) = (guard.stdout.take(), guard.stderr.take());
        // From here on, dropping it ends the guard.
        let temporary = Self { directory, guard };
        let why = reply(out, errors).map_err(LinuxError::os(doing))?;
        Ok(why.map_or(Ok(temporary), Err))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

/// The guard of a cgroup.
fn guard(directory: &Path, above: &Path) -> Command {
    let mut guard = Command::new("/bin/sh");
    guard
        .args(["-c", GUARD, "whimbrel-cgroup-guard"])
        .args([directory, above])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir("/")
        .process_group(0);
    guard
}

/// Mounts cgroup2 at `point`, visible to the calling process only.
fn mount_privately(point: &str) -> io::Result<()> {
    let nothing: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(
        nothing,
        "/",
        nothing,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        nothing,
    )?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("none"), point, Some("cgroup2"), flags, nothing)?;
    Ok(())
}

impl Drop for Temporary {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        // The guard ends on its own, also if it cannot remove the directory.
        let _ = self.guard.wait();
    }
}

/// Removes empty cgroups of instances that do not run any more, also within each other.
fn remove_stale(above: &Path, is_running: &impl Fn(&str) -> bool) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let file_name = entry.file_name();
        let Some((name, _)) = file_name.to_str().and_then(|text| text.rsplit_once('-')) else {
            continue;
        };
        if name.starts_with(PREFIX) && !is_running(name) {
            remove_stale(&entry.path(), is_running);
            // One that has processes, or that another process has just removed, stays as it is.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Reads what the guard says: nothing if it has made the directory, otherwise why it could not.
fn reply(out: Option<ChildStdout>, errors: Option<ChildStderr>) -> io::Result<Option<String>> {
    let mut made = String::new();
    if let Some(out) = out {
        BufReader::new(out).read_line(&mut made)?;
    }
    if made.trim_end() == "made" {
        return Ok(None);
    }
    let mut why = String::new();
    if let Some(mut errors) = errors {
        errors.read_to_string(&mut why)?;
    }
    Ok(Some(why.trim_end().replace('\n', "; ")))
}

/// Checks that a directory is a cgroup.
///
/// # Errors
/// If it is not.
pub(crate) fn check(directory: &Path) -> Result<(), LinuxError> {
    let system = |why: String| {
        let shown = directory.display();
        let example = mount_point().unwrap_or_else(|| PathBuf::from("/sys/fs/cgroup"));
        LinuxError::System(format!(
            "{shown} {why}: name a directory below {}",
            example.display(),
        ))
    };
    match statfs(directory) {
        Ok(found) if found.filesystem_type() == CGROUP2_SUPER_MAGIC => Ok(()),
        Ok(_) => Err(system("is not a cgroup of version 2".to_owned())),
        Err(error) => Err(system(format!(
            "cannot be used as a cgroup ({})",
            error.desc()
        ))),
    }
}

/// Marks the directory of a cgroup until the mark is dropped. Says also whether somebody else has
/// marked it.
pub(crate) fn mark(directory: &Path) -> io::Result<(Flock<File>, bool)> {
    // The lock says only that somebody is there: everybody ends with a shared one.
    match Flock::lock(File::open(directory)?, FlockArg::LockExclusiveNonblock) {
        Ok(alone) => {
            alone.relock(FlockArg::LockShared)?;
            Ok((alone, false))
        }
        Err((opened, Errno::EWOULDBLOCK)) => {
            let shared = Flock::lock(opened, FlockArg::LockShared);
            Ok((shared.map_err(|(_, errno)| errno)?, true))
        }
        Err((_, errno)) => Err(errno.into()),
    }
}

/// The directory of this process's cgroup; `None` if cgroup2 is not mounted.
fn own() -> Result<Option<PathBuf>, LinuxError> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")
        .map_err(LinuxError::os("reading /proc/self/mountinfo"))?;
    let cgroups = fs::read_to_string("/proc/self/cgroup")
        .map_err(LinuxError::os("reading /proc/self/cgroup"))?;
    let mounts = mounted(&mounts);
    let Some(first) = mounts.first() else {
        return Ok(None);
    };
    let path = path_of(&cgroups).unwrap_or("/");
    let mut candidates = mounts.iter().filter_map(|mount| mount.directory(path));
    // A mount may hide another one.
    candidates
        .rfind(|directory| directory.join("cgroup.procs").exists())
        .map(Some)
        .ok_or_else(|| {
            LinuxError::System(format!(
                "this process's cgroup, {path}, is outside of what {} shows: choose an existing \
                 cgroup",
                first.point.display(),
            ))
        })
}

/// Where cgroup2 is mounted.
fn mount_point() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    Some(mounted(&mounts).pop()?.point)
}

/// A mount of cgroup2.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// The cgroup that the mount shows as its root.
    root: PathBuf,
    /// Where it is mounted.
    point: PathBuf,
}

impl Mount {
    /// The directory of a cgroup in this mount; `None` if it is outside.
    fn directory(&self, path: &str) -> Option<PathBuf> {
        let below = Path::new(path).strip_prefix(&self.root).ok()?;
        // A path that begins with `/..` is outside of the cgroup namespace.
        let inside = below
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        inside.then(|| self.point.join(below))
    }
}

/// The mounts of cgroup2 in `/proc/PID/mountinfo`, whose format proc_pid_mountinfo(5) states.
fn mounted(mountinfo: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        if after.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        Some(Mount {
            root: PathBuf::from(unescape(fields.next()?)),
            point: PathBuf::from(unescape(fields.next()?)),
        })
    };
    mountinfo.lines().filter_map(mount).collect()
}

/// Spaces, tabs, newlines and backslashes are written as octal numbers.
fn unescape(field: &str) -> String {
    let mut out = field.to_owned();
    for (written, meant) in [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ] {
        out = out.replace(written, meant);
    }
    out
}

/// The path of the cgroup of version 2 in `/proc/PID/cgroup`.
fn path_of(cgroups: &str) -> Option<&str> {
    cgroups.lines().find_map(|line| line.strip_prefix("0::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_cgroup2_wherever_it_is_mounted() {
        let hybrid = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
                      32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n";
        let found = mounted(hybrid);
        assert_eq!(found.len(), 1);
        let service = found[0].directory("/system.slice/a.service");
        let expected = "/sys/fs/cgroup/unified/system.slice/a.service";
        assert_eq!(service, Some(PathBuf::from(expected)));
        assert_eq!(
            mounted("1 2 0:1 / /a\\040b rw - cgroup2 none rw\n")[0].point,
            Path::new("/a b")
        );
        assert_eq!(
            mounted("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"),
            []
        );
    }

    #[test]
    fn a_mount_of_a_part_shows_only_that_part() {
        let part = Mount {
            root: PathBuf::from("/docker/abc"),
            point: PathBuf::from("/sys/fs/cgroup"),
        };
        let inside = part.directory("/docker/abc/x");
        assert_eq!(inside, Some(PathBuf::from("/sys/fs/cgroup/x")));
        assert_eq!(part.directory("/docker/other"), None);
        assert_eq!(part.directory("/../x"), None);
    }

    #[test]
    fn the_path_is_that_of_version_2() {
        assert_eq!(
            path_of("4:memory:/m\n0::/user.slice\n"),
            Some("/user.slice")
        );
        assert_eq!(path_of("4:memory:/m\n"), None);
    }

    #[test]
    fn a_second_instance_learns_of_the_first() {
        let directory = std::env::temp_dir().join(format!("whimbrel-mark-{}", std::process::id()));
        fs::create_dir(&directory).expect("made");
        let (first, shared) = mark(&directory).expect("marked");
        assert!(!shared);
        let (second, shared) = mark(&directory).expect("marked");
        assert!(shared);
        drop(first);
        assert!(
            mark(&directory).expect("marked").1,
            "the second one is there"
        );
        drop(second);
        assert!(!mark(&directory).expect("marked").1);
        fs::remove_dir(&directory).expect("removed");
    }
}
