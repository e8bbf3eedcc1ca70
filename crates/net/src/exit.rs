//! What happens to a packet between its sender's device and the far end.

use crate::channel::Channel;
use crate::delay::Delaying;
use crate::link::{Counters, Fate};
use crate::outages::Outages;
use crate::service::{Reception, Served};
use crate::spec::{DropCause, LinkSpec};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The channel, the outages and the delay of one direction at work.
#[derive(Debug, Clone)]
pub(crate) struct Exit {
    delay: Delaying,
    channel: Channel,
    outages: Outages,
}

impl Exit {
    pub fn new(spec: &LinkSpec, seed: u64) -> Self {
        Self {
            delay: Delaying::new(&spec.delay),
            channel: Channel::new(&spec.loss, Xoshiro256PlusPlus::seed_from_u64(seed)),
            outages: Outages::new(spec.loss.outages.clone()),
        }
    }

    /// What becomes of the next packet, which was served so. Times never go back.
    #[inline]
    pub fn pass(
        &mut self,
        served: Served,
        size: u32,
        marked: bool,
        counters: &mut Counters,
    ) -> Fate {
        let ends = served.out;
        counters.count_served(size);
        let mut passage = self.channel.pass(ends, size);
        passage.lost |= served.reception == Reception::Lost;
        if served.reception == Reception::Corrupted {
            // Where a radio's error lies nobody modelled: anywhere, as a flipped bit.
            let bit = self.channel.place(size);
            passage.corrupted = Some(passage.corrupted.map_or(bit, |other| other.min(bit)));
        }
        if self.outages.cover(ends) {
            counters.outage += 1;
            Fate::Dropped(DropCause::Outage)
        } else if passage.lost {
            counters.random += 1;
            Fate::Dropped(DropCause::Random)
        } else {
            counters.count_delivered(size, passage.corrupted.is_some(), marked);
            Fate::Delivered {
                at: self.delay.out(ends),
                corrupted: passage.corrupted,
                marked,
            }
        }
    }

    /// Whether packets come out in the order in which they left.
    pub fn keeps_order(&self) -> bool {
        self.delay.keeps_order()
    }
}
