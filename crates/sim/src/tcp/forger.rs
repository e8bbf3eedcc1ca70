//! An attacker on the path that sends NACKs in the receiver's name.
//!
//! It is near the receiver, sees all packets there, and sends forged NACKs at a fixed rate. Its
//! effect depends on which NACKs the sender accepts: see `sender/nacks.rs`.

use crate::network::{ForgedNacks, Sequences};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::RangeInclusive;
use whimbrel_units::Time;

/// The attacker.
#[derive(Debug)]
pub(super) struct Forger {
    spec: ForgedNacks,
    /// When it sends the next NACK; `None` before the connection is opened.
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

    /// Invoked when the connection is opened: starts the attacker unless it runs already.
    pub fn begin(&mut self, now: Time) {
        self.next = self.next.or(Some(now + self.spec.interval));
    }

    /// The earlier of `due` and the time of its next NACK.
    #[cold]
    pub fn before(&self, due: Time) -> Time {
        self.next.map_or(due, |next| next.min(due))
    }

    /// The segment and the echoed time of a NACK that is due now. `window` are the segments between
    /// the last acknowledgment and the newest data that arrived; `nacked` is the content of the
    /// receiver's own last NACK.
    pub fn forge(
        &mut self,
        now: Time,
        window: RangeInclusive<u32>,
        nacked: Option<(u32, Time)>,
    ) -> Option<(u32, Time)> {
        let due = self.next.filter(|next| *next <= now)?;
        self.next = Some(due + self.spec.interval);
        // No segment was sent later than now, so the echoed time passes the check of the sender.
        let forged = match self.spec.sequences {
            Sequences::Random => Some((self.rng.random(), now)),
            Sequences::InWindow => Some((self.rng.random_range(window), now)),
            Sequences::Replayed => nacked,
        };
        self.sent += u64::from(forged.is_some());
        forged
    }
}
