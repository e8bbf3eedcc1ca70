//! The description of a link.

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
    /// Buffer size of the queue.
    pub queue: QueueLimit,
    /// Queue management; `None` for DropTail. Not used on Wi-Fi.
    pub aqm: Option<Aqm>,
    /// Loss and corruption in transit.
    pub loss: LossSpec,
}

/// A link that delivers everything at once.
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

impl LinkSpec {
    /// Whether it may corrupt packets: with a probability, or on a radio link.
    pub fn corrupts(&self) -> bool {
        self.loss.corrupts() || matches!(self.service, ServiceSpec::Wireless(_))
    }
}

/// How fast a link serves packets.
#[derive(Debug, Clone, PartialEq)]
pub enum ServiceSpec {
    /// Without limit: the link only delays packets.
    Unlimited,
    /// At a rate, constant or in steps. A packet is served bit by bit at the rate in force.
    Rate(Schedule<Rate>),
    /// By the delivery opportunities of a trace, which repeats.
    Trace(Arc<Trace>),
    /// By a radio, which may also lose or corrupt the packet.
    Wireless(Arc<Wireless>),
}

impl ServiceSpec {
    /// What the link can carry from time zero until `until`; `None` without a limit.
    ///
    /// [`Counters::served_bytes`](crate::Counters::served_bytes) divided by it is the link's
    /// utilization.
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

    /// The rate as one number: the maximum of the steps, the mean of a trace, or what a radio
    /// carries of 1500-byte packets without shadowing; `None` without a limit.
    pub fn nominal_rate(&self) -> Option<Rate> {
        match self {
            Self::Unlimited => None,
            Self::Rate(schedule) => schedule.all().iter().map(|(_, rate)| *rate).max(),
            Self::Trace(trace) => Some(trace.mean_rate()),
            Self::Wireless(link) => Some(link.nominal_rate()),
        }
    }
}

/// The buffer size of a queue. The packet in service does not count (as in ns-2, ns-3 and Linux,
/// where it is already in the device). On a trace, a packet waits for its opportunity, so only a
/// partially sent packet does not count (as in mahimahi).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// Never overflows.
    Unlimited,
    /// A number of packets.
    Packets(u32),
    /// A number of bytes.
    Bytes(Bytes),
}

impl QueueLimit {
    /// Whether a queue of this many packets and bytes is within the limit.
    pub(crate) fn holds(self, packets: usize, bytes: u64) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Packets(limit) => packets <= limit as usize,
            Self::Bytes(limit) => bytes <= limit.get(),
        }
    }

    /// Whether a packet of `size` bytes may join a queue of this many packets and bytes.
    #[inline]
    pub(crate) fn has_room(self, packets: usize, bytes: u64, size: u32) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Packets(limit) => packets < limit as usize,
            Self::Bytes(limit) => bytes + u64::from(size) <= limit.get(),
        }
    }
}

/// Loss and corruption of packets that were served.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LossSpec {
    /// Each packet is lost with this probability, independently.
    pub random: Probability,
    /// Packets are also lost in bursts. The cause of such a loss is [`DropCause::Random`].
    pub gilbert_elliott: Option<GilbertElliott>,
    /// Each packet that is not lost is corrupted with this probability, independently: one of its
    /// bits is flipped, each with the same probability.
    pub corrupt: Probability,
    /// Each bit of a packet, headers included, is also changed with this probability,
    /// independently.
    pub bit_errors: Probability,
    /// Spans during which every packet is lost, in any order. A packet is lost if its last bit
    /// leaves the link within one.
    pub outages: Vec<Outage>,
    /// Instants at which one packet is lost, in any order. Each instant takes the first packet
    /// whose last bit leaves the link then or later and that no earlier instant took, even if the
    /// packet would be lost anyway. (A link does not know what a packet carries: it may be the one
    /// that opens a connection.) The cause is [`DropCause::Random`].
    pub drops: Vec<Time>,
}

impl LossSpec {
    /// Whether packets are corrupted with a probability.
    pub fn corrupts(&self) -> bool {
        !(self.corrupt.is_zero() && self.bit_errors.is_zero())
    }
}

/// A span in which every packet is lost: `from <= t < to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// The first instant of the span.
    pub from: Time,
    /// The first instant after the span.
    pub to: Time,
}

/// Why a packet did not arrive. Loss classifiers are judged against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// The queue was full: congestion.
    QueueOverflow,
    /// The queue had room, but its management dropped the packet because congestion began.
    Early,
    /// It was lost at random in transit, independently or in a bad state of [`GilbertElliott`].
    Random,
    /// It was sent during an outage.
    Outage,
    /// On a shared medium: all permitted transmissions collided with those of the other side.
    Contention,
}

impl DropCause {
    /// Whether a lower sending rate could have prevented the loss.
    pub const fn is_congestion(self) -> bool {
        matches!(self, Self::QueueOverflow | Self::Early | Self::Contention)
    }
}
