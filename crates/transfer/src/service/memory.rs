//! Bounds how much freed memory the allocator keeps, and returns the rest to the system.
//!
//! glibc gives threads heaps of their own, up to eight for each processor, and keeps freed memory
//! at the end of each: twice the largest buffer that was ever freed, up to 64 MiB. The threads of a
//! server come and go, so within an hour it would hold a hundred MB and use seven. With four heaps
//! and fixed bounds, buffers of whole chunks return to the system at once. Small buffers stay until
//! the process trims its heaps.

use std::time::Duration;

/// Heaps at most.
const HEAPS: i32 = 4;
/// Buffers of this size or more have pages of their own, bytes: a chunk of a file.
const OWN_PAGES: i32 = 1 << 20;
/// What a heap keeps at its end, bytes.
const KEPT: i32 = 2 << 20;

/// Time between two checks.
const CHECK: Duration = Duration::from_secs(10);
/// A process with less memory of its own is left alone, bytes.
const SMALL: usize = 32 << 20;

/// Bounds the memory of the process: sets the bounds of the allocator, and starts a thread that
/// returns free memory to the system. Call it before the process has other threads. C libraries
/// other than glibc have no such bounds.
pub fn bound_memory() {
    set_bounds();
    give_back();
}

fn set_bounds() {
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

/// From now on, free memory in the heaps of a large process returns to the system.
fn give_back() {
    #[cfg(target_env = "gnu")]
    std::thread::Builder::new()
        .name("memory".to_owned())
        .spawn(|| {
            loop {
                std::thread::sleep(CHECK);
                if own() >= SMALL {
                    // SAFETY: malloc_trim takes the locks of the heaps, and changes only what is
                    // free.
                    unsafe { libc::malloc_trim(0) };
                }
            }
        })
        .ok();
    #[cfg(not(target_env = "gnu"))]
    let _ = (CHECK, SMALL);
}

/// The anonymous memory of this process, bytes; 0 if it is unknown.
#[cfg(target_env = "gnu")]
fn own() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = text.lines().find_map(|line| {
        let value = line.strip_prefix("RssAnon:")?;
        value.trim().strip_suffix(" kB")?.parse::<usize>().ok()
    });
    kib.unwrap_or(0) << 10
}
