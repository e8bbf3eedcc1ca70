//! The clock that the application's handles use.

use std::time::Instant;

/// The source of the time that a handle passes to the core.
#[derive(Debug, Clone)]
pub(crate) enum Clock {
    /// The system's monotonic clock.
    System,
    /// Virtual time.
    #[cfg(test)]
    Virtual(std::sync::Arc<std::sync::Mutex<Instant>>),
}

impl Clock {
    /// The current time.
    pub fn now(&self) -> Instant {
        match self {
            Self::System => Instant::now(),
            #[cfg(test)]
            Self::Virtual(now) => *now.lock().expect("one thread"),
        }
    }
}
