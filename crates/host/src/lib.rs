//! The time of day as this host knows it, for algorithms that act at the same time on all hosts.
//!
//! Linux knows whether something keeps its clock right: NTP and PTP daemons tell it how far the
//! clock may be off, and what they said expires (adjtimex(2)). On other systems, and where a
//! sandbox forbids the call, the clock counts as kept right.

use std::time::{SystemTime, UNIX_EPOCH};
use whimbrel_cc::TimeOfDay;

/// The time of day now.
#[must_use]
pub fn time_of_day() -> TimeOfDay {
    let utc = SystemTime::now().duration_since(UNIX_EPOCH);
    TimeOfDay {
        // A clock that shows a time before 1970 is not kept right.
        synchronized: utc.is_ok() && is_synchronized(),
        utc: utc.unwrap_or_default().into(),
    }
}

#[cfg(target_os = "linux")]
fn is_synchronized() -> bool {
    // SAFETY: `timex` consists of numbers, for each of which zero is valid.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes to `timex` only, and without modes it changes nothing.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    state < 0 || timex.status & libc::STA_UNSYNC == 0
}

#[cfg(not(target_os = "linux"))]
const fn is_synchronized() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_is_that_of_the_system() {
        let now = time_of_day();
        let utc = SystemTime::now().duration_since(UNIX_EPOCH);
        let later = utc.expect("after 1970").as_secs_f64() - now.utc.as_secs_f64();
        assert!((0.0..1.0).contains(&later), "{later}");
    }

    /// The call says the same as the state that it returns: 5 is TIME_ERROR.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_clock_that_nothing_keeps_right_is_known() {
        // SAFETY: as above.
        let state = unsafe {
            let mut timex: libc::timex = std::mem::zeroed();
            libc::adjtimex(&raw mut timex)
        };
        assert_eq!(time_of_day().synchronized, state != libc::TIME_ERROR);
    }
}
