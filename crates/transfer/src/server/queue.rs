//! Places for transfers, and the queue of those that wait for one.

use super::shares::share;
use crate::lock::lock;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::watch;

/// Requests that wait, at most.
const WAITING: usize = 1000;

/// The places. First come, first served, but no user takes the share of others.
#[derive(Debug)]
pub(super) struct Places {
    max: usize,
    state: Mutex<State>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    used: HashMap<String, usize>,
    next: u64,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    user: String,
    /// What this user may hold.
    share: usize,
}

impl State {
    fn of(&self, user: &str) -> usize {
        self.used.get(user).copied().unwrap_or(0)
    }

    /// The number of the request whose turn it is.
    fn turn(&self, max: usize) -> Option<u64> {
        let free = self.used.values().sum::<usize>() < max;
        let mut waiting = self.waiting.iter().filter(|_| free);
        let first = waiting.find(|waiting| self.of(&waiting.user) < waiting.share);
        first.map(|waiting| waiting.number)
    }
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct QueuePlace(Arc<Places>, String);

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
        lock(&self.state)
    }

    /// Whether a request waits that could have a place of `user`.
    pub fn is_contended(&self, user: &str) -> bool {
        let state = self.lock();
        let could = |w: &Waiting| w.user == user || state.of(&w.user) < w.share;
        state.waiting.iter().any(could)
    }

    /// Waits for a place for `user`, one of `several` or not. The position in the queue is sent to
    /// `position` whenever it changes; 1 is the next. `None` if too many wait. Cancel safe.
    pub async fn take(
        self: &Arc<Self>,
        user: &str,
        several: bool,
        position: &watch::Sender<u32>,
    ) -> Option<QueuePlace> {
        let ticket = {
            let mut state = self.lock();
            let own = state.waiting.iter().filter(|w| w.user == user).count();
            if state.waiting.len() >= WAITING || own >= share(WAITING, several) {
                return None;
            }
            let number = state.next;
            state.next += 1;
            state.waiting.push_back(Waiting {
                number,
                user: user.to_owned(),
                share: share(self.max, several),
            });
            Ticket {
                places: self,
                number,
            }
        };
        let mut changes = self.changes.subscribe();
        loop {
            {
                let mut state = self.lock();
                if state.turn(self.max) == Some(ticket.number) {
                    *state.used.entry(user.to_owned()).or_insert(0) += 1;
                    drop(state);
                    return Some(QueuePlace(Arc::clone(self), user.to_owned()));
                }
                let number = ticket.number;
                let ahead = state.waiting.iter().position(|w| w.number == number);
                let now = ahead.unwrap_or(0) as u32 + 1;
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
        let number = self.number;
        self.places.lock().waiting.retain(|w| w.number != number);
        self.places.changes.send_replace(());
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if let Some(own) = state.used.get_mut(&self.1) {
            *own -= 1;
        }
        state.used.retain(|_, own| *own > 0);
        drop(state);
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
        let Poll::Ready(Some(first)) = pin!(places.take("u", false, &a)).poll(&mut cx) else {
            panic!("a free place")
        };
        let mut second = Box::pin(places.take("u", false, &b));
        let mut third = pin!(places.take("u", false, &c));
        assert!(
            second.as_mut().poll(&mut cx).is_pending() && third.as_mut().poll(&mut cx).is_pending()
        );
        assert_eq!((*b.borrow(), *c.borrow()), (1, 2));
        assert!(places.is_contended("u"));
        drop(first);
        assert!(
            third.as_mut().poll(&mut cx).is_pending(),
            "it is not the next"
        );
        drop(second);
        let Poll::Ready(Some(place)) = third.as_mut().poll(&mut cx) else {
            panic!("the other one left")
        };
        assert!(!places.is_contended("u"));
        drop(place);
        assert!(pin!(places.take("u", false, &a)).poll(&mut cx).is_ready());
    }

    #[test]
    fn who_waits_learns_that_fewer_are_before_it() {
        let places = Places::new(1);
        let shown = || watch::Sender::new(0);
        let mut cx = Context::from_waker(Waker::noop());
        let (a, b, c) = (shown(), shown(), shown());
        let first = pin!(places.take("u", false, &a)).poll(&mut cx);
        assert!(first.is_ready());
        let mut second = Box::pin(places.take("u", false, &b));
        let mut third = pin!(places.take("u", false, &c));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        assert!(third.as_mut().poll(&mut cx).is_pending());
        assert_eq!(*c.borrow(), 2);
        drop(second);
        assert!(third.as_mut().poll(&mut cx).is_pending());
        assert_eq!(*c.borrow(), 1);
    }

    #[test]
    fn a_user_that_takes_its_share_keeps_nobody_else_waiting() {
        let places = Places::new(4);
        let position = watch::Sender::new(0);
        let mut cx = Context::from_waker(Waker::noop());
        let mut hoard: Vec<_> = (0..9)
            .map(|_| Box::pin(places.take("a", true, &position)))
            .collect();
        let mut held: Vec<_> = hoard.iter_mut().map(|t| t.as_mut().poll(&mut cx)).collect();
        assert_eq!(held.iter().filter(|t| t.is_ready()).count(), 2);
        assert!(places.is_contended("a") && !places.is_contended("b"));
        for _ in 0..2 {
            held.push(pin!(places.take("b", true, &position)).poll(&mut cx));
        }
        assert_eq!(held.iter().filter(|t| t.is_ready()).count(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_free_place_waits_for_nobody_who_has_left() {
        let places = Places::new(1);
        let shown = watch::Sender::new(0);
        let first = places.take("u", false, &shown).await.expect("a free place");
        let mut cx = Context::from_waker(Waker::noop());
        let mut second = Box::pin(places.take("u", false, &shown));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        let waiting = Arc::clone(&places);
        let third = tokio::spawn(async move {
            let shown = watch::Sender::new(0);
            waiting.take("u", false, &shown).await
        });
        drop(first);
        // The third one looks, and is not the next.
        while places.lock().waiting.len() < 2 {
            tokio::task::yield_now().await;
        }
        drop(second);
        let third = tokio::time::timeout(std::time::Duration::from_secs(1), third).await;
        assert!(third.expect("in time").expect("no panic").is_some());
    }

    #[test]
    fn so_many_requests_wait_half_of_them_of_one_user() {
        let places = Places::new(1);
        let shown = watch::Sender::new(0);
        let mut cx = Context::from_waker(Waker::noop());
        let mut all = Vec::new();
        // One has the place.
        let counts = [("a", WAITING / 2 + 1), ("b", WAITING / 2), ("c", 0)];
        for (user, count) in counts {
            for _ in 0..count {
                let mut waiting = Box::pin(places.take(user, true, &shown));
                let place = waiting.as_mut().poll(&mut cx);
                assert_eq!(place.is_ready(), all.is_empty());
                all.push((waiting, place));
            }
            let mut more = pin!(places.take(user, true, &shown));
            assert!(
                matches!(more.as_mut().poll(&mut cx), Poll::Ready(None)),
                "{user}"
            );
        }
    }
}
