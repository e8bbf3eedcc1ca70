//! Which transfer stores which file at the moment, and what was stored last.
//!
//! Two transfers never write the same file. A transfer that is repeated takes over from its own
//! dead connection at once, and from another one that makes no progress.

use crate::lock::lock;
use crate::path::RemotePath;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Another transfer that makes no progress for this long is replaced.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time for a transfer to end after it was cancelled, or to store its file.
const END: Duration = Duration::from_secs(60);
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// Stored files that are remembered.
const REMEMBERED: usize = 1024;

/// A user's name and a path.
pub(super) type Key = (String, RemotePath);

/// A stored file: its place, its transfer, its size and its hash.
type Stored = (Key, [u8; 16], u64, blake3::Hash);

/// The transfers that store a file, and the last stored files.
#[derive(Debug, Default)]
pub(super) struct Claims {
    holders: Mutex<HashMap<Key, Arc<Holder>>>,
    stored: Mutex<VecDeque<Stored>>,
}

#[derive(Debug)]
struct Holder {
    id: [u8; 16],
    received: Arc<AtomicU64>,
    storing: AtomicBool,
    cancel: Notify,
}

/// The right to write a file, until it is dropped.
#[derive(Debug)]
pub(super) struct Claim {
    claims: Arc<Claims>,
    key: Key,
    holder: Arc<Holder>,
}

impl Claims {
    fn holders(&self) -> MutexGuard<'_, HashMap<Key, Arc<Holder>>> {
        lock(&self.holders)
    }

    /// Claims a file for transfer `id`, which counts what it receives in `received`. `None` if
    /// another transfer stores it and makes progress.
    pub async fn claim(
        self: &Arc<Self>,
        key: Key,
        id: [u8; 16],
        received: Arc<AtomicU64>,
    ) -> Option<Claim> {
        let (mut deadline, mut cancelled) = (None, false);
        let mut watched: Option<(Arc<Holder>, u64)> = None;
        loop {
            let holder = {
                let mut holders = self.holders();
                match holders.get(&key) {
                    Some(holder) => Arc::clone(holder),
                    None => {
                        let holder = Arc::new(Holder {
                            id,
                            received,
                            storing: AtomicBool::new(false),
                            cancel: Notify::new(),
                        });
                        holders.insert(key.clone(), Arc::clone(&holder));
                        return Some(Claim {
                            claims: Arc::clone(self),
                            key,
                            holder,
                        });
                    }
                }
            };
            let now = Instant::now();
            let received_now = holder.received.load(Ordering::Relaxed);
            let storing = holder.storing.load(Ordering::Relaxed);
            let new = !watched
                .as_ref()
                .is_some_and(|(h, _)| Arc::ptr_eq(h, &holder));
            if new {
                watched = Some((Arc::clone(&holder), received_now));
                deadline = Some(now + if holder.id == id { END } else { PATIENCE });
                if holder.id == id && !storing {
                    holder.cancel.notify_one();
                }
            } else if holder.id != id {
                let before = watched.as_ref().map_or(0, |(_, before)| *before);
                if storing || received_now != before {
                    return None;
                }
            }
            if deadline.is_some_and(|deadline| now >= deadline) {
                if holder.id == id || cancelled {
                    return None;
                }
                cancelled = true;
                // It is given the time to end that its successor would be given.
                holder.cancel.notify_one();
                deadline = Some(now + END);
            }
            sleep(LOOK).await;
        }
    }

    /// Remembers a file that was stored.
    pub fn remember(&self, key: Key, id: [u8; 16], size: u64, hash: blake3::Hash) {
        let mut stored = lock(&self.stored);
        stored.retain(|(k, ..)| *k != key);
        if stored.len() >= REMEMBERED {
            stored.pop_front();
        }
        stored.push_back((key, id, size, hash));
    }

    /// Size and hash of a file that transfer `id` has stored.
    pub fn recall(&self, key: &Key, id: [u8; 16]) -> Option<(u64, blake3::Hash)> {
        let stored = lock(&self.stored);
        let found = stored.iter().find(|(k, i, ..)| k == key && *i == id);
        found.map(|(_, _, size, hash)| (*size, *hash))
    }
}

impl Claim {
    /// Waits until another transfer takes over.
    pub async fn taken_over(&self) {
        self.holder.cancel.notified().await;
    }

    /// From now on nothing takes over: the file is being stored.
    pub fn storing(&self) {
        self.holder.storing.store(true, Ordering::Relaxed);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claims.holders().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        ("u".to_owned(), "a".parse().expect("a path"))
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_transfer_takes_over_at_once() {
        let claims = Arc::new(Claims::default());
        let first = claims
            .claim(key(), [1; 16], Arc::default())
            .await
            .expect("free");
        let start = Instant::now();
        let holding = tokio::spawn(async move { first.taken_over().await });
        let second = claims.claim(key(), [1; 16], Arc::default()).await;
        assert!(second.is_some() && start.elapsed() < Duration::from_millis(200));
        holding.await.expect("no panic");
    }

    #[tokio::test(start_paused = true)]
    async fn another_transfer_waits_for_silence_and_is_refused_while_data_flows() {
        let claims = Arc::new(Claims::default());
        let received: Arc<AtomicU64> = Arc::default();
        let first = claims
            .claim(key(), [1; 16], Arc::clone(&received))
            .await
            .expect("free");
        let flowing = tokio::spawn(async move {
            for _ in 0..100 {
                received.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_millis(100)).await;
            }
            first.taken_over().await;
        });
        assert!(claims.claim(key(), [2; 16], Arc::default()).await.is_none());
        sleep(Duration::from_secs(11)).await;
        let start = Instant::now();
        assert!(claims.claim(key(), [2; 16], Arc::default()).await.is_some());
        assert!(start.elapsed() >= PATIENCE && start.elapsed() < 2 * PATIENCE);
        flowing.await.expect("no panic");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_transfer_has_time_to_end() {
        let claims = Arc::new(Claims::default());
        let first = claims.claim(key(), [1; 16], Arc::default()).await;
        let first = first.expect("free");
        let ending = tokio::spawn(async move {
            first.taken_over().await;
            sleep(END - Duration::from_secs(1)).await;
            drop(first);
        });
        assert!(claims.claim(key(), [2; 16], Arc::default()).await.is_some());
        ending.await.expect("no panic");
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_being_stored_is_not_taken_over() {
        let claims = Arc::new(Claims::default());
        let first = claims
            .claim(key(), [1; 16], Arc::default())
            .await
            .expect("free");
        first.storing();
        assert!(claims.claim(key(), [2; 16], Arc::default()).await.is_none());
        claims.remember(key(), [1; 16], 5, blake3::hash(b"hello"));
        let storing = tokio::spawn(async move {
            sleep(Duration::from_secs(20)).await;
            drop(first);
        });
        assert!(
            claims.claim(key(), [1; 16], Arc::default()).await.is_some(),
            "it waits"
        );
        storing.await.expect("no panic");
        assert_eq!(
            claims.recall(&key(), [1; 16]),
            Some((5, blake3::hash(b"hello")))
        );
        assert_eq!(claims.recall(&key(), [2; 16]), None);
    }

    #[test]
    fn so_many_stored_files_are_remembered() {
        let claims = Claims::default();
        let key = |n: usize| ("u".to_owned(), n.to_string().parse().expect("a path"));
        let hash = blake3::hash(b"hello");
        for n in 0..=REMEMBERED {
            claims.remember(key(n), [1; 16], 5, hash);
        }
        assert_eq!(claims.recall(&key(0), [1; 16]), None);
        for n in [1, REMEMBERED] {
            assert_eq!(claims.recall(&key(n), [1; 16]), Some((5, hash)));
        }
    }
}
