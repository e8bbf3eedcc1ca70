//! Receives one file: writes chunks from many streams into the incomplete file and checks the hash.
//!
//! | part | content |
//! |---|---|
//! | `chunk` | one chunk stream, in pieces |
//! | `disk` | the threads that write and hash |
//! | `pack` | one pack of small files |
//!
//! Server and client use it alike: a server that stores a file, a client that gets one.

mod chunk;
mod disk;
#[cfg(test)]
mod exchange_tests;
mod pack;
#[cfg(test)]
mod tests;

use crate::blocking::Task;
use crate::blocks::{BlockHashes, CHUNK, MAX_BLOCKS};
use crate::cancel::Cancel;
use crate::connection::framing::{self, Control};
use crate::connection::routes::{ChunkStream, is_chunk};
use crate::error::Error;
use crate::file_sender::Pace;
use crate::ranges::RangeSet;
use crate::storage::Partial;
use crate::turns::Turns;
use crate::wire::{Finish, Message, Reason};
use disk::Disk;
#[cfg(test)]
pub(crate) use disk::{compare, root};
pub(crate) use pack::read_pack;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use whimbrel_quic::endpoint::{Kept, RecvStream, SendStream};

/// A transfer must deliver so much while others wait for its place, bytes per second.
const SLOWEST: u64 = 1 << 10;
/// How often the sender of a file of unknown size learns what is written.
const REPORT: Duration = Duration::from_millis(100);
/// Chunks that are read at once. What their data takes is bounded by the connection's window: a
/// piece counts until it is hashed.
const CHUNKS: usize = 64;
/// Separate ranges of a file that have arrived, at most: their list takes memory.
const MAX_RANGES: usize = 1 << 19;
/// As many take no part of the connection's window; each further one takes so much, bytes.
const FREE_RANGES: usize = 1 << 15;
const PER_RANGE: u64 = 32;
/// Requests for hashes that wait to be answered.
const REQUESTS: usize = 64;

/// The hashes of the blocks that were written or compared.
pub(crate) type Hashes = Arc<Mutex<BlockHashes>>;

/// A file that is being received.
pub(crate) struct Receiver {
    pub partial: Arc<Partial>,
    /// What the transfers of the connection may do at once.
    pub turns: Turns,
    /// The size, bytes, if it is known.
    pub size: Option<u64>,
    /// The largest size, bytes.
    pub max_size: u64,
    /// Bytes of the file that have arrived, those of earlier attempts included.
    pub received: Arc<AtomicU64>,
    /// The transfer fails if no data arrives for this long, or no answer is taken.
    pub stall: Duration,
    /// Called with the size that the file reaches before data up to there is taken; an error ends
    /// the transfer.
    pub grow: Box<dyn Fn(u64) -> Result<(), Error> + Send + Sync>,
    /// How fast data is taken, so that the sender sends no faster; `None`: as fast as it arrives.
    pub pace: Option<Arc<Pace>>,
    /// Whether others wait for this transfer's place.
    pub others_wait: Box<dyn Fn() -> bool + Send + Sync>,
}

/// The file is complete and has the hash that its sender announced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    pub size: u64,
    pub hash: blake3::Hash,
}

impl Receiver {
    /// Receives all chunks and the announced hash, and answers requests for hashes meanwhile.
    pub async fn run(
        &self,
        send: &mut SendStream,
        receive: &mut RecvStream,
        mut streams: mpsc::Receiver<ChunkStream>,
    ) -> Result<Received, Error> {
        let end = self.size.unwrap_or(MAX_BLOCKS * CHUNK);
        let hashes: Hashes = Arc::new(Mutex::new(BlockHashes::new(end)));
        let mut disk = Disk::start(
            Arc::clone(&self.partial),
            Arc::clone(&hashes),
            self.size.is_none(),
        );
        // Dropped on every return, which stops all streams that are still open.
        let mut tasks: JoinSet<Result<(), Error>> = JoinSet::new();
        let (requests, mut asked) = mpsc::channel(REQUESTS);
        let (answers, mut answer) = mpsc::channel(4);
        let (partial, known) = (Arc::clone(&self.partial), Arc::clone(&hashes));
        // Hashing ends with the transfer, however it ends.
        let cancel = Cancel::default();
        let (_end, cancelled) = (cancel.on_drop(), cancel.clone());
        let turns = self.turns.clone();
        let answering = async move {
            while let Some((log, first, count)) = asked.recv().await {
                let (partial, known) = (Arc::clone(&partial), Arc::clone(&known));
                let cancelled = cancelled.clone();
                let compare =
                    move || disk::compare(&partial, &known, log, first, count, &cancelled);
                let hashes = turns.hash(compare).await?;
                let message = Message::Hashes { log, first, hashes };
                if answers.send(message).await.is_err() {
                    break;
                }
            }
            Ok::<_, Error>(())
        };
        let mut requests = Some(requests);
        let mut answering = Task::start(answering);
        let mut answered = false;
        let mut control = Control::new(receive);
        let mut announced = Announced::default();
        let mut ranges: Option<Kept> = None;
        let (mut opened, mut complete) = (0, 0);
        let mut finish: Option<Finish> = None;
        let mut reported = Vec::new();
        let mut report = interval(REPORT);
        let mut watch = Watch::new(self.stall);
        loop {
            if let Some(finish) = finish
                && complete >= finish.chunks
            {
                if opened > finish.chunks {
                    let text = "more chunks than announced";
                    return Err(Error::Protocol(text.to_owned()));
                }
                drop(requests.take());
                disk.finish().await?;
                return self.verify(finish, hashes, cancel).await;
            }
            tokio::select! {
                Some((header, stream)) = streams.recv(), if tasks.len() < CHUNKS => {
                    let range = header.offset..header.offset.saturating_add(header.length.into());
                    if !is_chunk(&header) || range.end > end || range.end > self.max_size {
                        let text = "the file has no such chunk";
                        return Err(Error::Protocol(format!("{} + {}: {text}", range.start, header.length)));
                    }
                    (self.grow)(range.end)?;
                    let counted = announced.add(range.clone())?;
                    if counted > 0 || ranges.is_some() {
                        ranges.get_or_insert_with(|| stream.keep(0)).set(counted);
                    }
                    opened += 1;
                    let (pieces, progress) = (disk.pieces(), Arc::clone(&self.received));
                    let pace = self.pace.clone();
                    tasks.spawn(chunk::receive(stream, opened, range, pieces, progress, pace));
                }
                Some(done) = tasks.join_next() => {
                    done.map_err(|_| Error::Stopped)??;
                    complete += 1;
                }
                message = control.next(), if finish.is_none() => match message? {
                    Message::HashRequest { log, first, count } => {
                        let full = || Error::Protocol("too many requests for hashes".to_owned());
                        let requests = requests.as_ref().ok_or_else(full)?;
                        requests.try_send((log, first, count)).map_err(|_| full())?;
                    }
                    Message::Finish(announced) => {
                        if self.size.is_some_and(|size| size != announced.size)
                            || announced.size > self.max_size
                        {
                            return Err(Error::Protocol("the size is not the announced one".to_owned()));
                        }
                        // Behind its last chunk a file may end with a hole.
                        (self.grow)(announced.size)?;
                        finish = Some(announced);
                    }
                    // The sender gives up, and says why.
                    Message::Refused(refusal) => return Err(Error::Refused(refusal)),
                    _ => return Err(Error::Protocol("an unexpected message".to_owned())),
                },
                Some(message) = answer.recv() => {
                    watch.progress();
                    framing::write_within(self.stall, send, &message).await?;
                }
                // The task ends early only if it failed.
                result = answering.end(), if !answered && requests.is_some() => {
                    answered = true;
                    result.ok_or(Error::Stopped)??;
                }
                error = disk.failed() => return Err(error),
                _ = report.tick(), if self.size.is_none() => {
                    let ranges = disk.written();
                    if ranges != reported {
                        reported.clone_from(&ranges);
                        let written = Message::Written { ranges };
                        framing::write_within(self.stall, send, &written).await?;
                    }
                }
                () = watch.elapsed() => {
                    // A slow disk holds the sender back.
                    let moved = self.received.load(Ordering::Relaxed) + disk.progress();
                    watch.check(moved, (self.others_wait)())?;
                }
            }
        }
    }

    /// Hashes what was not hashed on arrival, and compares.
    async fn verify(
        &self,
        finish: Finish,
        hashes: Hashes,
        cancel: Cancel,
    ) -> Result<Received, Error> {
        let partial = Arc::clone(&self.partial);
        let truncate = self.size.is_none();
        let compute = move || {
            if truncate {
                partial.set_len(finish.size)?;
            }
            disk::root(&partial, finish.size, &hashes, &cancel)
        };
        let computed = self.turns.hash(compute).await?;
        if computed != finish.hash {
            let text = "the data does not have the announced hash; send the file again";
            return Err(Error::refused(Reason::Corrupt, text));
        }
        Ok(Received {
            size: finish.size,
            hash: computed,
        })
    }
}

/// The ranges of a file for which chunks have been announced.
#[derive(Default)]
struct Announced(RangeSet);

impl Announced {
    /// Adds the range of a chunk. Returns what the list takes of the connection's window, bytes.
    fn add(&mut self, range: Range<u64>) -> Result<u64, Error> {
        if self.0.overlaps(&range) {
            return Err(Error::Protocol(format!(
                "a duplicate chunk at {}",
                range.start
            )));
        }
        self.0.insert(range);
        if self.0.len() > MAX_RANGES {
            let text = "the file comes in too many separate parts; send it without holes";
            return Err(Error::Protocol(text.to_owned()));
        }
        Ok(self.0.len().saturating_sub(FREE_RANGES) as u64 * PER_RANGE)
    }
}

/// Watches that data arrives.
struct Watch {
    stall: Duration,
    ticks: tokio::time::Interval,
    last: u64,
    /// Something beside data happened since the last check.
    active: bool,
    first: bool,
}

impl Watch {
    fn new(stall: Duration) -> Self {
        let mut ticks = interval(stall);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            stall,
            ticks,
            last: 0,
            active: false,
            first: true,
        }
    }

    fn progress(&mut self) {
        self.active = true;
    }

    async fn elapsed(&mut self) {
        self.ticks.tick().await;
    }

    /// Called after each period.
    fn check(&mut self, received: u64, others_wait: bool) -> Result<(), Error> {
        // The first tick is immediate.
        let first = std::mem::take(&mut self.first);
        let (arrived, active) = (received - self.last, std::mem::take(&mut self.active));
        self.last = received;
        let seconds = self.stall.as_secs_f64();
        if first {
            return Ok(());
        }
        if arrived == 0 && !active {
            let text = format!("no data arrived for {seconds} s");
            return Err(Error::refused(Reason::Stalled, text));
        }
        if others_wait && !active && (arrived as f64) < SLOWEST as f64 * seconds {
            let text = format!("only {arrived} bytes arrived in {seconds} s and others wait");
            return Err(Error::refused(Reason::Stalled, text));
        }
        Ok(())
    }
}
