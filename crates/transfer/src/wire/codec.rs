//! Reads and writes the fields of messages.

use bytes::{Buf, BufMut, BytesMut};

/// Why bytes are not a valid message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The body ends too early.
    #[error("a message is truncated")]
    Short,
    /// The body is longer than its fields.
    #[error("a message has trailing bytes")]
    Long,
    /// The kind is unknown.
    #[error("a message has the unknown kind {0}")]
    Kind(u8),
    /// A text is too long, empty where that is not allowed, or not UTF-8.
    #[error("a message contains an invalid text")]
    Text,
    /// A number or a list is outside its limits.
    #[error("a message contains an invalid value")]
    Value,
}

impl From<bytes::TryGetError> for WireError {
    fn from(_: bytes::TryGetError) -> Self {
        Self::Short
    }
}

pub(super) fn array<const N: usize>(from: &mut &[u8]) -> Result<[u8; N], WireError> {
    let mut bytes = [0; N];
    from.try_copy_to_slice(&mut bytes)?;
    Ok(bytes)
}

/// The next `length` bytes.
pub(super) fn take<'a>(from: &mut &'a [u8], length: usize) -> Result<&'a [u8], WireError> {
    let (bytes, rest) = from.split_at_checked(length).ok_or(WireError::Short)?;
    *from = rest;
    Ok(bytes)
}

/// Callers keep bytes short. Longer ones are cut, so that the length is always correct.
pub(super) fn put_bytes(out: &mut BytesMut, bytes: &[u8], max: usize) {
    let bytes = &bytes[..bytes.len().min(max)];
    out.put_u16(bytes.len() as u16);
    out.put_slice(bytes);
}

/// Bytes with a length from `min` to `max`.
pub(super) fn get_bytes(from: &mut &[u8], min: usize, max: usize) -> Result<Vec<u8>, WireError> {
    let length = usize::from(from.try_get_u16()?);
    if !(min..=max).contains(&length) {
        return Err(WireError::Text);
    }
    Ok(take(from, length)?.to_vec())
}

/// Text with a length from `min` to `max` bytes.
pub(super) fn get_text(from: &mut &[u8], min: usize, max: usize) -> Result<String, WireError> {
    String::from_utf8(get_bytes(from, min, max)?).map_err(|_| WireError::Text)
}

/// The number of elements of a list, at most `max`.
pub(super) fn count(from: &mut &[u8], max: usize) -> Result<usize, WireError> {
    let count = from.try_get_u32()? as usize;
    if count > max {
        return Err(WireError::Value);
    }
    Ok(count)
}
