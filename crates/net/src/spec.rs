//! The description of a link, as data.

use crate::aqm::Aqm;
use crate::delay::Delay;
use crate::gilbert_elliott::GilbertElliott;
use crate::schedule::Schedule;
use crate::trace::Trace;
use crate::wireless::Wireless;
use std::sync::Arc;
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkSpec {
    /// How fast packets are served.
    pub service: ServiceSpec,
    /// Propagation delay.
    pub delay: Delay,
    /// How much may wait for service.
    pub queue: QueueLimit,
    /// What the queue does before it is full; on Wi-Fi it has no say. A DropTail queue does nothing.
    pub aqm: Option<Aqm>,
    /// What the channel does to packets.
    pub loss: LossSpec,
}

/// Delivers everything at once.
impl Default for LinkSpec {
    fn default() -> Self {
        Self {
            service: ServiceSpec::Unlimited,
            delay: Delay::constant(Duration::ZERO),
            queue: QueueLimit::Unlimited,
            aqm: None,
            loss: LossSpec::default(),
        }
    }
}

/// How fast a link serves packets.
#[derive(Debug, Clone, PartialEq)]
pub enum ServiceSpec {
    /// At once: the link only delays.
    Unlimited,
    /// At a rate, constant or in steps. A packet is served at the rate in force, bit by bit.
    Rate(Schedule<Rate>),
    /// By the delivery opportunities of a trace, repeated for ever.
    Trace(Arc<Trace>),
    /// By a radio, which also decides what of it arrives.
    Wireless(Arc<Wireless>),
}

impl ServiceSpec {
    /// What the link can carry from time zero until `until`; no answer if it has no limit.
    ///
    /// Against [`Counters::served_bytes`](crate::Counters::served_bytes), the link's utilisation.
    pub fn capacity(&self, until: Time) -> Option<Bytes> {
        match self {
            Self::Unlimited => None,
            Self::Rate(schedule) => {
                let steps = schedule.all();
                let ends = steps
                    .iter()
                    .skip(1)
                    .map(|(time, _)| *time)
                    .chain([Time::MAX]);
                let parts = steps
                    .iter()
                    .zip(ends)
                    .map(|((from, rate), to)| rate.bytes_in(to.min(until).since(*from)));
                Some(parts.fold(Bytes::ZERO, Bytes::saturating_add))
            }
            Self::Trace(trace) => Some(trace.capacity(until)),
            Self::Wireless(link) => Some(link.nominal_rate().bytes_in(until.since(Time::ZERO))),
        }
    }

    /// Its rate: the greatest of the steps, a trace's mean, or what a radio carries of 1500-byte packets without shadowing; no
    /// answer if it has no limit.
    pub fn nominal_rate(&self) -> Option<Rate> {
        match self {
            Self::Unlimited => None,
            Self::Rate(schedule) => schedule.all().iter().map(|(_, rate)| *rate).max(),
            Self::Trace(trace) => Some(trace.mean_rate()),
            Self::Wireless(link) => Some(link.nominal_rate()),
        }
    }
}

/// How much may wait in a queue. The packet being served is not waiting (as in ns-2, ns-3 and
/// Linux, where it already sits in the device). On a trace a packet waits for its opportunity, so only one
/// that has been sent in part does not wait (as in mahimahi).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// Never overflows.
    Unlimited,
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(Bytes),
}

impl QueueLimit {
    /// Whether a packet of `size` bytes may join so many packets and bytes that wait.
    #[inline]
    pub(crate) fn has_room(self, packets: usize, bytes: u64, size: u32) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Packets(limit) => packets < limit as usize,
            Self::Bytes(limit) => bytes + u64::from(size) <= limit.get(),
        }
    }
}

/// What the channel does to packets that were served.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LossSpec {
    /// Each packet is lost with this probability, independently.
    pub random: Probability,
    /// Besides, packets are lost in bursts. The cause of such a loss is [`DropCause::Random`].
    pub gilbert_elliott: Option<GilbertElliott>,
    /// Each packet that is not lost arrives corrupted with this probability, independently: one of its bits is flipped, any
    /// with the same chance.
    pub corrupt: Probability,
    /// Besides, each bit of a packet, headers included, is changed with this probability, independently.
    pub bit_errors: Probability,
    /// Spans during which every packet is lost, in any order. A packet is lost if its last bit leaves
    /// the link within one.
    pub outages: Vec<Outage>,
    /// Besides, at each of these instants one packet is lost, in any order: the first whose last bit leaves the link then or
    /// later, and that no earlier one of them took, whatever else would have become of it. (A link does not know what a
    /// packet carries: it may be the one that opens a connection.) The cause is [`DropCause::Random`].
    pub drops: Vec<Time>,
}

/// A span of total loss: `from <= t < to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Its first instant.
    pub from: Time,
    /// The first instant after it.
    pub to: Time,
}

/// Why a packet did not arrive: the truth that every guess is judged against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// The queue had no room: congestion.
    QueueOverflow,
    /// The queue had room, but its management dropped it, because congestion began.
    Early,
    /// The channel lost it at random, singly or in a bad state of a [`GilbertElliott`] channel.
    Random,
    /// It was sent during an outage.
    Outage,
    /// On a shared medium: it was sent as often as allowed, collided with what the other side sent, and was never
    /// lost by the channel itself.
    Contention,
}

impl DropCause {
    /// Whether slowing down could have prevented it.
    pub const fn is_congestion(self) -> bool {
        matches!(self, Self::QueueOverflow | Self::Early | Self::Contention)
    }
}
