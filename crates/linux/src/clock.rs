//! The clock of the events: `CLOCK_MONOTONIC`, which `bpf_ktime_get_ns()` reads too.

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds now; 0 if the system has no such clock, which Linux always has.
pub(crate) fn monotonic() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| {
        let seconds = u64::try_from(now.tv_sec()).unwrap_or(0);
        seconds * 1_000_000_000 + u64::try_from(now.tv_nsec()).unwrap_or(0)
    })
}
