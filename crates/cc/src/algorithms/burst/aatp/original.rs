//! AATP: any loss is congestion.
//!
//! Briones et al., Electronics 2021, 10, 987, section 4, equations (7) to (9).
//!
//! * no loss: `SR += Inc / T_burst`, `Inc = (BW - V) / 10^M` (7) (8)
//! * any loss in the burst: `SR /= 1 + 0.125 * V/BW` (7)
//!
//! **Physics.** Below 80 % of the estimate growth is fast, above it increasingly slow, and a loss
//! costs at most a ninth: the rate stays near the estimate and yields little.
//!
//! **When it works.** The estimate is correct, the path carries no other traffic, and no packets
//! are lost.
//!
//! **Limits.** Random loss of p causes a decrease in nearly every burst of more than 1/p packets,
//! even on an idle path. Enhanced-AATP was designed for that. It is unfair to other AATP flows:
//! each one claims the whole estimate.
//!
//! Section 4 says that after losses the rate goes "directly" to 80 % of the link; (7) to (9) let it
//! grow there with M = 7, and the code follows them. AATP ignores allocations by a node.

use super::{Aatp, BurstRule, INITIAL_SHARE, SendingRate};
use crate::interface::{Bandwidth, BurstReport, LossResponse};
use crate::registry::entry::{Entry, Feed, Look, code};
use whimbrel_units::Rate;

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "aatp",
    code: code!(
        "algorithms/burst/aatp/original.rs",
        "algorithms/burst/aatp/mod.rs",
        "algorithms/burst/aatp/rate.rs"
    ),
    summary: "Bursts at a rate that approaches the estimated bandwidth; any loss reduces it",
    citation: "Briones et al., Future Generation Computer Systems 115, 2021, as given in \
               Electronics 10, 987, 2021",
    parameters: &[INITIAL_SHARE],
    feed: Feed::Bursts(|setup, values| {
        let controller = Original { phase: "increase" };
        Box::new(Aatp::new(controller, setup, values.number("initial_share")))
    }),
    look: Look::of(24, 9),
    ..Entry::BLANK
};

#[derive(Debug)]
struct Original {
    phase: &'static str,
}

impl BurstRule for Original {
    const CLASSIFIES_LOSSES: bool = false;

    fn target(&self, bandwidth: &Bandwidth) -> Rate {
        bandwidth.rate
    }

    fn restart(&mut self, _: &Bandwidth) {}

    fn decide(&mut self, rate: &mut SendingRate, burst: &BurstReport) -> Option<LossResponse> {
        if burst.has_loss() {
            self.phase = "decrease";
            rate.decrease(burst.interval);
            Some(LossResponse::REDUCED)
        } else {
            self.phase = "increase";
            rate.step(Some(rate.magnitude()), 0.0, burst.interval);
            None
        }
    }

    fn phase(&self) -> &'static str {
        self.phase
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use crate::interface::{Bandwidth, BurstReport, LossResponse, Share};
    use whimbrel_units::{Bytes, Duration, Rate};

    #[test]
    fn below_80_percent_the_increase_is_the_gap_over_10_to_the_7() {
        let mut controller = started("aatp?initial_share=0.5", OC3);
        assert_eq!(controller.on_burst(&BURST), None);
        // 74.304e6 / 10^7 packets, over 20 ms.
        near(increase(&*controller), 7.4304);
        near(packets_per_sec(&*controller), 6192.0 + 371.52);
        assert_eq!(controller.phase(), "increase");
    }

    #[test]
    fn from_80_percent_on_the_magnitude_rises_from_7_to_9() {
        // Fraction of the link, M, and (BW - V) / 10^M computed by hand.
        for (share, expected) in [
            (0.8, 2.972_16),     // M = 7: 29.7216e6 / 10^7
            (0.9, 0.148_608),    // M = 8: 14.8608e6 / 10^8
            (0.95, 0.023_497),   // M = 8.5: 7.4304e6 / 3.16228e8
            (0.99, 0.001_870_9), // M = 8.9: 1.48608e6 / 7.94328e8
        ] {
            let mut controller = started(&format!("aatp?initial_share={share}"), OC3);
            controller.on_burst(&BURST);
            near(increase(&*controller), expected);
        }
        let mut full = started("aatp?initial_share=1", OC3);
        full.on_burst(&BURST);
        assert_eq!(increase(&*full), 0.0);
        near(packets_per_sec(&*full), 12_384.0);
    }

    #[test]
    fn a_loss_costs_a_ninth_of_a_full_link_and_less_of_an_empty_one() {
        // SR / (1 + 0.125 V/BW): 12384 / 1.125, 9907.2 / 1.1, 1238.4 / 1.0125.
        for (share, expected) in [(1.0, 11_008.0), (0.8, 9006.545), (0.1, 1223.111)] {
            let mut controller = started(&format!("aatp?initial_share={share}"), OC3);
            let lost = BurstReport {
                received: 99,
                ..BURST
            };
            assert_eq!(controller.on_burst(&lost), Some(LossResponse::REDUCED));
            near(packets_per_sec(&*controller), expected);
            assert_eq!(
                (increase(&*controller), controller.phase()),
                (0.0, "decrease")
            );
        }
    }

    #[test]
    fn eight_losses_halve_a_full_link_and_eight_more_leave_a_third() {
        let mut controller = started("aatp?initial_share=1", OC3);
        let lost = BurstReport {
            lost_before: 1,
            ..BURST
        };
        for expected in [6192.0, 4128.0, 3096.0] {
            for _ in 0..8 {
                controller.on_burst(&lost);
            }
            near(packets_per_sec(&*controller), expected);
        }
    }

    #[test]
    fn allocations_by_a_node_are_ignored() {
        let mut controller = built("aatp");
        controller.on_bandwidth(&Bandwidth {
            allocated: Some(Rate::from_bits_per_sec(1_000_000)),
            ..estimate(OC3)
        });
        near(packets_per_sec(&*controller), 9907.2);
        controller.on_burst(&BurstReport {
            share: Some(Share {
                allocated: Rate::from_bits_per_sec(1_000_000),
                delivered: OC3,
                fairness: 0.5,
                adapter: -100.0,
            }),
            ..BURST
        });
        near(packets_per_sec(&*controller), 9907.2 + 148.608);
    }

    #[test]
    fn without_a_nonzero_estimate_nothing_is_planned() {
        let mut controller = built("aatp");
        controller.on_bandwidth(&estimate(Rate::ZERO));
        controller.on_bandwidth(&Bandwidth {
            packet: Bytes::ZERO,
            ..estimate(OC3)
        });
        assert_eq!(
            controller.on_burst(&BurstReport {
                received: 0,
                ..BURST
            }),
            None
        );
        assert_eq!(controller.plan(), None);
        assert_eq!(
            (controller.flight(), controller.phase()),
            (Bytes::new(14_600), "start")
        );
        controller.on_bandwidth(&Bandwidth {
            restart: false,
            ..estimate(OC3)
        });
        near(packets_per_sec(&*controller), 9907.2);
    }

    #[test]
    fn a_new_estimate_changes_the_target_but_not_the_rate() {
        let mut controller = started("aatp?initial_share=0.9", OC3);
        controller.on_burst(&BURST);
        let before = bits_per_sec(&*controller);
        // Twice the bandwidth, in packets of twice the size.
        controller.on_bandwidth(&Bandwidth {
            packet: Bytes::new(3000),
            restart: false,
            ..estimate(Rate::from_bits_per_sec(297_216_000))
        });
        near(bits_per_sec(&*controller) / 1e6, before / 1e6);
        controller.on_burst(&BURST);
        // V/BW is now 0.45: (297.216e6 - 133.836e6) / 10^7.
        near(increase(&*controller), 16.338);
        controller.on_bandwidth(&estimate(OC3));
        near(packets_per_sec(&*controller), 0.9 * 12_384.0);
        assert_eq!((increase(&*controller), controller.phase()), (0.0, "start"));
        // Half of the bandwidth: the rate is above it and does not change.
        controller.on_bandwidth(&Bandwidth {
            restart: false,
            ..estimate(Rate::from_bits_per_sec(74_304_000))
        });
        controller.on_burst(&BURST);
        near(packets_per_sec(&*controller), 0.9 * 12_384.0);
        assert_eq!(increase(&*controller), 0.0);
    }

    #[test]
    fn on_a_short_path_no_increase_exceeds_the_estimate() {
        // 74.304e6 / 10^7 packets in 0.1 ms would be 891 Mbit/s more; 74.304 Mbit/s, 0.6192
        // packets, are missing.
        let mut controller = started("aatp?initial_share=0.5", OC3);
        controller.on_burst(&BurstReport {
            interval: Duration::from_micros(100),
            ..BURST
        });
        near(increase(&*controller), 0.6192);
        near(packets_per_sec(&*controller), 12_384.0);
    }

    #[test]
    fn a_decrease_stops_at_one_packet_per_interval() {
        // 1 Mbit/s is 1.67 packets per 20 ms, 80 % of it 1.33; one packet is 50/s.
        let mut controller = started("aatp", Rate::from_bits_per_sec(1_000_000));
        let lost = BurstReport {
            received: 0,
            ..BURST
        };
        for _ in 0..20 {
            controller.on_burst(&lost);
        }
        near(packets_per_sec(&*controller), 50.0);
        let mut slower = started("aatp", Rate::from_bits_per_sec(100_000));
        slower.on_burst(&lost);
        near(packets_per_sec(&*slower), 0.8 * 100_000.0 / 12_000.0);
    }

    #[test]
    fn an_interval_of_zero_allows_no_step_and_no_minimum() {
        let mut controller = started("aatp", OC3);
        let instant = BurstReport {
            interval: Duration::ZERO,
            ..BURST
        };
        controller.on_burst(&instant);
        near(packets_per_sec(&*controller), 9907.2);
        controller.on_burst(&BurstReport {
            received: 0,
            ..instant
        });
        near(packets_per_sec(&*controller), 9006.545);
    }

    #[test]
    fn the_window_is_two_intervals_once_an_interval_is_known() {
        let mut controller = started("aatp?initial_share=1", OC3);
        assert_eq!(controller.flight(), Bytes::new(14_600));
        controller.on_burst(&BURST);
        // 148.608e6 / 8 * 0.04 bytes.
        assert_eq!(controller.flight(), Bytes::new(743_040));
        controller.on_burst(&BurstReport {
            interval: Duration::from_micros(1),
            ..BURST
        });
        assert_eq!(
            controller.flight(),
            Bytes::new(1500),
            "one packet with its headers"
        );
        controller.on_mss(Bytes::new(8960));
        assert_eq!(controller.flight(), Bytes::new(8960));
    }
}
