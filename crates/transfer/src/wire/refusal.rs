//! Why a request was refused.

use super::bounds::text;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Maximum length of a refusal's text, bytes.
pub(super) const MAX_TEXT: usize = 1024;

/// Why the server refused a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Reason {
    /// The token is wrong.
    Token,
    /// The name is invalid.
    Name,
    /// A file of that name exists.
    Exists,
    /// The file is larger than the server's limit.
    TooLarge,
    /// The disk has not enough space.
    DiskFull,
    /// Too many concurrent transfers.
    Busy,
    /// The data does not have the announced hash.
    Corrupt,
    /// The client violated the protocol.
    Protocol,
    /// No data arrived for too long.
    Stalled,
    /// The server is stopping.
    Stopping,
    /// The server failed.
    Internal,
    /// The client uses another protocol version.
    Version,
    /// The user does not have this right.
    Rights,
    /// The user's files would take more than the user may store.
    Quota,
    /// There is no such file.
    Missing,
    /// Another connection took the transfer over.
    Cancelled,
    /// The file changed while it was read.
    Changed,
}

impl Reason {
    /// Whether the same request may succeed later without anybody doing anything.
    pub fn is_temporary(self) -> bool {
        matches!(self, Self::Busy | Self::Stopping | Self::Stalled)
    }
}

/// A refusal with an explanation for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The reason, for a program.
    pub reason: Reason,
    /// The reason, for the user. At most 1024 bytes, without control characters.
    #[serde(deserialize_with = "plain")]
    pub text: String,
}

impl Refusal {
    /// Creates a refusal. Text that is too long is cut; control characters become spaces.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self {
            reason,
            text: harmless(&text.into()),
        }
    }
}

/// The text without control characters, at most [`MAX_TEXT`] bytes of it.
fn harmless(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let mut length = 0;
    let fits = |c: &char| {
        length += c.len_utf8();
        length <= MAX_TEXT
    };
    text.chars().map(plain).take_while(fits).collect()
}

/// A peer's text, which becomes as harmless as ours.
fn plain<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(harmless(&text::<MAX_TEXT, D>(from)?))
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_short_and_free_of_control_characters() {
        let refusal = Refusal::new(Reason::Name, "é\x1b[31m".repeat(1000));
        assert!(refusal.text.len() <= MAX_TEXT && !refusal.text.contains('\x1b'));
        let hostile = Refusal {
            reason: Reason::Name,
            text: "a\x1b[31m".to_owned(),
        };
        let bytes = postcard::to_stdvec(&hostile).expect("encoded");
        let read: Refusal = postcard::from_bytes(&bytes).expect("decoded");
        assert_eq!(read.text, "a [31m");
    }
}
