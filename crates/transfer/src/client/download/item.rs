//! What to download, and how much of it is here.

use crate::client::news::News;
use crate::lock::lock;
use crate::path::RemotePath;
use crate::wire::Metadata;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;
use whimbrel_quic::endpoint::RecvStream;

/// The server may be silent for this long while it hashes.
pub(super) const STALL: Duration = Duration::from_secs(120);

/// The server may take this long to read the end of a file.
const LAST: Duration = Duration::from_secs(5);

/// A file, directory or link to get.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) remote: RemotePath,
    pub(super) local: RemotePath,
    pub(super) size: u64,
    pub(super) metadata: Metadata,
    pub(super) target: Vec<u8>,
    pub(super) done: bool,
    /// It is done, but not here.
    pub(super) failed: bool,
    /// Bytes of it that have arrived, in all attempts.
    received: Arc<AtomicU64>,
}

impl Item {
    pub(super) fn new(
        remote: RemotePath,
        local: RemotePath,
        size: u64,
        metadata: Metadata,
        target: Vec<u8>,
    ) -> Self {
        Self {
            remote,
            local,
            size,
            metadata,
            target,
            done: false,
            failed: false,
            received: Arc::default(),
        }
    }

    /// Bytes of it that have arrived.
    pub(super) fn arrived(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

/// What all transfers of a request have done, bytes.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) size: AtomicU64,
    pub(super) received: AtomicU64,
    pub(super) resumed: AtomicU64,
    /// Holes, which do not travel.
    pub(super) holes: AtomicU64,
    pub(super) news: News,
    /// Ends of files that the server has not read yet.
    ends: Mutex<JoinSet<()>>,
}

impl Counts {
    /// Data of a file has arrived.
    pub(super) fn received(&self, item: &Item, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
        item.received.fetch_add(bytes, Ordering::Relaxed);
    }

    /// All of a file is here, and was before.
    pub(super) fn was_here(&self, item: &Item) {
        self.is_here(item, item.size);
    }

    /// All of a file is here. Of what has not arrived at most `before` was there before; the rest
    /// are holes.
    pub(super) fn is_here(&self, item: &Item, before: u64) {
        let others = item.size.saturating_sub(item.arrived());
        let there = others.min(before);
        self.resumed.fetch_add(there, Ordering::Relaxed);
        self.holes.fetch_add(others - there, Ordering::Relaxed);
    }

    /// Waits in the background until the server has read that a file is here: it then closes its
    /// side of the stream.
    pub(super) fn confirmed(&self, mut receive: RecvStream) {
        let end = async move { while let Ok(Some(1..)) = receive.read(&mut [0; 64]).await {} };
        let mut ends = lock(&self.ends);
        // Those that have come are forgotten.
        while ends.try_join_next().is_some() {}
        ends.spawn(end);
    }

    /// Waits until the server has read that all files are here: it takes a connection that is closed
    /// before for a transfer that failed. All that matters here is done, so the wait is bounded.
    pub(super) async fn ended(&self) {
        let mut ends = {
            let mut ends = lock(&self.ends);
            std::mem::take(&mut *ends)
        };
        let all = async { while ends.join_next().await.is_some() {} };
        timeout(LAST, all).await.ok();
    }
}
