//! UDP sources.

use whimbrel_units::{Bytes, Duration, Rate};

/// A source of datagrams at a constant rate, either always or in bursts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UdpFlow {
    /// Rate on the wire while it sends, headers included.
    pub rate: Rate,
    /// Size of each packet on the wire.
    pub packet: Bytes,
    /// Bursts and pauses; `None`: it sends all the time.
    pub on_off: Option<OnOff>,
}

/// Bursts: the source alternates between sending and silence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnOff {
    /// Mean length of a burst.
    pub on: Duration,
    /// Mean length of a silence.
    pub off: Duration,
    /// Lengths are drawn from exponential distributions; otherwise each has the mean length.
    pub exponential: bool,
}
