//! Impairments of packets in transit: random loss, bursts of loss, losses at set instants,
//! corruption.
//!
//! Loss and corruption draw from separate generators, once per packet: the same seed loses the same
//! packets whatever other impairments are on.
//!
//! A packet is corrupted as in Linux's netem (`corrupt` in net/sched/sch_netem.c): one bit is
//! flipped, each with the same probability. Netem's packet begins with the frame's header, which a
//! link here does not have, and netem chooses among the bytes that the kernel holds contiguously.
//! Noise that changes each bit independently is in `bit_errors.rs`.

use crate::bit_errors::BitErrors;
use crate::chance::Chance;
use crate::gilbert_elliott::Bursts;
use crate::spec::LossSpec;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use whimbrel_units::Time;

/// The impairments of one direction, without outages. The order in memory is that of
/// [`Link`](crate::Link).
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Impairment {
    random: Chance,
    /// `None`: only independent random loss, the common case.
    rest: Option<Box<Rest>>,
}

/// The impairments besides independent random loss.
#[derive(Debug, Clone)]
struct Rest {
    corruption: Option<Corruption>,
    bursts: Option<Bursts>,
    drops: Option<Drops>,
}

/// The impairments of one packet.
pub(crate) struct Passage {
    /// It was lost: at random, in a burst, or at a set instant.
    pub lost: bool,
    /// The first changed bit, if any.
    pub corrupted: Option<u32>,
}

impl Impairment {
    /// Draws from `rng` and from the streams up to five jumps ahead of it. `places`: the caller
    /// also corrupts packets and calls [`Self::place`] for them.
    pub fn new(spec: &LossSpec, rng: Xoshiro256PlusPlus, places: bool) -> Self {
        // Each stream begins 2^128 draws after the one before it: they never overlap.
        let ahead = |jumps: u32| {
            let mut rng = rng.clone();
            (0..jumps).for_each(|_| rng.jump());
            rng
        };
        let rest = Rest {
            corruption: (spec.corrupts() || places).then(|| Corruption {
                chance: Chance::new(spec.corrupt, ahead(1)),
                place: ahead(4),
                noise: (!spec.bit_errors.is_zero())
                    .then(|| BitErrors::new(spec.bit_errors, ahead(5))),
            }),
            bursts: spec
                .gilbert_elliott
                .as_ref()
                .map(|bursts| Bursts::new(bursts, ahead(2), ahead(3))),
            drops: (!spec.drops.is_empty()).then(|| Drops::new(spec.drops.clone())),
        };
        let any = rest.corruption.is_some() || rest.bursts.is_some() || rest.drops.is_some();
        Self {
            random: Chance::new(spec.random, ahead(0)),
            rest: any.then(|| Box::new(rest)),
        }
    }

    /// The impairments of the next packet, of `size` bytes, which leaves at `at`. Times never go
    /// back.
    #[inline(always)]
    pub fn pass(&mut self, at: Time, size: u32) -> Passage {
        let lost = self.random.happens();
        match &mut self.rest {
            None => Passage {
                lost,
                corrupted: None,
            },
            Some(rest) => rest.pass(lost, at, size),
        }
    }

    /// Whether there is no impairment but independent random loss.
    pub fn is_plain(&self) -> bool {
        self.rest.is_none()
    }

    /// Whether the next packet is lost, if that [is all](Self::is_plain) that can happen to it.
    #[inline(always)]
    pub fn loses(&mut self) -> bool {
        self.random.happens()
    }

    /// The flipped bit of a corrupted packet of `size` bytes; bit 0 if no corruption was
    /// configured.
    #[cold]
    pub fn place(&mut self, size: u32) -> u32 {
        let corruption = self.rest.as_mut().and_then(|rest| rest.corruption.as_mut());
        corruption.map_or(0, |c| c.place(size))
    }
}

impl Rest {
    /// The impairments of the next packet; `alone`: it is already lost independently.
    #[inline(never)]
    fn pass(&mut self, alone: bool, at: Time, size: u32) -> Passage {
        let corrupted = self.corruption.as_mut().and_then(|c| c.strike(size));
        let in_burst = self.bursts.as_mut().is_some_and(|b| b.loses(at));
        let dropped = self.drops.as_mut().is_some_and(|drops| drops.take(at));
        Passage {
            lost: alone || in_burst || dropped,
            corrupted,
        }
    }
}

/// Corruption of packets.
#[derive(Debug, Clone)]
struct Corruption {
    /// Decides whether a bit of a packet is flipped.
    chance: Chance,
    /// Decides which bit.
    place: Xoshiro256PlusPlus,
    noise: Option<BitErrors>,
}

impl Corruption {
    /// The first changed bit of the next packet, of `size` bytes, if any.
    fn strike(&mut self, size: u32) -> Option<u32> {
        let flipped = self.chance.happens().then(|| self.place(size));
        let struck = self
            .noise
            .as_mut()
            .and_then(|noise| noise.strike(bits(size)));
        match (flipped, struck) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn place(&mut self, size: u32) -> u32 {
        // A packet without bytes can be corrupted too: bit 0.
        self.place.random_range(0..bits(size).max(1))
    }
}

/// Number of bits of a packet.
fn bits(size: u32) -> u32 {
    size.saturating_mul(8)
}

/// Instants at which a packet is lost.
#[derive(Debug, Clone)]
struct Drops {
    /// The remaining instants, in order.
    ahead: VecDeque<Time>,
}

impl Drops {
    fn new(mut drops: Vec<Time>) -> Self {
        drops.sort_unstable();
        Self {
            ahead: drops.into(),
        }
    }

    /// Whether the packet that leaves at `at` is lost. Each instant takes one packet.
    #[inline]
    fn take(&mut self, at: Time) -> bool {
        let due = self.ahead.front().is_some_and(|drop| *drop <= at);
        if due {
            self.ahead.pop_front();
        }
        due
    }
}
