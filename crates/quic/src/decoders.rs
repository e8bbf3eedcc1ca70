//! Decoders of what peers send that nothing else outside of this crate uses, for the crate `fuzz`.

use crate::feedback::message::Message;

/// Decodes a DATAGRAM frame of the feedback between two ends. What is read is written as bytes
/// that are read as the same.
///
/// # Panics
/// If the decoder does not hold that.
pub fn feedback(bytes: &[u8]) {
    let Some(message) = Message::decode(bytes) else {
        return;
    };
    let mut written = Vec::new();
    message.encode(&mut written);
    let again = Message::decode(&written).expect("what was written can be read");
    assert_eq!(format!("{again:?}"), format!("{message:?}"));
}
