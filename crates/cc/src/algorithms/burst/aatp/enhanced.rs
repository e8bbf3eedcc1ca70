//! Enhanced-AATP: a loss reduces the rate only if bursts were stretched by more than the increase
//! explains, and a node shares its bandwidth among its flows.
//!
//! Briones et al., Electronics 2021, 10, 987, section 5, equations (10) to (18) and (23) to (28),
//! table 3.
//!
//! * S0, no loss, smooth <= LTD: `SR += (Inc + Delta) / T_burst`, M by (28)
//! * S1, no loss, smooth > LTD: the same with M = 9
//! * S2, loss, smooth <= LTD, a channel loss: Inc = 0, `SR += Delta / T_burst`
//! * S3, loss, smooth > LTD, congestion: `SR /= 1 + 0.125 * V/Vm`
//!
//! smooth (11) and LTD (14) are those of [`jitter`](crate::classifiers::jitter), which describes
//! their physics and limits; the rates are those of `rate`. The receiving node computes Delta (24)
//! ([`fairness`](crate::building_blocks::fairness)), because only it sees all its flows. Delta and
//! Vm arrive with each report.
//!
//! **When it works.** The bandwidth estimate is correct, losses are caused by the channel, and the
//! path's noise is far below LTD.
//!
//! **Limits.** A path with other traffic: at a queue that stays full it sees no jitter, takes the
//! drops for channel losses and keeps its rate (`level` corrects that). Near capacity LTD is almost
//! 0 and noise decides. The algorithm never corrects an estimate that is too high.
//!
//! **Choices where the paper is silent.**
//! * V in Inc, M and the decrease is the sending rate (19). The rate measured by the destination (V
//!   in WF and Delta) is used there.
//! * The first bursts follow no increase: LTD is 0, and smooth is 0 until there is jitter; 0 <= 0
//!   means a channel loss. After S2 the next burst has no increase either: any positive smooth then
//!   makes its loss S3. That follows from the paper's (14) and (17); `ltd_floor` prevents it.
//! * LTD counts Inc, not Delta (14): a burst that Delta has made longer is stretched by more than
//!   LTD explains.
//! * Delta applies in S2, by (26); the text before (23) mentions S0 and S1 only.
//! * r' of (26) is V/Vm, as r of (28).
//! * A burst of which no packet arrived has no report. The reports after a fade carry the loss of
//!   the whole fade with their own small jitter: S2, and the rate does not change.
//! * With `fairness` off, values from the node are ignored and Vm is BW. A report without them
//!   means that the flow is alone.
//!
//! **Beyond the paper.** A transport that measures the path's noise gives a floor under LTD
//! (`noise_floor`). Where its times of arrival say nothing, CERL's level test decides alone. Where
//! its estimate of the bandwidth is inexact, that test counts too: with a rate some percent above
//! the link's a queue stands full, shows no jitter, and loses as many packets. In simulation none
//! of this happens.
//!
//! Off by default: `at_once` reduces the rate to Vm with the first report that gives a lower one.
//! Delta (24) is in packets per burst for any length of a burst, and falls with the square of the
//! unfairness: at 1 Gbit/s and 260 ms a flow with a quarter more than its share gives up 0.03 % of
//! its rate per second, and the queue that it maintains stays until it overflows. `level` adds
//! CERL's level test with "or", based on the round-trip times of the bursts' last packets.

use super::rate::CAUTIOUS;
use super::{Aatp, BurstRule, INITIAL_SHARE, SendingRate};
use crate::classifiers::jitter::{
    ALPHA, Jitter, LEVEL_A, LEVEL_LEAST, LTD_FLOOR, LTD_SCALE, Level,
};
use crate::interface::{Bandwidth, BurstReport, LossResponse, Verdict};
use crate::registry::entry::{Domain, Entry, Feed, Look, Parameter, code};
use whimbrel_units::Rate;

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "enhanced-aatp",
    code: code!(
        "algorithms/burst/aatp/enhanced.rs",
        "algorithms/burst/aatp/mod.rs",
        "algorithms/burst/aatp/rate.rs",
        "classifiers/jitter.rs"
    ),
    summary: "AATP that reduces its rate for a loss only if bursts were stretched, and shares by \
              priority",
    citation: "Briones et al., \"Wireless Loss Detection over Fairly Shared Heterogeneous Long Fat \
               Networks\", Electronics 10, 987, 2021",
    parameters: &[
        INITIAL_SHARE,
        ALPHA,
        LTD_SCALE,
        LTD_FLOOR,
        Parameter {
            name: "fairness",
            domain: Domain::Switch(true),
            meaning: "follow the rate that the receiving node allocates to the flow",
        },
        Parameter {
            name: "at_once",
            domain: Domain::Switch(false),
            meaning: "reduce to the allocated rate at once (the paper: by Delta only)",
        },
        Parameter {
            name: "level",
            domain: Domain::Switch(false),
            meaning: "a long queue is congestion too (CERL's test); over QUIC it always is",
        },
        LEVEL_A,
        LEVEL_LEAST,
        Parameter {
            name: "noise_floor",
            domain: Domain::Switch(true),
            meaning: "raise LTD to the path's noise, where the transport measures it (QUIC)",
        },
    ],
    feed: Feed::Bursts(|setup, values| {
        let controller = Enhanced {
            fairness: values.switch("fairness"),
            at_once: values.switch("at_once"),
            jitter: Jitter::from(values),
            level: Level::from(values),
            use_level: values.switch("level"),
            noise_floor: values.switch("noise_floor"),
            exact: true,
            state: State::S0,
        };
        Box::new(Aatp::new(controller, setup, values.number("initial_share")))
    }),
    look: Look::of(6, 6),
    ..Entry::BLANK
};

/// The states of table 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    S0,
    S1,
    S2,
    S3,
}

#[derive(Debug)]
struct Enhanced {
    fairness: bool,
    at_once: bool,
    jitter: Jitter,
    level: Level,
    /// The level counts even where jitter can be measured.
    use_level: bool,
    /// The path's noise is a floor under LTD.
    noise_floor: bool,
    /// The estimate of the bandwidth has no error.
    exact: bool,
    state: State,
}

impl Enhanced {
    /// Updates the measurements with the report and classifies it: the row of table 3.
    fn judge(&mut self, burst: &BurstReport) -> State {
        if let Some(spans) = burst.spans {
            self.jitter.sample(spans);
        }
        if let Some(rtt) = burst.rtt {
            self.level.sample(rtt);
        }
        let blind = burst.noise >= 1.0;
        let level_counts = self.use_level || !self.exact || blind;
        let queued = level_counts && self.level.is_high();
        let packets = f64::from(burst.packets);
        let noise = if blind || self.noise_floor {
            burst.noise
        } else {
            0.0
        };
        let stretched = self.jitter.exceeds(burst.increase, packets, noise);
        let congested = queued || stretched;
        match (burst.has_loss(), congested) {
            (false, false) => State::S0,
            (false, true) => State::S1,
            (true, false) => State::S2,
            (true, true) => State::S3,
        }
    }
}

impl BurstRule for Enhanced {
    const CLASSIFIES_LOSSES: bool = true;

    fn target(&self, bandwidth: &Bandwidth) -> Rate {
        let allocated = bandwidth.allocated.filter(|_| self.fairness);
        allocated.unwrap_or(bandwidth.rate)
    }

    fn restart(&mut self, bandwidth: &Bandwidth) {
        self.exact = bandwidth.exact;
        self.jitter.restart();
        self.level.restart();
    }

    fn decide(&mut self, rate: &mut SendingRate, burst: &BurstReport) -> Option<LossResponse> {
        self.state = self.judge(burst);
        let share = burst.share.filter(|_| self.fairness);
        rate.aim(share.map(|share| share.allocated));
        if self.at_once && share.is_some() {
            rate.reduce_to_target();
        }
        let delta = share.map_or(0.0, |share| share.adapter);
        let verdict = |reduced, verdict| {
            Some(LossResponse {
                reduced,
                verdict: Some(verdict),
                confidence: None,
            })
        };
        match self.state {
            State::S0 => {
                rate.step(Some(rate.magnitude()), delta, burst.interval);
                None
            }
            State::S1 => {
                rate.step(Some(CAUTIOUS), delta, burst.interval);
                None
            }
            State::S2 => {
                rate.step(None, delta, burst.interval);
                verdict(false, Verdict::Random)
            }
            State::S3 => {
                rate.decrease(burst.interval);
                verdict(true, Verdict::Congestion)
            }
        }
    }

    fn phase(&self) -> &'static str {
        match self.state {
            State::S0 => "S0",
            State::S1 => "S1",
            State::S2 => "S2",
            State::S3 => "S3",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use crate::interface::{Bandwidth, BurstReport, LossResponse, Share, Spans, Verdict};
    use whimbrel_units::{Duration, Rate};

    const RANDOM: Option<LossResponse> = Some(LossResponse {
        reduced: false,
        verdict: Some(Verdict::Random),
        confidence: None,
    });
    const CONGESTION: Option<LossResponse> = Some(LossResponse {
        reduced: true,
        verdict: Some(Verdict::Congestion),
        confidence: None,
    });

    /// `BURST`, sent over 18 ms and received over `received` microseconds, with `lost` packets
    /// missing and `increase` packets more than the burst before.
    fn burst(received: u64, lost: u32, increase: f64) -> BurstReport {
        BurstReport {
            received: 100 - lost,
            increase,
            spans: Some(Spans {
                sent: Duration::from_millis(18),
                received: Duration::from_micros(received),
            }),
            ..BURST
        }
    }

    #[test]
    fn s0_no_loss_and_no_stretch_gives_the_full_increase() {
        let mut controller = started("enhanced-aatp", OC3);
        assert_eq!(controller.phase(), "start");
        assert_eq!(controller.on_burst(&BURST), None);
        assert_eq!(controller.phase(), "S0");
        near(increase(&*controller), 2.972_16);
        near(packets_per_sec(&*controller), 9907.2 + 148.608);
    }

    #[test]
    fn s1_no_loss_but_stretch_gives_the_increase_of_magnitude_9() {
        // Jr = 2/20 = 0.1, smooth 0.1/8 = 0.0125; one more packet of 100 explains 0.01.
        let mut controller = started("enhanced-aatp", OC3);
        assert_eq!(controller.on_burst(&burst(20_000, 0, 1.0)), None);
        assert_eq!(controller.phase(), "S1");
        // 29.7216e6 / 10^9 packets.
        near(increase(&*controller), 0.029_721_6);
        near(packets_per_sec(&*controller), 9907.2 + 1.486_08);
    }

    #[test]
    fn s2_loss_without_stretch_keeps_the_rate() {
        let mut controller = started("enhanced-aatp", OC3);
        // smooth 0.0125, compared with two more packets of 100.
        assert_eq!(controller.on_burst(&burst(20_000, 1, 2.0)), RANDOM);
        assert_eq!((controller.phase(), increase(&*controller)), ("S2", 0.0));
        near(packets_per_sec(&*controller), 9907.2);
    }

    #[test]
    fn s3_loss_with_stretch_reduces_the_rate() {
        let mut controller = started("enhanced-aatp?initial_share=1", OC3);
        assert_eq!(controller.on_burst(&burst(20_000, 1, 1.0)), CONGESTION);
        assert_eq!((controller.phase(), increase(&*controller)), ("S3", 0.0));
        // V = BW: divided by 1.125.
        near(packets_per_sec(&*controller), 11_008.0);
        assert!(controller.classifies_losses());
    }

    #[test]
    fn a_stretch_equal_to_ltd_is_not_congestion() {
        // The path forwards 1000 packets/s, and a burst of 100 in 100 ms has 25 more: 125 packets
        // at 1250/s. Paced, its first and last packets leave 124/1250 = 99.2 ms apart and arrive
        // 124/1000 = 124 ms apart: Jr = 24.8/124 = 0.2, and LTD = 25/125 = 0.2. With alpha = 1 only
        // this burst is evaluated.
        let exact = BurstReport {
            packets: 125,
            received: 124,
            increase: 25.0,
            spans: Some(Spans {
                sent: Duration::from_micros(99_200),
                received: Duration::from_millis(124),
            }),
            ..BURST
        };
        let judged = |spec: &str, report: &BurstReport| {
            started(&format!("enhanced-aatp?alpha=1{spec}"), OC3).on_burst(report)
        };
        assert_eq!(judged("", &exact), RANDOM, "on equality, table 3");
        let more = BurstReport {
            spans: Some(Spans {
                sent: Duration::from_micros(99_200),
                received: Duration::from_micros(124_001),
            }),
            ..exact
        };
        assert_eq!(judged("", &more), CONGESTION);
        // Figure 8: the threshold times 0.9 and 1.1.
        assert_eq!(judged("&ltd_scale=0.9", &exact), CONGESTION);
        assert_eq!(judged("&ltd_scale=1.1", &more), RANDOM);
        assert_eq!(judged("&ltd_floor=0.21", &more), RANDOM);
        assert_eq!(judged("&ltd_floor=0.19", &more), CONGESTION);
    }

    #[test]
    fn a_stretch_within_the_noise_of_the_path_is_not_congestion() {
        // Jr = 2/20 = 0.1, smooth 0.0125, compared with one packet of 100 or the noise.
        let judged = |noise: f64| {
            let mut controller = started("enhanced-aatp", OC3);
            controller.on_burst(&BurstReport {
                noise,
                ..burst(20_000, 1, 1.0)
            })
        };
        assert_eq!(judged(0.012), CONGESTION);
        assert_eq!(judged(0.013), RANDOM);
    }

    #[test]
    fn with_an_inexact_estimate_the_level_counts_too() {
        let judged = |exact| {
            let mut controller = built("enhanced-aatp");
            controller.on_bandwidth(&Bandwidth {
                exact,
                ..estimate(OC3)
            });
            let report = |ms: u64, lost: u32| BurstReport {
                rtt: Some(Duration::from_millis(ms)),
                ..burst(18_000, lost, 0.0)
            };
            for ms in [20, 60] {
                controller.on_burst(&report(ms, 0));
            }
            controller.on_burst(&report(55, 1))
        };
        assert_eq!(judged(true), RANDOM, "no stretch");
        assert_eq!(judged(false), CONGESTION);
    }

    #[test]
    fn where_times_of_arrival_say_nothing_the_level_decides() {
        let mut controller = started("enhanced-aatp", OC3);
        let report = |ms: u64, lost: u32| BurstReport {
            noise: 1.0,
            rtt: Some(Duration::from_millis(ms)),
            ..burst(90_000, lost, 0.0)
        };
        for ms in [20, 60] {
            controller.on_burst(&report(ms, 0));
        }
        assert_eq!(controller.on_burst(&report(25, 1)), RANDOM, "a short queue");
        assert_eq!(
            controller.on_burst(&report(55, 1)),
            CONGESTION,
            "a long one"
        );
    }

    #[test]
    fn losses_of_the_first_bursts_are_channel_losses() {
        let mut controller = started("enhanced-aatp", OC3);
        assert_eq!(controller.on_burst(&burst(18_000, 1, 0.0)), RANDOM);
        // Without an increase the smallest stretch exceeds LTD: 1 ns of 18 ms.
        let min = BurstReport {
            spans: Some(Spans {
                sent: Duration::from_millis(18),
                received: Duration::from_nanos(18_000_001),
            }),
            ..burst(18_000, 1, 0.0)
        };
        assert_eq!(controller.on_burst(&min), CONGESTION);
    }

    #[test]
    fn a_burst_with_fewer_than_two_packets_keeps_the_jitter() {
        let blind = |received| BurstReport {
            spans: None,
            received,
            ..BURST
        };
        let mut controller = started("enhanced-aatp", OC3);
        assert_eq!(controller.on_burst(&blind(1)), RANDOM);
        controller.on_burst(&burst(20_000, 0, 0.0));
        assert_eq!(controller.on_burst(&blind(0)), CONGESTION);
        // A burst that arrived in zero time does not change it either.
        assert_eq!(controller.on_burst(&burst(0, 1, 0.0)), CONGESTION);
    }

    #[test]
    fn a_compressed_burst_hides_congestion_for_dozens_of_bursts() {
        // 18 ms compressed to 1 ms: Jr = -17, smooth -2.125. Bursts stretched to double, Jr = 0.5,
        // raise it by (7/8)^n: the sum 0.5 - 2.625 * (7/8)^n is positive from n = 13, because
        // (7/8)^12 = 0.2014 and (7/8)^13 = 0.1763 < 0.5/2.625.
        let mut controller = started("enhanced-aatp", OC3);
        controller.on_burst(&burst(1_000, 0, 0.0));
        for n in 1..=13 {
            let expected = if n < 13 { RANDOM } else { CONGESTION };
            assert_eq!(controller.on_burst(&burst(36_000, 1, 0.0)), expected, "{n}");
        }
    }

    #[test]
    fn losses_of_a_fade_are_channel_losses_of_the_next_burst() {
        let mut controller = started("enhanced-aatp", OC3);
        controller.on_burst(&BURST);
        let before = packets_per_sec(&*controller);
        let after_fade = BurstReport {
            lost_before: 10_000,
            ..BURST
        };
        assert_eq!(controller.on_burst(&after_fade), RANDOM);
        assert_eq!(packets_per_sec(&*controller), before);
    }

    #[test]
    fn a_standing_queue_is_congestion_only_with_the_level_test() {
        // The queue grew to 20 ms and stays: no stretch. 55 % of it is 11 ms.
        let waiting = |ms: u64, lost| BurstReport {
            rtt: Some(Duration::from_millis(20 + ms)),
            ..burst(18_000, lost, 0.0)
        };
        let judged = |spec: &str, queue| {
            let mut controller = started(spec, OC3);
            for ms in [0, 10, 20] {
                controller.on_burst(&waiting(ms, 0));
            }
            controller.on_burst(&waiting(queue, 1))
        };
        assert_eq!(judged("enhanced-aatp", 20), RANDOM);
        assert_eq!(judged("enhanced-aatp?level=true", 20), CONGESTION);
        assert_eq!(judged("enhanced-aatp?level=true", 12), CONGESTION);
        assert_eq!(
            judged("enhanced-aatp?level=true", 11),
            RANDOM,
            "not above the threshold"
        );
        assert_eq!(judged("enhanced-aatp?level=true&level_A=0.7", 12), RANDOM);
        // Without any queue so far CERL says congestion; this test gives no result.
        let mut controller = started("enhanced-aatp?level=true", OC3);
        assert_eq!(controller.on_burst(&waiting(0, 1)), RANDOM);
    }

    fn share(allocated: f64, adapter: f64) -> Option<Share> {
        Some(Share {
            allocated: OC3.mul_f64(allocated),
            delivered: OC3,
            fairness: 0.9,
            adapter,
        })
    }

    #[test]
    fn the_initial_rate_is_80_percent_of_the_allocation() {
        let allotted = Bandwidth {
            allocated: Some(OC3.mul_f64(0.5)),
            ..estimate(OC3)
        };
        for (spec, expected) in [
            ("enhanced-aatp", 4953.6),
            ("enhanced-aatp?initial_share=0.5", 3096.0),
            ("enhanced-aatp?fairness=false", 9907.2),
        ] {
            let mut controller = built(spec);
            controller.on_bandwidth(&allotted);
            near(packets_per_sec(&*controller), expected);
        }
    }

    #[test]
    fn the_target_is_the_allocation_or_else_the_whole_link() {
        // V is half of the link, Vm 5/8 of it: V/Vm = 0.8, Inc = 0.125 * 148.608e6 / 10^7.
        let half = "enhanced-aatp?initial_share=0.5";
        let after = |spec: &str, share| {
            let mut controller = started(spec, OC3);
            controller.on_burst(&BurstReport { share, ..BURST });
            increase(&*controller)
        };
        near(after(half, share(0.625, 0.0)), 1.8576);
        near(after(half, None), 7.4304);
        near(
            after(
                "enhanced-aatp?initial_share=0.5&fairness=false",
                share(0.625, 9.0),
            ),
            7.4304,
        );
        // Above the allocation the rate does not grow, and a loss costs by V/Vm: 6192 / (1 + 0.125
        // * 2).
        assert_eq!(after(half, share(0.25, 0.0)), 0.0);
        let mut controller = started(half, OC3);
        controller.on_burst(&BurstReport {
            share: share(0.25, -50.0),
            ..burst(20_000, 1, 0.0)
        });
        assert_eq!(controller.phase(), "S3");
        near(packets_per_sec(&*controller), 4953.6);
        // The flow is alone again.
        controller.on_burst(&burst(18_000, 0, 50.0));
        assert_eq!(controller.phase(), "S0");
        near(increase(&*controller), 8.916_48);
    }

    #[test]
    fn at_once_reduces_the_rate_to_the_allocation() {
        // Half of the link's 12384 packets/s; the allocation is a quarter, and Delta is almost
        // zero.
        for (spec, expected) in [
            ("enhanced-aatp?initial_share=0.5", 6192.0 - 0.05 / 0.02),
            ("enhanced-aatp?initial_share=0.5&at_once=true", 3096.0),
        ] {
            let mut controller = started(spec, OC3);
            controller.on_burst(&BurstReport {
                share: share(0.25, -0.05),
                ..BURST
            });
            near(packets_per_sec(&*controller), expected);
        }
        // Without an allocation nothing is reduced.
        let mut controller = started("enhanced-aatp?at_once=true", OC3);
        controller.on_burst(&burst(18_000, 1, 0.0));
        near(packets_per_sec(&*controller), 9907.2);
    }

    #[test]
    fn delta_applies_in_s0_s1_and_s2_and_is_no_increase() {
        // Half of the link's 12384 packets/s. Four packets per burst are 200 packets/s. The
        // allocation is the whole link, or a quarter; in that case the flow has twice its
        // allocation and no increase.
        for (report, phase, inc) in [
            (burst(18_000, 0, 0.0), "S0", 7.4304),
            (burst(20_000, 0, 0.0), "S1", 0.074_304),
            (burst(18_000, 1, 0.0), "S2", 0.0),
        ] {
            for (due, adapter, inc) in [(1.0, 4.0, inc), (0.25, -4.0, 0.0)] {
                let mut controller = started("enhanced-aatp?initial_share=0.5", OC3);
                controller.on_burst(&BurstReport {
                    share: share(due, adapter),
                    ..report
                });
                assert_eq!(controller.phase(), phase);
                near(increase(&*controller), inc);
                near(
                    packets_per_sec(&*controller),
                    6192.0 + 50.0 * (inc + adapter),
                );
            }
        }
    }

    #[test]
    fn delta_never_takes_the_rate_past_the_allocation() {
        let after = |allocated, adapter| {
            let mut controller = started("enhanced-aatp?initial_share=0.5", OC3);
            controller.on_burst(&BurstReport {
                share: share(allocated, adapter),
                ..BURST
            });
            packets_per_sec(&*controller)
        };
        // Half of the link's 12384 packets/s, with an allocation of 3/4 or 1/9 of them.
        near(after(0.75, 10_000.0), 9288.0);
        near(after(0.75, f64::INFINITY), 9288.0);
        near(after(1.0 / 9.0, -10_000.0), 1376.0);
        near(after(1.0 / 9.0, f64::NEG_INFINITY), 1376.0);
        near(after(1.0 / 9.0, f64::NAN), 6192.0);
        // The rate is already on the right side of the allocation.
        near(after(0.25, 100.0), 6192.0);
        near(after(0.75, -100.0), 6192.0);
    }

    #[test]
    fn a_restart_discards_all_observations() {
        let mut controller = started("enhanced-aatp?level=true", OC3);
        for ms in [20, 60] {
            controller.on_burst(&BurstReport {
                rtt: Some(Duration::from_millis(ms)),
                ..burst(36_000, 1, 0.0)
            });
        }
        assert_eq!(controller.phase(), "S3");
        controller.on_bandwidth(&estimate(OC3));
        assert_eq!(controller.phase(), "start");
        let unmeasured = BurstReport {
            rtt: None,
            ..burst(18_000, 1, 0.0)
        };
        assert_eq!(controller.on_burst(&unmeasured), RANDOM);
        near(packets_per_sec(&*controller), 9907.2);
    }

    #[test]
    fn an_allocation_of_zero_is_handled() {
        let mut controller = started("enhanced-aatp", OC3);
        for _ in 0..1000 {
            controller.on_burst(&BurstReport {
                share: Some(Share {
                    allocated: Rate::ZERO,
                    delivered: Rate::ZERO,
                    fairness: 0.0,
                    adapter: -1e300,
                }),
                packets: 0,
                ..burst(20_000, 0, f64::NAN)
            });
        }
        assert!(bits_per_sec(&*controller) >= 1.0);
    }
}
