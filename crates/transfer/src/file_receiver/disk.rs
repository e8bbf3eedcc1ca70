//! What writes and hashes one file, beside the tasks that receive it.
//!
//! One task writes, so that threads do not wait for the file's lock. A second task hashes each
//! block while it is in memory. Both take all pieces that wait to a thread, and take none between
//! two batches: files that wait for data have no threads. A block whose pieces come out of order is read back when it is
//! complete, and what arrives in parts of blocks at the end.

use super::Hashes;
use crate::blocking::{Task, blocking};
use crate::blocks::{CHUNK, SubtreeHasher, hash_subtree, subtree};
use crate::cancel::{Cancel, CancelOnDrop};
use crate::error::Error;
use crate::lock::lock;
use crate::ranges::RangeSet;
use crate::storage::Partial;
use crate::wire::MAX_LIST;
use blake3::hazmat::ChainingValue;
use bytes::Bytes;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use whimbrel_quic::endpoint::Kept;

/// Maximum number of pieces that wait to be written, and that are written at once.
const WAITING: usize = 16;
/// Batches that wait to be hashed.
const BATCHES: usize = 2;

/// Part of a chunk, to be written to the file. Pieces of one chunk do not overlap.
pub(super) struct Piece {
    pub data: Bytes,
    /// Offset in the file, bytes.
    pub at: u64,
    /// The number of the stream.
    pub stream: u64,
    /// The whole chunk.
    pub chunk: Range<u64>,
    /// Its memory counts until it is hashed; `None` if it counts nowhere.
    #[expect(dead_code, reason = "it counts until it is dropped")]
    pub kept: Option<Kept>,
}

/// The tasks of one file. Dropped, they end, and what waits to be written is not written.
pub(super) struct Disk {
    pieces: Option<mpsc::Sender<Piece>>,
    writer: Option<Task<Result<(), Error>>>,
    hasher: Option<Task<Result<(), Error>>>,
    /// What was written; `None` if it is not requested.
    written: Option<Written>,
    progress: Arc<AtomicU64>,
    _end: CancelOnDrop,
}

type Written = Arc<Mutex<RangeSet>>;

impl Disk {
    /// Starts the tasks. With `remember` [`Self::written`] says what is written.
    pub fn start(partial: Arc<Partial>, hashes: Hashes, remember: bool) -> Self {
        let (pieces, to_write) = mpsc::channel(WAITING);
        let (announce, to_hash) = mpsc::channel(BATCHES);
        let written = remember.then(Written::default);
        let (cancel, progress) = (Cancel::default(), Arc::new(AtomicU64::new(0)));
        let writer = Writer {
            partial: Arc::clone(&partial),
            announce,
            written: written.clone(),
            progress: Arc::clone(&progress),
            cancel: cancel.clone(),
        };
        Self {
            pieces: Some(pieces),
            writer: Some(Task::start(writer.run(to_write))),
            hasher: Some(Task::start(hash(partial, to_hash, hashes, cancel.clone()))),
            written,
            progress,
            _end: cancel.on_drop(),
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

    /// Bytes that were written.
    pub fn progress(&self) -> u64 {
        self.progress.load(Ordering::Relaxed)
    }

    /// The first ranges that were written, as many as a message has.
    pub fn written(&self) -> Vec<(u64, u64)> {
        let Some(written) = &self.written else {
            return Vec::new();
        };
        let written = lock(written);
        let ranges = written.iter().take(MAX_LIST);
        ranges.map(|range| (range.start, range.end)).collect()
    }

    /// Waits until the writer ends, which it does early only if it failed. Cancel safe.
    pub async fn failed(&mut self) -> Error {
        let Some(writer) = &mut self.writer else {
            return std::future::pending().await;
        };
        let result = writer.end().await;
        self.writer = None;
        match result {
            Some(Err(error)) => error,
            _ => Error::Stopped,
        }
    }

    /// Waits until everything is written and hashed.
    pub async fn finish(&mut self) -> Result<(), Error> {
        self.pieces = None;
        if let Some(mut writer) = self.writer.take() {
            writer.end().await.ok_or(Error::Stopped)??;
        }
        if let Some(mut hasher) = self.hasher.take() {
            hasher.end().await.ok_or(Error::Stopped)??;
        }
        Ok(())
    }
}

/// Writes the pieces of a file.
struct Writer {
    partial: Arc<Partial>,
    announce: mpsc::Sender<Vec<Piece>>,
    written: Option<Written>,
    progress: Arc<AtomicU64>,
    cancel: Cancel,
}

impl Writer {
    async fn run(self, mut pieces: mpsc::Receiver<Piece>) -> Result<(), Error> {
        let mut batch = Vec::new();
        while pieces.recv_many(&mut batch, WAITING).await > 0 {
            let (partial, cancel) = (Arc::clone(&self.partial), self.cancel.clone());
            let (progress, batch) = (Arc::clone(&self.progress), std::mem::take(&mut batch));
            let write = move || {
                for piece in &batch {
                    cancel.check()?;
                    partial.write_at(&piece.data, piece.at)?;
                    progress.fetch_add(piece.data.len() as u64, Ordering::Relaxed);
                }
                Ok(batch)
            };
            let batch = blocking(write).await?;
            if let Some(written) = &self.written {
                let mut written = lock(written);
                for piece in &batch {
                    written.insert(piece.at..piece.at + piece.data.len() as u64);
                }
            }
            if self.announce.send(batch).await.is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// A block of which not all pieces have come.
struct Open {
    /// While all pieces came in order.
    hasher: Option<SubtreeHasher>,
    next: u64,
    bytes: u64,
}

/// Hashes blocks that arrive whole, and forgets the hashes of others.
async fn hash(
    partial: Arc<Partial>,
    mut batches: mpsc::Receiver<Vec<Piece>>,
    hashes: Hashes,
    cancel: Cancel,
) -> Result<(), Error> {
    let mut open: HashMap<u64, Open> = HashMap::new();
    while let Some(batch) = batches.recv().await {
        let (partial, hashes, cancel) = (Arc::clone(&partial), Arc::clone(&hashes), cancel.clone());
        let hash = move || {
            for piece in batch {
                cancel.check()?;
                hash_piece(&partial, &hashes, &mut open, &piece);
            }
            Ok(open)
        };
        open = blocking(hash).await?;
    }
    Ok(())
}

fn hash_piece(partial: &Partial, hashes: &Hashes, open: &mut HashMap<u64, Open>, piece: &Piece) {
    let block = piece.at / CHUNK;
    let (size, range) = {
        let hashes = lock(hashes);
        (hashes.size(), hashes.range(block))
    };
    if piece.chunk != range {
        lock(hashes).set(block, None);
        return;
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
