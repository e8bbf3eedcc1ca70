//! Enhanced-AATP: a loss slows it only if bursts were stretched by more than its own increase explains, and a node shares
//! its bandwidth among its flows.
//!
//! Briones et al., Electronics 2021, 10, 987, section 5, equations (10) to (18) and (23) to (28), table 3.
//!
//! * S0, no loss, smooth <= LTD: `SR += (Inc + Delta) / T_burst`, M by (28)
//! * S1, no loss, smooth > LTD: the same with M = 9
//! * S2, loss, smooth <= LTD, the channel's: Inc = 0, `SR += Delta / T_burst`
//! * S3, loss, smooth > LTD, congestion: `SR /= 1 + 0.125 * V/Vm`
//!
//! smooth (11) and LTD (14) are those of [`jitter`](crate::classifiers::jitter), where their physics and limits stand; the rates are
//! those of `rate`; Delta (24) is reckoned by the node that receives ([`fairness`](crate::building_blocks::fairness)), which alone sees all
//! its flows, and comes with each report, as does Vm.
//!
//! **When it works.** The estimate of the bandwidth is right, losses are the channel's, the path's noise is far below LTD.
//! **When not.** Where the path is not its own: under a queue that stands full it sees no jitter, takes the drops for the
//! channel's and holds its rate (`level` mends that). Near capacity, where LTD is near 0 and noise decides. An
//! estimate that is too high is never corrected by the paper's law.
//!
//! **What the paper leaves open.**
//! * V in Inc, M and the decrease is the sending rate (19). What the destination measured (V in WF and Delta) counts there.
//! * The first bursts follow no increase: LTD is 0, and so is smooth until there was jitter; 0 <= 0 is the channel's.
//!   After S2 the next burst has no increase either: any positive smooth then makes its loss S3. That is the paper's (14)
//!   and (17) taken together; `ltd_floor` is against it.
//! * LTD counts Inc, not Delta (14): a burst that Delta has made longer is stretched by more than LTD explains.
//! * Delta counts in S2, by (26); the text before (23) names S0 and S1 only.
//! * r' of (26) is V/Vm, as r of (28) is.
//! * A burst that no packet of arrived brings no report; those that follow a fade bring the loss of all of it with their
//!   own small jitter: S2, and the rate stands.
//! * With `fairness` off what the node says is ignored, and Vm is BW. A report without it says the flow is alone.
//!
//! **Beyond the paper**, off unless asked for: `at_once` comes down to Vm with the first report that tells of a lower one.
//! Delta (24) is counted in packets per burst however long a burst is, and falls with the square of the unfairness: at
//! 1 Gbit/s and 260 ms a flow that holds a quarter more than its due gives up 0.03 % of its rate a second, and the queue
//! that it keeps filled stands until it overflows. `level` adds CERL's level test with "or", by the round-trip times of
//! the bursts' last packets.

use super::rate::CAUTIOUS;
use super::{BurstController, BurstRule, INITIAL_SHARE, SendingRate};
use crate::classifiers::jitter::{
    ALPHA, Jitter, LEVEL_A, LEVEL_LEAST, LTD_FLOOR, LTD_SCALE, Level,
};
use crate::interface::{Bandwidth, BurstReport, LossResponse, Verdict};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};
use whimbrel_units::Rate;

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "enhanced-aatp",
    code: code!(
        "algorithms/burst/aatp/enhanced.rs",
        "algorithms/burst/aatp/mod.rs",
        "algorithms/burst/aatp/rate.rs",
        "classifiers/jitter.rs"
    ),
    summary: "AATP that slows for a loss only if bursts were stretched, and shares by priority",
    citation: "Briones et al., \"Wireless Loss Detection over Fairly Shared Heterogeneous Long Fat Networks\", \
               Electronics 10, 987, 2021",
    family: Family::Burst,
    driven_by: DrivenBy::Bursts,
    feed: Feed::Bursts,
    parameters: &[
        INITIAL_SHARE,
        ALPHA,
        LTD_SCALE,
        LTD_FLOOR,
        Parameter {
            name: "fairness",
            default: Value::Switch(true),
            range: (0.0, 0.0),
            meaning: "obey what the receiving node allots to the flow",
        },
        Parameter {
            name: "at_once",
            default: Value::Switch(false),
            range: (0.0, 0.0),
            meaning: "come down to what the node allots at once, where the paper has Delta alone for it",
        },
        Parameter {
            name: "level",
            default: Value::Switch(false),
            range: (0.0, 0.0),
            meaning: "a long queue is congestion too (CERL's test)",
        },
        LEVEL_A,
        LEVEL_LEAST,
    ],
    build: |setup, values| {
        let law = Enhanced {
            fairness: values.switch("fairness"),
            at_once: values.switch("at_once"),
            jitter: Jitter::from(values),
            level: values.switch("level").then(|| Level::from(values)),
            state: State::S0,
        };
        Box::new(BurstController::new(
            law,
            setup,
            values.number("initial_share"),
        ))
    },
};

/// Table 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    S0,
    S1,
    S2,
    S3,
}

#[derive(Debug, Clone)]
struct Enhanced {
    fairness: bool,
    at_once: bool,
    jitter: Jitter,
    level: Option<Level>,
    state: State,
}

impl Enhanced {
    /// Learns from the report, then judges it: the row of table 3.
    fn judge(&mut self, burst: &BurstReport) -> State {
        if let Some(spans) = burst.spans {
            self.jitter.sample(spans);
        }
        if let (Some(level), Some(rtt)) = (&mut self.level, burst.rtt) {
            level.sample(rtt);
        }
        let queued = self.level.as_ref().is_some_and(Level::is_high);
        let packets = f64::from(burst.packets);
        let congested = queued || self.jitter.exceeds(burst.increase, packets);
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

    fn restart(&mut self) {
        self.jitter.restart();
        if let Some(level) = &mut self.level {
            level.restart();
        }
    }

    fn decide(&mut self, rate: &mut SendingRate, burst: &BurstReport) -> Option<LossResponse> {
        self.state = self.judge(burst);
        let share = burst.share.filter(|_| self.fairness);
        rate.aim(share.map(|share| share.allocated));
        if self.at_once && share.is_some() {
            rate.come_down();
        }
        let delta = share.map_or(0.0, |share| share.adapter);
        let verdict = |reduced, verdict| {
            Some(LossResponse {
                reduced,
                verdict: Some(verdict),
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
    use crate::interface::{
        Bandwidth, BurstReport, Controller, LossResponse, Share, Spans, Verdict,
    };
    use whimbrel_units::{Duration, Rate};

    const RANDOM: Option<LossResponse> = Some(LossResponse {
        reduced: false,
        verdict: Some(Verdict::Random),
    });
    const CONGESTION: Option<LossResponse> = Some(LossResponse {
        reduced: true,
        verdict: Some(Verdict::Congestion),
    });

    /// `BURST`, sent over 18 ms and arrived over `received` microseconds, `lost` of its packets missing, `increase` of
    /// them more than in the one before.
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
    fn s0_nothing_lost_and_nothing_stretched_takes_the_full_increase() {
        let mut law = started("enhanced-aatp", OC3);
        assert_eq!(law.phase(), "start");
        assert_eq!(law.on_burst(&BURST), None);
        assert_eq!(law.phase(), "S0");
        near(increase(&*law), 2.972_16);
        near(packets_per_sec(&*law), 9907.2 + 148.608);
    }

    #[test]
    fn s1_nothing_lost_but_stretched_takes_the_increase_of_magnitude_9() {
        // Jr = 2/20 = 0.1, smooth 0.1/8 = 0.0125; one packet more of 100 explains 0.01.
        let mut law = started("enhanced-aatp", OC3);
        assert_eq!(law.on_burst(&burst(20_000, 0, 1.0)), None);
        assert_eq!(law.phase(), "S1");
        // 29.7216e6 / 10^9 packets.
        near(increase(&*law), 0.029_721_6);
        near(packets_per_sec(&*law), 9907.2 + 1.486_08);
    }

    #[test]
    fn s2_lost_but_not_stretched_keeps_the_rate() {
        let mut law = started("enhanced-aatp", OC3);
        // smooth 0.0125 against two packets more of 100.
        assert_eq!(law.on_burst(&burst(20_000, 1, 2.0)), RANDOM);
        assert_eq!((law.phase(), increase(&*law)), ("S2", 0.0));
        near(packets_per_sec(&*law), 9907.2);
    }

    #[test]
    fn s3_lost_and_stretched_slows_down() {
        let mut law = started("enhanced-aatp?initial_share=1", OC3);
        assert_eq!(law.on_burst(&burst(20_000, 1, 1.0)), CONGESTION);
        assert_eq!((law.phase(), increase(&*law)), ("S3", 0.0));
        // V = BW: divided by 1.125.
        near(packets_per_sec(&*law), 11_008.0);
        assert!(law.classifies_losses());
    }

    #[test]
    fn the_stretch_of_one_increase_is_exactly_ltd_and_is_not_congestion() {
        // The path passes 1000 packets/s, and a burst of 100 in 100 ms has 25 more: 125 packets at 1250/s. Paced, its
        // first and last leave 124/1250 = 99.2 ms apart and arrive 124/1000 = 124 ms apart: Jr = 24.8/124 = 0.2, and
        // LTD = 25/125 = 0.2. alpha = 1: the burst alone is judged.
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
    fn the_first_bursts_have_no_increase_and_no_jitter_and_their_losses_are_the_channels() {
        let mut law = started("enhanced-aatp", OC3);
        assert_eq!(law.on_burst(&burst(18_000, 1, 0.0)), RANDOM);
        // With no increase, the least stretch is more than none explains: 1 ns of 18 ms.
        let least = BurstReport {
            spans: Some(Spans {
                sent: Duration::from_millis(18),
                received: Duration::from_nanos(18_000_001),
            }),
            ..burst(18_000, 1, 0.0)
        };
        assert_eq!(law.on_burst(&least), CONGESTION);
    }

    #[test]
    fn a_burst_of_which_less_than_two_packets_arrived_leaves_the_jitter_as_it_was() {
        let blind = |received| BurstReport {
            spans: None,
            received,
            ..BURST
        };
        let mut law = started("enhanced-aatp", OC3);
        assert_eq!(law.on_burst(&blind(1)), RANDOM);
        law.on_burst(&burst(20_000, 0, 0.0));
        assert_eq!(law.on_burst(&blind(0)), CONGESTION);
        // Nor does one that arrived in no time.
        assert_eq!(law.on_burst(&burst(0, 1, 0.0)), CONGESTION);
    }

    #[test]
    fn a_compressed_burst_hides_congestion_for_dozens_of_bursts() {
        // 18 ms in 1 ms: Jr = -17, smooth -2.125. Bursts stretched to double, Jr = 0.5, raise it by (7/8)^n: the sum
        // 0.5 - 2.625 * (7/8)^n is positive from n = 13, for (7/8)^12 = 0.2014 and (7/8)^13 = 0.1763 < 0.5/2.625.
        let mut law = started("enhanced-aatp", OC3);
        law.on_burst(&burst(1_000, 0, 0.0));
        for n in 1..=13 {
            let expected = if n < 13 { RANDOM } else { CONGESTION };
            assert_eq!(law.on_burst(&burst(36_000, 1, 0.0)), expected, "{n}");
        }
    }

    #[test]
    fn the_losses_of_a_fade_come_with_the_burst_after_it_and_are_the_channels() {
        let mut law = started("enhanced-aatp", OC3);
        law.on_burst(&BURST);
        let before = packets_per_sec(&*law);
        let after_fade = BurstReport {
            lost_before: 10_000,
            ..BURST
        };
        assert_eq!(law.on_burst(&after_fade), RANDOM);
        assert_eq!(packets_per_sec(&*law), before);
    }

    #[test]
    fn a_standing_queue_is_congestion_only_with_the_level_test() {
        // The queue grew to 20 ms and stands: no stretch. 55% of it is 11 ms.
        let waiting = |ms: u64, lost| BurstReport {
            rtt: Some(Duration::from_millis(20 + ms)),
            ..burst(18_000, lost, 0.0)
        };
        let judged = |spec: &str, queue| {
            let mut law = started(spec, OC3);
            for ms in [0, 10, 20] {
                law.on_burst(&waiting(ms, 0));
            }
            law.on_burst(&waiting(queue, 1))
        };
        assert_eq!(judged("enhanced-aatp", 20), RANDOM);
        assert_eq!(judged("enhanced-aatp?level=true", 20), CONGESTION);
        assert_eq!(judged("enhanced-aatp?level=true", 12), CONGESTION);
        assert_eq!(
            judged("enhanced-aatp?level=true", 11),
            RANDOM,
            "strictly above"
        );
        assert_eq!(judged("enhanced-aatp?level=true&level_A=0.7", 12), RANDOM);
        // No queue was ever seen: CERL says congestion, this test nothing.
        let mut law = started("enhanced-aatp?level=true", OC3);
        assert_eq!(law.on_burst(&waiting(0, 1)), RANDOM);
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
    fn it_begins_at_80_percent_of_what_it_is_allotted() {
        let allotted = Bandwidth {
            allocated: Some(OC3.mul_f64(0.5)),
            ..estimate(OC3)
        };
        for (spec, expected) in [
            ("enhanced-aatp", 4953.6),
            ("enhanced-aatp?initial_share=0.5", 3096.0),
            ("enhanced-aatp?fairness=false", 9907.2),
        ] {
            let mut law = built(spec);
            law.on_bandwidth(&allotted);
            near(packets_per_sec(&*law), expected);
        }
    }

    #[test]
    fn with_a_share_the_law_aims_at_it_and_without_at_the_whole_link() {
        // V is half of the link, Vm 5/8 of it: V/Vm = 0.8, Inc = 0.125 * 148.608e6 / 10^7.
        let half = "enhanced-aatp?initial_share=0.5";
        let after = |spec: &str, share| {
            let mut law = started(spec, OC3);
            law.on_burst(&BurstReport { share, ..BURST });
            increase(&*law)
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
        // Above what it is allotted it waits, and a loss costs by V/Vm: 6192 / (1 + 0.125 * 2).
        assert_eq!(after(half, share(0.25, 0.0)), 0.0);
        let mut law = started(half, OC3);
        law.on_burst(&BurstReport {
            share: share(0.25, -50.0),
            ..burst(20_000, 1, 0.0)
        });
        assert_eq!(law.phase(), "S3");
        near(packets_per_sec(&*law), 4953.6);
        // The flow is alone again.
        law.on_burst(&burst(18_000, 0, 50.0));
        assert_eq!(law.phase(), "S0");
        near(increase(&*law), 8.916_48);
    }

    #[test]
    fn it_may_come_down_to_what_it_is_allotted_at_once() {
        // Half of the link's 12384 packets/s; a quarter is due, and Delta says next to nothing.
        for (spec, expected) in [
            ("enhanced-aatp?initial_share=0.5", 6192.0 - 0.05 / 0.02),
            ("enhanced-aatp?initial_share=0.5&at_once=true", 3096.0),
        ] {
            let mut law = started(spec, OC3);
            law.on_burst(&BurstReport {
                share: share(0.25, -0.05),
                ..BURST
            });
            near(packets_per_sec(&*law), expected);
        }
        // It is told of nothing: nothing is allotted to it alone.
        let mut law = started("enhanced-aatp?at_once=true", OC3);
        law.on_burst(&burst(18_000, 1, 0.0));
        near(packets_per_sec(&*law), 9907.2);
    }

    #[test]
    fn the_adapter_counts_in_s0_s1_and_s2_and_is_no_increase() {
        // Half of the link's 12384 packets/s. Four packets per burst are 200 packets/s. Due is the whole link, or a
        // quarter, of which the flow has twice too much: no increase then.
        for (report, phase, inc) in [
            (burst(18_000, 0, 0.0), "S0", 7.4304),
            (burst(20_000, 0, 0.0), "S1", 0.074_304),
            (burst(18_000, 1, 0.0), "S2", 0.0),
        ] {
            for (due, adapter, inc) in [(1.0, 4.0, inc), (0.25, -4.0, 0.0)] {
                let mut law = started("enhanced-aatp?initial_share=0.5", OC3);
                law.on_burst(&BurstReport {
                    share: share(due, adapter),
                    ..report
                });
                assert_eq!(law.phase(), phase);
                near(increase(&*law), inc);
                near(packets_per_sec(&*law), 6192.0 + 50.0 * (inc + adapter));
            }
        }
    }

    #[test]
    fn no_adapter_takes_the_rate_past_what_is_allotted() {
        let after = |allocated, adapter| {
            let mut law = started("enhanced-aatp?initial_share=0.5", OC3);
            law.on_burst(&BurstReport {
                share: share(allocated, adapter),
                ..BURST
            });
            packets_per_sec(&*law)
        };
        // Half of the link's 12384 packets/s, due 3/4 or 1/9 of them.
        near(after(0.75, 10_000.0), 9288.0);
        near(after(0.75, f64::INFINITY), 9288.0);
        near(after(1.0 / 9.0, -10_000.0), 1376.0);
        near(after(1.0 / 9.0, f64::NEG_INFINITY), 1376.0);
        near(after(1.0 / 9.0, f64::NAN), 6192.0);
        // It is where it should be on that side already.
        near(after(0.25, 100.0), 6192.0);
        near(after(0.75, -100.0), 6192.0);
    }

    #[test]
    fn a_restart_forgets_what_was_seen() {
        let mut law = started("enhanced-aatp?level=true", OC3);
        for ms in [20, 60] {
            law.on_burst(&BurstReport {
                rtt: Some(Duration::from_millis(ms)),
                ..burst(36_000, 1, 0.0)
            });
        }
        assert_eq!(law.phase(), "S3");
        law.on_bandwidth(&estimate(OC3));
        assert_eq!(law.phase(), "start");
        let unmeasured = BurstReport {
            rtt: None,
            ..burst(18_000, 1, 0.0)
        };
        assert_eq!(law.on_burst(&unmeasured), RANDOM);
        near(packets_per_sec(&*law), 9907.2);
    }

    #[test]
    fn an_allotment_of_nothing_is_survived() {
        let mut law = started("enhanced-aatp", OC3);
        for _ in 0..1000 {
            law.on_burst(&BurstReport {
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
        assert!(bits_per_sec(&*law) >= 1.0);
    }
}
