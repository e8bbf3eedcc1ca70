//! A link whose queue is managed when packets leave it, by CoDel or FQ-CoDel: the fate of a packet
//! is known only then.

use crate::clock::Clock;
use crate::ecn;
use crate::flow_queues::FlowQueues;
use crate::held::Buffer;
use crate::waiting::Waiting;
use whimbrel_net::{Aqm, CodelLink, Counters, Fate, FqCodelLink, LinkSpec};
use whimbrel_units::Time;

/// The link and the packets in its queue.
pub(crate) struct Managed {
    queue: Queue,
    clock: Clock,
}

/// The queue, by its management.
enum Queue {
    CoDel {
        link: CodelLink,
        waiting: Waiting,
        /// Buffer for the fates that one call returns.
        departed: Vec<Fate>,
    },
    FqCodel(FlowQueues),
}

impl Managed {
    /// The link, if its queue is managed in this way.
    pub fn new(link: &LinkSpec, seed: u64, clock: Clock) -> Option<Self> {
        let queue = match link.aqm? {
            Aqm::CoDel(codel) => Queue::CoDel {
                link: CodelLink::new(link, codel, seed),
                waiting: Waiting::default(),
                departed: Vec::new(),
            },
            Aqm::FqCodel(setting) => {
                Queue::FqCodel(FlowQueues::new(FqCodelLink::new(link, setting, seed)))
            }
            Aqm::Red(_) | Aqm::Mark(_) | Aqm::Policer(_) => return None,
        };
        Some(Self { queue, clock })
    }

    /// Offers a packet. Returns its buffer if the queue is full.
    pub fn offer(&mut self, buffer: Buffer, len: usize) -> Option<Buffer> {
        let ect = ecn::is_capable(&buffer[..len]);
        let now = self.clock.now();
        match &mut self.queue {
            Queue::CoDel {
                link,
                waiting,
                departed,
            } => {
                let accepted = link.offer(now, len as u32, ect, departed);
                waiting.known.extend(departed.drain(..));
                if !accepted {
                    return Some(buffer);
                }
                waiting.push(buffer, len);
            }
            Queue::FqCodel(queues) => queues.offer(now, buffer, len, ect),
        }
        None
    }

    /// Advances the link to the present; afterwards [`next_departed`](Self::next_departed) returns
    /// the packets that have left.
    pub fn advance_to_now(&mut self) {
        let now = self.clock.now();
        match &mut self.queue {
            Queue::CoDel {
                link,
                waiting,
                departed,
            } => {
                link.advance(now, departed);
                waiting.known.extend(departed.drain(..));
            }
            Queue::FqCodel(queues) => queues.advance(now),
        }
    }

    /// The next packet whose fate is known.
    pub fn next_departed(&mut self) -> Option<(Fate, Buffer, usize)> {
        match &mut self.queue {
            Queue::CoDel { waiting, .. } => waiting.next_departed(),
            Queue::FqCodel(queues) => queues.next_departed(),
        }
    }

    /// Number of packets not yet returned by [`next_departed`](Self::next_departed).
    pub fn len(&self) -> usize {
        match &self.queue {
            Queue::CoDel { waiting, .. } => waiting.len(),
            Queue::FqCodel(queues) => queues.len(),
        }
    }

    /// When the link must be advanced next.
    pub fn next(&self) -> Option<Time> {
        match &self.queue {
            Queue::CoDel { link, .. } => link.next(),
            Queue::FqCodel(queues) => queues.next(),
        }
    }

    /// The link's counters so far.
    pub fn counters(&self) -> Counters {
        match &self.queue {
            Queue::CoDel { link, .. } => *link.counters(),
            Queue::FqCodel(queues) => queues.counters(),
        }
    }
}
