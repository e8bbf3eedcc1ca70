//! The kinds of flows, and the keys that each kind has.

use super::settings;
use whimbrel_cc::Spec;

/// Keys of every flow.
pub(super) const SHARED_KEYS: [&str; 8] = [
    "name", "kind", "count", "route", "routes", "back", "start", "stop",
];
/// Keys of TCP and AATP flows.
const BULK_KEYS: [&str; 3] = ["controller", "size", "with"];
/// Keys of TCP flows, besides the settings.
const TCP_KEYS: [&str; 4] = ["two_way", "streams", "messages", "interleave"];
/// Keys of AATP flows, besides the settings.
const AATP_KEYS: [&str; 2] = ["priority", "destination"];
/// Keys of UDP flows.
const UDP_KEYS: [&str; 5] = ["rate", "packet", "on", "off", "exponential"];

/// The transport of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// TCP.
    Tcp,
    /// AATP.
    Aatp,
    /// UDP.
    Udp,
}

impl Kind {
    /// All kinds.
    pub(super) const ALL: [Self; 3] = [Self::Tcp, Self::Aatp, Self::Udp];

    /// Its value of the key `kind`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Aatp => "aatp",
            Self::Udp => "udp",
        }
    }

    /// The kind with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kinds that a flow with this value of `kind` can have. Without `kind` the controller
    /// decides, and a sweep may change it: then the keys of both TCP and AATP are accepted.
    pub(super) fn possible(written: Option<&str>) -> &'static [Self] {
        match written.and_then(Self::named) {
            Some(Self::Tcp) => &[Self::Tcp],
            Some(Self::Aatp) => &[Self::Aatp],
            Some(Self::Udp) => &[Self::Udp],
            None => &[Self::Tcp, Self::Aatp],
        }
    }

    /// Its keys, without those of every flow.
    pub(super) fn keys(self) -> Vec<&'static str> {
        let (own, settings): (&[&str], &[&str]) = match self {
            Self::Udp => return UDP_KEYS.to_vec(),
            Self::Tcp => (&TCP_KEYS, &settings::TCP_KEYS),
            Self::Aatp => (&AATP_KEYS, &settings::AATP_KEYS),
        };
        let parts = [&BULK_KEYS[..], own, &settings::PACKET_KEYS, settings];
        parts.concat()
    }

    /// The transport that can carry an algorithm.
    pub(super) fn of(controller: &Spec) -> Self {
        match controller.entry().is_fed_bursts() {
            false => Self::Tcp,
            true => Self::Aatp,
        }
    }
}

/// All keys of all kinds of flows.
pub(super) fn keys() -> Vec<&'static str> {
    let mut all = SHARED_KEYS.to_vec();
    for key in Kind::ALL.into_iter().flat_map(Kind::keys) {
        if !all.contains(&key) {
            all.push(key);
        }
    }
    all
}
