//! What happens to a packet between its sender's device and the far end.

use crate::channel::{Channel, Passage};
use crate::delay::Delaying;
use crate::link::{Counters, Fate};
use crate::outages::Outages;
use crate::service::{OnAir, Reception, Served};
use crate::spec::{DropCause, LinkSpec, ServiceSpec};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::Time;

/// The channel, the outages and the delay of one direction at work.
#[derive(Debug, Clone)]
pub(crate) struct Exit {
    delay: Delaying,
    channel: Channel,
    outages: Outages,
}

impl Exit {
    pub fn new(spec: &LinkSpec, seed: u64) -> Self {
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let on_air = matches!(spec.service, ServiceSpec::Wireless(_));
        Self {
            delay: Delaying::new(&spec.delay),
            channel: Channel::new(&spec.loss, rng, on_air),
            outages: Outages::new(spec.loss.outages.clone()),
        }
    }

    /// What becomes of the next packet, which was served so. Times never go back.
    #[inline(always)]
    pub fn pass(
        &mut self,
        served: Served,
        size: u32,
        marked: bool,
        counters: &mut Counters,
    ) -> Fate {
        counters.count_served(size);
        if let Some(on_air) = served.radio {
            return self.pass_air(on_air, size, marked, counters);
        }
        let passage = self.channel.pass(served.ends, size);
        self.come_out(served.ends, passage, size, marked, counters)
    }

    /// What becomes of a packet that a radio sent.
    #[inline(never)]
    fn pass_air(
        &mut self,
        on_air: OnAir,
        size: u32,
        marked: bool,
        counters: &mut Counters,
    ) -> Fate {
        let mut passage = self.channel.pass(on_air.out, size);
        match on_air.reception {
            Reception::Understood => {}
            Reception::Lost => passage.lost = true,
            Reception::Corrupted => {
                // Where a radio's error lies nobody modelled: anywhere, as a flipped bit.
                let bit = self.channel.place(size);
                passage.corrupted = Some(passage.corrupted.map_or(bit, |other| other.min(bit)));
            }
        }
        self.come_out(on_air.out, passage, size, marked, counters)
    }

    /// The last bit of a packet left then, and the channel did this to it.
    #[inline(always)]
    fn come_out(
        &mut self,
        left: Time,
        passage: Passage,
        size: u32,
        marked: bool,
        counters: &mut Counters,
    ) -> Fate {
        if self.outages.cover(left) {
            counters.outage += 1;
            Fate::Dropped(DropCause::Outage)
        } else if passage.lost {
            counters.random += 1;
            Fate::Dropped(DropCause::Random)
        } else {
            counters.count_delivered(size, passage.corrupted.is_some(), marked);
            Fate::Delivered {
                at: self.delay.out(left),
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
