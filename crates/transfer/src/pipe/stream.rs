//! A byte stream without an end that is known, as chunks on streams of QUIC.
//!
//! As a file does, it travels in chunks of 1 MiB, each on its own stream with a header of pipe and
//! index, because one stream of QUIC has a small window and tolerates few gaps. A chunk leaves as
//! it is written: nothing waits until it is full. A chunk that ends before it is full is the last.

use crate::blocks::CHUNK;
use crate::connection::close;
use crate::connection::routes::ChunkStream;
use crate::error::Error;
use crate::wire::ChunkHeader;
use bytes::Bytes;
use noq_proto::{PathId, VarInt};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use whimbrel_quic::endpoint::{Connection, ReadError, RecvStream, SendStream, WriteError};

/// Data read from a stream at once at most, bytes.
const PIECE: usize = 256 << 10;
/// What noq accepts beyond what the window lets out is at least this, bytes. More would wait there,
/// and with it everything written later.
const MIN_AHEAD: u64 = 64 << 10;
/// Upper bound of what noq accepts, bytes.
const MAX_AHEAD: u64 = 64 << 20;
/// Time between adjustments of what noq accepts.
const ADJUST: Duration = Duration::from_millis(50);

/// The sending half of a pipe.
#[derive(Debug)]
pub(crate) struct PipeWriter {
    connection: Connection,
    /// The number of the pipe.
    pipe: u64,
    /// The index of the current chunk.
    index: u64,
    stream: Option<SendStream>,
    /// Bytes of the current chunk that were written.
    written: u64,
    adjusted: Option<Instant>,
}

impl PipeWriter {
    /// The sending half of the pipe with this number.
    pub fn new(connection: Connection, pipe: u64) -> Self {
        Self {
            connection,
            pipe,
            index: 0,
            stream: None,
            written: 0,
            adjusted: None,
        }
    }

    /// Sends `data` as soon as the window allows it. Returns when noq has accepted all: true; or
    /// false if the peer does not read any more.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn write(&mut self, mut data: Bytes) -> Result<bool, Error> {
        while !data.is_empty() {
            self.adjust();
            let room = (CHUNK - self.written) as usize;
            let part = data.split_to(room.min(data.len()));
            self.written += part.len() as u64;
            let stream = self.stream().await?;
            match stream.write_chunk(part).await {
                Ok(()) => {}
                Err(WriteError::Stopped(_)) => return Ok(false),
                Err(error) => return Err(Error::Lost(error.to_string())),
            }
            if self.written == CHUNK {
                self.end_chunk();
            }
        }
        Ok(true)
    }

    /// Ends the byte stream.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn finish(&mut self) -> Result<(), Error> {
        // The last chunk is not full, so there is one even if it is empty.
        self.stream().await?;
        self.end_chunk();
        Ok(())
    }

    fn end_chunk(&mut self) {
        if let Some(mut stream) = self.stream.take() {
            stream.finish().ok();
        }
        self.index += 1;
        self.written = 0;
    }

    async fn stream(&mut self) -> Result<&mut SendStream, Error> {
        if self.stream.is_none() {
            let opened = self.connection.open_uni().await;
            let mut stream = opened.map_err(close::lost)?;
            // Older chunks go first.
            let priority = -i32::try_from(self.index).unwrap_or(i32::MAX);
            stream.set_priority(priority).ok();
            let header = ChunkHeader {
                transfer: self.pipe,
                offset: self.index,
                // It is not known yet.
                length: 0,
            };
            stream
                .write_chunk(header.encode())
                .await
                .map_err(|e| Error::Lost(e.to_string()))?;
            return Ok(self.stream.insert(stream));
        }
        self.stream
            .as_mut()
            .ok_or_else(|| Error::Protocol("a chunk without a stream".to_owned()))
    }

    /// Lets noq accept twice the window: enough to fill it, and little that waits.
    fn adjust(&mut self) {
        let now = Instant::now();
        if self.adjusted.is_some_and(|at| now < at + ADJUST) {
            return;
        }
        self.adjusted = Some(now);
        if let Some(state) = self.connection.congestion_state(PathId::ZERO) {
            let ahead = 2 * state.window().min(MAX_AHEAD / 2);
            self.connection.set_send_window(ahead.max(MIN_AHEAD));
        }
    }
}

/// The receiving half of a pipe.
#[derive(Debug)]
pub(crate) struct PipeReader {
    streams: mpsc::Receiver<ChunkStream>,
    /// Chunks that came before their turn.
    waiting: BTreeMap<u64, RecvStream>,
    current: Option<RecvStream>,
    /// The index of the current or next chunk.
    index: u64,
    /// Bytes of the current chunk that were read.
    read: u64,
    ended: bool,
}

impl PipeReader {
    /// The receiving half of a pipe whose chunks come from `streams`.
    pub fn new(streams: mpsc::Receiver<ChunkStream>) -> Self {
        Self {
            streams,
            waiting: BTreeMap::new(),
            current: None,
            index: 0,
            read: 0,
            ended: false,
        }
    }

    /// The next bytes; `None` at the end. Cancel safe.
    ///
    /// # Errors
    /// If the connection is lost or the peer violates the protocol.
    pub async fn read(&mut self) -> Result<Option<Bytes>, Error> {
        while !self.ended {
            if self.current.is_none() {
                self.next_chunk().await?;
            }
            let Some(stream) = &mut self.current else {
                continue;
            };
            match stream.read_chunk(PIECE).await {
                Ok(Some(data)) => {
                    self.read += data.len() as u64;
                    if self.read > CHUNK {
                        let text = format!("chunk {} of a pipe is too long", self.index);
                        return Err(Error::Protocol(text));
                    }
                    return Ok(Some(data));
                }
                Ok(None) => {
                    self.ended = self.read < CHUNK;
                    self.current = None;
                    self.index += 1;
                    self.read = 0;
                }
                Err(ReadError::Reset(_)) => {
                    return Err(Error::Lost("the peer gave the pipe up".to_owned()));
                }
                Err(error) => return Err(Error::Lost(error.to_string())),
            }
        }
        Ok(None)
    }

    /// The peer shall send no more.
    pub fn stop(&mut self) {
        self.ended = true;
        if let Some(mut stream) = self.current.take() {
            stream.stop(VarInt::from_u32(0)).ok();
        }
        self.waiting.clear();
        self.streams.close();
    }

    async fn next_chunk(&mut self) -> Result<(), Error> {
        while self.current.is_none() {
            if let Some(stream) = self.waiting.remove(&self.index) {
                self.current = Some(stream);
                break;
            }
            let next = self.streams.recv().await;
            let (header, stream) =
                next.ok_or_else(|| Error::Lost("the connection was closed".to_owned()))?;
            let index = header.offset;
            // The number of open streams bounds how many wait.
            let again = index < self.index || self.waiting.insert(index, stream).is_some();
            if again || header.length != 0 {
                return Err(Error::Protocol(format!(
                    "chunk {index} of a pipe came twice"
                )));
            }
        }
        Ok(())
    }
}
