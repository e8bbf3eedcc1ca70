//! Real time as the `net` crate counts it.

use std::time::Instant;
use whimbrel_units::Time;

/// Nanoseconds since the path came to life; both directions share it.
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
