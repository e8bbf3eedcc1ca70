//! The result of serving one packet: when it left the queue, and what a radio made of it.
//!
//! Both are small enough to be returned in registers.

use whimbrel_units::{Duration, Time};

/// The service of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Served {
    /// When the packet leaves the queue.
    pub begins: Time,
    /// When the link is free again; without a radio, the packet's last bit leaves then.
    pub ends: Time,
}

impl Served {
    /// How long the service takes. It never ends before it begins, so nothing is compared.
    #[inline(always)]
    pub fn length(self) -> Duration {
        Duration::from_nanos(self.ends.as_nanos() - self.begins.as_nanos())
    }
}

/// The transmission of a packet between two radios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OnAir {
    /// When its last bit leaves. The link may be busy longer, because a radio may retransmit a
    /// frame that has arrived.
    pub out: Time,
    pub reception: Reception,
}

/// The reception of a packet by the far end's radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reception {
    Understood,
    /// Delivered with wrong bits.
    Corrupted,
    Lost,
}
