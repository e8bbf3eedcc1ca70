//! Transfers where UDP is blocked: QUIC's packets inside TLS 1.3 over TCP.
//!
//! Every datagram of a connection travels as a frame of its length (2 bytes, big endian) and its
//! bytes. To everything above, the connection is the same as over UDP: streams, flow control,
//! limits, deadlines and errors. TCP delivers in order and without loss, so QUIC never retransmits,
//! and its congestion control is off ([`whimbrel_quic::Factory::uncontrolled`]): TCP has its own.
//! Frames are larger than UDP's packets, so the second encryption costs little.
//!
//! | part | content |
//! |---|---|
//! | `carry` | frames in both directions |
//! | `socket` | the options of the TCP socket |

mod carry;
mod socket;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use carry::{Input, run};
pub(crate) use socket::{Control, listen};

use noq_proto::{EndpointConfig, TransportConfig};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The datagrams' size, bytes: with its length, one fills a TLS record (RFC 8446 section 5.1).
pub(crate) const DATAGRAM: u16 = (1 << 14) - 2;

/// What carries the packets of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Transport {
    /// QUIC over UDP.
    #[default]
    Quic,
    /// QUIC inside TLS over TCP.
    Tls(TcpControl),
}

impl Transport {
    /// Its name: `quic` or `tls`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Quic => "quic",
            Self::Tls(_) => "tls",
        }
    }
}

impl Serialize for Transport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The congestion control of a TCP connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpControl {
    /// The algorithm: one of ours as the user wrote it, or the kernel's with its name there.
    pub algorithm: String,
    /// Why it is the kernel's; `None` if it is one of ours, or none of ours was requested.
    pub why: Option<String>,
}

impl fmt::Display for TcpControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.algorithm)
    }
}

/// Registers one of our algorithms with the kernel's TCP, when a connection needs it.
///
/// The function returns the kernel's name of the algorithm, and what to call it, or why it cannot
/// be used.
#[derive(Clone)]
pub struct TcpAlgorithm(Arc<Register>);

type Register = dyn Fn() -> Result<(String, String), String> + Send + Sync;

impl TcpAlgorithm {
    /// What `register` registers. It is called for each connection and should do its work once.
    pub fn new(
        register: impl Fn() -> Result<(String, String), String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(register))
    }

    fn register(&self) -> Result<(String, String), String> {
        (self.0)()
    }
}

impl fmt::Debug for TcpAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TcpAlgorithm")
    }
}

/// Which transport a client may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransportChoice {
    /// QUIC; if it does not answer within a second, also TLS, and the first that works.
    #[default]
    Auto,
    /// QUIC over UDP only.
    Quic,
    /// TLS over TCP only.
    Tls,
}

impl FromStr for TransportChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "quic" => Ok(Self::Quic),
            "tls" => Ok(Self::Tls),
            _ => Err(format!(
                "`{text}` is not a transport; write auto, quic or tls"
            )),
        }
    }
}

/// Adapts the parameters of a connection to TCP, which takes datagrams of any size.
pub(crate) fn adapt(transport: &mut TransportConfig) {
    transport
        .initial_mtu(DATAGRAM)
        .min_mtu(DATAGRAM)
        .mtu_discovery_config(None);
}

/// Lets the peer send datagrams as large as TCP's frames.
pub(crate) fn endpoint(mut config: EndpointConfig) -> EndpointConfig {
    // The size is within the bounds that noq checks.
    config.max_udp_payload_size(DATAGRAM).ok();
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transports_have_names() {
        for name in ["quic", "tls", "auto"] {
            assert!(name.parse::<TransportChoice>().is_ok());
        }
        let error = "tcp".parse::<TransportChoice>().expect_err("unknown");
        assert!(error.contains("auto, quic or tls"), "{error}");
        let control = TcpControl {
            algorithm: "cubic".to_owned(),
            why: None,
        };
        let tls = serde_json::to_string(&Transport::Tls(control)).expect("a string");
        assert_eq!((&*tls, Transport::Quic.name()), ("\"tls\"", "quic"));
        assert!(
            EndpointConfig::default()
                .max_udp_payload_size(DATAGRAM)
                .is_ok()
        );
    }
}
