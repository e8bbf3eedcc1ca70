//! The clock that the application's handles use.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;
use whimbrel_units::Duration;

/// The source of the time that a handle passes to the core.
#[derive(Clone)]
pub(crate) enum Clock {
    /// The system's monotonic clock.
    System,
    /// The clock of a simulation, and the instant at which it is midnight there.
    Of(Arc<dyn Fn() -> Instant + Send + Sync>, Instant),
    /// Virtual time, an instant, and the time of day then.
    #[cfg(test)]
    Virtual(Arc<std::sync::Mutex<Instant>>, (Instant, Duration)),
}

impl Clock {
    /// The current time.
    pub fn now(&self) -> Instant {
        match self {
            Self::System => Instant::now(),
            Self::Of(now, _) => now(),
            #[cfg(test)]
            Self::Virtual(now, _) => *now.lock().expect("one thread"),
        }
    }

    /// UTC at an instant, since 1970, if it is not the system's.
    pub fn utc(&self) -> Option<(Instant, Duration)> {
        match self {
            Self::System => None,
            Self::Of(_, midnight) => Some((*midnight, Duration::ZERO)),
            #[cfg(test)]
            Self::Virtual(_, utc) => Some(*utc),
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
