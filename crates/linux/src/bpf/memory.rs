//! Memory shared with the kernel.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

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

// The kernel writes these too, also atomically.
impl Memory {
    /// The position in the first word.
    pub(super) fn position(&self) -> Option<&AtomicUsize> {
        let word = self.aligned(0)?;
        // SAFETY: the word is aligned, within the mapping, and lives as long as the mapping. It is
        // only accessed atomically. `from_ptr` takes a mutable pointer; this process does not write
        // to a mapping that it can only read.
        Some(unsafe { AtomicUsize::from_ptr(word) })
    }

    /// The header of a record at `offset`.
    pub(super) fn header(&self, offset: usize) -> Option<&AtomicU32> {
        let word = self.aligned(offset)?;
        // SAFETY: as above.
        Some(unsafe { AtomicU32::from_ptr(word) })
    }

    /// The word at `offset`.
    pub(super) fn word(&self, offset: usize) -> Option<&AtomicU64> {
        let word = self.aligned(offset)?;
        // SAFETY: as above.
        Some(unsafe { AtomicU64::from_ptr(word) })
    }

    /// The address of a value at `offset`; `None` if it is not inside, or not aligned.
    fn aligned<T>(&self, offset: usize) -> Option<*mut T> {
        let last = offset.checked_add(size_of::<T>().checked_sub(1)?)?;
        self.at(last)?;
        let first = self.at(offset)?.cast::<T>();
        first.is_aligned().then_some(first)
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
