//! Places for transfers, and the queue of those that wait for one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Requests that wait, at most.
const WAITING: usize = 1000;

/// The places. First come, first served.
#[derive(Debug)]
pub(super) struct Places {
    max: usize,
    state: Mutex<State>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    next: u64,
    waiting: VecDeque<u64>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<Places>);

/// A number in the queue; dropped, it leaves the queue.
struct Ticket<'a> {
    places: &'a Places,
    number: u64,
}

impl Places {
    /// So many places.
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max: max.max(1),
            state: Mutex::default(),
            changes: watch::Sender::new(()),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request waits.
    pub fn is_contended(&self) -> bool {
        !self.lock().waiting.is_empty()
    }

    /// Waits for a place. The position in the queue is sent to `position` whenever it changes; 1 is
    /// the next. `None` if too many wait. Cancel safe.
    pub async fn take(self: &Arc<Self>, position: &watch::Sender<u32>) -> Option<Place> {
        let ticket = {
            let mut state = self.lock();
            if state.used < self.max && state.waiting.is_empty() {
                state.used += 1;
                return Some(Place(Arc::clone(self)));
            }
            if state.waiting.len() >= WAITING {
                return None;
            }
            let number = state.next;
            state.next += 1;
            state.waiting.push_back(number);
            Ticket {
                places: self,
                number,
            }
        };
        let mut changes = self.changes.subscribe();
        loop {
            {
                let mut state = self.lock();
                let ahead = state.waiting.iter().position(|n| *n == ticket.number);
                let ahead = ahead.unwrap_or(0);
                if ahead == 0 && state.used < self.max {
                    state.used += 1;
                    drop(state);
                    return Some(Place(Arc::clone(self)));
                }
                let now = ahead as u32 + 1;
                position.send_if_modified(|shown| std::mem::replace(shown, now) != now);
            }
            if changes.changed().await.is_err() {
                return None;
            }
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.places.lock().waiting.retain(|n| *n != self.number);
        self.places.changes.send_replace(());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.lock().used -= 1;
        self.0.changes.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn the_queue_is_served_in_order_and_tells_positions() {
        let places = Places::new(1);
        let shown = || watch::Sender::new(0);
        let mut cx = Context::from_waker(Waker::noop());
        let (a, b, c) = (shown(), shown(), shown());
        let Poll::Ready(Some(first)) = pin!(places.take(&a)).poll(&mut cx) else {
            panic!("a free place")
        };
        let mut second = Box::pin(places.take(&b));
        let mut third = pin!(places.take(&c));
        assert!(
            second.as_mut().poll(&mut cx).is_pending() && third.as_mut().poll(&mut cx).is_pending()
        );
        assert_eq!((*b.borrow(), *c.borrow()), (1, 2));
        assert!(places.is_contended());
        drop(first);
        assert!(
            third.as_mut().poll(&mut cx).is_pending(),
            "it is not the next"
        );
        drop(second);
        let Poll::Ready(Some(place)) = third.as_mut().poll(&mut cx) else {
            panic!("the other one left")
        };
        assert!(!places.is_contended());
        drop(place);
        assert!(pin!(places.take(&a)).poll(&mut cx).is_ready());
    }
}
