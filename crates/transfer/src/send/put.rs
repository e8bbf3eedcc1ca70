//! The protocol for one file, and its chunks.

use super::SendOptions;
use crate::chunks::Chunks;
use crate::wire::{self, Message, Put};
use crate::{Error, FileName, close, framing};
use bytes::Bytes;
use noq_proto::ConnectionError;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use whimbrel_quic::endpoint::Connection;

/// Number of chunks read ahead of what noq has accepted.
const READ_AHEAD: usize = 4;

/// Runs the protocol for one file. Returns the hash, which both sides have computed.
pub(super) async fn put(
    connection: &Connection,
    options: &SendOptions,
    name: &FileName,
    file: File,
    size: u64,
) -> Result<blake3::Hash, Error> {
    let lost = |e: ConnectionError| Error::Lost(close::text(&e));
    let (mut send, mut receive) = connection.open_bi().await.map_err(lost)?;
    // Control messages go before data.
    send.set_priority(i32::MAX).ok();
    let put = Put {
        version: wire::VERSION,
        token: options.token.clone(),
        size,
        name: name.as_str().to_owned(),
    };
    framing::write(&mut send, &Message::Put(put)).await?;
    let transfer = match framing::read(&mut receive).await? {
        Message::Accepted { transfer } => transfer,
        Message::Refused(refusal) => return Err(Error::Refused(refusal)),
        _ => return Err(Error::Protocol("an unexpected message".to_owned())),
    };
    let all = async {
        let hash = send_chunks(connection, transfer, &options.file, file, size).await?;
        framing::write(&mut send, &Message::Finish { hash }).await?;
        send.finish().ok();
        Ok::<_, Error>(hash)
    };
    tokio::pin!(all);
    let answer = framing::read(&mut receive);
    tokio::pin!(answer);
    let mut sent = None;
    loop {
        tokio::select! {
            // Prefer an answer: a refusal says more than the streams that stop because of it.
            biased;
            message = &mut answer => return match (message?, sent) {
                (Message::Stored { bytes, hash }, Some(sent))
                    if bytes == size && hash == sent => Ok(hash),
                (Message::Refused(refusal), _) => Err(Error::Refused(refusal)),
                _ => {
                    let text = "the server's answer does not match the file sent";
                    Err(Error::Protocol(text.to_owned()))
                }
            },
            hash = &mut all, if sent.is_none() => match hash {
                Ok(hash) => sent = Some(hash),
                // The server stopped the streams: its reason is on the way.
                Err(Error::Lost(why)) => {
                    let answer = timeout(Duration::from_secs(2), &mut answer).await;
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

/// Sends every chunk on its own stream. Returns when noq has accepted the last one; noq's send
/// window limits how much it accepts before it is acknowledged.
async fn send_chunks(
    connection: &Connection,
    transfer: u64,
    path: &Path,
    file: File,
    size: u64,
) -> Result<blake3::Hash, Error> {
    let (read, mut chunks) = mpsc::channel(READ_AHEAD);
    let reader_path = path.to_owned();
    let reader = spawn_blocking(move || read_chunks(file, &reader_path, size, &read));
    let mut index = 0;
    while let Some(data) = chunks.recv().await {
        let mut stream = connection
            .open_uni()
            .await
            .map_err(|e| Error::Lost(close::text(&e)))?;
        // Retransmissions of old chunks go before new chunks.
        stream
            .set_priority(-i32::try_from(index).unwrap_or(i32::MAX))
            .ok();
        let header = Bytes::copy_from_slice(&wire::chunk_header(transfer, index));
        let sent = stream.write_all_chunks(&mut [header, data]).await;
        sent.map_err(|e| Error::Lost(e.to_string()))?;
        stream.finish().ok();
        index += 1;
    }
    reader.await.map_err(|_| Error::Stopped)?
}

/// Reads and hashes the file from beginning to end, and sends each chunk to the channel.
fn read_chunks(
    mut file: File,
    path: &Path,
    size: u64,
    to: &mpsc::Sender<Bytes>,
) -> Result<blake3::Hash, Error> {
    let mut hasher = blake3::Hasher::new();
    let chunks = Chunks::of(size);
    for (_, length) in (0..).map_while(|index| chunks.range(index)) {
        let mut data = Vec::with_capacity(length as usize);
        let read = Read::by_ref(&mut file).take(length).read_to_end(&mut data);
        if read.map_err(Error::file(path, "read"))? as u64 != length {
            return Err(Error::Changed(path.to_owned()));
        }
        hasher.update(&data);
        if to.blocking_send(data.into()).is_err() {
            return Err(Error::Stopped);
        }
    }
    Ok(hasher.finalize())
}
