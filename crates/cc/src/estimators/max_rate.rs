//! The maximum recent delivery rate of a path: its capacity, as far as the sender has used it.
//!
//! The samples are [`Ack::delivery_rate`]; the window of ten round trips is BBR's (N. Cardwell et
//! al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016). Shortly after a
//! reduction the latest rate is too low; the maximum of the last round trips is not. The present
//! round trip counts only after its end: while a path becomes shorter, packets of the old and of
//! the new path arrive together, at up to twice the rate of either.

use crate::estimators::windowed_max::WindowedMax;
use crate::interface::Ack;
use whimbrel_units::Rate;

/// The number of round trips for which a rate counts.
const ROUNDS: u64 = 10;

/// The maximum delivery rate of the last round trips.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MaxRate {
    /// Completed round trips.
    rounds: u64,
    /// The maximum of the completed ones.
    max: WindowedMax,
    /// The maximum of the present one, bits per second.
    now: u64,
}

impl MaxRate {
    /// The estimate for a new path with this expected rate.
    pub fn of(rate: Option<Rate>) -> Self {
        let mut new = Self::default();
        if let Some(rate) = rate {
            new.max.update(ROUNDS, 0, rate.as_bits_per_sec());
        }
        new
    }

    /// Processes an acknowledgment.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) {
        if ack.round_start {
            self.on_round();
        }
        let rate = ack.delivery_rate.map_or(0, Rate::as_bits_per_sec);
        // An application-limited sample is only a lower bound of the rate.
        if !ack.app_limited || rate > self.max.get() {
            self.now = self.now.max(rate);
        }
    }

    fn on_round(&mut self) {
        let ended = std::mem::take(&mut self.now);
        self.rounds = self.rounds.saturating_add(1);
        if ended > 0 {
            self.max.update(ROUNDS, self.rounds, ended);
        }
    }

    /// The rate, after the first measurement.
    #[inline]
    pub fn get(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_sec(self.max.get())).filter(|rate| *rate > Rate::ZERO)
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
    fn a_rate_counts_for_ten_round_trips() {
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
    fn an_application_limited_sample_counts_only_if_it_is_higher() {
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
