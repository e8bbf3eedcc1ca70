//! Bounds what the allocator keeps of freed memory, and gives back the rest.
//!
//! glibc gives threads heaps of their own, up to eight for each processor, and keeps at the end of
//! each what was freed: twice the largest buffer that was ever freed, up to 64 MiB. A server's
//! threads come and go, so within an hour it would hold a hundred MB of which it uses seven. With
//! four heaps and fixed bounds, buffers of whole chunks go back to the system at once. Small ones
//! stay until somebody asks for what is free in the middle of a heap.

use std::time::Duration;

/// Heaps at most.
const HEAPS: i32 = 4;
/// Buffers of this size or more have pages of their own, bytes: a chunk of a file.
const OWN_PAGES: i32 = 1 << 20;
/// What a heap keeps at its end, bytes.
const KEPT: i32 = 2 << 20;

/// Time between two looks.
const LOOK: Duration = Duration::from_secs(10);
/// A process with less memory of its own is left alone, bytes.
const SMALL: usize = 32 << 20;

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

/// From now on what is free in the heaps of a process that has much memory goes back to the system.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    std::thread::Builder::new()
        .name("memory".to_owned())
        .spawn(|| {
            loop {
                std::thread::sleep(LOOK);
                if own() >= SMALL {
                    // SAFETY: malloc_trim takes the locks of the heaps, and changes only what is
                    // free.
                    unsafe { libc::malloc_trim(0) };
                }
            }
        })
        .ok();
    #[cfg(not(target_env = "gnu"))]
    let _ = (LOOK, SMALL);
}

/// The memory that only this process has, bytes; 0 if the system does not say.
#[cfg(target_env = "gnu")]
fn own() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = text.lines().find_map(|line| {
        let value = line.strip_prefix("RssAnon:")?;
        value.trim().strip_suffix(" kB")?.parse::<usize>().ok()
    });
    kib.unwrap_or(0) << 10
}
