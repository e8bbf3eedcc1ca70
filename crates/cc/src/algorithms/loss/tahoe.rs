//! Tahoe: every loss ends in slow start from one segment.
//!
//! V. Jacobson, "Congestion Avoidance and Control", ACM SIGCOMM 1988, sections 1 and 3 and appendix B; the
//! retransmission after three duplicate ACKs came with the 4.3BSD release that gave it its name.
//!
//! * slow start: `cwnd += 1` segment per ACK (section 1)
//! * congestion avoidance: `cwnd += 1/cwnd` per ACK (section 3)
//! * loss, whether the timer or duplicate ACKs show it: `ssthresh = FlightSize/2`, at least two segments, `cwnd = 1`
//! * recovery: none; the lost segment is sent again and the rest after it: [`FastRecovery::Never`]
//!
//! **The physics.** A lost packet was taken as the end of the flow of ACKs that clocks the sender, so that the flow
//! must be started anew: log2(cwnd/2) round trips of slow start after each loss, and a path that stands idle in them.
//! Many losses of one window cost no more than one does, where Reno stumbles.
//!
//! **When not.** On a long path with random losses: the more round trips between two losses, the less the restart
//! weighs, but it takes from each epoch what Reno has for sending.
//!
//! FlightSize and the count of bytes acknowledged are those of `newreno.rs`; the segments in flight at the loss are the transport's to count as gone: one that goes on repairing with what one segment allows stands nearly
//! still. The paper was known, not read again.

use crate::building_blocks::rule::{Rule, WindowController, grow_as_reno, half};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, FastRecovery, Loss, LossResponse};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "tahoe",
    code: code!("algorithms/loss/tahoe.rs"),
    summary: "The first: after every loss slow start from one segment, no fast recovery",
    citation: "V. Jacobson, \"Congestion Avoidance and Control\", ACM SIGCOMM 1988",
    family: Family::Loss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[Parameter {
        name: "L",
        default: Value::Number(1.0),
        range: (1.0, 2.0),
        meaning: "most segments the initial slow start grows by per ACK (the paper: one)",
    }],
    build: |setup, values| {
        let limit = values.number("L") as u64;
        Box::new(WindowController::new(setup, Tahoe { limit }))
    },
};

/// Tahoe's rule.
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
        let spec: Spec = "tahoe".parse().expect("in the table");
        spec.build(&setup(segments))
    }

    #[test]
    fn a_loss_does_what_a_timeout_does() {
        let mut lost = tahoe(32);
        assert_eq!(lost.fast_recovery(), FastRecovery::Never);
        assert_eq!(
            lost.on_loss(&loss(&*lost, Time::ZERO)),
            LossResponse::REDUCED
        );
        let mut timed_out = tahoe(32);
        timed_out.on_timeout(&timeout(&*timed_out, Time::ZERO));
        for law in [lost, timed_out] {
            assert_eq!(segments(&*law), 1.0);
            assert_eq!(law.ssthresh(), Some(Bytes::new(16_000)));
            assert_eq!(law.phase(), "slow start");
        }
    }

    #[test]
    fn after_a_loss_it_doubles_to_half_and_then_adds_one_a_round_trip() {
        let mut law = tahoe(32);
        law.on_loss(&loss(&*law, Time::ZERO));
        let mut path = Path::new(RTT);
        for expected in [2.0, 4.0, 8.0, 16.0, 17.0, 18.0] {
            path.round(&mut *law);
            assert_eq!(segments(&*law), expected);
        }
    }

    #[test]
    fn further_losses_of_the_window_find_little_left_to_take() {
        let mut law = tahoe(32);
        law.on_loss(&loss(&*law, Time::ZERO));
        law.on_spurious(Time::ZERO);
        assert_eq!(segments(&*law), 32.0, "a mistake is taken back");
        law.on_loss(&loss(&*law, Time::ZERO));
        law.on_ack(&ACK);
        assert_eq!(segments(&*law), 2.0);
    }

    #[test]
    fn the_mean_window_is_below_renos_by_the_restarts() {
        // With N packets between losses the peak is W: slow start to W/2 takes about W/2 packets and log2(W/2) round
        // trips, congestion avoidance to W takes 3/8 W^2 packets and W/2 round trips. N = 10,000: W = 162.6, of which
        // 81.3 and 6.3 round trips; 10,000/87.6 = 114.
        let mean = Path::new(RTT).mean_window(&mut *tahoe(10), 10_000, 10);
        assert!((mean / 114.0 - 1.0).abs() < 0.03, "{mean}");
    }

    #[test]
    fn alone_it_leaves_a_link_idle_after_each_loss_that_reno_would_fill() {
        // 10 Mbit/s and 100 ms: 125 packets, and as many may wait. From one segment to 125 the slow start takes 7 round
        // trips in which half a dozen are lost; then 125 round trips of a full link: some 95 %, and never all.
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
