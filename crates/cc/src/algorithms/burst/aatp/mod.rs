//! AATP and Enhanced-AATP: controllers that set a rate for bursts and receive a report on each
//! burst.
//!
//! A. Briones, A. Mallorquí, A. Zaballos, R. Martin de Pozuelo, "Wireless Loss Detection over
//! Fairly Shared Heterogeneous Long Fat Networks", Electronics 2021, 10, 987 (Enhanced-AATP; AATP
//! in its section 4, after A. Briones et al., "Adaptive and aggressive transport protocol to
//! provide QoS in cloud data exchange over Long Fat Networks", Future Generation Computer Systems
//! 115, 2021).
//!
//! `rate` has the rules of the sending rate for both, `original` is AATP, `enhanced` is
//! Enhanced-AATP, and this file has what they share as [`BurstController`]s. The transport defines
//! what a burst is, how it is measured and answered, and how long a sender may continue without an
//! answer.
//!
//! * Nothing is sent before [`on_bandwidth`](BurstController::on_bandwidth) has reported the path's
//!   bandwidth, which the paper estimates with trains of packets (3) (4). An estimate of zero, or
//!   without a packet size, is ignored.
//! * The first rate is a fixed fraction of the estimate (section 5.1 step 1), by default 0.8, from
//!   where growth is slow by design (9).
//! * A restart creates new state: a path without an answer for so long may be a different one.
//! * Each report leads to one decision (7) (26), whichever burst it describes.
//! * The flight is two intervals at the current rate: one burst in transit and one whose report is
//!   in transit.

mod enhanced;
mod original;
mod rate;

#[cfg(test)]
mod closed_loop;
#[cfg(test)]
mod testing;

pub(crate) use enhanced::ENTRY as ENHANCED;
pub(crate) use original::ENTRY as ORIGINAL;

use crate::interface::{Bandwidth, BurstController, BurstPlan, BurstReport, LossResponse};
use crate::registry::entry::{Domain, Parameter, Setup};
use rate::SendingRate;
use std::fmt::Debug;
use whimbrel_units::{Bytes, Rate};

const INITIAL_SHARE: Parameter = Parameter {
    name: "initial_share",
    domain: Domain::Number {
        default: 0.8,
        range: (0.01, 1.0),
    },
    meaning: "initial rate, fraction of the estimated (or allocated) bandwidth",
};

/// The part in which the two algorithms differ.
trait BurstRule: Debug + Send + Sync + 'static {
    /// Whether the algorithm classifies losses.
    const CLASSIFIES_LOSSES: bool;

    /// The target rate.
    fn target(&self, bandwidth: &Bandwidth) -> Rate;

    /// Sending starts: discards all earlier observations of the path.
    fn restart(&mut self, bandwidth: &Bandwidth);

    /// Makes one decision on the rate. Returns the response to the burst's losses, if it had any.
    fn decide(&mut self, rate: &mut SendingRate, burst: &BurstReport) -> Option<LossResponse>;

    /// The phase since the first decision, in a word.
    fn phase(&self) -> &'static str;
}

/// The controller of a rule; it holds the sending rate.
#[derive(Debug)]
struct Aatp<R> {
    rule: R,
    /// Initial rate as a fraction of the target.
    initial_share: f64,
    /// `None` before the first bandwidth estimate.
    rate: Option<SendingRate>,
    decided: bool,
    initial_window: Bytes,
    mss: Bytes,
}

impl<R> Aatp<R> {
    fn new(rule: R, setup: &Setup, initial_share: f64) -> Self {
        let mss = setup.mss.max(Bytes::new(1));
        Self {
            rule,
            initial_share,
            rate: None,
            decided: false,
            initial_window: setup.initial_window.max(mss),
            mss,
        }
    }
}

impl<R: BurstRule> BurstController for Aatp<R> {
    fn on_bandwidth(&mut self, bandwidth: &Bandwidth) {
        if bandwidth.rate == Rate::ZERO || bandwidth.packet.is_zero() {
            return;
        }
        let target = self.rule.target(bandwidth);
        match &mut self.rate {
            Some(rate) if !bandwidth.restart => rate.renew(bandwidth, target),
            _ => {
                self.rule.restart(bandwidth);
                self.decided = false;
                self.rate = Some(SendingRate::new(bandwidth, target, self.initial_share));
            }
        }
    }

    fn on_burst(&mut self, burst: &BurstReport) -> Option<LossResponse> {
        let rate = self.rate.as_mut()?;
        self.decided = true;
        self.rule.decide(rate, burst)
    }

    fn plan(&self) -> Option<BurstPlan> {
        self.rate.as_ref().map(SendingRate::plan)
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.mss = mss.max(Bytes::new(1));
        self.initial_window = self.initial_window.max(self.mss);
    }

    fn flight(&self) -> Bytes {
        let two = self.rate.as_ref().and_then(SendingRate::two_intervals);
        two.map_or(self.initial_window, |bytes| bytes.max(self.mss))
    }

    fn classifies_losses(&self) -> bool {
        R::CLASSIFIES_LOSSES
    }

    fn phase(&self) -> &'static str {
        if self.decided {
            self.rule.phase()
        } else {
            "start"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::built;
    use crate::interface::{Bandwidth, BurstReport, Share, Spans};
    use proptest::prelude::*;
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    /// Numbers of every magnitude, with zero and the maximum among them.
    fn any_size() -> impl Strategy<Value = u64> {
        prop_oneof![
            8 => (0u32..64).prop_flat_map(|bits| 0..=(u64::MAX >> bits)),
            1 => Just(0),
            1 => Just(u64::MAX),
        ]
    }

    fn any_span() -> impl Strategy<Value = Duration> {
        any_size().prop_map(Duration::from_nanos)
    }

    fn any_rate() -> impl Strategy<Value = Rate> {
        any_size().prop_map(Rate::from_bits_per_sec)
    }

    prop_compose! {
        fn any_bandwidth()(
            rate in any_rate(),
            packet in any_size(),
            allocated in prop::option::of(any_rate()),
            restart in any::<bool>(),
        ) -> Bandwidth {
            Bandwidth { now: Time::ZERO, rate, packet: Bytes::new(packet), allocated, restart, exact: true }
        }
    }

    prop_compose! {
        fn any_share()(
            (allocated, delivered) in (any_rate(), any_rate()),
            (fairness, adapter) in (any::<f64>(), any::<f64>()),
        ) -> Share {
            Share { allocated, delivered, fairness, adapter }
        }
    }

    prop_compose! {
        fn any_burst()(
            (packets, received, lost_before) in any::<(u32, u32, u32)>(),
            (interval, increase) in (any_span(), any::<f64>()),
            spans in prop::option::of((any_span(), any_span())),
            rtt in prop::option::of(any_span()),
            share in prop::option::of(any_share()),
        ) -> BurstReport {
            BurstReport {
                packets,
                received,
                lost_before,
                interval,
                increase,
                spans: spans.map(|(sent, received)| Spans { sent, received }),
                rtt,
                share,
                ..super::testing::BURST
            }
        }
    }

    proptest! {
        #[test]
        fn any_report_gives_a_positive_rate_and_window(
            steps in prop::collection::vec(
                (prop::bool::weighted(0.2), any_bandwidth(), any_burst()),
                1..100,
            ),
        ) {
            for spec in ["aatp", "enhanced-aatp?level=true", "enhanced-aatp?fairness=false"] {
                let (mut controller, mut again) = (built(spec), built(spec));
                for (measured, bandwidth, burst) in &steps {
                    let before = controller.plan();
                    if *measured {
                        controller.on_bandwidth(bandwidth);
                        again.on_bandwidth(bandwidth);
                    } else {
                        let response = controller.on_burst(burst);
                        prop_assert_eq!(again.on_burst(burst), response);
                        prop_assert_eq!(response.is_some(), before.is_some() && burst.has_loss());
                        if response.is_some_and(|r| r.reduced) {
                            let rate = controller.plan().map(|p| p.rate);
                            prop_assert!(rate <= before.map(|p| p.rate));
                        }
                    }
                    prop_assert_eq!(again.plan(), controller.plan());
                    prop_assert!(controller.flight() >= Bytes::new(1460), "{}", controller.flight());
                    if let Some(plan) = controller.plan() {
                        prop_assert!(plan.rate > Rate::ZERO);
                        prop_assert!(plan.increase >= 0.0 && plan.increase.is_finite());
                    }
                }
            }
        }
    }
}
