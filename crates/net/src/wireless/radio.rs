//! A radio link: how long each packet takes, and whether it is received.

use super::airtime::{Airtime, Subframe};
use super::mode::Mode;
use super::shadowing::Shadowing;
use super::spec::{Wireless, error};
use crate::chance::{happens, threshold};
use crate::served::{OnAir, Reception, Served};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use whimbrel_units::{Decibels, Time};

/// One direction of a radio link.
#[derive(Debug, Clone)]
pub(crate) struct Radio {
    link: Arc<Wireless>,
    shadowing: Shadowing,
    subframe: Option<Subframe>,
    /// The mode in use, and its signal-to-noise ratio.
    mode: Mode,
    snr: Decibels,
    /// Results for the current signal, cached for two packet sizes: nearly all packets have one of
    /// two sizes (data, ACK).
    known: [Option<Known>; 2],
    corrupted: u64,
    /// The last transmission.
    on_air: OnAir,
    draws: Xoshiro256PlusPlus,
}

/// Cached results for a packet size.
#[derive(Debug, Clone, Copy)]
struct Known {
    size: u32,
    airtime: Airtime,
    /// The frame error rate as a [`threshold`].
    error: u64,
}

impl Radio {
    /// An idle link. `seed` decides back-offs and errors; the shadowing has its own seed in `link`.
    pub fn new(link: Arc<Wireless>, seed: u64) -> Self {
        let spec = link.spec();
        let shadowing = Shadowing::new(spec.shadowing, spec.coherence, link.seed());
        let (mode, snr) = link.mode(shadowing.now());
        // Begins 2^193 draws after the impairments' stream, and 2^192 after that of the queue
        // management.
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        draws.long_jump();
        draws.long_jump();
        Self {
            shadowing,
            subframe: link.subframe(),
            mode,
            snr,
            known: [None; 2],
            corrupted: threshold(spec.deliver_corrupted),
            on_air: OnAir {
                out: Time::ZERO,
                reception: Reception::Understood,
            },
            draws,
            link,
        }
    }

    /// Sends a packet whose service begins at `begins`. Times never go back.
    pub fn serve(&mut self, begins: Time, size: u32) -> Served {
        if self.shadowing.follow(begins) {
            (self.mode, self.snr) = self.link.mode(self.shadowing.now());
            self.known = [None; 2];
        }
        let Known { airtime, error, .. } = self.known(size);
        let (mut now, mut out, mut understood) = (begins, begins, false);
        let mut cw = airtime.cw_min;
        for _ in 0..=self.link.spec().retries {
            now += airtime.idle + airtime.slot * u64::from(self.draw(cw));
            now = match &self.subframe {
                Some(subframe) => subframe.done(now, airtime.data),
                None => now + airtime.data,
            };
            let fails = happens(error, &mut self.draws);
            // The first correct reception counts; later tries happen because the sender does not
            // know of it.
            if !understood {
                (out, understood) = (now, !fails);
            }
            if !fails && airtime.in_time {
                now += airtime.answered;
                break;
            }
            now += airtime.unanswered;
            cw = airtime.wider(cw);
        }
        let reception = if understood {
            Reception::Understood
        } else if happens(self.corrupted, &mut self.draws) {
            Reception::Corrupted
        } else {
            Reception::Lost
        };
        self.on_air = OnAir { out, reception };
        Served { begins, ends: now }
    }

    /// The transmission of the last packet.
    pub fn on_air(&self) -> OnAir {
        self.on_air
    }

    fn draw(&mut self, most: u32) -> u32 {
        if most == 0 {
            0
        } else {
            self.draws.random_range(0..=most)
        }
    }

    #[inline]
    fn known(&mut self, size: u32) -> Known {
        let found = self.known.iter().flatten().find(|known| known.size == size);
        if let Some(known) = found {
            return *known;
        }
        let spec = self.link.spec();
        let known = Known {
            size,
            airtime: Airtime::new(spec, self.mode, size),
            error: threshold(error(spec, self.mode, self.snr, size)),
        };
        self.known = [Some(known), self.known[0]];
        known
    }
}
