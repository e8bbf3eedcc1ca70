//! An attacker on the path who sends NACKs in the receiver's name.
//!
//! It stands beside the receiver, sees all that passes there, and sends one forged NACK after the other at a set rate. What it
//! can do is what the sender believes: see `sender/nacks.rs`.

use super::sender::earliest;
use crate::network::{ForgedNacks, Sequences};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::RangeInclusive;
use whimbrel_units::Time;

/// The attacker at work.
#[derive(Debug)]
pub(super) struct Forger {
    spec: ForgedNacks,
    /// When the next one leaves, once the connection stands.
    next: Option<Time>,
    rng: Xoshiro256PlusPlus,
    pub sent: u64,
}

impl Forger {
    pub fn new(spec: ForgedNacks, seed: u64) -> Self {
        Self {
            spec,
            next: None,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            sent: 0,
        }
    }

    /// The connection was opened: it begins, unless it already has.
    pub fn begin(&mut self, now: Time) {
        self.next = self.next.or(Some(now + self.spec.interval));
    }

    /// When it acts next, or something else that is due before.
    #[cold]
    pub fn before(&self, due: Option<Time>) -> Option<Time> {
        earliest(self.next, due)
    }

    /// The segment and the echoed time that it forges now, if it is time and it has any. The receiver waits for the segments in
    /// `window`, as far as they were seen, and `nacked` is what its own last NACK said.
    pub fn forge(
        &mut self,
        now: Time,
        window: RangeInclusive<u32>,
        nacked: Option<(u32, Time)>,
    ) -> Option<(u32, Time)> {
        let due = self.next.filter(|next| *next <= now)?;
        self.next = Some(due + self.spec.interval);
        // No segment was sent later than now: a sender that looks at the echoed time finds nothing wrong.
        let forged = match self.spec.sequences {
            Sequences::Random => Some((self.rng.random(), now)),
            Sequences::InWindow => Some((self.rng.random_range(window), now)),
            Sequences::Replayed => nacked,
        };
        self.sent += u64::from(forged.is_some());
        forged
    }
}
