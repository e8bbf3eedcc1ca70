//! What the channel does to packets that left a sender: random loss, bursts of it, losses at set instants, corruption.
//!
//! Each packet has its own draw for loss and for corruption, from generators of their own: the same seed loses
//! the same packets whatever else is switched on.
//!
//! A packet is corrupted as Linux's netem does it (`corrupt` in net/sched/sch_netem.c): one bit of one byte is flipped, any
//! with the same chance. Netem's packet begins with the frame's header, which a link here does not have, and netem chooses
//! among the bytes that the kernel holds in one piece. Besides there is noise that strikes bit by bit: `bit_errors.rs`.

use crate::bit_errors::BitErrors;
use crate::gilbert_elliott::Bursts;
use crate::spec::LossSpec;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use whimbrel_units::{Probability, Time};

/// The channel of one direction at work, outages not included.
#[derive(Debug, Clone)]
pub(crate) struct Channel {
    random: Chance,
    /// It does no more than lose packets one by one, as nearly all do: then the rest is not looked at.
    plain: bool,
    corruption: Option<Box<Corruption>>,
    bursts: Option<Box<Bursts>>,
    drops: Option<Box<Drops>>,
}

/// What the channel did to a packet.
pub(crate) struct Passage {
    /// It was lost at random, singly or in a burst, or because its time had come.
    pub lost: bool,
    /// The first of its bits that was changed, if any was.
    pub corrupted: Option<u32>,
}

impl Channel {
    /// Takes its draws from `rng` and from what lies up to five jumps ahead of it. `places`: somebody else corrupts packets,
    /// too, and asks for their [`Self::place`].
    pub fn new(spec: &LossSpec, rng: Xoshiro256PlusPlus, places: bool) -> Self {
        // Each 2^128 draws ahead of the one before: they never meet.
        let ahead = |jumps: u32| {
            let mut rng = rng.clone();
            (0..jumps).for_each(|_| rng.jump());
            rng
        };
        let corrupts = !(spec.corrupt.is_zero() && spec.bit_errors.is_zero());
        Self {
            random: Chance::new(spec.random, ahead(0)),
            plain: !corrupts && spec.gilbert_elliott.is_none() && spec.drops.is_empty(),
            corruption: (corrupts || places).then(|| {
                Box::new(Corruption {
                    chance: Chance::new(spec.corrupt, ahead(1)),
                    place: ahead(4),
                    noise: (!spec.bit_errors.is_zero())
                        .then(|| BitErrors::new(spec.bit_errors, ahead(5))),
                })
            }),
            bursts: spec
                .gilbert_elliott
                .as_ref()
                .map(|bursts| Box::new(Bursts::new(bursts, ahead(2), ahead(3)))),
            drops: (!spec.drops.is_empty()).then(|| Box::new(Drops::new(spec.drops.clone()))),
        }
    }

    /// What becomes of the next packet, of `size` bytes, which leaves at `at`. Times never go back.
    #[inline(always)]
    pub fn pass(&mut self, at: Time, size: u32) -> Passage {
        let lost = self.random.happens();
        if self.plain {
            return Passage {
                lost,
                corrupted: None,
            };
        }
        self.pass_rest(lost, at, size)
    }

    /// What becomes besides of a packet that is lost alone, or is not.
    #[inline(never)]
    fn pass_rest(&mut self, alone: bool, at: Time, size: u32) -> Passage {
        let corrupted = self.corruption.as_mut().and_then(|c| c.strike(size));
        let in_burst = self.bursts.as_mut().is_some_and(|b| b.loses(at));
        let dropped = self.drops.as_mut().is_some_and(|drops| drops.take(at));
        Passage {
            lost: alone || in_burst || dropped,
            corrupted,
        }
    }

    /// The bit that is flipped of a packet of `size` bytes that is corrupted; the first of a channel that was made to corrupt
    /// none.
    #[cold]
    pub fn place(&mut self, size: u32) -> u32 {
        self.corruption.as_mut().map_or(0, |c| c.place(size))
    }
}

/// What changes bits.
#[derive(Debug, Clone)]
struct Corruption {
    /// Whether one bit of a packet is flipped.
    chance: Chance,
    /// Which one.
    place: Xoshiro256PlusPlus,
    noise: Option<BitErrors>,
}

impl Corruption {
    /// The first bit that is changed of the next packet, of `size` bytes.
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
        // A packet of no bytes has no bit to flip, and is corrupted all the same.
        self.place.random_range(0..bits(size).max(1))
    }
}

/// The bits of a packet.
fn bits(size: u32) -> u32 {
    size.saturating_mul(8)
}

/// Instants at which a packet is lost.
#[derive(Debug, Clone)]
struct Drops {
    /// In order.
    ahead: VecDeque<Time>,
}

impl Drops {
    fn new(mut drops: Vec<Time>) -> Self {
        drops.sort_unstable();
        Self {
            ahead: drops.into(),
        }
    }

    /// Whether an instant takes the packet that leaves at `at`: one instant at most, and each takes one.
    #[inline]
    fn take(&mut self, at: Time) -> bool {
        let due = self.ahead.front().is_some_and(|drop| *drop <= at);
        if due {
            self.ahead.pop_front();
        }
        due
    }
}

/// Something that happens with a set probability.
#[derive(Debug, Clone)]
pub(crate) struct Chance {
    threshold: u64,
    /// Apart: most links lose nothing, and the smaller a link, the more of them fit a cache.
    rng: Box<Xoshiro256PlusPlus>,
}

impl Chance {
    pub fn new(p: Probability, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            threshold: threshold(p),
            rng: Box::new(rng),
        }
    }

    #[inline]
    pub fn happens(&mut self) -> bool {
        happens(self.threshold, &mut self.rng)
    }
}

/// The probability as a threshold for 64 random bits; `u64::MAX` is certainty.
pub(crate) fn threshold(p: Probability) -> u64 {
    // 2^64 as f64; the cast saturates, so certainty becomes u64::MAX.
    (p.get() * 18_446_744_073_709_551_616.0) as u64
}

/// Whether what has the probability of this [`threshold`] happens now.
#[inline]
pub(crate) fn happens(threshold: u64, rng: &mut Xoshiro256PlusPlus) -> bool {
    match threshold {
        0 => false,
        u64::MAX => true,
        threshold => rng.random::<u64>() < threshold,
    }
}
