//! What carries an algorithm: our own transports, and the Linux kernel.

use whimbrel_cc::Spec;

/// The transport that simulated senders behave like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Transport {
    /// `whimbrel send`: paced, with packets and timers as over QUIC
    Quic,
    /// TCP without pacing, with the timers of RFC 6298
    Tcp,
}

/// noq's settings: 1414 bytes of a file in a UDP payload of 1452, 1480 on the wire (headers of IP,
/// UDP, QUIC and the stream, and the authentication tag), an acknowledgment for two packets or
/// after 25 ms, no minimum of one second for the timeout, windows paced over the round trip
/// (RFC 9002 section 7.7).
pub const QUIC: &str = "mss = \"1414 B\"\nheader = \"66 B\"\nack_delay = \"25 ms\"\n\
                        min_rto = \"200 ms\"\npacing = 1.25\n";

impl Transport {
    /// Its keys of `[run]` in a scenario.
    pub const fn settings(self) -> &'static str {
        match self {
            Self::Quic => QUIC,
            Self::Tcp => "",
        }
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
