//! Tahoe: every loss ends in slow start from one segment.
//!
//! V. Jacobson, "Congestion Avoidance and Control", ACM SIGCOMM 1988, sections 1 and 3 and appendix
//! B. Fast retransmit after three duplicate ACKs came with the 4.3BSD release that gave the
//! algorithm its name.
//!
//! * slow start: `cwnd += 1` segment per ACK (section 1)
//! * congestion avoidance: `cwnd += 1/cwnd` per ACK (section 3)
//! * loss, detected by the timer or by duplicate ACKs: `ssthresh = FlightSize/2`, at least two
//!   segments, `cwnd = 1`
//! * no fast recovery: the sender retransmits the lost segment and everything after it:
//!   [`FastRecovery::Never`]
//!
//! **Physics.** A lost packet counts as the end of the flow of ACKs that clocks the sender, so the
//! flow starts again: log2(cwnd/2) round trips of slow start after each loss, in which the path is
//! underused. Several losses in one window cost no more than one, which is where Reno fails.
//!
//! **Limits.** Tahoe performs badly on long paths with random losses. The more round trips lie
//! between two losses, the less the restart weighs, but it always takes time that Reno uses for
//! sending.
//!
//! FlightSize and the byte counting are those of `newreno.rs`. The transport must count the
//! segments in flight at the loss as gone: with a window of one segment, a transport that repairs
//! within the window almost stops. The paper is cited from memory.

use crate::building_blocks::rule::{Rule, WindowController, grow_as_reno, half};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, FastRecovery, Loss, LossResponse};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "tahoe",
    code: code!("algorithms/loss/tahoe.rs"),
    summary: "The first TCP congestion control: slow start from one segment after every loss, no \
              fast recovery",
    citation: "V. Jacobson, \"Congestion Avoidance and Control\", ACM SIGCOMM 1988",
    parameters: &[Parameter {
        name: "L",
        domain: Domain::Number {
            default: 1.0,
            range: (1.0, 2.0),
        },
        meaning: "maximum growth per ACK in the initial slow start, segments (the paper: one)",
    }],
    feed: Feed::Acknowledgments {
        family: Family::Loss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let limit = values.number("L") as u64;
            Box::new(WindowController::new(setup, Tahoe { limit }))
        },
    },
    look: Look::of(30, 14),
    ..Entry::BLANK
};

/// The rule of Tahoe.
#[derive(Debug, Clone)]
struct Tahoe {
    /// L, segments.
    limit: u64,
}

impl Rule for Tahoe {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        grow_as_reno(window, ack, self.limit);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        window.collapse(Some(half(window, loss.in_flight)));
        LossResponse::REDUCED
    }

    fn fast_recovery(&self) -> FastRecovery {
        FastRecovery::Never
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::registry::Spec;
    use crate::testing::{ACK, Bottleneck, Path, loss, segments, setup, timeout};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    const RTT: Duration = Duration::from_millis(100);

    fn tahoe(segments: u64) -> Box<dyn Controller> {
        let spec: Spec = "tahoe".parse().expect("a known controller");
        spec.build(&setup(segments)).expect("fed acknowledgments")
    }

    #[test]
    fn a_loss_has_the_effect_of_a_timeout() {
        let mut lost = tahoe(32);
        assert_eq!(lost.fast_recovery(), FastRecovery::Never);
        assert_eq!(
            lost.on_loss(&loss(&*lost, Time::ZERO)),
            LossResponse::REDUCED
        );
        let mut timed_out = tahoe(32);
        timed_out.on_timeout(&timeout(&*timed_out, Time::ZERO));
        for controller in [lost, timed_out] {
            assert_eq!(segments(&*controller), 1.0);
            assert_eq!(controller.ssthresh(), Some(Bytes::new(16_000)));
            assert_eq!(controller.phase(), "slow start");
        }
    }

    #[test]
    fn after_a_loss_slow_start_runs_to_half_of_the_window() {
        let mut controller = tahoe(32);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        let mut path = Path::new(RTT);
        for expected in [2.0, 4.0, 8.0, 16.0, 17.0, 18.0] {
            path.round(&mut *controller);
            assert_eq!(segments(&*controller), expected);
        }
    }

    #[test]
    fn further_losses_of_the_same_window_cost_little() {
        let mut controller = tahoe(32);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        controller.on_spurious(Time::ZERO);
        assert_eq!(segments(&*controller), 32.0, "a spurious loss is undone");
        controller.on_loss(&loss(&*controller, Time::ZERO));
        controller.on_ack(&ACK);
        assert_eq!(segments(&*controller), 2.0);
    }

    #[test]
    fn the_restarts_keep_the_mean_window_below_that_of_reno() {
        // With N packets between losses the peak is W. Slow start to W/2 takes about W/2 packets
        // and log2(W/2) round trips; congestion avoidance to W takes 3/8 W^2 packets and W/2 round
        // trips. N = 10,000: W = 162.6, which takes 81.3 and 6.3 round trips; 10,000/87.6 = 114.
        let mean = Path::new(RTT).mean_window(&mut *tahoe(10), 10_000, 10);
        assert!((mean / 114.0 - 1.0).abs() < 0.03, "{mean}");
    }

    #[test]
    fn a_single_flow_leaves_the_link_idle_after_each_loss() {
        // 10 Mbit/s and 100 ms: 125 packets in flight and 125 in the buffer. Slow start from one
        // segment to 125 takes 7 round trips, in which the capacity of about six is unused; then
        // the link is full for 125 round trips: about 95 % in all.
        let mut link = Bottleneck::new(Rate::from_bits_per_sec(10_000_000), 125);
        link.add(tahoe(10), RTT);
        link.run(Duration::from_secs(60));
        let before = link.flows[0].delivered;
        link.run(Duration::from_secs(120));
        let rate = link.flows[0].rate_since(before, Duration::from_secs(120));
        let bits = rate.as_bits_per_sec();
        assert!((9_000_000..9_800_000).contains(&bits), "{rate}");
    }
}
