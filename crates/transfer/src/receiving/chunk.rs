//! One chunk stream, in pieces.

use super::disk::Piece;
use crate::Error;
use bytes::BytesMut;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use whimbrel_quic::endpoint::{ReadError, RecvStream};

/// Data collected from a stream before it is written, bytes.
const PIECE: u64 = 256 << 10;
/// Data is written after this time at the latest: what is on disk is not sent again after a crash.
const FLUSH: Duration = Duration::from_millis(50);

/// Receives exactly the bytes `range` of the file from a stream.
pub(super) async fn receive(
    mut stream: RecvStream,
    number: u64,
    range: Range<u64>,
    pieces: mpsc::Sender<Piece>,
    progress: Arc<AtomicU64>,
) -> Result<(), Error> {
    let wrong = || {
        let length = range.end - range.start;
        Error::Protocol(format!(
            "the chunk at {} is not {length} bytes",
            range.start
        ))
    };
    let lost = |e: ReadError| Error::Lost(e.to_string());
    let mut at = range.start;
    let mut some = Vec::new();
    while at < range.end {
        let want = (range.end - at).min(PIECE) as usize;
        let mut data = BytesMut::with_capacity(want);
        while data.len() < want {
            let reading = stream.read_many(&mut some, want - data.len());
            let read = if data.is_empty() {
                reading.await
            } else {
                match timeout(FLUSH, reading).await {
                    Ok(read) => read,
                    Err(_) => break,
                }
            };
            let read = read.map_err(lost)?.ok_or_else(wrong)?;
            progress.fetch_add(read as u64, Ordering::Relaxed);
            for part in some.drain(..) {
                data.extend_from_slice(&part);
            }
        }
        let end = at + data.len() as u64;
        let last = end == range.end;
        if last && stream.read_chunk(1).await.map_err(lost)?.is_some() {
            return Err(wrong());
        }
        let piece = Piece {
            data: data.freeze(),
            at,
            stream: number,
            chunk: range.clone(),
        };
        if pieces.send(piece).await.is_err() {
            // The writer has failed and reports its error itself.
            return Ok(());
        }
        at = end;
    }
    Ok(())
}
