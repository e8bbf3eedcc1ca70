//! The calls on files that the standard library has, as functions like those of rustix. Tests put a
//! simulated disk in between.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// Sets the length of a file; new bytes are zero.
pub(crate) fn set_len(file: &File, size: u64) -> io::Result<()> {
    file.set_len(size)
}

/// Writes all of `data` at an offset.
pub(crate) fn write_all_at(file: &File, data: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(data, at)
}

/// Writes all of `data` to a new file.
pub(crate) fn write_all(mut file: &File, data: &[u8]) -> io::Result<()> {
    file.write_all(data)
}
