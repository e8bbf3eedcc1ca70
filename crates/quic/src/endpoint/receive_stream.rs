//! The receiving side of a stream.

use super::kept::Kept;
use super::state::{ConnectionRef, State};
use super::waiters::Topic;
use bytes::Bytes;
use noq_proto::{
    Chunk, Chunks, ClosedStream, ConnectionError, ReadError as NoqReadError, StreamId, VarInt,
};

/// A stream from the peer. Dropped before its end, it is stopped with code 0.
///
/// Data is read in order, or with [`read_unordered`](Self::read_unordered) in the order of arrival;
/// after the first unordered read an ordered one fails.
#[derive(Debug)]
pub struct RecvStream {
    connection: ConnectionRef,
    id: StreamId,
    /// The end or a reset has been reported: noq has forgotten the stream.
    done: bool,
    /// It was stopped: noq has forgotten it, and nothing says where the data would have ended.
    stopped: bool,
    /// The peer reset the stream.
    reset: Option<VarInt>,
}

impl RecvStream {
    pub(super) fn new(connection: ConnectionRef, id: StreamId) -> Self {
        Self {
            connection,
            id,
            done: false,
            stopped: false,
            reset: None,
        }
    }

    /// The stream's number.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Counts bytes that were read as if they were not read yet, until the result is dropped: the
    /// peer may send less meanwhile. So what waits for a slow disk, say, is bounded together with
    /// what waits to be read ([`Connection::set_receive_window`](super::Connection)).
    pub fn keep(&self, bytes: u64) -> Kept {
        self.connection.keep(bytes)
    }

    /// Reads into `buffer` what has arrived, at least one byte. Returns the length; `None` at the
    /// end. Cancel safe.
    ///
    /// # Errors
    /// If the peer reset the stream, it was stopped, or the connection is closed.
    pub async fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, ReadError> {
        if buffer.is_empty() {
            return Ok(Some(0));
        }
        let take = |chunks: &mut Chunks<'_>| {
            let mut filled = 0;
            while filled < buffer.len() {
                match chunks.next(buffer.len() - filled) {
                    Ok(Some(chunk)) => {
                        buffer[filled..filled + chunk.bytes.len()].copy_from_slice(&chunk.bytes);
                        filled += chunk.bytes.len();
                    }
                    Ok(None) => return Taken::end((filled > 0).then_some(filled)),
                    Err(error) => return Taken::failed((filled > 0).then_some(filled), error),
                }
            }
            Taken::some(filled)
        };
        self.read_with(true, take).await
    }

    /// Fills `buffer`. Not cancel safe.
    ///
    /// # Errors
    /// If the stream ends before, and as [`Self::read`].
    pub async fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), ReadExactError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..]).await? {
                Some(length) => filled += length,
                None => return Err(ReadExactError::FinishedEarly(filled)),
            }
        }
        Ok(())
    }

    /// The next data, at most `max` bytes, without copying; `None` at the end. Cancel safe.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub async fn read_chunk(&mut self, max: usize) -> Result<Option<Bytes>, ReadError> {
        let chunk = self.next_chunk(max, true).await?;
        Ok(chunk.map(|chunk| chunk.bytes))
    }

    /// All data that has arrived, without copying, at most `max` bytes: appends it to `chunks` in
    /// pieces. Returns its length, at least one byte unless `max` is 0; `None` at the end. It takes
    /// the connection's lock once, so it is cheaper than one [`read_chunk`](Self::read_chunk) for
    /// each piece. Cancel safe.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub async fn read_many(
        &mut self,
        chunks: &mut Vec<Bytes>,
        max: usize,
    ) -> Result<Option<usize>, ReadError> {
        if max == 0 {
            return Ok(Some(0));
        }
        let take = |from: &mut Chunks<'_>| {
            let mut length = 0;
            while length < max {
                match from.next(max - length) {
                    Ok(Some(next)) => {
                        length += next.bytes.len();
                        chunks.push(next.bytes);
                    }
                    Ok(None) => return Taken::end((length > 0).then_some(length)),
                    Err(error) => return Taken::failed((length > 0).then_some(length), error),
                }
            }
            Taken::some(length)
        };
        self.read_with(true, take).await
    }

    /// All data that has arrived, in the order of offsets, what lies behind a gap included: appends
    /// it to `chunks`. Returns its length; `None` when all has been read. Cancel safe.
    ///
    /// Read promptly: noq 1.4 may drop data that fills a gap if more than about 32 KiB of small
    /// pieces of one stream wait to be read unordered.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub async fn read_many_unordered(
        &mut self,
        chunks: &mut Vec<Chunk>,
    ) -> Result<Option<usize>, ReadError> {
        let take = |from: &mut Chunks<'_>| {
            let mut length = 0;
            loop {
                match from.next(usize::MAX) {
                    Ok(Some(next)) => {
                        length += next.bytes.len();
                        chunks.push(next);
                    }
                    Ok(None) => return Taken::end((length > 0).then_some(length)),
                    Err(error) => return Taken::failed((length > 0).then_some(length), error),
                }
            }
        };
        self.read_with(false, take).await
    }

    /// Any data that has arrived, at most `max` bytes, with its offset; `None` when all has been
    /// read. Cancel safe.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub async fn read_unordered(&mut self, max: usize) -> Result<Option<Chunk>, ReadError> {
        self.next_chunk(max, false).await
    }

    /// Reads all that remains, at most `limit` bytes. Not cancel safe.
    ///
    /// # Errors
    /// If there is more, and as [`Self::read`].
    pub async fn read_to_end(&mut self, limit: usize) -> Result<Vec<u8>, ReadToEndError> {
        let mut data = Vec::new();
        while let Some(chunk) = self.read_chunk(usize::MAX).await? {
            if data.len() + chunk.len() > limit {
                return Err(ReadToEndError::TooLong);
            }
            data.extend_from_slice(&chunk);
        }
        Ok(data)
    }

    /// Tells the peer to stop sending. Data that was not read is dropped.
    ///
    /// # Errors
    /// If the stream has ended or is stopped.
    pub fn stop(&mut self, code: VarInt) -> Result<(), ClosedStream> {
        let mut state = self.connection.lock();
        state.proto.recv_stream(self.id).stop(code)?;
        drop(state);
        (self.done, self.stopped) = (true, true);
        self.connection.touch();
        Ok(())
    }

    /// Bytes read so far.
    ///
    /// # Errors
    /// If the stream has ended or is stopped.
    pub fn bytes_read(&self) -> Result<u64, ClosedStream> {
        let mut state = self.connection.lock();
        state.proto.recv_stream(self.id).bytes_read()
    }

    /// Waits until the peer resets the stream (`Some` with its code), or this has become impossible
    /// because all data has arrived or the stream is stopped (`None`). Cancel safe.
    ///
    /// # Errors
    /// If the connection is closed before.
    pub async fn received_reset(&mut self) -> Result<Option<VarInt>, ResetError> {
        if let Some(code) = self.reset {
            return Ok(Some(code));
        }
        let id = self.id;
        let attempt = |state: &mut State| match state.proto.recv_stream(id).received_reset() {
            Err(ClosedStream { .. }) => Some(Ok(None)),
            Ok(Some(code)) => Some(Ok(Some(code))),
            Ok(None) => state.error.clone().map(|e| Err(ResetError::from(e))),
        };
        let reset = self.connection.wait(Topic::Readable(id), attempt).await?;
        if reset.is_some() {
            (self.reset, self.done) = (reset, true);
            // The peer may be allowed another stream now.
            self.connection.touch();
        }
        Ok(reset)
    }

    async fn next_chunk(&mut self, max: usize, ordered: bool) -> Result<Option<Chunk>, ReadError> {
        let take = |chunks: &mut Chunks<'_>| match chunks.next(max) {
            Ok(Some(chunk)) => Taken::some(chunk),
            Ok(None) => Taken::end(None),
            Err(error) => Taken::failed(None, error),
        };
        self.read_with(ordered, take).await
    }

    /// Reads with `take` as soon as it finds data.
    async fn read_with<T>(
        &mut self,
        ordered: bool,
        mut take: impl FnMut(&mut Chunks<'_>) -> Taken<T>,
    ) -> Result<Option<T>, ReadError> {
        if self.stopped {
            return Err(ReadError::ClosedStream);
        }
        if self.done && self.reset.is_none() {
            return Ok(None);
        }
        if let Some(code) = self.reset {
            self.done = true;
            return Err(ReadError::Reset(code));
        }
        let id = self.id;
        let (mut done, mut reset, mut credit) = (false, None, false);
        let attempt = |state: &mut State| {
            let mut stream = state.proto.recv_stream(id);
            let Ok(mut chunks) = stream.read(ordered) else {
                return Some(Err(ReadError::ClosedStream));
            };
            let Taken { data, stop } = take(&mut chunks);
            credit |= chunks.finalize().should_transmit();
            match stop {
                Stop::No => {}
                Stop::End => {
                    done = true;
                    return Some(Ok(data));
                }
                Stop::Failed(NoqReadError::Reset(code)) => {
                    // Data that was read goes first, then the reset.
                    reset = Some(code);
                    if data.is_none() {
                        done = true;
                        return Some(Err(ReadError::Reset(code)));
                    }
                }
                Stop::Failed(NoqReadError::Blocked) => {}
            }
            match (data, &state.error) {
                (Some(data), _) => Some(Ok(Some(data))),
                (None, Some(error)) => Some(Err(ReadError::ConnectionLost(error.clone()))),
                (None, None) => None,
            }
        };
        let result = self.connection.wait(Topic::Readable(id), attempt).await;
        (self.done, self.reset) = (done, reset);
        if credit {
            self.connection.touch();
        }
        result
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        {
            let mut state = self.connection.lock();
            if state.error.is_some() {
                return;
            }
            // It fails if the stream has ended, which is fine.
            let stopped = state.proto.recv_stream(self.id).stop(VarInt::from_u32(0));
            if stopped.is_err() {
                return;
            }
        }
        self.connection.touch();
    }
}

/// What a look at a stream found.
struct Taken<T> {
    data: Option<T>,
    stop: Stop,
}

/// Why a look at a stream ended.
enum Stop {
    /// It had enough.
    No,
    /// The stream has ended.
    End,
    /// There is no data now, or the peer reset the stream.
    Failed(NoqReadError),
}

impl<T> Taken<T> {
    fn some(data: T) -> Self {
        Self {
            data: Some(data),
            stop: Stop::No,
        }
    }

    fn end(data: Option<T>) -> Self {
        Self {
            data,
            stop: Stop::End,
        }
    }

    fn failed(data: Option<T>, error: NoqReadError) -> Self {
        Self {
            data,
            stop: Stop::Failed(error),
        }
    }
}

/// Why data could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The peer abandoned the stream; its code says why.
    #[error("stream reset by peer: error {0}")]
    Reset(VarInt),
    /// The connection is closed.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
    /// The stream was stopped, or an ordered read follows an unordered one.
    #[error("closed stream")]
    ClosedStream,
}

/// Why a buffer could not be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadExactError {
    /// The stream ended after so many bytes.
    #[error("stream finished early ({0} bytes read)")]
    FinishedEarly(usize),
    /// The stream could not be read.
    #[error(transparent)]
    ReadError(#[from] ReadError),
}

/// Why a stream could not be read to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadToEndError {
    /// The stream could not be read.
    #[error("read error: {0}")]
    Read(#[from] ReadError),
    /// The stream is longer than the limit.
    #[error("stream too long")]
    TooLong,
}

/// Why it cannot be known whether a stream is reset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResetError {
    /// The connection is closed.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
}
