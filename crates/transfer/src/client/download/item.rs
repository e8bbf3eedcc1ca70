//! What is to be got, and how much of it is here.

use crate::client::news::News;
use crate::path::RemotePath;
use crate::wire::Metadata;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The server may be silent for this long while it hashes.
pub(super) const STALL: Duration = Duration::from_secs(120);

/// A file, directory or link to get.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) remote: RemotePath,
    pub(super) local: RemotePath,
    pub(super) size: u64,
    pub(super) metadata: Metadata,
    pub(super) target: Vec<u8>,
    pub(super) done: bool,
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
        }
    }
}

/// What all transfers of a request have done, bytes.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) size: AtomicU64,
    pub(super) received: AtomicU64,
    pub(super) resumed: AtomicU64,
    pub(super) news: News,
}

impl Counts {
    /// Data of a file has arrived.
    pub(super) fn received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }
}
