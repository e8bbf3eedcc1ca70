//! One chunk stream, in pieces.
//!
//! Data is read in order, which is cheap, until the stream waits: then a packet is probably lost,
//! and what lies behind the gap is read too and written to its place. So a process that is killed
//! loses only what was in flight.

use super::disk::Piece;
use crate::error::Error;
use crate::file_sender::Pace;
use crate::ranges::RangeSet;
use crate::wire::CHUNK_HEADER;
use bytes::{Bytes, BytesMut};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use whimbrel_quic::endpoint::{Kept, ReadError, RecvStream};

/// Data collected from a stream before it is written, bytes.
const PIECE: u64 = 256 << 10;
/// Data is written after this time at the latest: what is on disk is not sent again after a crash.
const FLUSH: Duration = Duration::from_millis(50);
/// What is being collected counts in steps of this, bytes: exactness would cost a lock each time.
const STEP: u64 = 64 << 10;
/// Pieces smaller than this are copied: each may hold the memory of a whole datagram.
const SMALL: usize = 512;
/// What a piece takes beside its bytes, at most.
const PER_PIECE: u64 = 256;
/// Separate gaps in a chunk, at most. Loss leaves one for two packets, of which a chunk has 900.
const GAPS: usize = 4096;

/// A chunk that is being received.
struct Receiving {
    stream: RecvStream,
    number: u64,
    range: Range<u64>,
    pieces: mpsc::Sender<Piece>,
    progress: Arc<AtomicU64>,
    pace: Option<Arc<Pace>>,
}

/// The writer has failed and reports its error itself.
struct Failed;

/// Receives exactly the bytes `range` of the file from a stream.
pub(super) async fn receive(
    stream: RecvStream,
    number: u64,
    range: Range<u64>,
    pieces: mpsc::Sender<Piece>,
    progress: Arc<AtomicU64>,
    pace: Option<Arc<Pace>>,
) -> Result<(), Error> {
    let receiving = Receiving {
        stream,
        number,
        range,
        pieces,
        progress,
        pace,
    };
    receiving.run().await
}

/// The same in memory of at most twice its length.
fn shrunk(data: BytesMut) -> BytesMut {
    if data.len() < data.capacity() / 2 {
        return BytesMut::from(&data[..]);
    }
    data
}

fn lost(error: ReadError) -> Error {
    Error::Lost(error.to_string())
}

/// The chunk is longer or shorter than its header says.
fn wrong(chunk: &Range<u64>) -> Error {
    let Range { start, end } = chunk;
    Error::Protocol(format!("the chunk at {start} is not {} bytes", end - start))
}

impl Receiving {
    async fn run(mut self) -> Result<(), Error> {
        let at = self.in_order().await?;
        match at {
            Ok(at) if at < self.range.end => self.scattered(at).await,
            _ => Ok(()),
        }
    }

    /// So much was taken from the stream.
    async fn took(&self, bytes: usize) {
        self.progress.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Some(pace) = &self.pace {
            pace.pass(bytes).await;
        }
    }

    fn piece(&self, at: u64, data: Bytes) -> Piece {
        Piece {
            kept: Some(self.stream.keep(data.len() as u64 + PER_PIECE)),
            data,
            at,
            stream: self.number,
            chunk: self.range.clone(),
        }
    }

    /// Reads until the stream waits for long, or to its end. Returns the offset in the file where
    /// it stopped.
    async fn in_order(&mut self) -> Result<Result<u64, Failed>, Error> {
        let mut at = self.range.start;
        let mut some = Vec::new();
        while at < self.range.end {
            let want = (self.range.end - at).min(PIECE) as usize;
            let mut data = BytesMut::new();
            let mut collected = Collected::of(&self.stream);
            while data.len() < want {
                let reading = self.stream.read_many(&mut some, want - data.len());
                let Ok(read) = timeout(FLUSH, reading).await else {
                    break;
                };
                let read = read.map_err(lost)?.ok_or_else(|| wrong(&self.range))?;
                self.took(read).await;
                // No memory before there is data.
                data.reserve(want - data.len());
                for part in some.drain(..) {
                    data.extend_from_slice(&part);
                }
                collected.set(data.len() as u64);
            }
            if data.is_empty() {
                break;
            }
            let data = shrunk(data);
            let end = at + data.len() as u64;
            if end == self.range.end && self.stream.read_chunk(1).await.map_err(lost)?.is_some() {
                return Err(wrong(&self.range));
            }
            let piece = self.piece(at, data.freeze());
            drop(collected);
            if self.pieces.send(piece).await.is_err() {
                return Ok(Err(Failed));
            }
            at = end;
        }
        Ok(Ok(at))
    }

    /// Reads what arrives of the bytes from `at` on, in any order. Reads on while the disk is slow,
    /// as [`RecvStream::read_many_unordered`] demands.
    async fn scattered(mut self, at: u64) -> Result<(), Error> {
        let mut arrived = Arrived::after(at, self.range.clone());
        let mut some = Vec::new();
        let mut collected = Collected::of(&self.stream);
        let mut due = Instant::now();
        let mut ended = false;
        while !(ended && arrived.held.is_empty()) {
            let held = &mut arrived.held;
            let ready = ended || held.bytes >= PIECE || Instant::now() >= due;
            tokio::select! {
                read = self.stream.read_many_unordered(&mut some), if !ended => {
                    let Some(read) = read.map_err(lost)? else {
                        arrived.check_complete()?;
                        ended = true;
                        continue;
                    };
                    self.took(read).await;
                    if held.is_empty() {
                        due = Instant::now() + FLUSH;
                    }
                    for part in some.drain(..) {
                        let start = part.offset - CHUNK_HEADER as u64 + self.range.start;
                        arrived.add(start, part.bytes)?;
                    }
                    collected.set(arrived.held.cost());
                }
                permit = self.pieces.reserve(), if !held.is_empty() && ready => {
                    let (Ok(permit), Some((at, data))) = (permit, held.take_first_run()) else {
                        return Ok(());
                    };
                    permit.send(self.piece(at, data));
                    collected.set(held.cost());
                }
                () = sleep_until(due), if !held.is_empty() && !ready => {}
            }
        }
        Ok(())
    }
}

/// What has arrived of a chunk, in any order.
struct Arrived {
    chunk: Range<u64>,
    missing: RangeSet,
    /// What waits to be written.
    held: Held,
}

impl Arrived {
    /// The chunk is complete up to `at`.
    fn after(at: u64, chunk: Range<u64>) -> Self {
        Self {
            missing: RangeSet::of(at..chunk.end),
            chunk,
            held: Held::default(),
        }
    }

    /// Adds data at this offset in the file. It does not overlap what is there.
    fn add(&mut self, start: u64, data: Bytes) -> Result<(), Error> {
        let end = start + data.len() as u64;
        if end > self.chunk.end {
            return Err(wrong(&self.chunk));
        }
        self.missing.remove(start..end);
        if self.missing.len() > GAPS {
            let text = "a chunk comes in too many separate pieces";
            return Err(Error::Protocol(text.to_owned()));
        }
        self.held.insert(start, data);
        Ok(())
    }

    /// Checks that nothing is missing at the end.
    fn check_complete(&self) -> Result<(), Error> {
        match self.missing.first() {
            None => Ok(()),
            Some(_) => Err(wrong(&self.chunk)),
        }
    }
}

/// Counts what is being collected, in steps.
struct Collected {
    kept: Kept,
    counted: u64,
}

impl Collected {
    fn of(stream: &RecvStream) -> Self {
        Self {
            kept: stream.keep(0),
            counted: 0,
        }
    }

    fn set(&mut self, bytes: u64) {
        if bytes.abs_diff(self.counted) >= STEP {
            self.kept.set(bytes);
            self.counted = bytes;
        }
    }
}

/// Pieces of data by their offset; they do not overlap.
#[derive(Default)]
struct Held {
    parts: std::collections::BTreeMap<u64, Bytes>,
    bytes: u64,
}

impl Held {
    fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The memory that they take, about.
    fn cost(&self) -> u64 {
        self.bytes + self.parts.len() as u64 * PER_PIECE
    }

    fn insert(&mut self, at: u64, data: Bytes) {
        self.bytes += data.len() as u64;
        let data = match data.len() < SMALL {
            true => Bytes::copy_from_slice(&data),
            false => data,
        };
        self.parts.insert(at, data);
    }

    /// Removes the first piece and those that follow it without a gap, as one.
    fn take_first_run(&mut self) -> Option<(u64, Bytes)> {
        let (start, first) = self.parts.pop_first()?;
        let mut run = BytesMut::from(first);
        while let Some(next) = self.parts.remove(&(start + run.len() as u64)) {
            run.extend_from_slice(&next);
        }
        self.bytes -= run.len() as u64;
        Some((start, run.freeze()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::CHUNK;

    #[test]
    fn neighbouring_pieces_are_written_as_one() {
        let mut held = Held::default();
        for (at, text) in [(10, "cd"), (20, "x"), (8, "ab"), (12, "e")] {
            held.insert(at, Bytes::from_static(text.as_bytes()));
        }
        assert_eq!(held.bytes, 6);
        assert_eq!(
            held.take_first_run(),
            Some((8, Bytes::from_static(b"abcde")))
        );
        assert_eq!(held.take_first_run(), Some((20, Bytes::from_static(b"x"))));
        assert_eq!((held.take_first_run(), held.bytes), (None, 0));
    }

    #[test]
    fn what_arrives_in_any_order_is_exactly_the_chunk() {
        let data = |length| Bytes::from(vec![7; length]);
        let mut arrived = Arrived::after(110, 100..200);
        arrived.add(150, data(50)).expect("up to the end");
        assert!(arrived.check_complete().is_err(), "a gap");
        assert!(arrived.add(200, data(1)).is_err(), "behind the end");
        arrived.add(110, data(39)).expect("before the gap");
        assert!(arrived.check_complete().is_err(), "a gap of one byte");
        arrived.add(149, data(1)).expect("the gap");
        arrived.check_complete().expect("all of it");
        assert_eq!(arrived.held.take_first_run(), Some((110, data(90))));
        // Data in front of the gaps is one more piece.
        let mut arrived = Arrived::after(0, 0..CHUNK);
        let mut pieces = (0..).map(|n| 2 * n + 1);
        let mut add = |start| arrived.add(start, data(1));
        pieces
            .by_ref()
            .take(GAPS - 1)
            .try_for_each(&mut add)
            .expect("few gaps");
        assert!(pieces.take(1).try_for_each(add).is_err());
    }

    /// A sender may send a byte at a time, and the disk may be slow.
    #[test]
    fn what_waits_to_be_written_takes_little_more_memory_than_its_length() {
        for length in [1, 1000, PIECE as usize / 2, PIECE as usize] {
            let mut data = BytesMut::with_capacity(PIECE as usize);
            data.extend_from_slice(&vec![7; length]);
            let shrunk = shrunk(data);
            assert_eq!(shrunk, vec![7; length]);
            assert!(shrunk.capacity() <= 2 * length, "{}", shrunk.capacity());
        }
    }
}
