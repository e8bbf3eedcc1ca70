//! How many packets a flow keeps queued when nobody said how many.
//!
//! What alpha should be depends on the capacity: it has to show in the RTT, and it is what the window grows by. The
//! authors' prototype for Linux took it from the throughput: 8 packets below 10 Mbit/s, 20 from there on, 200 from
//! 100 Mbit/s (known to us at second hand: the papers that say so were not to be had). Flows of one step share evenly; two
//! flows of a link that stand on different steps do not, which is why a falling rate must fall by a fifth below a step.

use whimbrel_units::Rate;

/// Rate from which on so many packets are kept.
const STEPS: [(Rate, f64); 2] = [
    (Rate::from_bits_per_sec(100_000_000), 200.0),
    (Rate::from_bits_per_sec(10_000_000), 20.0),
];

/// Packets below all steps.
const LEAST: f64 = 8.0;

/// Share of a step's rate below which a flow leaves it.
const LEAVE: f64 = 0.8;

/// alpha, packets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Alpha {
    /// Somebody said so.
    Given(f64),
    /// By the rate; what it is now.
    ByRate(f64),
}

impl Alpha {
    /// From the parameter, of which 0 means: by the rate.
    pub fn new(packets: f64) -> Self {
        if packets > 0.0 {
            Self::Given(packets)
        } else {
            Self::ByRate(LEAST)
        }
    }

    /// Packets.
    pub fn packets(self) -> f64 {
        match self {
            Self::Given(packets) | Self::ByRate(packets) => packets,
        }
    }

    /// The flow now sends at this rate.
    pub fn at(&mut self, rate: Rate) {
        if let Self::ByRate(now) = self {
            let entered = |step: Rate, packets: f64| {
                rate >= step || (*now >= packets && rate >= step.mul_f64(LEAVE))
            };
            let step = STEPS
                .iter()
                .find(|(step, packets)| entered(*step, *packets));
            *now = step.map_or(LEAST, |(_, packets)| *packets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_follows_the_rate_by_steps_and_falls_later_than_it_rises() {
        let mut alpha = Alpha::new(0.0);
        for (mbit, packets) in [
            (1, 8.0),
            (9, 8.0),
            (10, 20.0),
            (8, 20.0),
            (7, 8.0),
            (9, 8.0),
            (99, 20.0),
            (100, 200.0),
            (80, 200.0),
            (79, 20.0),
            (0, 8.0),
        ] {
            alpha.at(Rate::from_bits_per_sec(mbit * 1_000_000));
            assert!(alpha.packets() == packets, "{mbit} Mbit/s: {alpha:?}");
        }
    }

    #[test]
    fn what_somebody_said_stays() {
        let mut alpha = Alpha::new(6.0);
        alpha.at(Rate::from_bits_per_sec(1_000_000_000));
        assert!(alpha.packets() == 6.0);
    }
}
