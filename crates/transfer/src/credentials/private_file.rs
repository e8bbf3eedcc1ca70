//! Files that only their owner may read: keys, tokens, known servers.
//!
//! Files are written under another name and renamed, so that a reader never sees half of one. A
//! lock file beside them serializes writers, of this and of other processes.

use crate::error::Error;
use crate::storage::directory_of;
use crate::storage::system::{fsync, openat, renameat, write_all};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Maximum size of such a file, bytes.
const MAX_SIZE: u64 = 16 << 20;

/// Who may have access to a file beside its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nobody.
    Secret,
    /// Others may read it.
    Public,
}

/// Creates a directory, and its missing parents, with access for the owner only.
pub(crate) fn create_directory(directory: &Path) -> Result<(), Error> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(Error::file(directory, "create this directory"))
}

/// Checks that nobody else can put files into a directory, or replace those in it.
///
/// # Errors
/// If others may write there.
pub(crate) fn check_directory(directory: &Path) -> Result<(), Error> {
    let meta = fs::metadata(directory).map_err(Error::file(directory, "inspect"))?;
    if meta.permissions().mode() & 0o022 != 0 {
        return Err(Error::Private(format!(
            "other users can replace the files in {0}; run `chmod 700 {0}`, and create a new \
             identity if they may have done so",
            directory.display()
        )));
    }
    Ok(())
}

/// Reads a file that no other user may write, or read if it is secret. `None` if it does not exist.
/// The text is overwritten when it is dropped.
///
/// # Errors
/// If it cannot be read, is no regular file or not text, or others have access.
pub(crate) fn read(path: &Path, access: Access) -> Result<Option<Zeroizing<String>>, Error> {
    // Without O_NONBLOCK, a pipe would wait for a writer.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(Error::file(path, "read"))?,
    };
    let meta = file.metadata().map_err(Error::file(path, "inspect"))?;
    if !meta.is_file() {
        let cause = std::io::Error::other("it is not a regular file");
        return Err(Error::file(path, "read")(cause));
    }
    let mode = meta.permissions().mode();
    let problem = match access {
        _ if mode & 0o022 != 0 => Some("change"),
        Access::Secret if mode & 0o077 != 0 => Some("read"),
        Access::Secret | Access::Public => None,
    };
    if let Some(problem) = problem {
        return Err(Error::Private(format!(
            "other users can {problem} {0}; run `chmod 600 {0}`, and replace its contents if they \
             may have done so",
            path.display()
        )));
    }
    // Large enough from the beginning: to grow would leave copies behind.
    let size = usize::try_from(meta.len().min(MAX_SIZE)).unwrap_or(0);
    let mut text = Zeroizing::new(String::with_capacity(size + 1));
    file.take(MAX_SIZE)
        .read_to_string(&mut text)
        .map_err(Error::file(path, "read"))?;
    Ok(Some(text))
}

/// Writes a file that only the owner can read, and replaces an older one. It survives a crash.
///
/// # Errors
/// If it cannot be written. The older one then remains, unless only its directory cannot be
/// flushed.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let temporary = beside(path, &format!(".{}.tmp", std::process::id()));
    let name = |path: &Path| path.file_name().unwrap_or_default().to_owned();
    let write = || {
        let directory = File::open(directory_of(path))?;
        let (old, new) = (name(&temporary), name(path));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let file = openat(&directory, &*old, flags, Mode::from_raw_mode(0o600))?;
        let file = File::from(file);
        write_all(&file, contents)?;
        fsync(&file)?;
        renameat(&directory, &*old, &directory, &*new)?;
        fsync(&directory)?;
        Ok(())
    };
    write().map_err(|cause| {
        fs::remove_file(&temporary).ok();
        Error::file(path, "write this file")(cause)
    })
}

/// The lock of a file or directory; dropped, it is released.
#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code, reason = "the lock is the open file")] File);

/// Waits until no other process or thread holds the lock of `path`, and takes it.
///
/// # Errors
/// If the lock file cannot be created or locked.
pub(crate) fn lock(path: &Path) -> Result<Lock, Error> {
    let path = beside(path, ".lock");
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(Error::file(&path, "create this file"))?;
    flock(&file, FlockOperation::LockExclusive)
        .map_err(|e| Error::file(&path, "lock this file")(e.into()))?;
    Ok(Lock(file))
}

/// The path with something added to its last part.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch_directory::ScratchDirectory;

    #[test]
    fn a_file_is_private_and_replaced_as_a_whole() {
        let scratch = ScratchDirectory::new();
        let path = scratch.path().join("secret");
        assert_eq!(read(&path, Access::Secret).expect("missing"), None);
        replace(&path, b"one").expect("written");
        replace(&path, b"two").expect("written");
        let text = read(&path, Access::Secret).expect("read");
        assert_eq!(text.as_ref().map(|text| text.as_str()), Some("two"));
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for (mode, public) in [(0o640, true), (0o604, true), (0o620, false), (0o777, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("the owner may");
            let error = read(&path, Access::Secret).expect_err("not private");
            assert!(error.to_string().contains("chmod 600"), "{error}");
            assert_eq!(read(&path, Access::Public).is_ok(), public, "{mode:o}");
        }
    }

    #[test]
    fn a_pipe_is_refused_at_once() {
        let scratch = ScratchDirectory::new();
        let path = scratch.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo runs").success());
        let error = read(&path, Access::Public).expect_err("a pipe").to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_directory_that_others_may_write_is_refused() {
        let scratch = ScratchDirectory::new();
        let directory = scratch.path().join("state");
        create_directory(&directory).expect("created");
        check_directory(&directory).expect("private");
        for (mode, accepted) in [
            (0o777, false),
            (0o770, false),
            (0o702, false),
            (0o755, true),
        ] {
            fs::set_permissions(&directory, fs::Permissions::from_mode(mode))
                .expect("the owner may");
            let checked = check_directory(&directory);
            assert_eq!(checked.is_ok(), accepted, "{mode:o}");
            if let Err(error) = checked {
                assert!(error.to_string().contains("chmod 700"), "{error}");
            }
        }
    }
}
