//! Active queue management: queues that speak before they are full.
//!
//! A DropTail queue says nothing until it overflows, so senders fill it and keep it full. A managed queue drops some
//! packets early, or marks those whose senders understand marks ("ECN-capable", RFC 3168): they slow down and nothing
//! was lost. How much may wait at most is the [`QueueLimit`](crate::QueueLimit)'s, with or without management.
//!
//! * [`Red`]: drops or marks at random, the more the longer the averaged queue (`red.rs`).
//! * [`Mark`]: marks everything that can be marked while the queue exceeds a threshold, and drops nothing (`mark.rs`).
//! * [`CoDel`]: drops or marks at the head, when packets have waited too long for too long (`codel.rs`).
//!
//! RED and Mark judge a packet when it arrives, by what waits then: a [`Link`](crate::Link) can say at once what
//! becomes of it. CoDel cannot be asked then. It judges a packet when it leaves the queue, and looks at what has
//! arrived behind it in the meantime: with no more than one packet's worth behind it, the queue is taken for short
//! however long it took. So its fate depends on later arrivals, and it has a link of its own that tells
//! afterwards, [`CodelLink`](crate::CodelLink).

mod average;
mod codel;
mod mark;
mod red;
mod setting;

pub use codel::CoDel;
pub(crate) use codel::{Fifo, Law, Waiting};
pub use mark::Mark;
pub use red::Red;
pub use setting::AqmSetting;

use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::{Bytes, Duration};

/// What a queue does before it is full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aqm {
    /// Random early detection.
    Red(Red),
    /// Controlled delay. Its link is a [`CodelLink`](crate::CodelLink).
    CoDel(CoDel),
    /// Marks above a threshold.
    Mark(Mark),
}

/// What the length of a queue is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueUnit {
    /// Packets, whatever their size.
    Packets,
    /// Bytes.
    Bytes,
}

/// A packet that arrives, and the queue that it finds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub size: u32,
    /// It may be marked.
    pub ect: bool,
    /// What waits, the packet in service not counted.
    pub packets: usize,
    pub bytes: u64,
    /// How long the link has had nothing to do.
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

/// What is to happen to a packet that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// What judges packets as they arrive.
#[derive(Debug, Clone)]
pub(crate) enum Early {
    Red(red::Judge),
    Mark(mark::Judge),
}

impl Early {
    /// Nothing if there is no management, or if it judges packets when they leave.
    pub fn new(aqm: Option<Aqm>, rng: Xoshiro256PlusPlus) -> Option<Box<Self>> {
        match aqm? {
            Aqm::Red(red) => Some(Box::new(Self::Red(red::Judge::new(red, rng)))),
            Aqm::Mark(mark) => Some(Box::new(Self::Mark(mark::Judge::new(mark)))),
            Aqm::CoDel(_) => None,
        }
    }

    /// A packet arrives. `room`: the queue is not full.
    pub fn arrive(&mut self, arrival: &Arrival, room: bool) -> Verdict {
        match self {
            Self::Red(judge) => judge.arrive(arrival, room),
            Self::Mark(judge) => judge.arrive(arrival),
        }
    }
}

/// The time that a link takes for a packet; zero if it takes none.
fn time_for(rate: Option<whimbrel_units::Rate>, packet: Bytes) -> Duration {
    rate.map_or(Duration::ZERO, |rate| rate.time_for(packet))
}
