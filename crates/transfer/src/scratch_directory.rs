//! Scratch directories for tests; the integration tests use this file too.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// An empty directory for one test, removed when it is dropped.
pub(crate) struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    /// Creates a directory with a name that no other test uses.
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// The same in memory, if the system has a place for that: no disk is waited for.
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        match fs::metadata(memory) {
            Ok(found) if found.is_dir() => Self::below(memory),
            _ => Self::new(),
        }
    }

    fn below(place: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = place.join(format!("whimbrel-test-{}-{n}", std::process::id()));
        fs::remove_dir_all(&path).ok();
        fs::create_dir_all(&path).expect("a scratch directory");
        Self(path)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Creates a subdirectory.
    pub fn subdirectory(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(&path).expect("a subdirectory");
        path
    }

    /// Creates a subdirectory that only root can list.
    pub fn unreadable(&self, name: &str) -> PathBuf {
        let path = self.subdirectory(name);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o000);
        fs::set_permissions(&path, mode).expect("set");
        path
    }

    /// Creates a file of `size` bytes that do not repeat.
    pub fn file(&self, name: &str, size: usize) -> PathBuf {
        let path = self.0.join(name);
        let mut data = vec![0; size];
        blake3::Hasher::new()
            .update(name.as_bytes())
            .finalize_xof()
            .fill(&mut data);
        fs::write(&path, data).expect("written");
        path
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// While it lives, the modes of files apply to this thread, also if root runs the tests.
pub(crate) struct Unprivileged(i32);

impl Unprivileged {
    /// Begins.
    pub fn begin() -> Self {
        // SAFETY: it changes who this thread is for the file system, and nothing in memory.
        Self(unsafe { libc::setfsuid(65534) })
    }
}

impl Drop for Unprivileged {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { libc::setfsuid(self.0 as u32) };
    }
}

/// The names of the files in a directory, sorted.
pub(crate) fn file_names(directory: &Path) -> Vec<String> {
    let entries = directory.read_dir().expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| {
            let name = entry.expect("a directory entry").file_name();
            name.to_string_lossy().into_owned()
        })
        .collect();
    names.sort();
    names
}
