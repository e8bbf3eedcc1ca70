//! One file arriving: chunks from many streams into a hidden file, its hash checked, then its name.
//!
//! One thread per file writes, so that threads do not queue for the file's lock. Another follows behind it and
//! hashes what it reads back of the file, in the file's order: when the last chunk is in, little is left to do.

use crate::chunks::{CHUNK, Chunks, Claims};
use crate::framing;
use crate::spool::{Part, Spool};
use crate::wire::{Message, Reason};
use crate::{Error, FileName};
use bytes::{Bytes, BytesMut};
use noq::{ReadError, RecvStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

/// Data gathered from a stream before it is written, bytes.
const PIECE: u64 = 256 << 10;
/// Pieces that may wait to be written.
const WAITING: usize = 16;

/// A chunk's stream, its header read: the chunk's index comes first.
pub(crate) type ChunkStream = (u64, RecvStream);

/// Part of a chunk, to be written.
struct Piece {
    data: Bytes,
    /// Where in the file.
    at: u64,
    /// The chunk whose last piece this is.
    completes: Option<u64>,
}

/// One file that arrives.
pub(crate) struct Arrival {
    pub spool: Spool,
    pub name: FileName,
    pub part: Arc<Part>,
    pub chunks: Chunks,
    /// Give up when nothing arrives for so long.
    pub stall: Duration,
}

impl Arrival {
    /// Takes all chunks and the hash, and stores the file. The hash is that of what was written.
    pub async fn run(
        &self,
        control: &mut RecvStream,
        mut streams: mpsc::Receiver<ChunkStream>,
    ) -> Result<blake3::Hash, Error> {
        let count = self.chunks.count();
        let mut claims = Claims::new(count);
        let progress = Arc::new(AtomicU64::new(0));
        let (pieces, to_write) = mpsc::channel(WAITING);
        let (tell, complete) = std::sync::mpsc::channel();
        let part = Arc::clone(&self.part);
        let mut writer = spawn_blocking(move || write_pieces(&part, to_write, &tell));
        let (part, chunks) = (Arc::clone(&self.part), self.chunks);
        let mut hasher = spawn_blocking(move || hash_behind(&part, chunks, &complete));
        // Dropped on any way out, which stops all streams that are still open.
        let mut tasks: JoinSet<Result<(), Error>> = JoinSet::new();
        let (mut expected, mut computed) = (None, None);
        let (mut taken, mut seen) = (0, 0);
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
                    let range = self.chunks.range(index).filter(|_| claims.claim(index));
                    let range = range.ok_or_else(|| {
                        Error::Protocol(format!("chunk {index} of {count} came twice or is none"))
                    })?;
                    tasks.spawn(take_chunk(stream, index, range, pieces.clone(), Arc::clone(&progress)));
                }
                Some(done) = tasks.join_next() => {
                    done.map_err(|_| Error::Stopped)??;
                    taken += 1;
                }
                message = &mut finish, if expected.is_none() => match message? {
                    Message::Finish { hash } => expected = Some(hash),
                    _ => return Err(Error::Protocol("a message out of turn".to_owned())),
                },
                // Neither thread ends early unless one of them failed; that one's error is the reason.
                result = &mut writer => {
                    result.map_err(|_| Error::Stopped)??;
                    if computed.is_none() {
                        hasher.await.map_err(|_| Error::Stopped)??;
                    }
                    return Err(Error::Stopped);
                }
                hash = &mut hasher, if computed.is_none() => match hash.map_err(|_| Error::Stopped)? {
                    Err(Error::Stopped) => {
                        writer.await.map_err(|_| Error::Stopped)??;
                        return Err(Error::Stopped);
                    }
                    hash => computed = Some(hash?),
                },
                _ = watch.tick() => {
                    let now = progress.load(Ordering::Relaxed);
                    // Once all is here it is the disk that is waited for.
                    if now == seen && (taken < count || expected.is_none()) {
                        let text = format!("nothing arrived for {} s", self.stall.as_secs_f64());
                        return Err(Error::refused(Reason::Stalled, text));
                    }
                    seen = now;
                }
            }
        };
        let (part, spool, name) = (
            Arc::clone(&self.part),
            self.spool.clone(),
            self.name.clone(),
        );
        spawn_blocking(move || part.store(&spool, &name))
            .await
            .map_err(|_| Error::Stopped)??;
        Ok(hash)
    }
}

/// However a transfer ends, what it leaves unfinished is gone at that moment, and not only when the last
/// thread has let go of it.
impl Drop for Arrival {
    fn drop(&mut self) {
        self.part.discard();
    }
}

fn corrupt() -> Error {
    let text = "what arrived does not have the hash that was announced; send it again";
    Error::refused(Reason::Corrupt, text)
}

/// Takes exactly the `length` bytes that belong at `start` of the file from a stream.
async fn take_chunk(
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
    while at < end {
        let want = (end - at).min(PIECE) as usize;
        let mut data = BytesMut::with_capacity(want);
        while data.len() < want {
            let some = stream.read_chunk(want - data.len()).await.map_err(lost)?;
            let some = some.ok_or_else(wrong)?;
            progress.fetch_add(some.len() as u64, Ordering::Relaxed);
            data.extend_from_slice(&some);
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
            // The writer has failed, and says why itself.
            return Ok(());
        }
        at += want as u64;
    }
    Ok(())
}

/// Writes pieces as they come, and tells of each chunk that is complete.
fn write_pieces(
    part: &Part,
    mut pieces: mpsc::Receiver<Piece>,
    complete: &std::sync::mpsc::Sender<u64>,
) -> Result<(), Error> {
    while let Some(piece) = pieces.blocking_recv() {
        part.write_at(&piece.data, piece.at)?;
        if let Some(index) = piece.completes
            && complete.send(index).is_err()
        {
            // The other thread has failed, and says why itself.
            break;
        }
    }
    Ok(())
}

/// Hashes the file from its beginning as far as it is written, until it is all written.
fn hash_behind(
    part: &Part,
    chunks: Chunks,
    complete: &std::sync::mpsc::Receiver<u64>,
) -> Result<blake3::Hash, Error> {
    let mut hasher = blake3::Hasher::new();
    let mut there = Claims::new(chunks.count());
    let mut buffer = vec![0; CHUNK as usize];
    let mut next = 0;
    while let Some((start, length)) = chunks.range(next) {
        if there.has(next) {
            let buffer = &mut buffer[..length as usize];
            part.read_at(buffer, start)?;
            hasher.update(buffer);
            next += 1;
        } else {
            // No chunk can come any more: the transfer was given up, or the writer failed.
            there.claim(complete.recv().map_err(|_| Error::Stopped)?);
        }
    }
    Ok(hasher.finalize())
}
