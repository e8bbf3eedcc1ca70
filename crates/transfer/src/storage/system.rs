//! The calls that change what is on the disk, for the whole of [`super`] and for credentials. Tests
//! put a simulated disk in between (`simulated`), whose writes get lost and whose calls fail.

#[cfg(not(test))]
pub(crate) use crate::file_calls::{set_len, write_all, write_all_at};
#[cfg(test)]
pub(crate) use crate::simulated::calls::{
    fchmod, fsync, futimens, linkat, mkdirat, openat, renameat, renameat_with, set_len, symlinkat,
    syncfs, unlinkat, write_all, write_all_at,
};
#[cfg(not(test))]
pub(crate) use rustix::fs::{
    fchmod, fsync, futimens, linkat, mkdirat, openat, renameat, renameat_with, symlinkat, syncfs,
    unlinkat,
};
