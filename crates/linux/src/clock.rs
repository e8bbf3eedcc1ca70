//! The clock of the events: `CLOCK_MONOTONIC`, which `bpf_ktime_get_ns()` reads too. And the time
//! of day then.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;
use whimbrel_cc::TimeOfDay;

/// Nanoseconds now; 0 if the system has no such clock, which Linux always has.
pub(crate) fn monotonic() -> u64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| {
        let seconds = u64::try_from(now.tv_sec()).unwrap_or(0);
        seconds * 1_000_000_000 + u64::try_from(now.tv_nsec()).unwrap_or(0)
    })
}

/// The time of day when the clock of the events showed so many nanoseconds; now, if it has not
/// shown them yet.
pub(crate) fn time_of_day_at(nanos: u64) -> TimeOfDay {
    let passed = Duration::from_nanos(monotonic().saturating_sub(nanos));
    whimbrel_host::time_of_day().before(passed.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn utc_advances_with_the_clock_of_the_events() {
        let now = monotonic();
        let utc_at = |nanos| time_of_day_at(nanos).utc.as_secs_f64();
        let second = utc_at(now) - utc_at(now - 1_000_000_000);
        let error = second - 1.0;
        assert!(error.abs() < 0.1, "{error}");
        let utc = SystemTime::now().duration_since(UNIX_EPOCH);
        let utc = utc.expect("after 1970").as_secs_f64();
        assert!((utc_at(now) - utc).abs() < 1.0, "{utc}");
    }
}
