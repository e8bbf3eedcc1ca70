//! What the controllers of the paths of one connection know of each other, for coupled algorithms
//! ([`Controller::on_siblings`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use whimbrel_cc::{Ack, Controller, Sibling};
use whimbrel_units::{Bytes, Duration};

/// The paths of a connection. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Siblings(Arc<Mutex<Vec<Weak<Mutex<Sibling>>>>>);

/// The place of one path among them. Clones are the same place; it is left when all are gone.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    all: Siblings,
    own: Arc<Mutex<Sibling>>,
    /// The minimum RTT sample of the present round trip.
    round: Option<Duration>,
    /// Buffer for what the controller is told.
    told: Vec<Sibling>,
}

impl Siblings {
    /// One more path.
    pub fn join(&self) -> Place {
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
        Place {
            all: self.clone(),
            own,
            round: None,
            told: Vec::new(),
        }
    }
}

impl Place {
    /// An acknowledgment is about to be reported to the controller of this path: it learns of the
    /// others first, and they of it.
    pub fn tell(&mut self, controller: &mut dyn Controller, ack: &Ack) {
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
        self.told.clear();
        for path in lock(&self.all.0).iter().filter_map(Weak::upgrade) {
            if Arc::ptr_eq(&path, &self.own) {
                place = self.told.len();
            }
            self.told.push(*lock(&path));
        }
        if self.told.len() > 1 {
            controller.on_siblings(&self.told, place);
        }
    }
}

// A panic while a lock was held leaves a state that is whole: each is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
