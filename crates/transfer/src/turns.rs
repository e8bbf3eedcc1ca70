//! What the transfers of one connection may do at once.
//!
//! A client may begin many transfers, and each may need to hash a file of any size, or to read
//! ahead of a slow path. Threads and memory for that are the connection's, not each transfer's.

use crate::blocking::blocking;
use crate::error::Error;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Threads that hash.
const HASHING: usize = 4;
/// Chunks and packs that are read and that QUIC has not taken yet, of at most 1 MiB each.
const AHEAD: usize = 16;

/// The turns of a connection. Each is given back when what it was taken for ends.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    hashing: Arc<Semaphore>,
    ahead: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            hashing: Arc::new(Semaphore::new(HASHING)),
            ahead: Arc::new(Semaphore::new(AHEAD)),
        }
    }
}

impl Turns {
    /// Runs work that hashes, in its turn. The turn lasts as long as the work, even if its
    /// caller has gone.
    pub async fn hash<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let turn = take(&self.hashing).await?;
        blocking(move || {
            let done = work();
            drop(turn);
            done
        })
        .await
    }

    /// Runs long work that hashes, a piece in each turn, so that others have theirs in between.
    /// `step` does the next piece, and returns something after the last one.
    pub async fn hash_in_pieces<S: Send + 'static, T: Send + 'static>(
        &self,
        mut state: S,
        step: fn(&mut S) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        loop {
            let done;
            (state, done) = self
                .hash(move || {
                    let done = step(&mut state)?;
                    Ok((state, done))
                })
                .await?;
            if let Some(done) = done {
                return Ok(done);
            }
        }
    }

    /// The turn to read something that will be sent. To be kept until QUIC has it.
    pub async fn ahead(&self) -> Result<OwnedSemaphorePermit, Error> {
        take(&self.ahead).await
    }
}

async fn take(of: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Error> {
    let turn = Arc::clone(of).acquire_owned().await;
    turn.map_err(|_| Error::Stopped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;
    use tokio::task::JoinSet;
    use tokio::time::timeout;

    #[tokio::test]
    async fn so_many_hash_at_once_also_if_nobody_waits_for_them() {
        let turns = Turns::default();
        let (begun, running) = mpsc::channel();
        let mut ends = Vec::new();
        for _ in 0..HASHING {
            let (end, ended) = mpsc::channel::<()>();
            ends.push(end);
            let (turns, begun) = (turns.clone(), begun.clone());
            let hashing = tokio::spawn(async move {
                let work = move || {
                    begun.send(()).ok();
                    ended.recv().ok();
                    Ok(())
                };
                turns.hash(work).await.ok();
            });
            tokio::task::yield_now().await;
            hashing.abort();
        }
        let wait = Duration::from_secs(20);
        for _ in 0..HASHING {
            running.recv_timeout(wait).expect("a turn");
        }
        assert_eq!(turns.hashing.available_permits(), 0);
        drop(ends);
        let last = turns.hash(|| Ok(7));
        assert_eq!(timeout(wait, last).await.expect("a turn").expect("done"), 7);
    }

    #[tokio::test]
    async fn pieces_of_several_take_turns() {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let turns = Turns {
            hashing: Arc::new(Semaphore::new(1)),
            ..Turns::default()
        };
        let step = |seen: &mut Vec<usize>| {
            seen.push(NEXT.fetch_add(1, Ordering::Relaxed));
            Ok((seen.len() == 3).then(|| seen.clone()))
        };
        // Both wait before the first one begins.
        let taken = turns.hashing.clone().acquire_owned().await.expect("open");
        let mut all = JoinSet::new();
        for _ in 0..2 {
            let turns = turns.clone();
            all.spawn(async move { turns.hash_in_pieces(Vec::new(), step).await });
        }
        tokio::task::yield_now().await;
        drop(taken);
        let mut seen = Vec::new();
        while let Some(done) = all.join_next().await {
            seen.push(done.expect("no panic").expect("done"));
        }
        seen.sort();
        // The second one waits for a piece of the first, not for all. Which of them is next from
        // then on depends on the threads.
        assert_eq!([seen[0][0], seen[1][0]], [0, 1], "{seen:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_chunks_are_read_ahead() {
        let turns = Turns::default();
        let mut ahead = Vec::new();
        for _ in 0..AHEAD {
            ahead.push(turns.ahead().await.expect("a turn"));
        }
        let wait = Duration::from_secs(1);
        assert!(timeout(wait, turns.clone().ahead()).await.is_err());
        ahead.pop();
        let next = timeout(wait, turns.ahead()).await.expect("a turn");
        ahead.push(next.expect("a turn"));
    }
}
