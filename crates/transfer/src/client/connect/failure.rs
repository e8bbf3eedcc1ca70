//! Why a server cannot be reached, and what to do.

use super::small_packets::Answer;
use crate::connection::close;
use noq_proto::{ConnectionError, TransportErrorCode};
use std::net::SocketAddr;
use whimbrel_quic::endpoint::Obstacle;
use whimbrel_units::Duration as Span;

/// The IP packet that carries QUIC's smallest handshake over IPv4 and over IPv6, bytes.
const NEEDED: [u32; 2] = [1228, 1248];

/// What to tell the user of a server that does not know our application protocol.
pub(super) const OTHER_VERSION: &str =
    "speaks another version of Whimbrel's protocol; update the older of the two programs";

/// Why one address cannot be reached.
#[derive(Debug)]
pub(super) enum Failure {
    /// The system or a router says so.
    Obstacle(Obstacle),
    /// Nothing was heard for so long.
    Silence(Span, Answer),
    /// The connection was refused or failed.
    Connection(ConnectionError),
    /// TCP cannot reach the port.
    Tcp(String),
    /// The port answers over TCP, and yet it failed.
    TcpAnswer(String),
    /// This host cannot open a socket or start a connection.
    Local(String),
}

impl Failure {
    /// Whether it says more than that the address cannot be reached.
    pub fn is_news(&self) -> bool {
        !matches!(self, Self::Tcp(_))
    }

    /// What to tell the user about the attempt at `address`.
    pub fn text(&self, address: SocketAddr) -> String {
        let (ip, port) = (address.ip(), address.port());
        match self {
            Self::Obstacle(Obstacle::PortClosed) => format!(
                "nothing listens on UDP port {port} of {ip}; is `whimbrel serve` running there, \
                 on this port?"
            ),
            Self::Obstacle(Obstacle::NoRoute) => format!(
                "there is no route to {ip}; is this computer connected, and the address right?"
            ),
            Self::Obstacle(Obstacle::Forbidden) => format!(
                "a firewall forbids UDP to port {port} of {ip}; let it through, here or on the way"
            ),
            Self::Obstacle(Obstacle::PathMtu(mtu)) => {
                let needed = NEEDED[usize::from(ip.is_ipv6())];
                let carries = match mtu {
                    0 => "smaller packets".to_owned(),
                    mtu => format!("packets of at most {mtu} bytes"),
                };
                format!(
                    "the path to {ip} carries {carries}, and QUIC needs {needed}; raise the MTU of \
                     the link, tunnel or VPN to {needed} or more"
                )
            }
            Self::Obstacle(other) => format!("{address}: {other}"),
            Self::Silence(_, Answer::Small) => {
                let needed = NEEDED[usize::from(ip.is_ipv6())];
                format!(
                    "{address} answers small packets but none of {needed} bytes, which QUIC needs: \
                     raise the MTU of the link, tunnel or VPN to {needed} or more. Or the server \
                     lets few clients of this address in, because many others there have no valid \
                     token: try again in a minute"
                )
            }
            Self::Silence(after, Answer::None) => format!(
                "{address} did not answer for {after}; is `whimbrel serve` running there, and does \
                 a firewall let UDP port {port} through?"
            ),
            Self::Connection(ConnectionError::ConnectionClosed(closed))
                if closed.error_code == TransportErrorCode::CONNECTION_REFUSED =>
            {
                format!(
                    "{address} accepts no connections now, or none from this host; try again in a \
                     minute"
                )
            }
            Self::Connection(error) if is_other_version(error) => {
                format!("{address} {OTHER_VERSION}")
            }
            Self::Connection(error) => format!("{address}: {}", close::text(error)),
            Self::Tcp(why) | Self::TcpAnswer(why) | Self::Local(why) => why.clone(),
        }
    }
}

/// Whether the server does not know our application protocol (RFC 7301 section 3.2: alert 120).
fn is_other_version(error: &ConnectionError) -> bool {
    is_alert(error, 120)
}

/// Whether the ends have no group for the key exchange in common (RFC 8446 section 4.1.1: alert
/// 40). All have the same ciphers and signatures, so nothing else has this alert.
pub(super) fn is_handshake_failure(error: &ConnectionError) -> bool {
    is_alert(error, 40)
}

/// Whether a connection was closed by this alert of TLS.
fn is_alert(error: &ConnectionError, alert: u8) -> bool {
    let alert = TransportErrorCode::crypto(alert);
    match error {
        ConnectionError::ConnectionClosed(closed) => closed.error_code == alert,
        ConnectionError::TransportError(error) => error.code == alert,
        _ => false,
    }
}

/// What to tell the user about a server none of whose addresses can be reached.
pub(super) fn all(failures: &[(SocketAddr, Failure)]) -> String {
    match failures {
        [] => "its name has no address".to_owned(),
        [(address, failure)] => failure.text(*address),
        [(one, first), rest @ ..] if rest.iter().all(|(address, _)| address == one) => {
            let others = rest.iter().map(|(a, f)| format!("; {}", f.text(*a)));
            first.text(*one) + &others.collect::<String>()
        }
        several => {
            let lines = several.iter().map(|(a, f)| format!("\n  {}", f.text(*a)));
            let lines: String = lines.collect();
            format!("none of its {} addresses works:{lines}", several.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_says_what_to_do() {
        let v4: SocketAddr = "192.0.2.1:4440".parse().expect("an address");
        let v6: SocketAddr = "[2001:db8::1]:4440".parse().expect("an address");
        let silence = |answer| Failure::Silence(Span::from_secs(10), answer);
        for (failure, address, expected) in [
            (
                Failure::Obstacle(Obstacle::PortClosed),
                v4,
                "nothing listens on UDP port 4440 of 192.0.2.1; is",
            ),
            (
                Failure::Obstacle(Obstacle::NoRoute),
                v4,
                "no route to 192.0.2.1; is",
            ),
            (Failure::Obstacle(Obstacle::Forbidden), v6, "let it through"),
            (
                Failure::Obstacle(Obstacle::PathMtu(1000)),
                v4,
                "at most 1000 bytes, and QUIC needs 1228; raise",
            ),
            (
                Failure::Obstacle(Obstacle::PathMtu(0)),
                v6,
                "smaller packets, and QUIC needs 1248; raise",
            ),
            (silence(Answer::None), v4, "did not answer for 10 s; is"),
            (silence(Answer::Small), v4, "answers small packets but none"),
            (
                Failure::Connection(ConnectionError::TimedOut),
                v4,
                "192.0.2.1:4440: the peer is silent",
            ),
        ] {
            let text = failure.text(address);
            assert!(text.contains(expected), "{text}");
        }
        let both = all(&[
            (v6, Failure::Obstacle(Obstacle::NoRoute)),
            (v4, silence(Answer::None)),
        ]);
        assert!(
            both.starts_with("none of its 2 addresses works:\n  there is"),
            "{both}"
        );
        assert!(all(&[]).contains("no address"));
    }
}
