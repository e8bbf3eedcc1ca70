//! What a transfer of many files reports beside its bytes.

use super::update::Update;
use crate::lock::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Written by the tasks of a transfer, read by the loop that calls the user's program.
#[derive(Debug, Default)]
pub(super) struct News {
    ended: AtomicU64,
    files: AtomicU64,
    updates: Mutex<Vec<Update>>,
}

impl News {
    /// There are so many files.
    pub fn files(&self, count: u64) {
        self.files.store(count, Ordering::Relaxed);
    }

    /// Files that need no transfer any more, and all.
    pub fn count(&self) -> (u64, u64) {
        let files = self.files.load(Ordering::Relaxed);
        (self.ended.load(Ordering::Relaxed).min(files), files)
    }

    /// So many files were there already.
    pub fn unchanged(&self, count: u64) {
        self.ended.fetch_add(count, Ordering::Relaxed);
    }

    /// So many files that were there must be looked for again.
    pub fn not_ended(&self, count: u64) {
        self.ended.fetch_sub(count, Ordering::Relaxed);
    }

    /// A file was transferred.
    pub fn stored(&self, name: String) {
        self.unchanged(1);
        self.add(Update::Stored(name));
    }

    /// A file or directory was removed.
    pub fn removed(&self, name: String) {
        self.add(Update::Removed(name));
    }

    fn add(&self, update: Update) {
        let mut updates = lock(&self.updates);
        updates.push(update);
    }

    /// What was not reported yet.
    pub fn take(&self) -> Vec<Update> {
        std::mem::take(&mut lock(&self.updates))
    }
}
