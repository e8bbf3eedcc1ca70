//! The last part of a link: outages, losses, corruption and propagation delay.

use crate::counters::{Counters, Fate};
use crate::delay::Delaying;
use crate::impairment::{Impairment, Passage};
use crate::outages::Outages;
use crate::served::{OnAir, Reception, Served};
use crate::spec::{DropCause, LinkSpec, ServiceSpec};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::Time;

/// The impairments, outages and delay of one direction. The order in memory is that of
/// [`Link`](crate::Link).
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Exit {
    /// `None`: there are none.
    outages: Option<Box<Outages>>,
    pub delay: Delaying,
    impairment: Impairment,
}

impl Exit {
    pub fn new(spec: &LinkSpec, seed: u64) -> Self {
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let on_air = matches!(spec.service, ServiceSpec::Wireless(_));
        Self {
            delay: Delaying::new(&spec.delay, seed),
            impairment: Impairment::new(&spec.loss, rng, on_air),
            outages: (!spec.loss.outages.is_empty())
                .then(|| Box::new(Outages::new(spec.loss.outages.clone()))),
        }
    }

    /// The fate of the next served packet; `on_air`: its transmission on a radio. Times never go
    /// back.
    #[inline(always)]
    pub fn pass(
        &mut self,
        served: Served,
        on_air: Option<OnAir>,
        size: u32,
        marked: bool,
        counters: &mut Counters,
    ) -> Fate {
        counters.count_served(size);
        let left = on_air.map_or(served.ends, |on_air| on_air.out);
        let mut passage = self.impairment.pass(left, size);
        if let Some(on_air) = on_air {
            passage = self.receive(on_air.reception, passage, size);
        }
        self.come_out(left, passage, size, marked, counters)
    }

    /// Whether the delay is constant, and independent random loss the only impairment.
    pub fn is_plain(&self) -> bool {
        self.outages.is_none() && self.impairment.is_plain() && self.delay.is_constant()
    }

    /// [`Self::pass`] for an exit that [is plain](Self::is_plain): when the packet whose last bit
    /// left at `left` comes out; `None`: it is lost at random. The caller counts it.
    #[inline(always)]
    pub fn pass_plain(&mut self, left: Time) -> Option<Time> {
        let lost = self.impairment.loses();
        (!lost).then(|| self.delay.out_constant(left))
    }

    /// Adds what a radio did to a packet.
    #[inline(never)]
    fn receive(&mut self, reception: Reception, mut passage: Passage, size: u32) -> Passage {
        match reception {
            Reception::Understood => {}
            Reception::Lost => passage.lost = true,
            Reception::Corrupted => {
                // The radio model does not say which bit is wrong: any bit, as for a flipped bit.
                let bit = self.impairment.place(size);
                passage.corrupted = Some(passage.corrupted.map_or(bit, |other| other.min(bit)));
            }
        }
        passage
    }

    /// The fate of a packet whose last bit left at `left` with these impairments.
    #[inline(always)]
    fn come_out(
        &mut self,
        left: Time,
        passage: Passage,
        size: u32,
        marked: bool,
        counters: &mut Counters,
    ) -> Fate {
        if self.outages.as_mut().is_some_and(|all| all.cover(left)) {
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

    /// Whether packets always come out in the order in which they left.
    pub fn keeps_order(&self) -> bool {
        self.delay.keeps_order()
    }
}
