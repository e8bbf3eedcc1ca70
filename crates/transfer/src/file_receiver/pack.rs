//! One pack stream.

use crate::connection::routes::ChunkStream;
use crate::error::Error;
use crate::file_sender::Pace;
use bytes::{Bytes, BytesMut};
use whimbrel_quic::endpoint::Kept;

/// Receives a pack of the announced length, no faster than `pace`. Its memory counts until the
/// second value is dropped.
pub(crate) async fn read_pack(
    (header, mut stream): ChunkStream,
    pace: Option<&Pace>,
) -> Result<(Bytes, Kept), Error> {
    let wrong = || Error::Protocol("a pack does not have its length".to_owned());
    let lost = |e: whimbrel_quic::endpoint::ReadError| Error::Lost(e.to_string());
    let length = header.length as usize;
    // Memory grows with what arrives.
    let mut pack = BytesMut::new();
    let mut some = Vec::new();
    let (mut kept, mut counted) = (stream.keep(0), 0);
    while pack.len() < length {
        let read = stream.read_many(&mut some, length - pack.len()).await;
        let read = read.map_err(lost)?.ok_or_else(wrong)?;
        if let Some(pace) = pace {
            pace.pass(read).await;
        }
        some.drain(..)
            .for_each(|part| pack.extend_from_slice(&part));
        if pack.capacity() != counted {
            counted = pack.capacity();
            kept.set(counted as u64);
        }
    }
    match stream.read_chunk(1).await.map_err(lost)? {
        None => Ok((pack.freeze(), kept)),
        Some(_) => Err(wrong()),
    }
}
