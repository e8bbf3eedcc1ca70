//! Sends one file: compares what the receiver has, sends what differs, and announces the hash.
//!
//! | part | content |
//! |---|---|
//! | `source` | what is sent, and whether it changed meanwhile |
//! | `compare` | which parts of the receiver's file differ |
//! | `plan` | what remains to be sent |
//! | `pace` | a cap on the rate |
//! | `small` | small files in packs |
//!
//! Client and server use it alike: a client that stores a file, a server that was asked for one.

mod compare;
#[cfg(test)]
mod exchange_tests;
mod pace;
mod plan;
mod small;
mod source;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use crate::blocking::{Task, blocking};
use crate::blocks::{BlockHashes, CHUNK, hash_subtree};
use crate::connection::framing::Control;
use crate::connection::{close, framing};
use crate::error::Error;
use crate::lock::lock;
use crate::ranges::RangeSet;
use crate::turns::Turns;
use crate::wire::{ChunkHeader, Finish, Message, Put, Reason, Refusal};
use bytes::Bytes;
use compare::Comparison;
pub(crate) use pace::Pace;
use plan::{Next, Plan};
pub(crate) use small::{Pack, Packing, SMALL, read_small};
use source::Following;
pub(crate) use source::{FileSource, Source, StreamSource, metadata_of, open_regular};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;
use whimbrel_quic::endpoint::{Connection, RecvStream, SendStream};

/// Number of chunks read ahead of what noq has accepted.
const READ_AHEAD: usize = 4;
/// Blocks that are hashed in one turn.
const PIECE: usize = 16;

/// What a transfer has done; several transfers may share it.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// Bytes of file data sent on connections that have ended, repeated ones included.
    sent: AtomicU64,
    /// Bytes of file data handed to QUIC on the present connection. Some may never leave: QUIC
    /// takes more than a network that is gone can carry.
    handed: AtomicU64,
    /// Bytes that the receiver had already, verified.
    pub resumed: AtomicU64,
    /// Bytes of file data that earlier attempts sent.
    earlier: AtomicU64,
}

impl Account {
    /// Counts data handed to QUIC.
    pub fn hand(&self, bytes: u64) {
        self.handed.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The present connection has ended; `datagrams`: the bytes of all its UDP datagrams, without
    /// those that were lost. Returns how much of that is the data's.
    pub fn settle(&self, datagrams: u64) -> u64 {
        let sent = self.handed.swap(0, Ordering::Relaxed).min(datagrams);
        self.sent.fetch_add(sent, Ordering::Relaxed);
        sent
    }

    /// Another attempt begins: what the receiver has is found out anew.
    pub fn begin(&self) {
        self.resumed.store(0, Ordering::Relaxed);
        self.earlier.store(self.sent(), Ordering::Relaxed);
    }

    /// Bytes that the receiver had before the first attempt: of what it has, earlier attempts
    /// brought a part.
    pub fn found(&self) -> u64 {
        let resumed = self.resumed.load(Ordering::Relaxed);
        resumed.saturating_sub(self.earlier.load(Ordering::Relaxed))
    }

    /// Bytes of file data sent, repeated ones included.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed) + self.handed.load(Ordering::Relaxed)
    }
}

/// How a transfer ended without an error.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sent {
    /// The receiver has the file on disk under its name.
    Stored {
        /// Bytes of the file.
        size: u64,
        /// Its hash, which both sides have computed.
        hash: blake3::Hash,
    },
    /// The file changed while it was read. What was sent stays with the receiver.
    Changed,
}

/// One attempt to send a file, on streams of its own.
pub(crate) struct Sending<'a> {
    pub connection: &'a Connection,
    /// What the transfers of the connection may do at once.
    pub turns: &'a Turns,
    pub source: &'a Arc<Source>,
    pub account: &'a Arc<Account>,
    pub pace: Option<&'a Pace>,
    /// Priority of the first chunk; that of later ones is lower.
    pub priority: i32,
    /// Called with the position when the request waits.
    pub on_queued: &'a (dyn Fn(u32) + Sync),
    /// Called with true when the end is announced: from now on the file may be stored without this
    /// side knowing. Called with false when the receiver says that it is not stored.
    pub on_announced: &'a (dyn Fn(bool) + Sync),
}

impl Sending<'_> {
    /// Runs the protocol from the offer to the receiver's confirmation.
    pub async fn run(
        &self,
        put: Put,
        send: &mut SendStream,
        receive: &mut RecvStream,
    ) -> Result<Sent, Error> {
        let sent = self.exchange(put, send, receive).await;
        let refusal = match &sent {
            Ok(Sent::Changed) => {
                Refusal::new(Reason::Changed, "the file changed while it was read")
            }
            // Without a word the receiver would take the end of the stream for a violation of the
            // protocol, and close the connection with all other transfers on it.
            Err(Error::File { .. }) => {
                Refusal::new(Reason::Cancelled, "the sender cannot read the file")
            }
            _ => return sent,
        };
        framing::write(send, &Message::Refused(refusal)).await?;
        send.finish().ok();
        sent
    }

    async fn exchange(
        &self,
        put: Put,
        send: &mut SendStream,
        receive: &mut RecvStream,
    ) -> Result<Sent, Error> {
        // Control messages go before data.
        send.set_priority(i32::MAX).ok();
        framing::write(send, &Message::Put(put)).await?;
        let mut control = Control::new(receive);
        loop {
            match control.next().await? {
                Message::Queued { position } => (self.on_queued)(position),
                Message::Accepted { transfer, have } => {
                    return self.data(transfer, &have, send, control).await;
                }
                Message::Present => {
                    let Some(finish) = self.whole().await? else {
                        return Ok(Sent::Changed);
                    };
                    (self.on_announced)(true);
                    framing::write(send, &Message::Finish(finish)).await?;
                    // If the files differ, the receiver accepts this one or refuses it.
                    match control.next().await? {
                        Message::Accepted { transfer, have } => {
                            return self.data(transfer, &have, send, control).await;
                        }
                        message => {
                            let stored = stored(message, &finish)?;
                            self.account
                                .resumed
                                .fetch_add(finish.size, Ordering::Relaxed);
                            return Ok(stored);
                        }
                    }
                }
                other => return Err(framing::unexpected(other)),
            }
        }
    }

    /// The hash of the whole source, to compare it with the receiver's file.
    async fn whole(&self) -> Result<Option<Finish>, Error> {
        let hashes = BlockHashes::new(self.source.size().unwrap_or(0));
        let hashed = self.root(Arc::new(Mutex::new(hashes))).await?;
        Ok(hashed.map(|(size, hash)| Finish {
            size,
            chunks: 0,
            hash,
        }))
    }

    /// Size and hash of the source. Blocks whose hash is unknown are read. `None` if the file has
    /// changed. Ends with the connection.
    async fn root(&self, hashes: Arc<Hashes>) -> Result<Option<(u64, blake3::Hash)>, Error> {
        let root = Root {
            source: Arc::clone(self.source),
            hashes,
            from: 0,
        };
        tokio::select! {
            root = self.turns.hash_in_pieces(root, Root::step) => root,
            reason = self.connection.closed() => Err(close::lost(reason)),
        }
    }

    /// Sends what the receiver lacks.
    async fn data(
        &self,
        transfer: u64,
        have: &[(u64, u64)],
        send: &mut SendStream,
        mut control: Control<'_>,
    ) -> Result<Sent, Error> {
        (self.on_announced)(false);
        let (size, limit) = match &**self.source {
            Source::File(file) => (Some(file.size()), file.size()),
            Source::Stream(stream) => {
                stream.begin();
                (None, stream.produced())
            }
        };
        let mut there = RangeSet::default();
        for (start, end) in have {
            there.insert(*start..(*end).min(limit));
        }
        if size.is_none() {
            // Of a stream, whole blocks are compared.
            there = whole_blocks(&there);
        }
        let plan = Arc::new(Plan::new(limit, &there));
        let hashes = Arc::new(Mutex::new(BlockHashes::new(size.unwrap_or(u64::MAX >> 20))));
        let mut comparison = Comparison::new(&there, limit, size.is_some());
        let (read, chunks) = mpsc::channel(READ_AHEAD);
        let reader = {
            let (source, plan, hashes) = (
                Arc::clone(self.source),
                Arc::clone(&plan),
                Arc::clone(&hashes),
            );
            Task::start(read_chunks(source, plan, hashes, self.turns.clone(), read))
        };
        let sending = self.send_chunks(transfer, chunks);
        tokio::pin!(sending);
        let mut reader = Some(reader);
        let mut sent: Option<u64> = None;
        let mut announced: Option<Finish> = None;
        loop {
            for request in comparison.requests() {
                framing::write(send, &request).await?;
            }
            if comparison.is_done() {
                plan.compared();
            }
            if let Some(chunks) = sent
                && announced.is_none()
            {
                if let Some(mut reader) = reader.take()
                    && !reader.end().await.ok_or(Error::Stopped)??
                {
                    return Ok(Sent::Changed);
                }
                let Some((size, hash)) = self.root(Arc::clone(&hashes)).await? else {
                    return Ok(Sent::Changed);
                };
                let finish = Finish { size, chunks, hash };
                (self.on_announced)(true);
                framing::write(send, &Message::Finish(finish)).await?;
                announced = Some(finish);
            }
            tokio::select! {
                // Prefer messages: a refusal says more than the streams that stop because of it.
                biased;
                message = control.next() => match message? {
                    Message::Hashes { log, first, hashes: theirs } => {
                        let (source, known) = (Arc::clone(self.source), Arc::clone(&hashes));
                        let compared = comparison.answer(log, first, theirs)?;
                        let compare = move || compared.compare(&source, &known);
                        let compared = self.turns.hash(compare);
                        let Some(compared) = compared.await? else {
                            return Ok(Sent::Changed);
                        };
                        self.account.resumed.fetch_add(compared.equal, Ordering::Relaxed);
                        plan.add(comparison.learn(compared));
                    }
                    Message::Written { ranges } => {
                        if let Source::Stream(stream) = &**self.source {
                            for (start, end) in ranges {
                                stream.received(start..end);
                            }
                        }
                    }
                    Message::Refused(refusal) if refusal.reason == Reason::Corrupt => {
                        // The file changed without a trace in its time stamps, or the receiver's
                        // disk failed: the comparison finds out where.
                        return Ok(Sent::Changed);
                    }
                    message => match &announced {
                        Some(finish) => return stored(message, finish),
                        None => return Err(framing::unexpected(message)),
                    },
                },
                chunks = &mut sending, if sent.is_none() => match chunks {
                    Ok(chunks) => sent = Some(chunks),
                    // The receiver stopped the streams: its reason is on the way.
                    Err(Error::Lost(why)) => {
                        let answer = timeout(Duration::from_secs(2), control.next()).await;
                        return match answer {
                            Ok(Ok(Message::Refused(refusal))) => Err(Error::Refused(refusal)),
                            _ => Err(Error::Lost(why)),
                        };
                    }
                    Err(error) => return Err(error),
                },
            }
        }
    }

    /// Sends every chunk on its own stream. Returns their number when noq has accepted the last
    /// one; noq's send window limits how much it accepts before it is acknowledged.
    async fn send_chunks(
        &self,
        transfer: u64,
        mut chunks: mpsc::Receiver<Ahead>,
    ) -> Result<u64, Error> {
        let mut count = 0;
        while let Some((offset, data, _turn)) = chunks.recv().await {
            // Retransmissions of old chunks go before new chunks.
            let priority = self
                .priority
                .saturating_sub(i32::try_from(count).unwrap_or(i32::MAX));
            let header = ChunkHeader {
                transfer,
                offset,
                length: data.len() as u32,
            };
            send_stream(
                self.connection,
                header,
                data,
                priority,
                self.pace,
                self.account,
            )
            .await?;
            count += 1;
        }
        Ok(count)
    }
}

/// Sends a chunk or a pack on a stream of its own.
pub(crate) async fn send_stream(
    connection: &Connection,
    header: ChunkHeader,
    mut data: Bytes,
    priority: i32,
    pace: Option<&Pace>,
    account: &Account,
) -> Result<(), Error> {
    let stream = connection.open_uni().await;
    let mut stream = stream.map_err(close::lost)?;
    stream.set_priority(priority).ok();
    let lost = |e: whimbrel_quic::endpoint::WriteError| Error::Lost(e.to_string());
    let mut header = Some(header.encode());
    while !data.is_empty() {
        let slice = pace.map_or(usize::MAX, Pace::slice).min(data.len());
        if let Some(pace) = pace {
            pace.pass(slice).await;
        }
        let slice = data.split_to(slice);
        let length = slice.len() as u64;
        let written = match header.take() {
            Some(header) => stream.write_all_chunks(&mut [header, slice]).await,
            None => stream.write_chunk(slice).await,
        };
        written.map_err(lost)?;
        account.hand(length);
    }
    stream.finish().ok();
    Ok(())
}

/// Checks the receiver's confirmation.
fn stored(message: Message, finish: &Finish) -> Result<Sent, Error> {
    match message {
        Message::Stored { bytes, hash } if bytes == finish.size && hash == finish.hash => {
            Ok(Sent::Stored { size: bytes, hash })
        }
        Message::Refused(refusal) => Err(Error::Refused(refusal)),
        _ => {
            let text = "the server's answer does not match the file sent";
            Err(Error::Protocol(text.to_owned()))
        }
    }
}

fn whole_blocks(ranges: &RangeSet) -> RangeSet {
    let mut whole = RangeSet::default();
    for range in ranges.iter() {
        whole.insert(range.start.next_multiple_of(CHUNK)..range.end / CHUNK * CHUNK);
    }
    whole
}

type Hashes = Mutex<BlockHashes>;

fn set(hashes: &Hashes, block: u64, hash: [u8; 32]) {
    let mut hashes = lock(hashes);
    hashes.set(block, Some(hash));
}

/// A chunk that was read, and its offset. Its turn ends when QUIC has it.
type Ahead = (u64, Bytes, OwnedSemaphorePermit);

/// What was read of a plan.
enum Read {
    Chunk(u64, Bytes),
    Later,
    End,
    /// The file has become shorter.
    Short,
}

/// Reads what the plan says and sends it to the channel. False if the file has become shorter.
async fn read_chunks(
    source: Arc<Source>,
    plan: Arc<Plan>,
    hashes: Arc<Hashes>,
    turns: Turns,
    to: mpsc::Sender<Ahead>,
) -> Result<bool, Error> {
    loop {
        let turn = turns.ahead().await?;
        let (source, next, hashes) = (Arc::clone(&source), Arc::clone(&plan), Arc::clone(&hashes));
        match blocking(move || read_next(&source, &next, &hashes)).await? {
            Read::Chunk(start, data) => {
                if to.send((start, data, turn)).await.is_err() {
                    return Ok(true);
                }
            }
            Read::Later => {
                drop(turn);
                plan.changed().await;
            }
            Read::End => break,
            Read::Short => return Ok(false),
        }
    }
    let at = plan.limit();
    match &*source {
        Source::File(_) => Ok(true),
        // It waits for whoever writes the stream.
        Source::Stream(_) => read_stream(source, at, turns, to).await,
    }
}

fn read_next(source: &Source, plan: &Plan, hashes: &Hashes) -> Result<Read, Error> {
    let range = match plan.next(|range| source.next_data(range)) {
        Next::Piece(range) => range,
        Next::Later => return Ok(Read::Later),
        Next::End => return Ok(Read::End),
    };
    let Some(data) = source.read(&range)? else {
        return Ok(Read::Short);
    };
    let block = {
        let hashes = lock(hashes);
        let index = range.start / CHUNK;
        (hashes.range(index) == range).then(|| (hashes.size(), index))
    };
    if let Some((size, index)) = block {
        set(hashes, index, hash_subtree(size, &range, &data));
    }
    Ok(Read::Chunk(range.start, data))
}

async fn read_stream(
    source: Arc<Source>,
    mut at: u64,
    turns: Turns,
    to: mpsc::Sender<Ahead>,
) -> Result<bool, Error> {
    while let Some(data) = next_block(&source, at).await? {
        let length = data.len() as u64;
        if to.send((at, data, turns.ahead().await?)).await.is_err() {
            break;
        }
        at += length;
    }
    Ok(true)
}

/// The block of a stream at `at`; `None` at its end.
async fn next_block(source: &Arc<Source>, at: u64) -> Result<Option<Bytes>, Error> {
    let Source::Stream(stream) = &**source else {
        return Ok(None);
    };
    let reader = match stream.next(at).await {
        Following::Block(block) => return Ok(Some(block)),
        Following::End => return Ok(None),
        Following::Read(reader) => reader,
    };
    let source = Arc::clone(source);
    // The thread gives the reader back, even if nobody waits for it any more.
    blocking(move || match &*source {
        Source::Stream(stream) => stream.read(reader),
        Source::File(_) => Ok(None),
    })
    .await
}

/// Finds the hash of a source.
struct Root {
    source: Arc<Source>,
    hashes: Arc<Hashes>,
    /// Blocks before this one are known.
    from: u64,
}

/// Size and hash of a source; `None` if it has changed.
type Whole = Option<(u64, blake3::Hash)>;

impl Root {
    /// Hashes some blocks. Returns the result when all are known.
    fn step(&mut self) -> Result<Option<Whole>, Error> {
        let file = match &*self.source {
            Source::Stream(stream) => {
                return Ok(Some(stream.root().map(|hash| (stream.produced(), hash))));
            }
            Source::File(file) => file,
        };
        let mut hashes = lock(&self.hashes);
        for _ in 0..PIECE {
            let Some(block) = hashes.first_unknown(self.from) else {
                if file.changed()? {
                    return Ok(Some(None));
                }
                return Ok(Some(hashes.root().map(|hash| (hashes.size(), hash))));
            };
            let range = hashes.range(block);
            let Some(data) = self.source.read(&range)? else {
                return Ok(Some(None));
            };
            let hash = hash_subtree(hashes.size(), &range, &data);
            hashes.set(block, Some(hash));
            self.from = block + 1;
        }
        Ok(None)
    }
}
