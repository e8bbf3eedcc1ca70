//! Exchanges state between the controllers of a connection's paths, for coupled algorithms
//! ([`Controller::on_siblings`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use whimbrel_cc::{Ack, Controller, Sibling};
use whimbrel_units::{Bytes, Duration};

/// The paths of a connection. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Siblings(Arc<Mutex<Vec<Weak<Mutex<Sibling>>>>>);

/// The place of one path among them. Clones are the same place; it is left when all are gone.
#[derive(Debug, Clone)]
pub(crate) struct SiblingSlot {
    all: Siblings,
    own: Arc<Mutex<Sibling>>,
    /// The minimum RTT sample of the present round trip.
    round: Option<Duration>,
    /// Buffer for the argument of `on_siblings`.
    paths: Vec<Sibling>,
}

impl Siblings {
    /// One more path.
    pub fn join(&self) -> SiblingSlot {
        let own = Arc::new(Mutex::new(Sibling {
            cwnd: Bytes::ZERO,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            round_rtt: Duration::ZERO,
        }));
        let mut all = lock(&self.0);
        all.retain(|path| path.strong_count() > 0);
        all.push(Arc::downgrade(&own));
        drop(all);
        SiblingSlot {
            all: self.clone(),
            own,
            round: None,
            paths: Vec::new(),
        }
    }
}

impl SiblingSlot {
    /// Publishes the state of this path, and reports all paths to its controller. To be called
    /// before the controller receives `ack`.
    pub fn exchange(&mut self, controller: &mut dyn Controller, ack: &Ack) {
        {
            let mut own = lock(&self.own);
            if ack.round_start {
                own.round_rtt = self.round.take().unwrap_or(own.round_rtt);
            }
            own.cwnd = controller.cwnd();
            (own.srtt, own.min_rtt) = (ack.srtt, ack.min_rtt);
        }
        self.round = match (self.round, ack.rtt) {
            (Some(min), Some(rtt)) => Some(min.min(rtt)),
            (min, rtt) => min.or(rtt),
        };
        let mut place = 0;
        self.paths.clear();
        for path in lock(&self.all.0).iter().filter_map(Weak::upgrade) {
            if Arc::ptr_eq(&path, &self.own) {
                place = self.paths.len();
            }
            self.paths.push(*lock(&path));
        }
        if self.paths.len() > 1 {
            controller.on_siblings(&self.paths, place);
        }
    }
}

// A panic while a lock was held leaves no state half written: each change is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_cc::{Loss, LossResponse, Timeout};
    use whimbrel_units::Time;

    /// Records the calls of `on_siblings`.
    #[derive(Debug, Clone, Default)]
    struct Listener(Vec<(usize, Vec<u64>)>);

    impl Controller for Listener {
        fn on_ack(&mut self, _: &Ack) {}
        fn on_loss(&mut self, _: &Loss) -> LossResponse {
            LossResponse::REDUCED
        }
        fn on_timeout(&mut self, _: &Timeout) {}
        fn on_mss(&mut self, _: Bytes) {}
        fn cwnd(&self) -> Bytes {
            Bytes::new(7)
        }
        fn phase(&self) -> &'static str {
            ""
        }
        fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
            let millis = |path: &Sibling| path.srtt.as_nanos() / 1_000_000;
            self.0.push((own, paths.iter().map(millis).collect()));
        }
        fn clone_box(&self) -> Box<dyn Controller> {
            Box::new(self.clone())
        }
    }

    fn ack(srtt_ms: u64) -> Ack {
        let srtt = Duration::from_millis(srtt_ms);
        Ack {
            now: Time::ZERO,
            acked: Bytes::new(1),
            rtt: Some(srtt),
            srtt,
            min_rtt: srtt,
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            delivery_rate: None,
            app_limited: false,
            cwnd_limited: true,
            in_recovery: false,
            round_start: true,
            receiver_time: None,
            lost: Bytes::ZERO,
            newest: None,
            ece: false,
        }
    }

    #[test]
    fn a_path_learns_of_the_others_while_they_are_there() {
        let all = Siblings::default();
        let (mut first, mut controller) = (all.join(), Listener::default());
        first.exchange(&mut controller, &ack(40));
        assert!(controller.0.is_empty(), "it is alone");
        let mut second = all.join();
        second.exchange(&mut Listener::default(), &ack(60));
        first.exchange(&mut controller, &ack(50));
        assert_eq!(controller.0, [(0, vec![50, 60])]);
        let mut other = Listener::default();
        second.exchange(&mut other, &ack(70));
        assert_eq!(other.0, [(1, vec![50, 70])]);
        drop(second);
        first.exchange(&mut controller, &ack(50));
        assert_eq!(controller.0.len(), 1, "it is alone again");
    }
}
