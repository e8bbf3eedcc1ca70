//! What noq asks for a controller each time it opens a path.

use crate::{Adapter, Monitor};
use noq_proto::congestion::{Controller, ControllerFactory};
use std::sync::Arc;
use std::time::Instant;
use whimbrel_cc::{Setup, Spec};
use whimbrel_units::{Bytes, Duration};

/// Builds controllers of one kind for noq's `TransportConfig::congestion_controller_factory`.
#[derive(Debug, Clone)]
pub struct Factory {
    spec: Spec,
    monitor: Monitor,
}

impl Factory {
    /// For the algorithm `spec`, e.g. `"cerl?A=0.6".parse()?`.
    pub fn new(spec: Spec) -> Self {
        Self {
            spec,
            monitor: Monitor::default(),
        }
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
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let mss = u64::from(current_mtu);
        // RFC 9002 section 7.2: ten datagrams, but no more than 14,720 bytes or two datagrams.
        let initial_window = (10 * mss).min((2 * mss).max(14_720));
        let setup = Setup {
            mss: Bytes::new(mss),
            initial_window: Bytes::new(initial_window),
            // noq does, by RFC 9002 section 7.7.
            paced: true,
        };
        let law = self.spec.build(&setup);
        Box::new(Adapter::new(law, &setup, now, self.monitor.clone()))
    }
}
