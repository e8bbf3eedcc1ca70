//! The sending side of a stream.

use super::state::{ConnectionRef, State};
use super::waiters::Topic;
use bytes::Bytes;
use noq_proto::{ClosedStream, ConnectionError, FinishError, StreamId, VarInt};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

/// A stream to the peer. Dropped without [`finish`](Self::finish), it is finished; if the peer has
/// stopped it, it is reset.
#[derive(Debug)]
pub struct SendStream {
    connection: ConnectionRef,
    id: StreamId,
    /// It was reset. Those who wait for its end share this: noq does not say when the peer has
    /// acknowledged a reset.
    reset: Arc<AtomicBool>,
}

impl SendStream {
    pub(super) fn new(connection: ConnectionRef, id: StreamId) -> Self {
        Self {
            connection,
            id,
            reset: Arc::default(),
        }
    }

    /// The stream's number.
    pub fn id(&self) -> StreamId {
        self.id
    }

    /// Writes a part of `data`, at least one byte, as soon as flow control and the send window
    /// permit. Returns its length. Cancel safe.
    ///
    /// # Errors
    /// If the peer stopped the stream, it is finished or reset, or the connection is closed.
    pub async fn write(&mut self, data: &[u8]) -> Result<usize, WriteError> {
        self.write_with(|stream| stream.write(data)).await
    }

    /// Writes all of `data`. Not cancel safe: a part may have been written.
    ///
    /// # Errors
    /// See [`Self::write`].
    pub async fn write_all(&mut self, mut data: &[u8]) -> Result<(), WriteError> {
        while !data.is_empty() {
            let written = self.write(data).await?;
            data = data.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Writes a part of `chunks` without copying, at least one byte, and removes it from `chunks`.
    /// Returns its length. Cancel safe.
    ///
    /// # Errors
    /// See [`Self::write`].
    pub async fn write_many_chunks(
        &mut self,
        chunks: &mut &mut [Bytes],
    ) -> Result<usize, WriteError> {
        self.write_with(|stream| stream.write_chunks(chunks)).await
    }

    /// Writes all of `chunk` without copying. Not cancel safe.
    ///
    /// # Errors
    /// See [`Self::write`].
    pub async fn write_chunk(&mut self, chunk: Bytes) -> Result<(), WriteError> {
        self.write_all_chunks(&mut [chunk]).await
    }

    /// Writes all of `chunks` without copying. Not cancel safe.
    ///
    /// # Errors
    /// See [`Self::write`].
    pub async fn write_all_chunks(&mut self, chunks: &mut [Bytes]) -> Result<(), WriteError> {
        let mut chunks = chunks;
        while !chunks.is_empty() {
            self.write_many_chunks(&mut chunks).await?;
        }
        Ok(())
    }

    async fn write_with(
        &mut self,
        mut write: impl FnMut(&mut noq_proto::SendStream<'_>) -> Result<usize, noq_proto::WriteError>,
    ) -> Result<usize, WriteError> {
        let id = self.id;
        let attempt = |state: &mut State| {
            if let Some(error) = &state.error {
                return Some(Err(WriteError::ConnectionLost(error.clone())));
            }
            match write(&mut state.proto.send_stream(id)) {
                Ok(written) => {
                    if let Some(paths) = &mut state.paths {
                        paths.on_written(written);
                    }
                    Some(Ok(written))
                }
                Err(noq_proto::WriteError::Blocked) => None,
                Err(noq_proto::WriteError::Stopped(code)) => Some(Err(WriteError::Stopped(code))),
                Err(noq_proto::WriteError::ClosedStream) => Some(Err(WriteError::ClosedStream)),
            }
        };
        let written = self.connection.wait(Topic::Writable(id), attempt).await?;
        self.connection.touch();
        Ok(written)
    }

    /// No more data follows. The peer gets all of it unless the stream is reset or the connection
    /// closed. [`Self::stopped`] waits for that.
    ///
    /// # Errors
    /// If it is finished or reset already. That the peer stopped the stream is no error here.
    pub fn finish(&mut self) -> Result<(), ClosedStream> {
        let finished = self.connection.lock().proto.send_stream(self.id).finish();
        match finished {
            Ok(()) => {
                self.connection.touch();
                Ok(())
            }
            Err(FinishError::Stopped(_)) => Ok(()),
            Err(FinishError::ClosedStream) => Err(ClosedStream::default()),
        }
    }

    /// Abandons the stream: what has not arrived may never arrive.
    ///
    /// # Errors
    /// If it is reset already, or finished and acknowledged.
    pub fn reset(&mut self, code: VarInt) -> Result<(), ClosedStream> {
        let woken = {
            let state = &mut *self.connection.lock();
            state.proto.send_stream(self.id).reset(code)?;
            self.reset.store(true, Ordering::Relaxed);
            let topic = Topic::Stopped(self.id);
            state.waiters.notify(topic, &mut state.woken);
            std::mem::take(&mut state.woken)
        };
        self.connection.touch();
        woken.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Sets the priority. Streams of higher priority are sent first; the default is 0.
    ///
    /// # Errors
    /// If the stream is closed.
    pub fn set_priority(&self, priority: i32) -> Result<(), ClosedStream> {
        let mut state = self.connection.lock();
        state.proto.send_stream(self.id).set_priority(priority)
    }

    /// The priority.
    ///
    /// # Errors
    /// If the stream is closed.
    pub fn priority(&self) -> Result<i32, ClosedStream> {
        let mut state = self.connection.lock();
        state.proto.send_stream(self.id).priority()
    }

    /// Waits until the peer stops the stream (`Some` with its code), or has acknowledged all data
    /// of the finished stream or the stream was reset (`None`).
    ///
    /// # Errors
    /// If the connection is closed before.
    pub fn stopped(
        &self,
    ) -> impl Future<Output = Result<Option<VarInt>, StoppedError>> + Send + 'static + use<> {
        let (connection, id) = (self.connection.clone(), self.id);
        let reset = Arc::clone(&self.reset);
        async move {
            let attempt = |state: &mut State| match state.proto.send_stream(id).stopped() {
                Err(ClosedStream { .. }) => Some(Ok(None)),
                Ok(Some(code)) => Some(Ok(Some(code))),
                Ok(None) if reset.load(Ordering::Relaxed) => Some(Ok(None)),
                Ok(None) => state.error.clone().map(|e| Err(e.into())),
            };
            connection.wait(Topic::Stopped(id), attempt).await
        }
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        {
            let mut state = self.connection.lock();
            if state.error.is_some() {
                return;
            }
            match state.proto.send_stream(self.id).finish() {
                Ok(()) => {
                    state.dropped.insert(self.id);
                }
                Err(FinishError::Stopped(code)) => {
                    // If it fails, the stream was reset before.
                    state.proto.send_stream(self.id).reset(code).ok();
                }
                Err(FinishError::ClosedStream) => {
                    let is_finished = !self.reset.load(Ordering::Relaxed);
                    // noq has forgotten a stream that the peer has.
                    if is_finished && state.proto.send_stream(self.id).stopped().is_ok() {
                        state.dropped.insert(self.id);
                    }
                    return;
                }
            }
        }
        self.connection.touch();
    }
}

/// Why data could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The peer does not want the stream's data; its code says why.
    #[error("sending stopped by peer: error {0}")]
    Stopped(VarInt),
    /// The connection is closed.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
    /// The stream is finished or reset.
    #[error("closed stream")]
    ClosedStream,
}

/// Why the end of a stream cannot be known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoppedError {
    /// The connection is closed.
    #[error("connection lost")]
    ConnectionLost(#[from] ConnectionError),
}
