//! Builds a controller for quinn each time it opens a path.

use crate::Adapter;
use quinn_proto::congestion::{Controller, ControllerFactory};
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use whimbrel_cc::{Setup, Spec};
use whimbrel_units::Bytes;

/// quinn cannot run this algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnsupportedController {
    /// It needs reports on bursts.
    Bursts(String),
    /// It sets a pacing rate, which quinn does not apply.
    Pacing(String),
}

impl fmt::Display for UnsupportedController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bursts(name) => {
                write!(f, "`{name}` needs reports on bursts, which quinn has not")
            }
            Self::Pacing(name) => write!(
                f,
                "`{name}` sets a pacing rate, which quinn does not apply: use it on noq"
            ),
        }
    }
}

impl Error for UnsupportedController {}

/// Builds controllers of one kind, for quinn's `TransportConfig::congestion_controller_factory`.
#[derive(Debug, Clone)]
pub struct Factory {
    spec: Spec,
    /// [`Setup::seed`] of the next controller, shared by all clones.
    seed: Arc<AtomicU64>,
}

impl Factory {
    /// Creates a factory for the algorithm `spec`, e.g. `"cubic".parse()?`.
    ///
    /// # Errors
    /// If quinn cannot run it.
    pub fn new(spec: Spec) -> Result<Self, UnsupportedController> {
        let factory = Self {
            // The standard library seeds its hash maps with the system's random numbers.
            seed: Arc::new(AtomicU64::new(RandomState::new().hash_one(()))),
            spec,
        };
        match factory.spec.build(&factory.setup(1200)) {
            None => Err(UnsupportedController::Bursts(factory.spec.to_string())),
            Some(controller) if controller.pacing_rate().is_some() => {
                Err(UnsupportedController::Pacing(factory.spec.to_string()))
            }
            Some(_) => Ok(factory),
        }
    }

    /// Sets the seed of the random numbers that algorithms draw, so that every run draws the same:
    /// the n-th controller built uses `seed + n`. By default every factory has a random seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Arc::new(AtomicU64::new(seed));
        self
    }

    /// The parameters of the next controller, on a path of `mtu` bytes.
    fn setup(&self, mtu: u16) -> Setup {
        let mss = u64::from(mtu);
        // RFC 9002 section 7.2: ten datagrams, but no more than 14,720 bytes or two datagrams.
        let initial_window = (10 * mss).min((2 * mss).max(14_720));
        Setup {
            mss: Bytes::new(mss),
            initial_window: Bytes::new(initial_window),
            // quinn paces, by RFC 9002 section 7.7.
            paced: true,
            ssthresh: None,
            growth: Default::default(),
            seed: self.seed.fetch_add(1, Ordering::Relaxed),
            time_of_day: whimbrel_host::time_of_day(),
            saved: None,
        }
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let setup = self.setup(current_mtu);
        let controller = self.spec.build(&setup);
        let controller = controller.expect("`new` has built one of this kind");
        Box::new(Adapter::new(controller, &setup, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_that_quinn_cannot_run_are_rejected_by_name() {
        let factory = |name: &str| Factory::new(name.parse().expect("a known controller"));
        for (name, reason) in [("aatp", "bursts"), ("bbr3", "pacing rate")] {
            let error = factory(name).expect_err("rejected").to_string();
            assert!(error.contains(name) && error.contains(reason), "{error}");
        }
        for name in ["newreno", "cubic", "cubic+cerl"] {
            assert!(factory(name).is_ok(), "{name}");
        }
    }
}
