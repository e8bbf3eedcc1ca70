//! mVeno: Veno on each path of a multipath connection, with growth weights that couple the paths.
//!
//! P. Dong, J. Wang, J. Huang, H. Wang, G. Min, "Performance Enhancement of Multipath TCP for
//! Wireless Communications With Multiple Radio Interfaces", IEEE Transactions on Communications
//! 64(8), 2016. Only its abstract was available, and section 2.2.12 of the thesis of T. Saedi (see
//! `cerl`), which gives everything except the weights:
//!
//! * `N < beta`: `w += delta/w` per ACK, a loss costs 1/5; `N >= beta`: `w += delta/w` for every
//!   second ACK, a loss costs 1/2; RTT is the mean of the last round, baseRTT the minimum
//! * weight: `delta = (max_r x_r / sum_r x_r)^2`, `x_r = w_r/T_r` the rate of path r, T_r its
//!   smoothed round-trip time. **This is ours.** On one path it is 1, and mVeno is Veno with
//!   `reset=false`.
//!
//! Units: windows in bytes, rates in bytes per second, N and beta in segments.
//!
//! **Origin of the weight.** A multipath flow should get as much as one Veno flow would on its best
//! path, and thus no more than one flow on a shared bottleneck. With a loss rate q and a mean
//! decrease E (1/5 to 1/2), growth and decrease balance at `delta/w = E*w*q`: `w_r =
//! sqrt(delta/(E_r*q_r))`. A single Veno flow on path r would have `w_r/sqrt(delta)`, and the best
//! of them the rate `max x_r/sqrt(delta)`. Equating this with `sum x_r` gives delta, for any E_r,
//! q_r and T_r. RFC 6356 derives its alpha in the same way. A kernel module by an unknown author
//! that has mVeno's name (found in a public source index) has the same term, and a second bound,
//! `E_r*w_r^2/(E*T^2*(sum x)^2)`. That bound makes the growth of a small window proportional to its
//! square, so that a path once left is never used again; it is omitted here.
//!
//! **Limits.** With three or more paths, two of which share a bottleneck without the best one, they
//! may take up to `sum x/max x` times the rate of one flow there (RFC 6356 has a bound against that
//! for its own algorithm). The thesis compares mVeno with others on one path, where it is Veno. The
//! balance holds where losses hit packets independently of the flow. At a drop-tail queue with few
//! flows they hit the fastest-growing flow, and the weighted flows take more.

use crate::algorithms::random_loss::veno::{BETA, Veno};
use crate::building_blocks::rule::{Rule, WindowController};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, Loss, LossResponse, Sibling, Timeout};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Look, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "mveno",
    code: code!(
        "algorithms/random_loss/mveno.rs",
        "algorithms/random_loss/veno.rs"
    ),
    summary: "Veno on each of several paths, which together take no more than one Veno flow",
    citation: "P. Dong et al., \"Performance Enhancement of Multipath TCP for Wireless \
               Communications With Multiple Radio Interfaces\", IEEE Trans. Commun. 64(8), 2016",
    parameters: &[BETA],
    feed: Feed::Acknowledgments {
        family: Family::RandomLoss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let mveno = Mveno {
                veno: Veno::new(values.number("beta"), false),
                weight: 1.0,
            };
            Box::new(WindowController::new(setup, mveno))
        },
    },
    look: Look::of(16, 15),
    ..Entry::BLANK
};

/// The rule of mVeno for one path.
#[derive(Debug, Clone)]
struct Mveno {
    veno: Veno,
    /// delta, above 0 and at most 1.
    weight: f64,
}

/// delta for these paths; paths without an RTT sample do not count.
fn weight(paths: &[Sibling]) -> f64 {
    let (mut max, mut sum) = (0.0f64, 0.0);
    for path in paths.iter().filter(|path| !path.srtt.is_zero()) {
        let rate = path.cwnd.get() as f64 / path.srtt.as_secs_f64();
        max = max.max(rate);
        sum += rate;
    }
    if sum > 0.0 { (max / sum).powi(2) } else { 1.0 }
}

impl Rule for Mveno {
    const CLASSIFIES_LOSSES: bool = true;

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.veno.on_weighted_ack(window, ack, self.weight);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        self.veno.on_loss(window, loss)
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        self.veno.on_timeout(window, timeout);
    }

    fn on_siblings(&mut self, paths: &[Sibling], _own: usize) {
        self.weight = weight(paths);
    }

    fn phase(&self, window: &Window) -> &'static str {
        self.veno.phase(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::registry::Spec;
    use crate::testing::{Bottleneck, MSS, Path, loss, segments, setup};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    fn built(text: &str) -> Box<dyn Controller> {
        text.parse::<Spec>()
            .expect("valid")
            .build(&setup(10))
            .expect("fed acknowledgments")
    }

    fn path(segments: u64, ms: u64) -> Sibling {
        Sibling {
            cwnd: Bytes::new(segments * MSS),
            srtt: Duration::from_millis(ms),
            min_rtt: Duration::from_millis(ms),
            round_rtt: Duration::from_millis(ms),
        }
    }

    #[test]
    fn the_weight_is_the_squared_fraction_of_the_best_path() {
        assert_eq!(weight(&[path(10, 100)]), 1.0);
        assert_eq!(weight(&[path(10, 100), path(10, 100)]), 0.25);
        // 100 and 300 segments per second: (3/4)^2.
        assert_eq!(weight(&[path(10, 100), path(15, 50)]), 0.5625);
        // One path with a single segment: both paths grow almost as fast as a single flow.
        assert!(weight(&[path(99, 100), path(1, 100)]) > 0.98);
    }

    #[test]
    fn a_path_without_rtt_does_not_count() {
        assert_eq!(weight(&[path(10, 100), path(10, 0)]), 1.0);
        assert_eq!(weight(&[path(10, 0), path(10, 0)]), 1.0);
        assert_eq!(weight(&[]), 1.0);
    }

    #[test]
    fn two_equal_paths_grow_by_a_quarter_segment_per_round_trip() {
        let mut controller = built("mveno");
        controller.on_loss(&loss(&*controller, Time::ZERO));
        controller.on_siblings(&[path(5, 100), path(5, 100)], 0);
        let mut way = Path::new(Duration::from_millis(100));
        way.rounds_for(&mut *controller, way.rtt * 40);
        assert!(
            (14.0..=15.1).contains(&segments(&*controller)),
            "{}",
            segments(&*controller)
        );
    }

    /// Bytes delivered in ten minutes by each of the flows through a bottleneck with 20 Mbit/s, 50
    /// ms and 0.5 % random loss. The first `coupled` flows are paths of one connection.
    fn shares(controllers: &[&str], coupled: usize) -> Vec<f64> {
        let mut bottleneck = Bottleneck::new(Rate::from_bits_per_sec(20_000_000), 60);
        bottleneck.loss = 0.005;
        for controller in controllers {
            bottleneck.add(built(controller), Duration::from_millis(50));
        }
        for _ in 0..30_000 {
            let paths: Vec<Sibling> = bottleneck.flows[..coupled]
                .iter()
                .map(|flow| Sibling {
                    cwnd: flow.controller.cwnd(),
                    srtt: flow.srtt,
                    min_rtt: flow.srtt,
                    round_rtt: flow.srtt,
                })
                .collect();
            for (own, flow) in bottleneck.flows[..coupled].iter_mut().enumerate() {
                flow.controller.on_siblings(&paths, own);
            }
            bottleneck.run(Duration::from_millis(20));
        }
        let flows = bottleneck.flows.iter();
        flows.map(|flow| flow.delivered as f64).collect()
    }

    #[test]
    fn two_paths_with_equal_loss_take_as_much_as_one_veno_flow() {
        let controllers = ["mveno", "mveno", "veno?reset=false"];
        let alone = shares(&controllers, 0);
        assert!(
            (1.8..2.2).contains(&((alone[0] + alone[1]) / alone[2])),
            "{alone:?}"
        );
        let coupled = shares(&controllers, 2);
        let ratio = (coupled[0] + coupled[1]) / coupled[2];
        assert!((0.85..1.2).contains(&ratio), "{coupled:?}");
        assert!(
            (0.8..1.25).contains(&(coupled[0] / coupled[1])),
            "both are used: {coupled:?}"
        );
    }

    #[test]
    fn a_separate_path_is_filled_with_any_weight() {
        // 8 Mbit/s, 50 ms and a buffer of 50: a quarter of the growth increases the time between
        // overflows.
        let mut bottleneck = Bottleneck::new(Rate::from_bits_per_sec(8_000_000), 50);
        bottleneck.add(built("mveno"), Duration::from_millis(50));
        bottleneck.flows[0]
            .controller
            .on_siblings(&[path(50, 50), path(50, 50)], 0);
        bottleneck.run(Duration::from_secs(10));
        let (before, span) = (bottleneck.flows[0].delivered, Duration::from_secs(60));
        bottleneck.run(span);
        let got = bottleneck.flows[0].rate_since(before, span);
        assert!(got.as_bits_per_sec() > 7_800_000, "{got:?}");
    }
}
