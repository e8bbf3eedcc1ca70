//! The transfers that a server receives at the moment, for its operator.

use crate::lock::lock;
use crate::path::RemotePath;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use whimbrel_cc::fairness::Priority;
use whimbrel_quic::endpoint::{Connection, PathCondition, PathReport};
use whimbrel_units::{Bytes, Duration, Rate};

/// What a server receives at one moment.
#[derive(Debug, Clone, Default)]
pub struct Receiving {
    /// The transfers, oldest first.
    pub transfers: Vec<Incoming>,
    /// WF: the weighted fairness of the flows that share by priority, 0 to 1; `None` without any.
    pub fairness: Option<f64>,
}

/// A transfer in progress.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// Its number; no other transfer of this server has it.
    pub id: u64,
    /// The client.
    pub peer: SocketAddr,
    /// The file's name.
    pub name: RemotePath,
    /// The file's size, if it is known.
    pub size: Option<Bytes>,
    /// Bytes of the file that have arrived.
    pub received: Bytes,
    /// Time since the request was accepted.
    pub elapsed: Duration,
    /// The share of its connection; `None` if its controller does not share by priority.
    pub share: Option<Share>,
    /// The paths of its connection that are open; empty if there is one only.
    pub paths: Vec<IncomingPath>,
}

/// One of several paths of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IncomingPath {
    /// The client's address on it.
    pub peer: SocketAddr,
    /// Bytes of the UDP datagrams that came over it.
    pub received: Bytes,
}

impl IncomingPath {
    /// The open paths of a connection; none if there is one only.
    pub(crate) fn of(connection: &Connection) -> Vec<Self> {
        let mut paths = connection.paths().unwrap_or_default();
        paths.retain(|path| path.condition != PathCondition::Closed);
        let path = |path: &PathReport| Self {
            peer: path.remote,
            received: Bytes::new(path.received_bytes),
        };
        match paths.len() {
            0 | 1 => Vec::new(),
            _ => paths.iter().map(path).collect(),
        }
    }
}

/// The share of a connection whose controller shares the server's bandwidth by priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The granted priority.
    pub priority: Priority,
    /// V: the rate at which its last burst arrived, headers included.
    pub delivered: Rate,
    /// Vm: the rate that its priority entitles it to, headers included.
    pub allocated: Rate,
}

/// The list of transfers in progress.
#[derive(Debug, Default)]
pub(crate) struct List(Mutex<Numbered>);

#[derive(Debug, Default)]
struct Numbered {
    next: u64,
    entries: BTreeMap<u64, Entry>,
}

/// A transfer on the list.
pub(crate) struct Entry {
    pub peer: SocketAddr,
    /// Returns which flow of the server's node its connection is, if it is one.
    pub flow: Box<dyn Fn() -> Option<u64> + Send>,
    /// Returns the open paths of its connection, if it may have several.
    pub paths: Box<dyn Fn() -> Vec<IncomingPath> + Send>,
    pub name: RemotePath,
    pub size: Option<u64>,
    /// Bytes received, counted by the transfer.
    pub received: Arc<AtomicU64>,
    pub started: Instant,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Keeps a transfer on the list until it is dropped.
#[derive(Debug)]
pub(crate) struct Listed {
    list: Arc<List>,
    id: u64,
}

impl List {
    /// Puts a transfer on the list.
    pub fn add(self: &Arc<Self>, entry: Entry) -> Listed {
        let mut numbered = self.lock();
        let id = numbered.next;
        numbered.next += 1;
        numbered.entries.insert(id, entry);
        Listed {
            list: Arc::clone(self),
            id,
        }
    }

    /// The transfers at `now`. `share` returns the share of a flow.
    pub fn at(&self, now: Instant, share: impl Fn(u64) -> Option<Share>) -> Vec<Incoming> {
        let numbered = self.lock();
        let incoming = |(id, entry): (&u64, &Entry)| Incoming {
            id: *id,
            peer: entry.peer,
            name: entry.name.clone(),
            size: entry.size.map(Bytes::new),
            received: Bytes::new(entry.received.load(Ordering::Relaxed)),
            elapsed: now.saturating_duration_since(entry.started).into(),
            share: (entry.flow)().and_then(&share),
            paths: (entry.paths)(),
        };
        numbered.entries.iter().map(incoming).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Numbered> {
        lock(&self.0)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.list.lock().entries.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(flow: Option<u64>, name: &str, started: Instant) -> Entry {
        Entry {
            peer: ([192, 0, 2, 1], 7).into(),
            flow: Box::new(move || flow),
            paths: Box::new(Vec::new),
            name: RemotePath::new(name).expect("a name"),
            size: Some(1000),
            received: Arc::new(AtomicU64::new(250)),
            started,
        }
    }

    #[test]
    fn transfers_are_listed_until_they_end() {
        let list = Arc::new(List::default());
        let start = Instant::now();
        let first = list.add(entry(None, "a", start));
        let second = list.add(entry(Some(2), "b", start));
        let share = Share {
            priority: Priority::HIGHEST,
            delivered: Rate::from_bits_per_sec(8),
            allocated: Rate::from_bits_per_sec(9),
        };
        let now = start + std::time::Duration::from_secs(2);
        let listed = list.at(now, |flow| (flow == 2).then_some(share));
        let names: Vec<String> = listed.iter().map(|t| t.name.to_string()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!([listed[0].share, listed[1].share], [None, Some(share)]);
        assert_eq!(listed[0].elapsed, Duration::from_secs(2));
        assert_eq!(listed[0].received, Bytes::new(250));
        drop(first);
        let third = list.add(entry(Some(3), "a", start));
        let left: Vec<u64> = list.at(now, |_| None).iter().map(|t| t.id).collect();
        assert_eq!(left, [1, 2], "a number is not used again");
        drop((second, third));
        assert!(list.at(now, |_| None).is_empty());
    }
}
