//! mVeno: Veno on each path of a multipath connection, growing by a weight that couples them.
//!
//! P. Dong, J. Wang, J. Huang, H. Wang, G. Min, "Performance Enhancement of Multipath TCP for Wireless Communications With
//! Multiple Radio Interfaces", IEEE Transactions on Communications 64(8), 2016. Only its abstract could be read, and
//! section 2.2.12 of the thesis of T. Saedi (see `cerl`), which gives all but the weights:
//!
//! * `N < beta`: `w += delta/w` for each ACK, a loss costs 1/5; `N >= beta`: `w += delta/w` for every second ACK, a loss
//!   costs 1/2; RTT is the mean of the last round, baseRTT the least measured
//! * weight: `delta = (max_r x_r / sum_r x_r)^2`, `x_r = w_r/T_r` the rate of path r, T_r its smoothed round-trip time.
//!   **This is ours.** On one path it is 1, and mVeno is Veno with `reset=false`.
//!
//! Units: windows in bytes, rates in bytes per second, N and beta in segments.
//!
//! **Where the weight comes from.** A multipath flow is to get as much as one Veno flow would on the best of its paths, and
//! so no more than one on a bottleneck that they share. With losses of probability q and a mean decrease of E (1/5 to 1/2),
//! growth and decrease balance at `delta/w = E*w*q`: `w_r = sqrt(delta/(E_r*q_r))`. A Veno flow alone on path r would have
//! `w_r/sqrt(delta)`, the best of them the rate `max x_r/sqrt(delta)`. That this be `sum x_r` gives delta, whatever E_r,
//! q_r and T_r are. RFC 6356 derives its alpha the same way. A kernel module by an unknown hand that carries mVeno's name
//! (found in a public source index) has this very term, and beside it a second bound, `E_r*w_r^2/(E*T^2*(sum x)^2)`: it makes
//! the growth of a small window that of its square, so that a path once left is never used again. That one is left out.
//!
//! **When not.** With three paths or more, two of them that share a bottleneck without the best one may take more than one
//! flow there, up to `sum x/max x` times one (RFC 6356 has a bound against that for its own law). Where the thesis
//! compares mVeno with others it has one path: it is Veno there. The balance holds where losses come to packets, whosoever
//! they are. Before a drop-tail queue of few flows they come to the flow that grows fastest, and the weighted ones take more.

use crate::algorithms::random_loss::veno::{BETA, Veno};
use crate::building_blocks::rule::{Rule, WindowController};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, Loss, LossResponse, Sibling, Timeout};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, code};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "mveno",
    code: code!(
        "algorithms/random_loss/mveno.rs",
        "algorithms/random_loss/veno.rs"
    ),
    summary: "Veno on each of several paths, which together take no more than one of it",
    citation: "P. Dong et al., \"Performance Enhancement of Multipath TCP for Wireless Communications With Multiple \
               Radio Interfaces\", IEEE Trans. Commun. 64(8), 2016",
    family: Family::RandomLoss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[BETA],
    build: |setup, values| {
        let mveno = Mveno {
            veno: Veno::new(values.number("beta"), false),
            weight: 1.0,
        };
        Box::new(WindowController::new(setup, mveno))
    },
};

/// mVeno's rule for one path.
#[derive(Debug, Clone)]
struct Mveno {
    veno: Veno,
    /// delta, above 0 and at most 1.
    weight: f64,
}

/// delta of paths that stand so; those without a round-trip time yet do not count.
fn weight(paths: &[Sibling]) -> f64 {
    let (mut greatest, mut sum) = (0.0f64, 0.0);
    for path in paths.iter().filter(|path| !path.srtt.is_zero()) {
        let rate = path.cwnd.get() as f64 / path.srtt.as_secs_f64();
        greatest = greatest.max(rate);
        sum += rate;
    }
    if sum > 0.0 {
        (greatest / sum).powi(2)
    } else {
        1.0
    }
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
        text.parse::<Spec>().expect("valid").build(&setup(10))
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
    fn the_weight_is_the_square_of_the_best_paths_share() {
        assert_eq!(weight(&[path(10, 100)]), 1.0);
        assert_eq!(weight(&[path(10, 100), path(10, 100)]), 0.25);
        // 100 and 300 segments a second: (3/4)^2.
        assert_eq!(weight(&[path(10, 100), path(15, 50)]), 0.5625);
        // One that was just left to a single segment: the other grows nearly as one flow, and so does it.
        assert!(weight(&[path(99, 100), path(1, 100)]) > 0.98);
    }

    #[test]
    fn a_path_that_was_never_measured_does_not_count() {
        assert_eq!(weight(&[path(10, 100), path(10, 0)]), 1.0);
        assert_eq!(weight(&[path(10, 0), path(10, 0)]), 1.0);
        assert_eq!(weight(&[]), 1.0);
    }

    #[test]
    fn two_equal_paths_grow_by_a_quarter_of_a_segment_a_round_trip_each() {
        let mut law = built("mveno");
        law.on_loss(&loss(&*law, Time::ZERO));
        law.on_siblings(&[path(5, 100), path(5, 100)], 0);
        let mut way = Path::new(Duration::from_millis(100));
        way.rounds_for(&mut *law, way.rtt * 40);
        assert!(
            (14.0..=15.1).contains(&segments(&*law)),
            "{}",
            segments(&*law)
        );
    }

    /// Bytes delivered in ten minutes by each of the flows through 20 Mbit/s, 50 ms, which lose half a percent at random;
    /// the first `coupled` of them are paths of one connection.
    fn shares(laws: &[&str], coupled: usize) -> Vec<f64> {
        let mut bottleneck = Bottleneck::new(Rate::from_bits_per_sec(20_000_000), 60);
        bottleneck.loss = 0.005;
        for law in laws {
            bottleneck.add(built(law), Duration::from_millis(50));
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
    fn two_paths_that_lose_alike_take_together_what_one_veno_flow_takes() {
        let laws = ["mveno", "mveno", "veno?reset=false"];
        let alone = shares(&laws, 0);
        assert!(
            (1.8..2.2).contains(&((alone[0] + alone[1]) / alone[2])),
            "{alone:?}"
        );
        let coupled = shares(&laws, 2);
        let ratio = (coupled[0] + coupled[1]) / coupled[2];
        assert!((0.85..1.2).contains(&ratio), "{coupled:?}");
        assert!(
            (0.8..1.25).contains(&(coupled[0] / coupled[1])),
            "both are used: {coupled:?}"
        );
    }

    #[test]
    fn a_path_of_its_own_is_filled_whatever_the_weight() {
        // 8 Mbit/s, 50 ms, room for 50: what a quarter of the growth costs is time between two overflows.
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
