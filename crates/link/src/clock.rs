//! Real time as the `net` crate's [`Time`].

use std::time::Instant;
use whimbrel_units::Time;

/// Counts nanoseconds since the path started. Both directions share it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    #[inline]
    pub fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
