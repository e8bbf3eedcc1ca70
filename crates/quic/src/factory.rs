//! Builds a controller for noq each time it opens a path.

use crate::adapter::Renew;
use crate::bursts::{BurstAdapter, BurstFlow};
use crate::control::{Control, Several};
use crate::endpoint::Prepared;
use crate::feedback::{Feedback, Marking, SharedNode};
use crate::uncontrolled::Uncontrolled;
use crate::{Adapter, Monitor, PacketLog};
use noq_proto::congestion::{Controller, ControllerFactory};
use noq_proto::{ClientConfig, ServerConfig, TransportConfig};
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use whimbrel_cc::fairness::Priority;
use whimbrel_cc::{SavedPath, Setup, Spec, TimeOfDay};
use whimbrel_units::{Bytes, Duration};

/// DATAGRAM frames that wait to be sent, or to be read, at most, bytes.
const DATAGRAMS: usize = 64 << 10;

/// An application's own noq endpoint cannot run this algorithm: it needs reports on bursts, and
/// only [`endpoint`](crate::endpoint) has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsupportedController(String);

impl fmt::Display for UnsupportedController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` needs reports on bursts: it runs on Whimbrel's endpoint only, not on noq's",
            self.0
        )
    }
}

impl Error for UnsupportedController {}

/// Builds controllers of one kind, for noq's `TransportConfig::congestion_controller_factory`.
#[derive(Debug, Clone)]
pub struct Factory {
    /// `None`: nothing controls the rate but flow control.
    spec: Option<Spec>,
    monitor: Monitor,
    /// [`Setup::seed`] of the next controller, shared by all clones.
    seed: Arc<AtomicU64>,
    log: Option<PacketLog>,
    saved: Option<SavedPath>,
}

impl Factory {
    /// Creates a factory for the algorithm `spec`, e.g. `"cerl?A=0.6".parse()?`, on any endpoint.
    ///
    /// # Errors
    /// If only [`endpoint`](crate::endpoint) can run the algorithm.
    pub fn new(spec: Spec) -> Result<Self, UnsupportedController> {
        match spec.entry().is_fed_bursts() {
            false => Ok(Self::for_endpoint(spec)),
            true => Err(UnsupportedController(spec.to_string())),
        }
    }

    /// Creates a factory for any algorithm, on [`endpoint`](crate::endpoint).
    pub fn for_endpoint(spec: Spec) -> Self {
        Self::of(Some(spec))
    }

    /// Creates a factory for connections that something else controls, because it carries their
    /// datagrams reliably and in order ([`Carrier`](crate::endpoint::Carrier)): only flow control
    /// limits them.
    pub fn uncontrolled() -> Self {
        Self::of(None)
    }

    fn of(spec: Option<Spec>) -> Self {
        Self {
            spec,
            monitor: Monitor::default(),
            // The standard library seeds its hash maps with the system's random numbers.
            seed: Arc::new(AtomicU64::new(RandomState::new().hash_one(()))),
            log: None,
            saved: None,
        }
    }

    /// The configuration of one connection to a server. An algorithm that is fed bursts
    /// requests `priority` from the receiving node.
    pub fn client(
        &self,
        mut config: ClientConfig,
        transport: TransportConfig,
        priority: Priority,
    ) -> Prepared<ClientConfig> {
        let (transport, feedback) = self.connection(transport, priority, SharedNode::default());
        config.transport_config(transport);
        Prepared::new(config, feedback)
    }

    /// The configuration of one connection from a client, whose bursts arrive at `node` once
    /// [`Connection::admit`](crate::endpoint::Connection::admit) lets them.
    pub fn server(
        &self,
        mut config: ServerConfig,
        transport: TransportConfig,
        node: SharedNode,
    ) -> Prepared<Arc<ServerConfig>> {
        let (transport, feedback) = self.connection(transport, Priority::LOWEST, node);
        config.transport_config(transport);
        Prepared::new(Arc::new(config), feedback)
    }

    fn connection(
        &self,
        mut transport: TransportConfig,
        priority: Priority,
        node: SharedNode,
    ) -> (Arc<TransportConfig>, Feedback) {
        let control = Control::default();
        control.lock().log.clone_from(&self.log);
        // Packets carry marks if the algorithm wants to know when they arrive.
        let features = self.spec.as_ref().map(Spec::transport_features);
        let marking = match features {
            Some(features) if features.each_receiver_time => Marking::Each,
            Some(features) if features.receiver_times => Marking::Sample,
            _ => Marking::Off,
        };
        let several = Several::default();
        let factory = ConnectionFactory {
            factory: self.clone(),
            control: control.clone(),
            several: several.clone(),
            priority,
        };
        transport
            .congestion_controller_factory(Arc::new(factory))
            .datagram_receive_buffer_size(Some(DATAGRAMS))
            .datagram_send_buffer_size(DATAGRAMS);
        let feedback = Feedback::new(control, several, marking, node);
        (Arc::new(transport), feedback)
    }

    fn controller(&self, setup: &Setup) -> Box<dyn whimbrel_cc::Controller> {
        let built = self.spec.as_ref().and_then(|spec| spec.build(setup));
        built.unwrap_or_else(|| Box::new(Uncontrolled::default()))
    }

    /// Logs each packet and decision. For one connection of [`endpoint`](crate::endpoint).
    pub fn logging(mut self, log: PacketLog) -> Self {
        self.log = Some(log);
        self
    }

    /// What an earlier connection found on the path: connections start with Careful Resume
    /// (RFC 9959), until their local address changes. No effect on algorithms that send bursts.
    pub fn resuming(mut self, saved: Option<SavedPath>) -> Self {
        self.saved = saved;
        self
    }

    /// Sets the seed of the random numbers that algorithms draw, so that every run draws the same:
    /// the n-th controller built uses `seed + n`. By default every factory has a random seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Arc::new(AtomicU64::new(seed));
        self
    }

    /// Also takes the [state](whimbrel_cc::connection::ConnectionState) at most every `interval`,
    /// for a trace.
    pub fn sampling(mut self, interval: Duration) -> Self {
        self.monitor = Monitor::sampling(interval);
        self
    }

    /// Also keeps a record of each burst ([`Monitor::bursts`]).
    pub fn recording(self) -> Self {
        self.monitor.keep_bursts();
        self
    }

    /// A view of every controller that this factory builds. Counts are sums over all of them; the
    /// current state (window, phase, round-trip time) is that of the controller that received the
    /// last event.
    pub fn monitor(&self) -> Monitor {
        self.monitor.clone()
    }

    /// The parameters of the next controller, on a path of `mtu` bytes, for a connection whose
    /// clock shows zero at this time of day.
    fn setup(&self, mtu: u16, time_of_day: TimeOfDay) -> Setup {
        let mss = u64::from(mtu);
        // RFC 9002 section 7.2: ten datagrams, but no more than 14,720 bytes or two datagrams.
        let initial_window = (10 * mss).min((2 * mss).max(14_720));
        Setup {
            mss: Bytes::new(mss),
            initial_window: Bytes::new(initial_window),
            // noq paces, by RFC 9002 section 7.7.
            paced: true,
            ssthresh: None,
            growth: Default::default(),
            seed: self.seed.fetch_add(1, Ordering::Relaxed),
            time_of_day,
            saved: self.saved,
        }
    }
}

/// Builds the controllers of one connection of an endpoint.
struct ConnectionFactory {
    factory: Factory,
    /// Of the first path; of all, unless the connection may have several.
    control: Control,
    several: Several,
    priority: Priority,
}

impl ControllerFactory for ConnectionFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let is_first = self.several.count();
        let control = match self.several.is_on() {
            true => Control::default(),
            false => self.control.clone(),
        };
        // What was saved is of the path on which the connection began.
        let factory = match is_first {
            true => self.factory.clone(),
            false => self.factory.clone().resuming(None),
        };
        let time_of_day = self.several.time_of_day(now);
        let setup = factory.setup(current_mtu, time_of_day);
        let monitor = self.factory.monitor.clone();
        let spec = self.factory.spec.as_ref();
        if let Some(controller) = spec.and_then(|spec| spec.build_for_bursts(&setup)) {
            let log = self.factory.log.clone();
            let flow = BurstFlow::new(controller, &setup, self.priority, now, monitor);
            control.lock().bursts.get_or_insert(flow.logging(log));
            return Box::new(BurstAdapter::new(control, setup.initial_window));
        }
        let controller = factory.controller(&setup);
        // Another path is not the one that was saved.
        let factory = factory.resuming(None);
        let renew = Renew(Arc::new(move |mtu| {
            factory.controller(&factory.setup(mtu, time_of_day))
        }));
        let adapter = Adapter::with_control(controller, &setup, now, monitor, control, Some(renew));
        let adapter = adapter.among(Some(self.several.join()));
        Box::new(match is_first {
            true => adapter,
            false => adapter.unobserved(),
        })
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let setup = self.setup(current_mtu, Several::default().time_of_day(now));
        let controller = self.controller(&setup);
        Box::new(Adapter::new(controller, &setup, now, self.monitor.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    fn factory(spec: &str) -> Result<Factory, UnsupportedController> {
        Factory::new(spec.parse().expect("a known controller"))
    }

    #[test]
    fn a_connection_knows_what_utc_shows_when_it_begins() {
        let factory = factory("whimbrel").expect("it runs on QUIC");
        let now = Instant::now();
        let earlier = now - std::time::Duration::from_secs(3);
        let several = Several::default();
        let utc_at = |at| {
            let setup = factory.setup(1200, several.time_of_day(at));
            setup.time_of_day.utc.as_secs_f64()
        };
        let [then, now] = [earlier, now].map(utc_at);
        assert!((now - then - 3.0).abs() < 0.1, "{then} {now}");
        let utc = SystemTime::now().duration_since(UNIX_EPOCH);
        assert!((utc.expect("after 1970").as_secs_f64() - now).abs() < 1.0);
    }

    #[test]
    fn only_the_first_path_of_a_connection_resumes_at_a_saved_rate() {
        let saved = SavedPath {
            cwnd: Bytes::new(1_000_000),
            rtt: Duration::from_millis(100),
        };
        let several = Several::default();
        let connection = Arc::new(ConnectionFactory {
            factory: factory("cubic").expect("supported").resuming(Some(saved)),
            control: Control::default(),
            several: several.clone(),
            priority: Priority::LOWEST,
        });
        several.switch_on();
        let monitor = connection.factory.monitor();
        let phase_of_next = || {
            let _path = Arc::clone(&connection).build(Instant::now(), 1200);
            monitor.snapshot().state.phase
        };
        assert_eq!(phase_of_next(), "reconnaissance");
        assert_ne!(phase_of_next(), "reconnaissance");
    }

    #[test]
    fn burst_algorithms_are_rejected_by_name() {
        let error = factory("aatp").expect_err("rejected").to_string();
        assert!(error.contains("`aatp`"), "{error}");
        for spec in ["newreno", "cubic+cerl", "bbr", "bbr3"] {
            assert!(factory(spec).is_ok(), "{spec}");
        }
    }

    #[test]
    fn controllers_have_distinct_seeds_and_a_given_seed_is_reproducible() {
        let seeds =
            |factory: &Factory| [(); 3].map(|()| factory.setup(1200, TimeOfDay::MIDNIGHT).seed);
        let given = factory("bbr").expect("supported").seed(7);
        assert_eq!(seeds(&given), [7, 8, 9]);
        assert_eq!(
            seeds(&given.clone()),
            [10, 11, 12],
            "clones share the counter"
        );
        let (one, other) = (factory("bbr"), factory("bbr"));
        assert_ne!(
            seeds(&one.expect("supported")),
            seeds(&other.expect("supported"))
        );
    }

    #[test]
    fn the_initial_window_follows_rfc_9002() {
        let factory = factory("cubic").expect("supported");
        for (mtu, window) in [
            (1200, 12_000),
            (1472, 14_720),
            (1500, 14_720),
            (9000, 18_000),
        ] {
            assert_eq!(
                factory.setup(mtu, TimeOfDay::MIDNIGHT).initial_window,
                Bytes::new(window)
            );
        }
    }
}
