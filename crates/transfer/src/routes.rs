//! Brings chunk and pack streams to their transfers.

use crate::blocks::CHUNK;
use crate::wire::{CHUNK_HEADER, ChunkHeader};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use whimbrel_quic::endpoint::RecvStream;

/// The header of a stream, and the stream after it.
pub(crate) type ChunkStream = (ChunkHeader, RecvStream);

/// For each transfer of a connection, the channel for its streams.
#[derive(Debug, Clone, Default)]
pub(crate) struct Routes(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    to: HashMap<u64, mpsc::Sender<ChunkStream>>,
}

/// A transfer to which streams are brought until this is dropped.
#[derive(Debug)]
pub(crate) struct Route {
    routes: Routes,
    /// The transfer's number; no other transfer of the connection has it.
    pub transfer: u64,
}

impl Routes {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new transfer and its streams. Further streams wait until the transfer takes them. `None`
    /// if there are `max` transfers already.
    pub fn open(&self, max: usize) -> Option<(Route, mpsc::Receiver<ChunkStream>)> {
        let (to, streams) = mpsc::channel(crate::transport::STREAMS as usize);
        let mut table = self.lock();
        if table.to.len() >= max {
            return None;
        }
        table.next += 1;
        let transfer = table.next;
        table.to.insert(transfer, to);
        let routes = self.clone();
        Some((Route { routes, transfer }, streams))
    }

    /// Reads the header of a stream and passes the stream to its transfer. A stream for an unknown
    /// transfer, or with a wrong length, is dropped, which makes its sender stop: streams of a
    /// transfer that has just failed may still arrive.
    pub async fn pass(self, mut stream: RecvStream, header_timeout: Duration) {
        let mut header = [0; CHUNK_HEADER];
        let Ok(Ok(())) = timeout(header_timeout, stream.read_exact(&mut header)).await else {
            return;
        };
        let header = ChunkHeader::decode(header);
        let to = self.lock().to.get(&header.transfer).cloned();
        if let Some(to) = to {
            to.send((header, stream)).await.ok();
        }
    }
}

impl Drop for Route {
    fn drop(&mut self) {
        self.routes.lock().to.remove(&self.transfer);
    }
}

/// Whether a header describes a piece of a file: not empty, and within a block.
pub(crate) fn is_chunk(header: &ChunkHeader) -> bool {
    let length = u64::from(header.length);
    (1..=CHUNK).contains(&length) && header.offset % CHUNK + length <= CHUNK
}
