//! Receives one file: writes chunks from many streams into a hidden file, checks its hash, and
//! renames it.
//!
//! One thread per file writes, so that threads do not wait for the file's lock. A second thread
//! hashes what has been written in file order, so that little remains to be done when the last
//! chunk arrives. It gets each piece from memory; what came out of order, or faster than it
//! hashes, it reads back.

use crate::chunks::{CHUNK, ChunkSet, Chunks};
use crate::framing;
use crate::upload_directory::{PartialFile, UploadDirectory};
use crate::wire::{Message, Reason};
use crate::{Error, FileName};
use bytes::{Bytes, BytesMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};
use whimbrel_quic::endpoint::{ReadError, RecvStream};

/// Data collected from a stream before it is written, bytes.
const PIECE: u64 = 256 << 10;
/// Maximum number of pieces that wait to be written, and that wait in memory to be hashed.
const WAITING: usize = 16;

/// The index of a chunk, and its stream after the header.
pub(crate) type ChunkStream = (u64, RecvStream);

/// Part of a chunk, to be written to the file.
struct Piece {
    data: Bytes,
    /// Offset in the file, bytes.
    at: u64,
    /// Index of the chunk, if this is its last piece.
    completes: Option<u64>,
}

/// A file that is being received.
pub(crate) struct Upload {
    pub uploads: UploadDirectory,
    pub name: FileName,
    pub part: Arc<PartialFile>,
    pub chunks: Chunks,
    /// Bytes of the file that have arrived.
    pub received: Arc<AtomicU64>,
    /// The transfer fails if no data arrives for this long.
    pub stall: Duration,
}

impl Upload {
    /// Receives all chunks and the announced hash, and stores the file. Returns the hash of what
    /// was written.
    pub async fn run(
        &self,
        control: &mut RecvStream,
        mut streams: mpsc::Receiver<ChunkStream>,
    ) -> Result<blake3::Hash, Error> {
        let count = self.chunks.count();
        let mut seen_chunks = ChunkSet::new(count);
        let progress = &self.received;
        let (pieces, to_write) = mpsc::channel(WAITING);
        let (announce, written) = std::sync::mpsc::channel();
        let part = Arc::clone(&self.part);
        let unhashed = Arc::new(AtomicUsize::new(0));
        let announced = Arc::clone(&unhashed);
        let mut writer =
            spawn_blocking(move || write_pieces(&part, to_write, &announce, &announced));
        let (part, chunks) = (Arc::clone(&self.part), self.chunks);
        let mut hasher = spawn_blocking(move || hash_written(&part, chunks, &written, &unhashed));
        // Dropped on every return, which stops all streams that are still open.
        let mut tasks: JoinSet<Result<(), Error>> = JoinSet::new();
        let (mut expected, mut computed) = (None, None);
        let (mut received, mut last_progress) = (0, 0);
        let mut watch = interval(self.stall);
        watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
        watch.tick().await;
        let finish = framing::read(control);
        tokio::pin!(finish);
        let hash = loop {
            if let (Some(expected), Some(computed)) = (expected, computed) {
                break if expected == computed {
                    computed
                } else {
                    return Err(corrupt());
                };
            }
            tokio::select! {
                Some((index, stream)) = streams.recv() => {
                    let range = self.chunks.range(index).filter(|_| seen_chunks.insert(index));
                    let range = range.ok_or_else(|| {
                        let text = "is a duplicate or does not exist";
                        Error::Protocol(format!("chunk {index} of {count} {text}"))
                    })?;
                    let (pieces, progress) = (pieces.clone(), Arc::clone(progress));
                    tasks.spawn(receive_chunk(stream, index, range, pieces, progress));
                }
                Some(done) = tasks.join_next() => {
                    done.map_err(|_| Error::Stopped)??;
                    received += 1;
                }
                message = &mut finish, if expected.is_none() => match message? {
                    Message::Finish { hash } => expected = Some(hash),
                    _ => return Err(Error::Protocol("an unexpected message".to_owned())),
                },
                // Neither thread ends early unless one of them failed; its error is the reason.
                result = &mut writer => {
                    result.map_err(|_| Error::Stopped)??;
                    if computed.is_none() {
                        hasher.await.map_err(|_| Error::Stopped)??;
                    }
                    return Err(Error::Stopped);
                }
                hash = &mut hasher, if computed.is_none() => {
                    match hash.map_err(|_| Error::Stopped)? {
                        Err(Error::Stopped) => {
                            writer.await.map_err(|_| Error::Stopped)??;
                            return Err(Error::Stopped);
                        }
                        hash => computed = Some(hash?),
                    }
                }
                _ = watch.tick() => {
                    let now = progress.load(Ordering::Relaxed);
                    // After all data has arrived, only the disk can cause a delay.
                    if now == last_progress && (received < count || expected.is_none()) {
                        let text = format!("no data arrived for {} s", self.stall.as_secs_f64());
                        return Err(Error::refused(Reason::Stalled, text));
                    }
                    last_progress = now;
                }
            }
        };
        let (part, uploads, name) = (
            Arc::clone(&self.part),
            self.uploads.clone(),
            self.name.clone(),
        );
        spawn_blocking(move || part.store(&uploads, &name))
            .await
            .map_err(|_| Error::Stopped)??;
        Ok(hash)
    }
}

/// Removes an incomplete file at once when the transfer ends, not only when the last thread has
/// released it.
impl Drop for Upload {
    fn drop(&mut self) {
        self.part.discard();
    }
}

fn corrupt() -> Error {
    let text = "the data does not have the announced hash; send the file again";
    Error::refused(Reason::Corrupt, text)
}

/// Receives exactly the `length` bytes at offset `start` of the file from a stream.
async fn receive_chunk(
    mut stream: RecvStream,
    index: u64,
    (start, length): (u64, u64),
    pieces: mpsc::Sender<Piece>,
    progress: Arc<AtomicU64>,
) -> Result<(), Error> {
    let wrong = || Error::Protocol(format!("chunk {index} is not {length} bytes"));
    let lost = |e: ReadError| Error::Lost(e.to_string());
    let mut at = start;
    let end = start + length;
    let mut some = Vec::new();
    while at < end {
        let want = (end - at).min(PIECE) as usize;
        let mut data = BytesMut::with_capacity(want);
        while data.len() < want {
            let read = stream.read_many(&mut some, want - data.len()).await;
            let read = read.map_err(lost)?.ok_or_else(wrong)?;
            progress.fetch_add(read as u64, Ordering::Relaxed);
            for part in some.drain(..) {
                data.extend_from_slice(&part);
            }
        }
        let last = at + want as u64 == end;
        if last && stream.read_chunk(1).await.map_err(lost)?.is_some() {
            return Err(wrong());
        }
        let piece = Piece {
            data: data.freeze(),
            at,
            completes: last.then_some(index),
        };
        if pieces.send(piece).await.is_err() {
            // The writer has failed and reports its error itself.
            return Ok(());
        }
        at += want as u64;
    }
    Ok(())
}

/// A piece that has been written.
struct Written {
    /// Offset in the file, bytes.
    at: u64,
    /// The piece itself, unless too many wait to be hashed.
    data: Option<Bytes>,
    /// Index of the chunk, if this was its last piece.
    completes: Option<u64>,
}

/// Writes pieces as they arrive, and announces each. `unhashed` counts the pieces announced with
/// their data.
fn write_pieces(
    part: &PartialFile,
    mut pieces: mpsc::Receiver<Piece>,
    announce: &std::sync::mpsc::Sender<Written>,
    unhashed: &AtomicUsize,
) -> Result<(), Error> {
    while let Some(Piece {
        data,
        at,
        completes,
    }) = pieces.blocking_recv()
    {
        part.write_at(&data, at)?;
        let keep = unhashed.load(Ordering::Relaxed) < WAITING;
        let data = keep.then_some(data);
        unhashed.fetch_add(data.iter().len(), Ordering::Relaxed);
        let written = Written {
            at,
            data,
            completes,
        };
        if announce.send(written).is_err() {
            // The hashing thread has failed and reports its error itself.
            break;
        }
    }
    Ok(())
}

/// Hashes the file from its beginning, following the writer, until the file is complete.
fn hash_written(
    part: &PartialFile,
    chunks: Chunks,
    written: &std::sync::mpsc::Receiver<Written>,
    unhashed: &AtomicUsize,
) -> Result<blake3::Hash, Error> {
    let mut hasher = blake3::Hasher::new();
    let mut complete = ChunkSet::new(chunks.count());
    let mut buffer = Vec::new();
    let mut hashed = 0;
    while hashed < chunks.size() {
        let chunk = hashed / CHUNK;
        if let Some((start, length)) = chunks.range(chunk)
            && complete.contains(chunk)
        {
            // What of the chunk did not come from memory.
            buffer.resize((start + length - hashed) as usize, 0);
            part.read_at(&mut buffer, hashed)?;
            hasher.update(&buffer);
            hashed = start + length;
            continue;
        }
        // If the sender is dropped, no further piece can arrive: the transfer ended or the writer
        // failed.
        let piece = written.recv().map_err(|_| Error::Stopped)?;
        if let Some(data) = piece.data {
            unhashed.fetch_sub(1, Ordering::Relaxed);
            if piece.at == hashed {
                hasher.update(&data);
                hashed += data.len() as u64;
            }
        }
        if let Some(index) = piece.completes {
            complete.insert(index);
        }
    }
    Ok(hasher.finalize())
}
