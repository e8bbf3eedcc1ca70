//! The clock that the application's handles use.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// The source of the time that a handle passes to the core.
#[derive(Clone)]
pub(crate) enum Clock {
    /// The system's monotonic clock.
    System,
    /// The clock of a simulation.
    Of(Arc<dyn Fn() -> Instant + Send + Sync>),
    /// Virtual time.
    #[cfg(test)]
    Virtual(Arc<std::sync::Mutex<Instant>>),
}

impl Clock {
    /// The current time.
    pub fn now(&self) -> Instant {
        match self {
            Self::System => Instant::now(),
            Self::Of(now) => now(),
            #[cfg(test)]
            Self::Virtual(now) => *now.lock().expect("one thread"),
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
