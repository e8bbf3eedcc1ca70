//! Messages on noq's streams.

use crate::Error;
use crate::wire::{MOST_MESSAGE, Message};
use noq::{ReadExactError, RecvStream, SendStream};

/// Sends one message.
pub(crate) async fn write(stream: &mut SendStream, message: &Message) -> Result<(), Error> {
    stream
        .write_chunk(message.encode())
        .await
        .map_err(|e| Error::Lost(e.to_string()))
}

/// Receives one message. Not to be dropped half-way and called again.
pub(crate) async fn read(stream: &mut RecvStream) -> Result<Message, Error> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await.map_err(broken)?;
    let length = u32::from_be_bytes(length) as usize;
    if !(1..=MOST_MESSAGE).contains(&length) {
        return Err(Error::Protocol(format!("a message of {length} bytes")));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.map_err(broken)?;
    Message::decode(&body).map_err(|e| Error::Protocol(e.to_string()))
}

fn broken(error: ReadExactError) -> Error {
    match error {
        ReadExactError::FinishedEarly(_) => Error::Protocol("a stream ended too early".to_owned()),
        ReadExactError::ReadError(e) => Error::Lost(e.to_string()),
    }
}
