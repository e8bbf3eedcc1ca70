//! The threads that write and hash one file.
//!
//! One thread writes, so that threads do not wait for the file's lock. A second thread hashes each
//! block while it is in memory. A block whose pieces come out of order is read back when it is
//! complete, and what arrives in parts of blocks at the end.

use super::Hashes;
use crate::blocks::{BlockHashes, CHUNK, SubtreeHasher, hash_subtree, subtree};
use crate::cancel::Cancel;
use crate::error::Error;
use crate::ranges::RangeSet;
use crate::storage::Partial;
use crate::wire::MAX_LIST;
use blake3::hazmat::ChainingValue;
use bytes::Bytes;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

/// Maximum number of pieces that wait to be written, and that wait to be hashed.
const WAITING: usize = 16;

/// Part of a chunk, to be written to the file. Pieces of one chunk do not overlap.
pub(super) struct Piece {
    pub data: Bytes,
    /// Offset in the file, bytes.
    pub at: u64,
    /// The number of the stream.
    pub stream: u64,
    /// The whole chunk.
    pub chunk: Range<u64>,
}

/// The threads of one file.
pub(super) struct Disk {
    pieces: Option<mpsc::Sender<Piece>>,
    writer: Option<JoinHandle<Result<(), Error>>>,
    hasher: Option<JoinHandle<()>>,
    /// What was written; `None` if it is not requested.
    written: Option<Written>,
}

type Written = Arc<Mutex<RangeSet>>;

pub(super) fn lock(hashes: &Hashes) -> MutexGuard<'_, BlockHashes> {
    hashes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk {
    /// Starts the threads. With `remember` [`Self::written`] says what is written.
    pub fn start(partial: Arc<Partial>, hashes: Hashes, remember: bool) -> Self {
        let (pieces, to_write) = mpsc::channel(WAITING);
        let (announce, to_hash) = std::sync::mpsc::sync_channel(WAITING);
        let written = remember.then(Written::default);
        let remembered = written.clone();
        let file = Arc::clone(&partial);
        let writer = spawn_blocking(move || write(&file, to_write, &announce, remembered.as_ref()));
        let hasher = spawn_blocking(move || hash(&partial, &to_hash, &hashes));
        Self {
            pieces: Some(pieces),
            writer: Some(writer),
            hasher: Some(hasher),
            written,
        }
    }

    /// Where pieces go.
    pub fn pieces(&self) -> mpsc::Sender<Piece> {
        match &self.pieces {
            Some(pieces) => pieces.clone(),
            // Nothing is received after the end.
            None => mpsc::channel(1).0,
        }
    }

    /// The first ranges that were written, as many as a message has.
    pub fn written(&self) -> Vec<(u64, u64)> {
        let Some(written) = &self.written else {
            return Vec::new();
        };
        let written = written.lock().unwrap_or_else(PoisonError::into_inner);
        let ranges = written.iter().take(MAX_LIST);
        ranges.map(|range| (range.start, range.end)).collect()
    }

    /// Waits until the writer ends, which it does early only if it failed. Cancel safe.
    pub async fn failed(&mut self) -> Error {
        let Some(writer) = &mut self.writer else {
            return std::future::pending().await;
        };
        let result = writer.await;
        self.writer = None;
        match result {
            Ok(Err(error)) => error,
            _ => Error::Stopped,
        }
    }

    /// Waits until everything is written and hashed.
    pub async fn finish(&mut self) -> Result<(), Error> {
        self.pieces = None;
        if let Some(writer) = self.writer.take() {
            writer.await.map_err(|_| Error::Stopped)??;
        }
        if let Some(hasher) = self.hasher.take() {
            hasher.await.map_err(|_| Error::Stopped)?;
        }
        Ok(())
    }
}

fn write(
    partial: &Partial,
    mut pieces: mpsc::Receiver<Piece>,
    announce: &std::sync::mpsc::SyncSender<Piece>,
    written: Option<&Written>,
) -> Result<(), Error> {
    while let Some(piece) = pieces.blocking_recv() {
        partial.write_at(&piece.data, piece.at)?;
        if let Some(written) = written {
            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
            written.insert(piece.at..piece.at + piece.data.len() as u64);
        }
        if announce.send(piece).is_err() {
            break;
        }
    }
    Ok(())
}

/// A block of which not all pieces have come.
struct Open {
    /// While all pieces came in order.
    hasher: Option<SubtreeHasher>,
    next: u64,
    bytes: u64,
}

/// Hashes blocks that arrive whole, and forgets the hashes of others.
fn hash(partial: &Partial, pieces: &std::sync::mpsc::Receiver<Piece>, hashes: &Hashes) {
    let mut open: HashMap<u64, Open> = HashMap::new();
    while let Ok(piece) = pieces.recv() {
        let block = piece.at / CHUNK;
        let (size, range) = {
            let hashes = lock(hashes);
            (hashes.size(), hashes.range(block))
        };
        if piece.chunk != range {
            lock(hashes).set(block, None);
            continue;
        }
        let this = open.entry(piece.stream).or_insert_with(|| Open {
            hasher: Some(SubtreeHasher::new(size, &range)),
            next: range.start,
            bytes: 0,
        });
        if piece.at != this.next {
            this.hasher = None;
        }
        if let Some(hasher) = &mut this.hasher {
            hasher.update(&piece.data);
        }
        let length = piece.data.len() as u64;
        this.next = piece.at + length;
        this.bytes += length;
        if this.bytes == range.end - range.start {
            let hash = match open.remove(&piece.stream).and_then(|open| open.hasher) {
                Some(hasher) => Some(hasher.finish()),
                // It has just been written, so it is in memory. If it cannot be read now, it is
                // read at the end, which reports the error.
                None => read_hash(partial, size, &range).ok(),
            };
            lock(hashes).set(block, hash);
        }
    }
}

/// The hashes of `count` subtrees of 2^`log` bytes from `first`, read from the file. Remembers the
/// blocks' hashes. Ends with the file.
pub(crate) fn compare(
    partial: &Partial,
    hashes: &Hashes,
    log: u8,
    first: u64,
    count: u32,
    cancel: &Cancel,
) -> Result<Vec<ChainingValue>, Error> {
    // A file of unknown size is longer than what there is of it: no part of it is the root.
    let whole = lock(hashes).size();
    let size = whole.min(partial.len()?);
    let mut found = Vec::new();
    for index in first..first.saturating_add(count.into()) {
        let range = subtree(size, log, index);
        if range.is_empty() {
            break;
        }
        cancel.check()?;
        if range.end - range.start <= CHUNK {
            found.push(read_hash(partial, whole, &range)?);
            if range.start.is_multiple_of(CHUNK) && range == lock(hashes).range(range.start / CHUNK)
            {
                lock(hashes).set(range.start / CHUNK, found.last().copied());
            }
            continue;
        }
        for block in range.start / CHUNK..range.end.div_ceil(CHUNK) {
            cancel.check()?;
            let part = lock(hashes).range(block);
            let hash = read_hash(partial, whole, &part)?;
            lock(hashes).set(block, Some(hash));
        }
        let hashes = lock(hashes);
        let hash = if range.start == 0 && range.end == hashes.size() {
            hashes.root().map(|root| *root.as_bytes())
        } else {
            hashes.subtree_hash(range)
        };
        found.extend(hash);
    }
    Ok(found)
}

fn read_hash(partial: &Partial, size: u64, range: &Range<u64>) -> Result<ChainingValue, Error> {
    let mut buffer = vec![0; (range.end - range.start) as usize];
    partial.read_at(&mut buffer, range.start)?;
    Ok(hash_subtree(size, range, &buffer))
}

/// The hash of the file of `size` bytes. Blocks that are unknown are read.
pub(crate) fn root(
    partial: &Partial,
    size: u64,
    hashes: &Hashes,
    cancel: &Cancel,
) -> Result<blake3::Hash, Error> {
    let mut hashes = lock(hashes);
    hashes.resize(size);
    let mut from = 0;
    while let Some(block) = hashes.first_unknown(from) {
        cancel.check()?;
        let range = hashes.range(block);
        let hash = read_hash(partial, size, &range)?;
        hashes.set(block, Some(hash));
        from = block + 1;
    }
    hashes.root().ok_or(Error::Stopped)
}
