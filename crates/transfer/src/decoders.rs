//! Decoders of foreign bytes that nothing else outside of this crate uses, for the crate `fuzz`.

use crate::connection::{framing, over_tcp};
use crate::credentials::host_file;
use crate::fingerprint::Pins;

/// Takes messages from what has arrived of a control stream, whose bytes come in pieces: a piece is
/// as long as its first byte says.
pub fn messages(bytes: &[u8]) {
    let mut buffer = Vec::new();
    for piece in pieces(bytes) {
        buffer.extend_from_slice(piece);
        while let Ok(Some(_)) = framing::take(&mut buffer, crate::wire::MAX_MESSAGE) {}
    }
}

/// Takes datagrams from frames in a byte stream, which comes in pieces as for [`messages`].
///
/// # Panics
/// If there are more bytes in the datagrams than in the stream.
pub fn frames(bytes: &[u8]) {
    let (mut input, mut passed) = (over_tcp::Input::default(), 0);
    for piece in pieces(bytes) {
        if !input.feed(piece, |datagram| passed += datagram.len()) {
            break;
        }
    }
    assert!(passed <= bytes.len());
}

/// Looks up a server in a file of known ones.
pub fn hosts(text: &str) {
    let first = text.split_whitespace().next().unwrap_or_default();
    host_file::find::<Pins>(text, first).ok();
    host_file::find::<Pins>(text, "host:4440").ok();
}

/// The pieces in which bytes arrive.
fn pieces(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first()?;
        let (piece, after) = rest.split_at(rest.len().min(usize::from(*length) * 8 + 1));
        bytes = after;
        Some(piece)
    })
}
