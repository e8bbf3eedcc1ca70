//! Tasks of the application that wait for an event of a connection or an endpoint.

use super::sync::{Mutex, MutexGuard};
use noq_proto::{Dir, StreamId};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    /// The peer's handshake data is known.
    HandshakeData,
    /// The handshake is complete.
    Connected,
    /// The handshake is confirmed.
    Confirmed,
    /// The connection is closed.
    Closed,
    /// The peer opened a stream.
    Opened(Dir),
    /// The peer allows more streams.
    Budget(Dir),
    /// A stream has data, or has ended.
    Readable(StreamId),
    /// A stream accepts data.
    Writable(StreamId),
    /// The peer stopped a stream, or acknowledged all of it.
    Stopped(StreamId),
    /// A client wants to connect.
    Incoming,
    /// The endpoint has no connection any more.
    Idle,
}

/// The waiting tasks. Its size is that of the futures that are alive: each holds at most one place,
/// which it gives back when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    next: u64,
    waiting: BTreeMap<(Topic, u64), Waker>,
}

impl Waiters {
    /// Registers a task, or its new waker. `place` identifies the future.
    pub fn register(&mut self, topic: Topic, place: &mut Option<u64>, waker: &Waker) {
        let number = *place.get_or_insert_with(|| {
            self.next += 1;
            self.next
        });
        match self.waiting.get_mut(&(topic, number)) {
            Some(known) => known.clone_from(waker),
            None => {
                self.waiting.insert((topic, number), waker.clone());
            }
        }
    }

    /// Forgets a task.
    pub fn cancel(&mut self, topic: Topic, place: u64) {
        self.waiting.remove(&(topic, place));
    }

    /// Moves the tasks that wait for this event to `woken`. The caller wakes them when it holds no
    /// lock.
    pub fn notify(&mut self, topic: Topic, woken: &mut Vec<Waker>) {
        while let Some((&key, _)) = self.waiting.range((topic, 0)..=(topic, u64::MAX)).next() {
            woken.extend(self.waiting.remove(&key));
        }
    }

    /// Moves all tasks to `woken`.
    pub fn notify_all(&mut self, woken: &mut Vec<Waker>) {
        woken.extend(std::mem::take(&mut self.waiting).into_values());
    }
}

/// What a lock protects, with the tasks that wait for an event of it.
pub(super) trait HasWaiters {
    /// The tasks.
    fn waiters(&mut self) -> &mut Waiters;
}

/// Waits until `attempt` returns something. It is called first at once, then after each `topic`
/// event.
pub(super) async fn wait<S: HasWaiters, T>(
    lock: &Mutex<S>,
    topic: Topic,
    mut attempt: impl FnMut(&mut S) -> Option<T>,
) -> T {
    let mut place = Place {
        lock,
        topic,
        number: None,
    };
    poll_fn(move |cx| place.poll(cx, &mut attempt)).await
}

/// Locks. A panic while the lock was held was contained, so poisoning is ignored.
pub(super) fn lock<S>(mutex: &Mutex<S>) -> MutexGuard<'_, S> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of a future among the waiting tasks.
struct Place<'a, S: HasWaiters> {
    lock: &'a Mutex<S>,
    topic: Topic,
    number: Option<u64>,
}

impl<S: HasWaiters> Place<'_, S> {
    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        attempt: &mut impl FnMut(&mut S) -> Option<T>,
    ) -> Poll<T> {
        let mut state = lock(self.lock);
        if let Some(result) = attempt(&mut state) {
            return Poll::Ready(result);
        }
        state
            .waiters()
            .register(self.topic, &mut self.number, cx.waker());
        Poll::Pending
    }
}

impl<S: HasWaiters> Drop for Place<'_, S> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            lock(self.lock).waiters().cancel(self.topic, number);
        }
    }
}
