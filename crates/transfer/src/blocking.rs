//! Work that blocks, such as on the disk, and tasks that end with their owner.

use crate::error::Error;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};

/// Runs work that blocks on a thread for it.
///
/// Work ends soon: it never waits for other tasks, which may wait for a thread themselves.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // A simulated world has one thread.
    #[cfg(test)]
    if crate::simulated::network::is_simulated() {
        return crate::simulated::slow::blocking(work).await;
    }
    spawn_blocking(work).await.map_err(|_| Error::Stopped)?
}

/// Receives items in batches of at most `most`, does `work`, which blocks, on each batch, and sends
/// the results. Ends when `arriving` is closed or `results` has no receiver.
pub(crate) async fn in_batches<T: Send + 'static, R: Send + 'static>(
    mut arriving: mpsc::Receiver<T>,
    most: usize,
    results: mpsc::Sender<R>,
    work: impl Fn(Vec<T>) -> Vec<R> + Send + Sync + 'static,
) {
    let work = Arc::new(work);
    let mut batch = Vec::new();
    while arriving.recv_many(&mut batch, most).await > 0 {
        let (work, batch) = (Arc::clone(&work), std::mem::take(&mut batch));
        let Ok(done) = blocking(move || Ok(work(batch))).await else {
            return;
        };
        for result in done {
            if results.send(result).await.is_err() {
                return;
            }
        }
    }
}

/// A task that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Task<T>(JoinSet<T>);

impl<T: Send + 'static> Task<T> {
    /// Starts the task.
    pub fn start(work: impl Future<Output = T> + Send + 'static) -> Self {
        let mut task = JoinSet::new();
        task.spawn(work);
        Self(task)
    }

    /// Its result; `None` if it panicked, or has been taken. Cancel safe.
    pub async fn end(&mut self) -> Option<T> {
        self.0.join_next().await?.ok()
    }
}
