//! Packs that tests send.

use super::{Account, send_stream};
use crate::wire::{ChunkHeader, Kind, Metadata, PackEntry, PackReader};
use bytes::{Bytes, BytesMut};
use whimbrel_quic::endpoint::Connection;

/// A pack of files with these paths, all with the same content.
pub(crate) fn pack_of<P: Into<Vec<u8>>>(
    paths: impl IntoIterator<Item = P>,
    content: &'static [u8],
) -> Bytes {
    let mut pack = BytesMut::new();
    for path in paths {
        let entry = PackEntry {
            path: path.into(),
            metadata: Metadata::plain(Kind::File),
            content: Bytes::from_static(content),
        };
        entry.encode(&mut pack);
    }
    PackReader::seal(pack)
}

/// Sends a pack as the first of a transfer.
pub(crate) async fn send_pack(connection: &Connection, transfer: u64, pack: Bytes) {
    let (offset, length) = (0, pack.len() as u32);
    let header = ChunkHeader {
        transfer,
        offset,
        length,
    };
    let account = Account::default();
    let sent = send_stream(connection, header, pack, 0, None, &account);
    sent.await.expect("sent");
}
