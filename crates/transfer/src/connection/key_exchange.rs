//! The group in which client and server agreed on their keys.

use noq_proto::crypto::rustls::HandshakeData;
use rustls::NamedGroup;
use serde::{Serialize, Serializer};
use std::fmt;
use whimbrel_quic::endpoint::Connection;

/// The group in which client and server agreed on the keys of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyExchange(NamedGroup);

impl KeyExchange {
    /// X25519 and ML-KEM-768 together: what this program prefers.
    pub const POST_QUANTUM: Self = Self(NamedGroup::X25519MLKEM768);

    /// X25519 alone: what a quantum computer can break.
    #[cfg(test)]
    pub const X25519: Self = Self(NamedGroup::X25519);

    /// The group of a connection; `None` before its handshake is complete.
    pub(crate) fn of(connection: &Connection) -> Option<Self> {
        let data = connection.handshake_data()?.downcast::<HandshakeData>();
        data.ok()?.negotiated_key_exchange_group.map(Self)
    }

    /// Whether a quantum computer cannot find the keys of a connection that was recorded.
    pub fn is_post_quantum(self) -> bool {
        self == Self::POST_QUANTUM
    }
}

impl fmt::Display for KeyExchange {
    /// The name in IANA's registry of TLS groups, such as `X25519MLKEM768`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // rustls names its constants after the registry.
        write!(f, "{:?}", self.0)
    }
}

impl Serialize for KeyExchange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
