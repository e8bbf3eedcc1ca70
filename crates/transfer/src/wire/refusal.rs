//! Why a request was refused.

use std::fmt;

/// Maximum length of a refusal's text, bytes.
pub(super) const MAX_TEXT: usize = 1024;

/// Why the server refused a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// A reason unknown to this version.
    Other(u16),
}

/// The reasons and their numbers on the wire.
const REASONS: [(Reason, u16); 17] = [
    (Reason::Token, 1),
    (Reason::Name, 2),
    (Reason::Exists, 3),
    (Reason::TooLarge, 4),
    (Reason::DiskFull, 5),
    (Reason::Busy, 6),
    (Reason::Corrupt, 7),
    (Reason::Protocol, 8),
    (Reason::Stalled, 9),
    (Reason::Stopping, 10),
    (Reason::Internal, 11),
    (Reason::Version, 12),
    (Reason::Rights, 13),
    (Reason::Quota, 14),
    (Reason::Missing, 15),
    (Reason::Cancelled, 16),
    (Reason::Changed, 17),
];

impl Reason {
    pub(super) fn number(self) -> u16 {
        match self {
            Self::Other(number) => number,
            known => REASONS
                .iter()
                .find(|(r, _)| *r == known)
                .map_or(0, |(_, n)| *n),
        }
    }

    pub(super) fn from_number(number: u16) -> Self {
        REASONS
            .iter()
            .find(|(_, n)| *n == number)
            .map_or(Self::Other(number), |(r, _)| *r)
    }

    /// Whether the same request may succeed later without anybody doing anything.
    pub fn is_temporary(self) -> bool {
        matches!(self, Self::Busy | Self::Stopping | Self::Stalled)
    }
}

/// A refusal with an explanation for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, for a program.
    pub reason: Reason,
    /// The reason, for the user. At most 1024 bytes, without control characters.
    pub text: String,
}

impl Refusal {
    /// Creates a refusal. Text that is too long is cut; control characters become spaces.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        let mut text: String = text
            .into()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        if text.len() > MAX_TEXT {
            let cut = (0..=MAX_TEXT)
                .rev()
                .find(|i| text.is_char_boundary(*i))
                .unwrap_or(0);
            text.truncate(cut);
        }
        Self { reason, text }
    }
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
        let refusal = Refusal::new(Reason::Other(77), "é\x1b[31m".repeat(1000));
        assert!(refusal.text.len() <= MAX_TEXT && !refusal.text.contains('\x1b'));
        assert_eq!(Reason::from_number(77), Reason::Other(77));
        for (reason, number) in REASONS {
            assert_eq!(
                (reason.number(), Reason::from_number(number)),
                (number, reason)
            );
        }
    }
}
