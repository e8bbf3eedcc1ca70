//! The default number of packets that a FAST flow keeps queued.
//!
//! alpha depends on the capacity: the queue must be visible in the RTT, and alpha is also the
//! growth of the window. The authors' Linux prototype derived it from the throughput: 8 packets
//! below 10 Mbit/s, 20 from 10 Mbit/s on, 200 from 100 Mbit/s on (from secondary sources; the
//! papers were not available). Flows on the same step share a link evenly; two flows on different
//! steps do not. A falling rate therefore leaves a step only when it is a fifth below it.

use whimbrel_units::Rate;

/// Minimum rate of each step, and its packets.
const STEPS: [(Rate, f64); 2] = [
    (Rate::from_bits_per_sec(100_000_000), 200.0),
    (Rate::from_bits_per_sec(10_000_000), 20.0),
];

/// Packets below all steps.
const MIN_PACKETS: f64 = 8.0;

/// Fraction of a step's rate below which a flow leaves it.
const LEAVE: f64 = 0.8;

/// alpha, packets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Alpha {
    /// Set by the user.
    Given(f64),
    /// Derived from the rate; the current value.
    ByRate(f64),
}

impl Alpha {
    /// From the parameter; 0 means derived from the rate.
    pub fn new(packets: f64) -> Self {
        if packets > 0.0 {
            Self::Given(packets)
        } else {
            Self::ByRate(MIN_PACKETS)
        }
    }

    /// The number of packets.
    pub fn packets(self) -> f64 {
        match self {
            Self::Given(packets) | Self::ByRate(packets) => packets,
        }
    }

    /// Updates alpha for a flow that now sends at this rate.
    pub fn at(&mut self, rate: Rate) {
        if let Self::ByRate(now) = self {
            let entered = |step: Rate, packets: f64| {
                rate >= step || (*now >= packets && rate >= step.mul_f64(LEAVE))
            };
            let step = STEPS
                .iter()
                .find(|(step, packets)| entered(*step, *packets));
            *now = step.map_or(MIN_PACKETS, |(_, packets)| *packets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_follows_the_rate_in_steps_with_hysteresis() {
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
    fn a_given_alpha_does_not_change() {
        let mut alpha = Alpha::new(6.0);
        alpha.at(Rate::from_bits_per_sec(1_000_000_000));
        assert!(alpha.packets() == 6.0);
    }
}
