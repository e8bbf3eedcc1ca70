//! The calls that change what is on the disk, for the whole of [`super`] and for credentials. Tests
//! put a simulated disk in between (`world`), whose writes get lost and whose calls fail.

#[cfg(test)]
pub(crate) use super::world::calls::{
    fchmod, fsync, futimens, linkat, mkdirat, openat, renameat, renameat_with, set_len, symlinkat,
    syncfs, unlinkat, write_all, write_all_at,
};
#[cfg(not(test))]
pub(crate) use real::{set_len, write_all, write_all_at};
#[cfg(not(test))]
pub(crate) use rustix::fs::{
    fchmod, fsync, futimens, linkat, mkdirat, openat, renameat, renameat_with, symlinkat, syncfs,
    unlinkat,
};

/// The calls that the standard library has.
pub(super) mod real {
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::unix::fs::FileExt;

    /// Sets the length of a file; new bytes are zero.
    pub fn set_len(file: &File, size: u64) -> io::Result<()> {
        file.set_len(size)
    }

    /// Writes all of `data` at an offset.
    pub fn write_all_at(file: &File, data: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(data, at)
    }

    /// Writes all of `data` to a new file.
    pub fn write_all(mut file: &File, data: &[u8]) -> io::Result<()> {
        file.write_all(data)
    }
}
