//! The greatest rate at which a path has lately delivered: what it carries, as far as its sender has asked for it.
//!
//! The samples are [`Ack::delivery_rate`], the window is BBR's (N. Cardwell et al., "BBR: Congestion-Based Congestion
//! Control", ACM Queue 14(5), 2016: ten round trips). Of a sender that was reduced a moment ago the latest rate is too low; the
//! greatest of the last round trips is not. The round trip that is under way does not count before it is over: while a path
//! becomes shorter, packets of the old one and of the new arrive together, at up to twice what either carries.

use crate::estimators::windowed_max::WindowedMax;
use crate::interface::Ack;
use whimbrel_units::Rate;

/// Round trips for which a rate counts.
const ROUNDS: u64 = 10;

/// The greatest delivery rate of the last round trips.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MaxRate {
    /// Round trips that are over.
    rounds: u64,
    /// Of those.
    greatest: WindowedMax,
    /// Of the one that is under way, bits per second.
    now: u64,
}

impl MaxRate {
    /// A new path that is believed to carry so much.
    pub fn of(rate: Option<Rate>) -> Self {
        let mut new = Self::default();
        if let Some(rate) = rate {
            new.greatest.update(ROUNDS, 0, rate.as_bits_per_sec());
        }
        new
    }

    /// Takes in an acknowledgment.
    pub fn on_ack(&mut self, ack: &Ack) {
        if ack.round_start {
            let ended = std::mem::take(&mut self.now);
            self.rounds = self.rounds.saturating_add(1);
            if ended > 0 {
                self.greatest.update(ROUNDS, self.rounds, ended);
            }
        }
        let rate = ack.delivery_rate.map_or(0, Rate::as_bits_per_sec);
        // What the application held back says how little it wanted, unless it is more than was seen before.
        if !ack.app_limited || rate > self.greatest.get() {
            self.now = self.now.max(rate);
        }
    }

    /// The rate, once one was measured.
    pub fn get(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_sec(self.greatest.get())).filter(|rate| *rate > Rate::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ACK;

    const MBIT: u64 = 1_000_000;

    fn ack(mbit: u64, app_limited: bool, round_start: bool) -> Ack {
        Ack {
            delivery_rate: Some(Rate::from_bits_per_sec(mbit * MBIT)),
            app_limited,
            round_start,
            ..ACK
        }
    }

    #[test]
    fn what_was_delivered_counts_for_ten_round_trips() {
        let mut rate = MaxRate::default();
        assert_eq!(rate.get(), None);
        rate.on_ack(&ack(10, false, false));
        assert_eq!(rate.get(), None, "the round trip is not over");
        for _ in 0..11 {
            rate.on_ack(&ack(3, false, true));
            assert_eq!(rate.get(), Some(Rate::from_bits_per_sec(10 * MBIT)));
        }
        rate.on_ack(&ack(3, false, true));
        assert_eq!(rate.get(), Some(Rate::from_bits_per_sec(3 * MBIT)));
    }

    #[test]
    fn an_application_that_wants_little_hides_nothing() {
        let mut rate = MaxRate::of(Some(Rate::from_bits_per_sec(5 * MBIT)));
        for _ in 0..100 {
            rate.on_ack(&ack(1, true, true));
        }
        assert_eq!(rate.get(), Some(Rate::from_bits_per_sec(5 * MBIT)));
        rate.on_ack(&ack(6, true, false));
        rate.on_ack(&ack(1, true, true));
        assert_eq!(rate.get(), Some(Rate::from_bits_per_sec(6 * MBIT)));
    }
}
