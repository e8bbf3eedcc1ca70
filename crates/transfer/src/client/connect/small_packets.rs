//! Finds out whether a silent server answers small packets: then not UDP is blocked, but packets as
//! large as QUIC needs are.
//!
//! A server answers a packet of an unknown version of QUIC with the versions that it speaks (RFC
//! 9000 section 6). Ours does that even for a small packet.

use crate::connection::udp;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;

/// A version that no server speaks (RFC 9000 section 15: 0x?a?a?a?a).
const VERSION: [u8; 4] = [0x5a, 0x6a, 0x7a, 0x8a];
/// Length of each connection ID of the probe.
const ID: usize = 8;
/// Number of probes, and the time between them.
const PROBES: u32 = 3;
const INTERVAL: Duration = Duration::from_millis(500);

/// What a silent server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing.
    None,
    /// It answers small packets.
    Small,
}

/// Probes a server for at most 1.5 s.
pub(super) async fn probe(server: SocketAddr) -> Answer {
    #[cfg(test)]
    if crate::simulated::network::is_simulated() {
        return Answer::None;
    }
    let Ok(socket) = UdpSocket::bind(udp::any(server)).await else {
        return Answer::None;
    };
    if socket.connect(server).await.is_err() {
        return Answer::None;
    }
    let probe = packet();
    for _ in 0..PROBES {
        socket.send(&probe).await.ok();
        let mut answer = [0; 256];
        if let Ok(Ok(length)) = timeout(INTERVAL, socket.recv(&mut answer)).await
            && is_answer(&answer[..length])
        {
            return Answer::Small;
        }
    }
    Answer::None
}

/// A long header of an unknown version, and some bytes.
fn packet() -> [u8; 64] {
    let mut packet = [0; 64];
    packet[0] = 0xc0;
    packet[1..5].copy_from_slice(&VERSION);
    packet[5] = ID as u8;
    packet[6..6 + ID].copy_from_slice(b"whimbrel");
    packet[6 + ID] = ID as u8;
    packet[7 + ID..7 + 2 * ID].copy_from_slice(b"whimbrel");
    packet
}

/// Whether this is a Version Negotiation packet for our probe (RFC 9000 section 17.2.1).
fn is_answer(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first & 0x80 != 0)
        && packet.get(1..5) == Some(&[0; 4])
        && packet.get(6..6 + ID) == Some(b"whimbrel")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_silent_host_and_a_wrong_answer_are_no_answer() {
        let echo = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        let address = echo.local_addr().expect("bound");
        let echoing = tokio::spawn(async move {
            let mut packet = [0; 100];
            let (length, from) = echo.recv_from(&mut packet).await.expect("a probe");
            assert_eq!(packet[..length], super::packet());
            assert!(!is_answer(&packet[..length]));
            echo.send_to(&packet[..length], from).await.expect("sent");
        });
        assert_eq!(probe(address).await, Answer::None);
        echoing.await.expect("no panic");
        assert!(!is_answer(&[]) && !is_answer(&[0x80, 0, 0, 0, 0, 8]));
    }
}
