//! Memory shared with the kernel.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// A mapping of a map's memory, unmapped on drop. Only atomic accesses, or accesses that the owner
/// proves to be exclusive, are sound: the kernel writes too.
#[derive(Debug)]
pub(super) struct Memory {
    start: NonNull<libc::c_void>,
    length: NonZeroUsize,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for Memory {}
// SAFETY: no method accesses the memory.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps `length` bytes from `offset` of a map's memory.
    pub(super) fn new(
        map: BorrowedFd<'_>,
        offset: usize,
        length: usize,
        writable: bool,
    ) -> io::Result<Self> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let length = NonZeroUsize::new(length).ok_or_else(invalid)?;
        let offset = offset.try_into().map_err(|_| invalid())?;
        let mut access = ProtFlags::PROT_READ;
        access.set(ProtFlags::PROT_WRITE, writable);
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
        let start = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, map, offset) }?;
        Ok(Self { start, length })
    }

    /// The address of the byte at `offset`; `None` if it is outside.
    pub(super) fn at(&self, offset: usize) -> Option<*mut u8> {
        let inside = offset < self.length.get();
        // SAFETY: the offset is within the mapping.
        inside.then(|| unsafe { self.start.as_ptr().cast::<u8>().add(offset) })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and no reference into it outlives the value.
        let unmapped = unsafe { munmap(self.start, self.length.get()) };
        debug_assert!(unmapped.is_ok());
    }
}

/// The size of a page.
pub(super) fn page_size() -> usize {
    // SAFETY: reads a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}
