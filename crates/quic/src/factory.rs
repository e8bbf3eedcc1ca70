//! What noq asks for a controller each time it opens a path.

use crate::{Adapter, Monitor};
use noq_proto::congestion::{Controller, ControllerFactory};
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use whimbrel_cc::registry::Feed;
use whimbrel_cc::{Setup, Spec};
use whimbrel_units::{Bytes, Duration};

/// QUIC cannot carry this algorithm: it lives on reports on bursts ([`Feed::Bursts`]), and QUIC has
/// acknowledgments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotCarried(String);

impl fmt::Display for NotCarried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` lives on reports on bursts, and QUIC has none: it cannot carry it",
            self.0
        )
    }
}

impl Error for NotCarried {}

/// Builds controllers of one kind for noq's `TransportConfig::congestion_controller_factory`.
#[derive(Debug, Clone)]
pub struct Factory {
    spec: Spec,
    monitor: Monitor,
    /// [`Setup::seed`] of the next controller, for all clones.
    seed: Arc<AtomicU64>,
}

impl Factory {
    /// For the algorithm `spec`, e.g. `"cerl?A=0.6".parse()?`.
    ///
    /// # Errors
    /// If QUIC cannot carry it.
    pub fn new(spec: Spec) -> Result<Self, NotCarried> {
        match spec.entry().feed {
            Feed::Acknowledgments => Ok(Self {
                spec,
                monitor: Monitor::default(),
                // The standard library's hash maps are keyed by the system's random numbers.
                seed: Arc::new(AtomicU64::new(RandomState::new().hash_one(()))),
            }),
            Feed::Bursts => Err(NotCarried(spec.to_string())),
        }
    }

    /// The algorithms that draw random numbers draw the same in every run: those of the n-th
    /// controller built follow from `seed + n`. Otherwise every factory has a seed of its own.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Arc::new(AtomicU64::new(seed));
        self
    }

    /// Also takes a [`Sample`](crate::Sample) at most every `interval`, for a trace.
    pub fn sampling(mut self, interval: Duration) -> Self {
        self.monitor = Monitor::sampling(interval);
        self
    }

    /// Watches every controller this factory builds. Counts are sums over all of them; the present
    /// state (window, phase, round-trip time) is that of the one that was told something last.
    pub fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }

    /// What the next controller is told at birth, on a path of `mtu` bytes.
    fn setup(&self, mtu: u16) -> Setup {
        let mss = u64::from(mtu);
        // RFC 9002 section 7.2: ten datagrams, but no more than 14,720 bytes or two datagrams.
        let initial_window = (10 * mss).min((2 * mss).max(14_720));
        Setup {
            mss: Bytes::new(mss),
            initial_window: Bytes::new(initial_window),
            // noq does, by RFC 9002 section 7.7.
            paced: true,
            ssthresh: None,
            seed: self.seed.fetch_add(1, Ordering::Relaxed),
        }
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let setup = self.setup(current_mtu);
        let law = self.spec.build(&setup);
        Box::new(Adapter::new(law, &setup, now, self.monitor.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factory(spec: &str) -> Result<Factory, NotCarried> {
        Factory::new(spec.parse().expect("in the table"))
    }

    #[test]
    fn an_algorithm_that_lives_on_bursts_is_refused_by_name() {
        let error = factory("aatp").expect_err("refused").to_string();
        assert!(error.contains("`aatp`"), "{error}");
        for spec in ["newreno", "cubic+cerl", "bbr", "bbr3"] {
            assert!(factory(spec).is_ok(), "{spec}");
        }
    }

    #[test]
    fn every_controller_has_a_seed_of_its_own_and_a_given_one_gives_the_same_again() {
        let seeds = |factory: &Factory| [(); 3].map(|()| factory.setup(1200).seed);
        let given = factory("bbr").expect("carried").seed(7);
        assert_eq!(seeds(&given), [7, 8, 9]);
        assert_eq!(seeds(&given.clone()), [10, 11, 12], "clones share them");
        let (one, other) = (factory("bbr"), factory("bbr"));
        assert_ne!(
            seeds(&one.expect("carried")),
            seeds(&other.expect("carried"))
        );
    }

    #[test]
    fn the_initial_window_is_that_of_rfc_9002() {
        let factory = factory("cubic").expect("carried");
        for (mtu, window) in [
            (1200, 12_000),
            (1472, 14_720),
            (1500, 14_720),
            (9000, 18_000),
        ] {
            assert_eq!(factory.setup(mtu).initial_window, Bytes::new(window));
        }
    }
}
