//! Reads and writes messages on QUIC streams.

use super::close;
use crate::error::Error;
use crate::wire::{MAX_MESSAGE, Message, Reason};
use std::time::Duration;
use tokio::time::timeout;
use whimbrel_quic::endpoint::{Connection, ReadExactError, RecvStream, SendStream};

/// Opens a stream for a request and sends its first message. What else goes over the stream has
/// precedence over data.
pub(crate) async fn request(
    connection: &Connection,
    message: &Message,
) -> Result<(SendStream, RecvStream), Error> {
    let (mut send, receive) = connection.open_bi().await.map_err(close::lost)?;
    send.set_priority(i32::MAX).ok();
    write(&mut send, message).await?;
    Ok((send, receive))
}

/// Sends one message.
pub(crate) async fn write(stream: &mut SendStream, message: &Message) -> Result<(), Error> {
    stream
        .write_chunk(message.encode())
        .await
        .map_err(|e| Error::Lost(e.to_string()))
}

/// Sends one message to a peer that may not read: fails if it takes nothing for `limit`.
pub(crate) async fn write_within(
    limit: Duration,
    stream: &mut SendStream,
    message: &Message,
) -> Result<(), Error> {
    within(limit, write(stream, message)).await
}

/// Waits for what is being sent to a peer that may not read: fails if that takes longer than
/// `limit`.
pub(crate) async fn within(
    limit: Duration,
    sending: impl Future<Output = Result<(), Error>>,
) -> Result<(), Error> {
    let unread = |_| Error::refused(Reason::Stalled, "nobody reads the answers");
    timeout(limit, sending).await.map_err(unread)?
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

/// The error of an answer that is not an expected one.
pub(crate) fn unexpected(message: Message) -> Error {
    match message {
        Message::Refused(refusal) => Error::Refused(refusal),
        _ => Error::Protocol("an unexpected message".to_owned()),
    }
}

/// A stream ended where a message was expected.
fn ended() -> Error {
    Error::Protocol("a stream ended in the middle of a message".to_owned())
}

fn read_error(error: ReadExactError) -> Error {
    match error {
        ReadExactError::FinishedEarly(_) => ended(),
        ReadExactError::ReadError(e) => Error::Lost(e.to_string()),
    }
}

/// Reads messages one after the other; a read survives that its future is dropped.
pub(crate) struct Control<'a> {
    stream: &'a mut RecvStream,
    buffer: Vec<u8>,
}

impl<'a> Control<'a> {
    pub fn new(stream: &'a mut RecvStream) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    /// The next message. Cancel safe.
    pub async fn next(&mut self) -> Result<Message, Error> {
        loop {
            if let Some(message) = take(&mut self.buffer, MAX_MESSAGE)? {
                return Ok(message);
            }
            let chunk = self.stream.read_chunk(MAX_MESSAGE).await;
            let chunk = chunk.map_err(|e| Error::Lost(e.to_string()))?;
            let chunk = chunk.ok_or_else(ended)?;
            self.buffer.extend_from_slice(&chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_length_within_its_bounds() {
        let max = 100;
        for (length, valid) in [(0, false), (1, true), (max as u32, true), (101, false)] {
            let mut buffer = length_and_nothing(length);
            assert_eq!(take(&mut buffer, max).is_ok(), valid, "{length}");
        }
        let mut buffer = Message::Present.encode().to_vec();
        buffer.extend_from_slice(&length_and_nothing(1)[..3]);
        let first = take(&mut buffer, max).expect("a message");
        assert!(matches!(first, Some(Message::Present)));
        assert!(
            matches!(take(&mut buffer, max), Ok(None)),
            "it is not complete"
        );
    }

    fn length_and_nothing(length: u32) -> Vec<u8> {
        length.to_be_bytes().to_vec()
    }
}
