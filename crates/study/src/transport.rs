//! The transports that simulated senders behave like.

use std::str::FromStr;
use whimbrel_cc::Spec;
use whimbrel_sim::scenario::Settings;
use whimbrel_units::{Bytes, Duration};

/// The transport that simulated senders behave like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// `whimbrel send`: paced, with packets and timers as over QUIC.
    #[default]
    Quic,
    /// TCP without pacing, with the timers of RFC 6298.
    Tcp,
}

impl Transport {
    /// The settings of its connections.
    pub fn settings(self) -> Settings {
        let mut settings = Settings::default();
        if self == Self::Quic {
            quic(&mut settings);
        }
        settings
    }

    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::Quic => Self::Tcp,
            Self::Tcp => Self::Quic,
        }
    }

    /// In a few words, for a heading.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Quic => "QUIC, paced",
            Self::Tcp => "TCP, not paced",
        }
    }
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "quic" => Ok(Self::Quic),
            "tcp" => Ok(Self::Tcp),
            other => Err(format!("unknown transport `{other}`; known: `quic`, `tcp`")),
        }
    }
}

/// noq's settings: 1414 bytes of a file in a UDP payload of 1452, 1480 on the wire (headers of IP,
/// UDP, QUIC and the stream, and the authentication tag), an acknowledgment for two packets or
/// after 25 ms, no minimum of one second for the timeout, windows paced over the round trip
/// (RFC 9002 section 7.7), and the endpoint's probes in silence.
fn quic(settings: &mut Settings) {
    let tcp = &mut settings.tcp;
    tcp.mss = Bytes::new(1414);
    tcp.header = Bytes::new(66);
    tcp.ack_delay = Duration::from_millis(25);
    tcp.min_rto = Duration::from_millis(200);
    tcp.pacing = Some(1.25);
    tcp.probes_in_silence = Some(true);
}

/// What can run an algorithm today: `send, tcp, kernel (bbr)`.
pub fn carriers(spec: &Spec) -> String {
    let mut all = vec!["send".to_owned()];
    if !spec.entry().is_fed_bursts() {
        all.push("tcp".to_owned());
        let plain = spec.classifier().is_none() && spec.to_string() == spec.entry().name;
        if let Some(name) = spec.entry().kernel.filter(|_| plain) {
            all.push(format!("kernel ({name})"));
        }
    }
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carriers_are_named() {
        let of = |name: &str| carriers(&name.parse().expect(name));
        assert_eq!(of("bbr"), "send, tcp, kernel (bbr)");
        assert_eq!(of("cubic+cerl"), "send, tcp");
        assert_eq!(of("enhanced-aatp"), "send");
    }
}
