//! Tasks of the application that wait for an event of a connection or an endpoint.

use noq_proto::{Dir, StreamId};
use std::collections::BTreeMap;
use std::task::Waker;

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
