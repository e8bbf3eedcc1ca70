//! CCaFR on any algorithm with a window: `vegas+ccafr`.
//!
//! S. Ahmad, M. J. Arshad, Appl. Sci. 9(21), 4698, 2019, section 6: "The proposed algorithm can be
//! used for the protocols that use delay as congestion indicator and adjust their congestion window
//! on each RTT." The paper does not try it.
//!
//! * outside of the mode the algorithm is alone
//! * in the mode (`mod.rs`) each acknowledgment raises the algorithm's window as Algorithm 1 does,
//!   with (1) of the paper as the step: `w <- min(2w, (1 - gamma)*w + gamma*(baseRTT/RTT*f + alpha))`,
//!   f the packets in flight when the acknowledged packet was sent
//! * the algorithm sees each acknowledgment too, and may move its window up or down by itself
//!
//! Units: windows in bytes, alpha in packets.
//!
//! **Physics.** (1) asks for f*baseRTT/RTT packets on the wire and alpha in the queue, with each
//! acknowledgment of a round trip: the window grows by up to alpha in a round trip, and by nothing
//! when alpha packets wait. An algorithm that keeps about alpha packets in the queue, as Vegas and
//! Copa do, finds nothing to correct when the mode ends.
//!
//! **When it works.** Single losses on paths whose queue is short, under an algorithm that grows by
//! less than alpha in a round trip: Vegas grows by one. Copa doubles its speed each round trip and
//! hardly gains.
//!
//! **Limits.** An algorithm that follows a model of the path (BBR, whimbrel) has no window that a
//! layer could raise, and refuses it. An algorithm with a step of its own (FAST) takes it from here
//! in the mode, so `fast+ccafr` is EMFAST but for two points: the RTT of (1) is the sample, not the
//! mean, and baseRTT is the transport's minimum.

use super::{AfterRecovery, GAP_AT_EQUALITY, Growth, IPD_TOLERANCE, RTT_TOLERANCE, WINDOWS};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, Controller, Loss, LossResponse, Timeout, forward};
use crate::registry::entry::{Domain, LayerEntry, Parameter, code};
use whimbrel_units::{Bytes, Time};

/// The registry entry.
pub(crate) static ENTRY: LayerEntry = LayerEntry {
    name: "ccafr",
    code: code!("after_recovery/layer.rs", "after_recovery/mod.rs"),
    summary: "After a fast recovery the window grows with every acknowledgment until the link is \
              full",
    citation: "S. Ahmad, M. J. Arshad, \"Enhanced Multistream Fast TCP: Rapid Bandwidth \
               Utilization after Fast-Recovery Phase\", Appl. Sci. 9(21), 4698, 2019, section 6",
    parameters: &[
        Parameter {
            name: "alpha",
            domain: Domain::Number {
                default: 3.0,
                range: (0.0, 100_000.0),
            },
            meaning: "packets in the queue up to which the window grows in a step",
        },
        Parameter {
            name: "gamma",
            domain: Domain::Number {
                default: 0.5,
                range: (0.01, 1.0),
            },
            meaning: "fraction of the distance that a step covers",
        },
        WINDOWS,
        IPD_TOLERANCE,
        RTT_TOLERANCE,
        GAP_AT_EQUALITY,
    ],
    build: |setup, values, controller| {
        Box::new(Ccafr {
            controller,
            mode: AfterRecovery::new(values),
            alpha: values.number("alpha"),
            gamma: values.number("gamma"),
            mss: setup.mss.get().max(1),
            recovered: None,
            owed: 0.0,
        })
    },
};

/// An algorithm with CCaFR.
#[derive(Debug, Clone)]
struct Ccafr {
    controller: Box<dyn Controller>,
    mode: AfterRecovery,
    alpha: f64,
    gamma: f64,
    mss: u64,
    /// When the last recovery ended, and the window after it.
    recovered: Option<(Time, u64)>,
    /// The fraction of a byte by which `w + 1/w` is still to grow.
    owed: f64,
}

impl Ccafr {
    /// Equation (1), bytes.
    fn step(&self, cwnd: u64, ack: &Ack) -> Option<u64> {
        let rtt = ack.rtt.filter(|rtt| !rtt.is_zero())?;
        let held = ack.newest.map_or(cwnd, |at| match self.recovered {
            Some((ended, left)) if at.sent <= ended => left,
            _ => at.in_flight.get(),
        });
        let on_wire = ack.min_rtt.as_secs_f64() / rtt.as_secs_f64() * held.min(cwnd) as f64;
        let equilibrium = on_wire + self.alpha * self.mss as f64;
        let next = (1.0 - self.gamma) * cwnd as f64 + self.gamma * equilibrium;
        Some((next as u64).min(cwnd.saturating_mul(2)))
    }

    /// `w + 1/w` in packets, bytes.
    fn drift(&mut self, cwnd: u64, ack: &Ack) -> u64 {
        let share = ack.acked.get().min(cwnd) as f64 / cwnd as f64;
        let bytes = self.owed + self.mss as f64 * share;
        let whole = bytes as u64;
        self.owed = (bytes - whole as f64).clamp(0.0, 1.0);
        cwnd.saturating_add(whole)
    }
}

#[deny(clippy::missing_trait_methods)]
impl Controller for Ccafr {
    forward!(self => self.controller;
        on_sent, on_sent_limits, on_packet_lost, cwnd, raise_window, ssthresh, pacing_rate,
        send_quantum, classifies_losses, transport_features, path_changes, fast_recovery,
        on_siblings);

    fn on_ack(&mut self, ack: &Ack) {
        let segments = self.controller.cwnd().get() as f64 / self.mss as f64;
        let spacing = self.mode.measure(segments, ack);
        self.controller.on_ack(ack);
        if !Window::may_grow(ack) {
            return;
        }
        let Some(growth) = self.mode.on_ack(ack, spacing) else {
            return;
        };
        let cwnd = self.controller.cwnd().get();
        let next = match growth {
            Growth::OneOverWindow => Some(self.drift(cwnd, ack)),
            Growth::Step => self.step(cwnd, ack),
        };
        if let Some(next) = next.filter(|next| *next > cwnd) {
            self.controller.raise_window(Bytes::new(next));
        }
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        let response = self.controller.on_loss(loss);
        // A loss that leaves the window where it was leaves nothing to refill.
        if response.reduced {
            self.mode.on_loss(loss.signal);
        } else {
            self.mode.stop();
        }
        response
    }

    fn on_recovery_end(&mut self, now: Time) {
        self.controller.on_recovery_end(now);
        self.recovered = Some((now, self.controller.cwnd().get()));
        self.mode.on_recovery_end();
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.mode.stop();
        self.controller.on_timeout(timeout);
    }

    fn on_spurious(&mut self, now: Time) {
        self.mode.stop();
        self.controller.on_spurious(now);
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.mss = mss.get().max(1);
        self.controller.on_mss(mss);
    }

    fn phase(&self) -> &'static str {
        let own = self.mode.phase();
        own.unwrap_or_else(|| self.controller.phase())
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bottleneck, MSS, built};
    use whimbrel_units::{Duration, Rate};

    const MS: Duration = Duration::from_millis(1);

    /// Bytes delivered within 6 s after a loss on a path of 1.5 Mbit/s and 240 ms.
    fn after_a_loss(name: &str) -> u64 {
        let mut path = Bottleneck::new(Rate::from_bits_per_sec(1_500_000), 20);
        path.add(built(name, 2), MS * 240);
        path.run(Duration::from_secs(60));
        path.loss = 1.0;
        path.run(MS * 6);
        path.loss = 0.0;
        let before = path.flows[0].delivered;
        path.run(Duration::from_secs(6));
        path.flows[0].delivered - before
    }

    #[test]
    fn vegas_refills_the_link_sooner_with_it() {
        let (alone, with) = (after_a_loss("vegas"), after_a_loss("vegas+ccafr"));
        // About 25 packets are missing, and Vegas adds one in each of 25 round trips.
        assert!(with > alone + 30 * MSS, "{with} {alone}");
    }

    #[test]
    fn without_losses_it_changes_nothing() {
        for name in ["vegas", "copa", "newreno"] {
            let run = |name: &str| {
                let mut path = Bottleneck::new(Rate::from_bits_per_sec(8_000_000), 10_000);
                path.add(built(name, 10), MS * 50);
                path.run(Duration::from_secs(10));
                path.flows[0].delivered
            };
            assert_eq!(run(name), run(&format!("{name}+ccafr")), "{name}");
        }
    }

    #[test]
    fn an_algorithm_without_a_window_of_its_own_refuses_it() {
        let error = "bbr+ccafr".parse::<crate::Spec>().expect_err("refused");
        assert!(error.to_string().contains("vegas+ccafr"), "{error}");
        assert!("vegas+ccafr+cerl".parse::<crate::Spec>().is_ok());
        assert!("vegas+cerl+ccafr".parse::<crate::Spec>().is_ok());
        assert!("vegas+ccafr+ccafr".parse::<crate::Spec>().is_err());
    }
}
