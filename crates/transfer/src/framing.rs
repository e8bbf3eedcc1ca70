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
    let mut length = [0; 4];
    stream.read_exact(&mut length).await.map_err(read_error)?;
    let length = u32::from_be_bytes(length) as usize;
    if !(1..=MAX_MESSAGE).contains(&length) {
        return Err(Error::Protocol(format!("a message has {length} bytes")));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.map_err(read_error)?;
    Message::decode(&body).map_err(|e| Error::Protocol(e.to_string()))
}

fn read_error(error: ReadExactError) -> Error {
    match error {
        ReadExactError::FinishedEarly(_) => {
            Error::Protocol("a stream ended in the middle of a message".to_owned())
        }
        ReadExactError::ReadError(e) => Error::Lost(e.to_string()),
    }
}
