//! Reads and writes messages on QUIC streams.

use crate::Error;
use crate::wire::{MAX_MESSAGE, Message};
use whimbrel_quic::endpoint::{ReadExactError, RecvStream, SendStream};

/// Sends one message.
pub(crate) async fn write(stream: &mut SendStream, message: &Message) -> Result<(), Error> {
    stream
        .write_chunk(message.encode())
        .await
        .map_err(|e| Error::Lost(e.to_string()))
}

/// Receives one message. Not cancellation safe: a read that was dropped cannot be repeated.
pub(crate) async fn read(stream: &mut RecvStream) -> Result<Message, Error> {
    read_at_most(stream, MAX_MESSAGE).await
}

/// Receives one message of at most `max` bytes. Not cancellation safe.
pub(crate) async fn read_at_most(stream: &mut RecvStream, max: usize) -> Result<Message, Error> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await.map_err(read_error)?;
    let length = check(length, max)?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.map_err(read_error)?;
    decode(&body)
}

/// Removes the first message from what has arrived; `None` if it is not complete.
pub(crate) fn take(buffer: &mut Vec<u8>, max: usize) -> Result<Option<Message>, Error> {
    let Some(length) = buffer.first_chunk::<4>() else {
        return Ok(None);
    };
    let end = 4 + check(*length, max)?;
    if buffer.len() < end {
        return Ok(None);
    }
    let message = decode(&buffer[4..end]);
    buffer.drain(..end);
    message.map(Some)
}

fn check(length: [u8; 4], max: usize) -> Result<usize, Error> {
    let length = u32::from_be_bytes(length) as usize;
    if (1..=max).contains(&length) {
        Ok(length)
    } else {
        Err(Error::Protocol(format!("a message has {length} bytes")))
    }
}

fn decode(body: &[u8]) -> Result<Message, Error> {
    Message::decode(body).map_err(|e| Error::Protocol(e.to_string()))
}

/// A stream ended where a message was expected.
pub(crate) fn ended() -> Error {
    Error::Protocol("a stream ended in the middle of a message".to_owned())
}

fn read_error(error: ReadExactError) -> Error {
    match error {
        ReadExactError::FinishedEarly(_) => ended(),
        ReadExactError::ReadError(e) => Error::Lost(e.to_string()),
    }
}
