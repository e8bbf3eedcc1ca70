//! Bounds what the allocator keeps of freed memory.
//!
//! glibc gives threads heaps of their own, up to eight for each processor, and keeps at the end of
//! each what was freed: twice the largest buffer that was ever freed, up to 64 MiB. A server's
//! threads come and go, so within an hour it would hold a hundred MB of which it uses seven. With
//! four heaps and fixed bounds, buffers of whole chunks go back to the system at once.

/// Heaps at most.
const HEAPS: i32 = 4;
/// Buffers of this size or more have pages of their own, bytes: a chunk of a file.
const OWN_PAGES: i32 = 1 << 20;
/// What a heap keeps at its end, bytes.
const KEPT: i32 = 2 << 20;

/// Sets the bounds, before the process has other threads. Other C libraries have none to set.
pub fn bound() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt only changes parameters of the allocator. A value that it refuses has no
    // effect.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, HEAPS);
        libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_PAGES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = (HEAPS, OWN_PAGES, KEPT);
}
