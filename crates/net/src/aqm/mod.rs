//! Active queue management: queues that signal congestion before they are full.
//!
//! A DropTail queue gives no signal until it overflows, so senders fill it and keep it full. A
//! managed queue drops some packets early, or marks those of ECN-capable senders (RFC 3168), which
//! slow down without a loss. The buffer size is the [`QueueLimit`](crate::QueueLimit), with or
//! without management.
//!
//! * [`Red`]: drops or marks at random, the more the longer the averaged queue (`red.rs`).
//! * [`Mark`]: marks everything that can be marked while the queue exceeds a threshold, and drops
//!   nothing (`mark.rs`).
//! * [`CoDel`]: drops or marks at the head, when packets have waited too long for too long
//!   (`codel.rs`).
//! * [`FqCodel`]: a queue for each flow, served in turns, each managed by CoDel
//!   (`fq_codel_link.rs`).
//! * [`Policer`]: drops what exceeds a rate, without a queue (`policer.rs`).
//!
//! RED, Mark and the policer decide when a packet arrives, by the queue at that time: a
//! [`Link`](crate::Link) knows the packet's fate at once. CoDel decides when a packet leaves the
//! queue, and looks at what has arrived behind it: with at most one packet's bytes behind it, the
//! queue counts as short, however long the packet waited. The fate depends on later arrivals, so
//! CoDel has a link of its own that reports fates afterwards, [`CodelLink`](crate::CodelLink); so
//! has FQ-CoDel.

mod average;
mod codel;
mod mark;
mod policer;
mod red;
mod setting;

pub use codel::CoDel;
pub(crate) use codel::{CodelState, Fifo, Waiting};
pub use mark::Mark;
pub use policer::Policer;
pub use red::Red;
pub use setting::AqmSetting;

use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::{Bytes, Duration, Time};

/// The management of a queue: what it does before it is full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aqm {
    /// Random early detection.
    Red(Red),
    /// Controlled delay. Its link is a [`CodelLink`](crate::CodelLink).
    CoDel(CoDel),
    /// Marks above a threshold.
    Mark(Mark),
    /// Drops what exceeds a rate.
    Policer(Policer),
    /// A queue for each flow, each managed by CoDel. Its link is a
    /// [`FqCodelLink`](crate::FqCodelLink).
    FqCodel(FqCodel),
}

/// The parameters of FQ-CoDel (RFC 8290).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCodel {
    /// The management of each queue.
    pub codel: CoDel,
    /// Number of queues that flows hash to (section 5.2.3: 1024); at least 1.
    pub queues: u32,
    /// Bytes that a queue may send in a turn (section 5.2.1: an MTU).
    pub quantum: Bytes,
}

/// The unit of a queue's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueUnit {
    /// Packets, whatever their size.
    Packets,
    /// Bytes.
    Bytes,
}

/// An arriving packet, and the queue that it finds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub now: Time,
    pub size: u32,
    /// The packet is ECN-capable: it may be marked.
    pub ect: bool,
    /// Waiting packets, without the one in service.
    pub packets: usize,
    pub bytes: u64,
    /// How long the link has been idle.
    pub idle: Duration,
}

impl Arrival {
    /// Length of the queue.
    fn queue(&self, unit: QueueUnit) -> f64 {
        match unit {
            QueueUnit::Packets => self.packets as f64,
            QueueUnit::Bytes => self.bytes as f64,
        }
    }
}

/// What queue management does with an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AqmDecision {
    Pass,
    Mark,
    Drop,
}

/// Queue management that decides when packets arrive.
#[derive(Debug, Clone)]
pub(crate) enum Early {
    Red(red::RedState),
    Mark(mark::MarkState),
    Policer(policer::PolicerState),
}

impl Early {
    /// `None` without management, or if it decides when packets leave.
    pub fn new(aqm: Option<Aqm>, rng: Xoshiro256PlusPlus) -> Option<Box<Self>> {
        match aqm? {
            Aqm::Red(red) => Some(Box::new(Self::Red(red::RedState::new(red, rng)))),
            Aqm::Mark(mark) => Some(Box::new(Self::Mark(mark::MarkState::new(mark)))),
            Aqm::Policer(policer) => {
                Some(Box::new(Self::Policer(policer::PolicerState::new(policer))))
            }
            Aqm::CoDel(_) | Aqm::FqCodel(_) => None,
        }
    }

    /// Decides on an arriving packet. `room`: the queue is not full.
    pub fn arrive(&mut self, arrival: &Arrival, room: bool) -> AqmDecision {
        match self {
            Self::Red(red) => red.arrive(arrival, room),
            Self::Mark(mark) => mark.arrive(arrival),
            Self::Policer(policer) => policer.arrive(arrival),
        }
    }
}

/// The time that a link takes to serve a packet; zero without a rate.
fn time_for(rate: Option<whimbrel_units::Rate>, packet: Bytes) -> Duration {
    rate.map_or(Duration::ZERO, |rate| rate.time_for(packet))
}
