//! Brings chunk and pack streams to their transfers.

use super::close;
use super::parameters::STREAMS;
use crate::blocks::CHUNK;
use crate::error::Error;
use crate::lock::lock;
use crate::wire::{CHUNK_HEADER, ChunkHeader};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use whimbrel_quic::endpoint::{Connection, RecvStream};

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
        lock(&self.0)
    }

    /// A new transfer and its streams. Further streams wait until the transfer takes them. `None`
    /// if there are `max` transfers already.
    pub fn open(&self, max: usize) -> Option<(Route, mpsc::Receiver<ChunkStream>)> {
        let (to, streams) = mpsc::channel(STREAMS as usize);
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

    /// Brings all data streams of a connection to their transfers until the connection ends, and
    /// with it the transfers' streams. Returns why it ended.
    pub async fn accept(&self, connection: &Connection, header_timeout: Duration) -> Error {
        let mut passing = JoinSet::new();
        loop {
            tokio::select! {
                stream = connection.accept_uni() => match stream {
                    Ok(stream) => drop(passing.spawn(self.clone().pass(stream, header_timeout))),
                    Err(reason) => {
                        self.lock().to.clear();
                        return close::lost(reason);
                    }
                },
                Some(_) = passing.join_next() => {}
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::pair::Pair;

    #[test]
    fn a_chunk_is_within_its_block() {
        let header = |offset, length| ChunkHeader {
            transfer: 1,
            offset,
            length,
        };
        let all = CHUNK as u32;
        for (offset, length) in [(0, 1), (0, all), (CHUNK, all), (CHUNK - 1, 1), (5, all - 5)] {
            assert!(is_chunk(&header(offset, length)), "{offset} {length}");
        }
        for (offset, length) in [
            (0, 0),
            (0, all + 1),
            (1, all),
            (CHUNK - 1, 2),
            (5, u32::MAX),
        ] {
            assert!(!is_chunk(&header(offset, length)), "{offset} {length}");
        }
    }

    /// Streams that say nothing would take the place of others.
    #[test]
    fn a_stream_shows_its_header_in_time() {
        Pair::play(100_000_000, async |pair: Pair| {
            let mut stream = pair.client.open_uni().await.expect("a stream");
            stream
                .write_all(&[0; CHUNK_HEADER - 1])
                .await
                .expect("sent");
            let limit = Duration::from_secs(10);
            let stopped = timeout(2 * limit, stream.stopped());
            let routes = Routes::default();
            tokio::select! {
                stopped = stopped => drop(stopped.expect("in time")),
                error = routes.accept(&pair.server, limit) => panic!("{error}"),
            }
        });
    }
}
