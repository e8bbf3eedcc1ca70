//! Linked Increases: NewReno on each path of a multipath connection, with increases coupled so that
//! all paths together take no more than one TCP flow would on the best path.
//!
//! C. Raiciu, M. Handley, D. Wischik, "Coupled Congestion Control for Multipath Transport
//! Protocols", RFC 6356, 2011; D. Wischik, C. Raiciu, A. Greenhalgh, M. Handley, "Design,
//! Implementation and Evaluation of Congestion Control for Multipath TCP", NSDI 2011. Equations are
//! those of section 3 of the RFC.
//!
//! * (1) in congestion avoidance, for each ACK on path i: `cwnd_i +=
//!   min(alpha*bytes_acked*MSS_i/cwnd_total, bytes_acked*MSS_i/cwnd_i)`
//! * (2) `alpha = cwnd_total * max(cwnd_i/rtt_i^2) / (sum(cwnd_i/rtt_i))^2`
//!
//! Slow start, fast recovery and halving are those of standard TCP: only the increase differs from
//! Reno.
//!
//! **Physics.** A window settles where increases and halvings balance. n equal paths with a loss
//! rate p have alpha = 1/n. Each grows by `alpha/cwnd_total` per ACK and loses `p*cwnd_i/2`, so
//! that `cwnd_i = sqrt(2/p)/n`: together they have the `sqrt(2/p)` of one TCP flow. (A loss halves
//! the window of one path only, 1/2n of the total, so the increases add up to 1/n of a segment per
//! round trip.) On unequal paths the window moves to the path with fewer losses. The minimum in (1)
//! keeps every path at or below the window of a separate TCP flow, and alpha gives the connection
//! as a whole the rate of one flow on the best path.
//!
//! **Limits.** Like NewReno it does not see delay, and it does not move all of its window away from
//! a congested path.
//!
//! Units: bytes and seconds; alpha has none. Round-trip times are smoothed. A path without an RTT
//! sample is left out of the sums. With one path, or before the transport has reported any, this is
//! NewReno.
//!
//! **Departures.** alpha is computed at every ACK; stacks that avoid divisions compute it when a
//! window has changed. The windows in (2) are those of the controllers, as in RFC 5681, without the
//! inflation of fast recovery. The minimum ssthresh is the two segments of RFC 5681.
//!
//! The RFC itself was not available. The equations, and the sentence on what remains unchanged, are
//! quoted verbatim in INET's MPTCP; the equations are also in ns-3's. Linux's mptcp_coupled.c does
//! the same, ssthresh included.

use crate::building_blocks::aimd::{Aimd, IncreaseDecrease, RENO_DECREASE, RENO_INCREASE};
use crate::building_blocks::rule::WindowController;
use crate::building_blocks::window::Window;
use crate::interface::Sibling;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Look, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "lia",
    code: code!("algorithms/loss/lia.rs"),
    summary: "NewReno with coupled increases: all paths of a connection together take as much as \
              one flow",
    citation: "RFC 6356; Wischik et al., NSDI 2011",
    parameters: &[],
    feed: Feed::Acknowledgments {
        family: Family::Loss,
        driven_by: DrivenBy::Losses,
        build: |setup, _| Box::new(WindowController::new(setup, Aimd(Lia::default()))),
    },
    look: Look::of(40, 8),
    ..Entry::BLANK
};

/// The rule of one path.
#[derive(Debug, Clone)]
struct Lia {
    /// Ratio of the increase (1) to Reno's, from 0 to 1.
    share: f64,
}

impl Default for Lia {
    fn default() -> Self {
        Self { share: 1.0 }
    }
}

/// Ratio of the first term of (1) to the second, at most 1: `alpha*cwnd_own/cwnd_total`. The total
/// in alpha cancels.
fn share(paths: &[Sibling], own: usize) -> f64 {
    let (mut max, mut sum) = (0.0_f64, 0.0);
    for path in paths.iter().filter(|path| !path.srtt.is_zero()) {
        let (cwnd, rtt) = (path.cwnd.get() as f64, path.srtt.as_secs_f64());
        max = max.max(cwnd / (rtt * rtt));
        sum += cwnd / rtt;
    }
    let Some(own) = paths.get(own).filter(|_| sum > 0.0) else {
        return 1.0;
    };
    (own.cwnd.get() as f64 * max / (sum * sum)).min(1.0)
}

impl IncreaseDecrease for Lia {
    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        self.share = share(paths, own);
    }

    fn increase(&self, _: &Window) -> f64 {
        RENO_INCREASE * self.share
    }

    fn decrease(&mut self, _: &Window) -> f64 {
        RENO_DECREASE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::testing::{ACK, MSS, loss, segments, setup};
    use whimbrel_units::{Bytes, Duration, Time};

    fn path(segments: u64, srtt_ms: u64) -> Sibling {
        let srtt = Duration::from_millis(srtt_ms);
        Sibling {
            cwnd: Bytes::new(segments * MSS),
            srtt,
            min_rtt: srtt,
            round_rtt: srtt,
        }
    }

    /// A controller in congestion avoidance with `segments` segments.
    fn avoiding(segments: u64) -> WindowController<Aimd<Lia>> {
        let mut controller = WindowController::new(&setup(2 * segments), Aimd(Lia::default()));
        controller.on_loss(&loss(&controller, Time::ZERO));
        assert_eq!(controller.cwnd(), Bytes::new(segments * MSS));
        controller
    }

    /// The growth of the window over `acks` ACKs, segments.
    fn gained(controller: &mut impl Controller, acks: u64) -> f64 {
        let before = segments(controller);
        (0..acks).for_each(|_| controller.on_ack(&ACK));
        segments(controller) - before
    }

    #[test]
    fn two_equal_paths_grow_by_a_quarter_each() {
        // (2): total 20; max = 10/0.01 = 1000; sum = 200: alpha = 20*1000/40000 = 1/2. (1):
        // alpha/total = 1/40 of a segment per ACK with a window of 10: 1/4 of a segment per round
        // trip, where NewReno adds 1. That is one segment after 40 ACKs, or a little less, because
        // the window grows meanwhile.
        let mut controller = avoiding(10);
        controller.on_siblings(&[path(10, 100), path(10, 100)], 1);
        let gained = gained(&mut controller, 40);
        assert!((0.94..1.0).contains(&gained), "{gained}");
    }

    #[test]
    fn the_better_path_gets_the_window_up_to_that_of_one_flow() {
        // 40 segments at 100 ms and 10 at 200 ms: max = 40/0.01 = 4000, sum = 400 + 50 = 450, so
        // alpha = 50*4000/450^2 = 0.98765. Relative to NewReno: 0.98765*40/50 = 0.790 on the first
        // path, 0.98765*10/50 = 0.1975 on the second.
        let paths = [path(40, 100), path(10, 200)];
        assert!((share(&paths, 0) - 0.790_123).abs() < 1e-6);
        assert!((share(&paths, 1) - 0.197_531).abs() < 1e-6);
        // 10 segments at 10 ms and 90 at 1 s: max = 1e5, sum = 1090: alpha = 100*1e5/1090^2 =
        // 8.417. On the second path that is 8.417*90/100 = 7.6 segments per round trip; the minimum
        // of (1) allows one.
        assert_eq!(share(&[path(10, 10), path(90, 1000)], 1), 1.0);
    }

    #[test]
    fn paths_without_rtt_do_not_count_and_one_path_is_newreno() {
        let alone = |paths: &[Sibling]| (share(paths, 0) - 1.0).abs() < 1e-9;
        assert!(alone(&[path(10, 100)]));
        assert!(alone(&[path(10, 100), path(10, 0)]));
        assert!(alone(&[path(10, 0), path(10, 0)]));
        assert!(alone(&[]));
        let mut controller = avoiding(10);
        let gained = gained(&mut controller, 10);
        assert!((0.94..=1.0).contains(&gained), "{gained}");
    }

    #[test]
    fn extreme_values_of_other_paths_are_harmless() {
        let extreme = |cwnd, srtt| Sibling {
            cwnd: Bytes::new(cwnd),
            srtt: Duration::from_nanos(srtt),
            ..path(1, 1)
        };
        let values = [0, 1, u64::MAX];
        for (a, b) in values.iter().flat_map(|a| values.map(|b| (*a, b))) {
            for own in 0..3 {
                let share = share(&[extreme(a, b), extreme(b, a)], own);
                assert!((0.0..=1.0).contains(&share), "{a} {b}: {share}");
            }
        }
    }

    #[test]
    fn slow_start_and_halving_are_not_coupled() {
        let mut controller = WindowController::new(&setup(10), Aimd(Lia::default()));
        controller.on_siblings(&[path(10, 100), path(10, 100)], 0);
        assert_eq!(gained(&mut controller, 10), 10.0);
        controller.on_loss(&loss(&controller, Time::ZERO));
        assert_eq!(segments(&controller), 10.0);
    }
}
