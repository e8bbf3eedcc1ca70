//! AATP and Enhanced-AATP: laws that set a rate for bursts and are told what became of each.
//!
//! A. Briones, A. Mallorquí, A. Zaballos, R. Martin de Pozuelo, "Wireless Loss Detection over Fairly Shared
//! Heterogeneous Long Fat Networks", Electronics 2021, 10, 987 (Enhanced-AATP; AATP in its section 4, after A. Briones
//! et al., "Adaptive and aggressive transport protocol to provide QoS in cloud data exchange over Long Fat
//! Networks", Future Generation Computer Systems 115, 2021).
//!
//! `rate` is the law of the sending rate that both obey, `original` is AATP, `enhanced` is Enhanced-AATP; here is what
//! they share as [`Controller`]s. What a burst is, how it is measured and answered, and how long a sender may go on
//! without an answer are the transport's.
//!
//! * Nothing is sent by such a law before [`on_bandwidth`](Controller::on_bandwidth) has told what the path passes: the
//!   paper estimates it by trains of packets first (3) (4). An estimate of nothing, or with no packet size, is none.
//! * The first rate is a set share of it (section 5.1 step 1), by default 0.8, from where growth is slow by design (9).
//! * A law that is halted and restarted is a new one: a path that gave no answer for so long may be another.
//! * Each report is one decision (7) (26), whichever burst it tells of.
//! * `cwnd` is for those that ask what may be in flight: two intervals at the present rate, one burst on its way and one
//!   whose report is. Until a report has told how long an interval is, it is the initial window. A transport that
//!   sends in bursts follows [`burst_plan`](Controller::burst_plan).
//! * Acknowledgments, episodes of loss and timeouts are not of this world: they change nothing.

mod enhanced;
mod original;
mod rate;

#[cfg(test)]
mod closed_loop;
#[cfg(test)]
mod testing;

pub(crate) use enhanced::ENTRY as ENHANCED;
pub(crate) use original::ENTRY as ORIGINAL;

use crate::interface::{
    Ack, Bandwidth, BurstPlan, BurstReport, Controller, Loss, LossResponse, Timeout,
};
use crate::registry::entry::{Parameter, Setup, Value};
use rate::SendingRate;
use std::fmt::Debug;
use whimbrel_units::{Bytes, Rate};

const INITIAL_SHARE: Parameter = Parameter {
    name: "initial_share",
    default: Value::Number(0.8),
    range: (0.01, 1.0),
    meaning: "share of the estimated (or allotted) bandwidth to begin with",
};

/// The part in which the two algorithms differ.
trait BurstRule: Clone + Debug + Send + Sync + 'static {
    /// Whether it tells random loss from congestion.
    const CLASSIFIES_LOSSES: bool;

    /// The rate that it works towards.
    fn target(&self, bandwidth: &Bandwidth) -> Rate;

    /// Sending starts: what was seen of the path before is void.
    fn restart(&mut self);

    /// One decision on the rate. Answers for the burst's losses, if it had any.
    fn decide(&mut self, rate: &mut SendingRate, burst: &BurstReport) -> Option<LossResponse>;

    /// In a word, since the first decision.
    fn phase(&self) -> &'static str;
}

/// The controller of a rule: it holds the sending rate.
#[derive(Debug, Clone)]
struct BurstController<R> {
    rule: R,
    /// Share of the target to begin with.
    initial_share: f64,
    /// `None` before anything is known of the path.
    rate: Option<SendingRate>,
    decided: bool,
    initial_window: Bytes,
    mss: Bytes,
}

impl<R> BurstController<R> {
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

impl<R: BurstRule> Controller for BurstController<R> {
    fn on_ack(&mut self, _: &Ack) {}

    fn on_loss(&mut self, _: &Loss) -> LossResponse {
        LossResponse::KEPT
    }

    fn on_timeout(&mut self, _: &Timeout) {}

    fn on_bandwidth(&mut self, bandwidth: &Bandwidth) {
        if bandwidth.rate == Rate::ZERO || bandwidth.packet.is_zero() {
            return;
        }
        let target = self.rule.target(bandwidth);
        match &mut self.rate {
            Some(rate) if !bandwidth.restart => rate.renew(bandwidth, target),
            _ => {
                self.rule.restart();
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

    fn burst_plan(&self) -> Option<BurstPlan> {
        self.rate.as_ref().map(SendingRate::plan)
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.mss = mss.max(Bytes::new(1));
        self.initial_window = self.initial_window.max(self.mss);
    }

    fn cwnd(&self) -> Bytes {
        let two = self.rate.as_ref().and_then(SendingRate::two_intervals);
        two.map_or(self.initial_window, |bytes| bytes.max(self.mss))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.burst_plan().map(|plan| plan.rate)
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

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::testing::built;
    use crate::interface::{Bandwidth, BurstReport, Share, Spans};
    use proptest::prelude::*;
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    /// Numbers of every size, zero and the greatest among them.
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
            Bandwidth { now: Time::ZERO, rate, packet: Bytes::new(packet), allocated, restart }
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
        fn whatever_is_reported_the_plan_is_a_rate_and_the_window_a_packet(
            steps in prop::collection::vec((prop::bool::weighted(0.2), any_bandwidth(), any_burst()), 1..100),
        ) {
            for spec in ["aatp", "enhanced-aatp?level=true", "enhanced-aatp?fairness=false"] {
                let mut law = built(spec);
                for (measured, bandwidth, burst) in &steps {
                    let before = law.burst_plan();
                    if *measured {
                        law.on_bandwidth(bandwidth);
                    } else {
                        let response = law.on_burst(burst);
                        prop_assert_eq!(response.is_some(), before.is_some() && burst.has_loss());
                        if response.is_some_and(|r| r.reduced) {
                            prop_assert!(law.burst_plan().map(|p| p.rate) <= before.map(|p| p.rate));
                        }
                    }
                    prop_assert!(law.cwnd() >= Bytes::new(1460), "{}", law.cwnd());
                    if let Some(plan) = law.burst_plan() {
                        prop_assert!(plan.rate > Rate::ZERO);
                        prop_assert!(plan.increase >= 0.0 && plan.increase.is_finite());
                    }
                }
            }
        }
    }
}
