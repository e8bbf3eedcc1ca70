//! The clock of the events: `CLOCK_MONOTONIC`, which `bpf_ktime_get_ns()` reads too. And what UTC
//! was then.

use nix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};
use whimbrel_units::Duration;

/// Nanoseconds now; 0 if the system has no such clock, which Linux always has.
pub(crate) fn monotonic() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| {
        let seconds = u64::try_from(now.tv_sec()).unwrap_or(0);
        seconds * 1_000_000_000 + u64::try_from(now.tv_nsec()).unwrap_or(0)
    })
}

/// UTC, since 1970, when the clock of the events showed so many nanoseconds; now, if it has not
/// shown them yet.
pub(crate) fn utc_at(nanos: u64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let passed = std::time::Duration::from_nanos(monotonic().saturating_sub(nanos));
    now.unwrap_or_default().saturating_sub(passed).into()
}
