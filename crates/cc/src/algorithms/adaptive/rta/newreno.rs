//! TCP-RTA's side for short paths: NewReno that counts what is acknowledged, and gives up a third instead of a half.
//!
//! R. Srinivasan, J. J. Garcia-Luna-Aceves, "TCP-RTA: Real-time Topology Adaptive Congestion Control Strategy in TCP",
//! University of California, Santa Cruz, 2022: Algorithm 2 lines 2 to 5, Algorithm 3 lines 9 to 25, enhancements 1 to 3.
//!
//! * slow start: `cwnd = min(cwnd + segments acked * MSS, ssthresh)`; what ssthresh cuts off counts in congestion avoidance
//! * congestion avoidance: one MSS once a whole window of bytes is acknowledged
//! * loss: `ssthresh = 2/3 * bytes in flight`, at least two segments, `cwnd = ssthresh`
//!
//! **The physics.** Reno halves because its queue may hold as much as the path: then half of the flight fills the path
//! (Jacobson 1988). To keep two thirds loses less where queues are short, leaves a standing queue where they are long, and
//! takes more than its share from a Reno beside it: with increase 1 and decrease 1/3 a mean window of `sqrt(2.5/p)`
//! segments, 1.29 times Reno's `sqrt(1.5/p)`. The paper's claim that nothing changes in fairness overlooks that.
//!
//! Units: bytes. Where the source is silent: a timeout keeps two thirds as threshold too, as in ns-3, for which it was written
//! and which asks the same function for both; slow start after a timeout counts one segment an acknowledgment (RFC 3465
//! section 2.3), else as many as were acknowledged; growth is of bytes, not of whole segments.

use crate::building_blocks::rule::{Rule, WindowController, grow_as_reno};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, Loss, LossResponse, Timeout};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, code};
use whimbrel_units::Bytes;

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "rta-newreno",
    code: code!("algorithms/adaptive/rta/newreno.rs"),
    summary: "TCP-RTA's NewReno alone: slow start counts all that is acknowledged, a loss leaves two thirds",
    citation: super::CITATION,
    family: Family::Adaptive,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[],
    build: |setup, _| Box::new(WindowController::new(setup, RtaNewReno)),
};

#[derive(Debug, Clone)]
struct RtaNewReno;

/// What a loss leaves, but for its floor.
fn two_thirds(window: &Window, in_flight: Bytes) -> u64 {
    let flight = window.flight(in_flight);
    flight - flight.div_ceil(3)
}

impl Rule for RtaNewReno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        grow_as_reno(window, ack, u64::MAX);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        window.reduce_to(two_thirds(window, loss.in_flight));
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        window.collapse(Some(two_thirds(window, timeout.in_flight)));
    }

    fn slow_start_phase(&self, _: &Window) -> &'static str {
        "slow start (NewReno)"
    }

    fn phase(&self, _: &Window) -> &'static str {
        "congestion avoidance (NewReno)"
    }
}

#[cfg(test)]
mod tests {
    use crate::interface::Ack;
    use crate::testing::{ACK, MSS, Path, built, loss, segments, timeout};
    use whimbrel_units::{Bytes, Duration, Time};

    fn acked(segments: u64) -> Ack {
        Ack {
            acked: Bytes::new(segments * MSS),
            ..ACK
        }
    }

    #[test]
    fn slow_start_grows_by_all_that_was_acknowledged_and_stops_at_ssthresh() {
        let mut law = built("rta-newreno", 30);
        law.on_ack(&acked(8));
        assert_eq!(segments(&*law), 38.0, "L of RFC 3465 would allow two");
        law.on_timeout(&timeout(&*law, Time::ZERO));
        assert_eq!(
            (segments(&*law), law.phase()),
            (1.0, "slow start (NewReno)")
        );
        for _ in 0..40 {
            law.on_ack(&acked(1));
        }
        // Two thirds of 38,000 bytes are 25,333. 25 ACKs more than bring it there; the other 15 are less than a window.
        assert_eq!(law.cwnd(), Bytes::new(25_333));
        assert_eq!(law.phase(), "congestion avoidance (NewReno)");
    }

    #[test]
    fn a_loss_leaves_two_thirds_of_what_is_in_flight() {
        let mut law = built("rta-newreno", 90);
        law.on_loss(&loss(&*law, Time::ZERO));
        assert_eq!(
            (segments(&*law), law.ssthresh()),
            (60.0, Some(Bytes::new(60_000)))
        );
    }

    #[test]
    fn a_round_trip_of_congestion_avoidance_adds_a_segment() {
        let mut law = built("rta-newreno", 90);
        law.on_loss(&loss(&*law, Time::ZERO));
        let mut path = Path::new(Duration::from_millis(100));
        for expected in [61.0, 62.0, 63.0] {
            path.round(&mut *law);
            assert_eq!(segments(&*law), expected);
        }
    }

    #[test]
    fn two_thirds_instead_of_a_half_make_the_mean_window_a_quarter_greater_than_renos() {
        // RFC 9438 table 1 gives Reno 38 segments at one loss in 1000. From W to 2W/3 and back W/3 round trips of 5W/6 in
        // the mean: 5W^2/18 = 1000 packets, W = 60, and the mean 50.
        let mut law = built("rta-newreno", 10);
        let mean = Path::new(Duration::from_millis(100)).mean_window(&mut *law, 1_000, 20);
        assert!((mean - 50.0).abs() < 2.0, "{mean}");
    }
}
