//! TCP-RTA's controller for short paths: NewReno with byte counting that reduces by a third instead
//! of a half.
//!
//! R. Srinivasan, J. J. Garcia-Luna-Aceves, "TCP-RTA: Real-time Topology Adaptive Congestion
//! Control Strategy in TCP", University of California, Santa Cruz, 2022: Algorithm 2 lines 2 to 5,
//! Algorithm 3 lines 9 to 25, enhancements 1 to 3.
//!
//! * slow start: `cwnd = min(cwnd + segments acked * MSS, ssthresh)`; what ssthresh cuts off counts
//!   in congestion avoidance
//! * congestion avoidance: one MSS per window of bytes acknowledged
//! * loss: `ssthresh = 2/3 * bytes in flight`, at least two segments, `cwnd = ssthresh`
//!
//! **Physics.** Reno halves because its queue may hold as much as the path: half of the flight then
//! fills the path (Jacobson 1988). Keeping two thirds loses less throughput where queues are short,
//! leaves a standing queue where they are long, and takes more than a fair share from a competing
//! Reno flow: with increase 1 and decrease 1/3 the mean window is `sqrt(2.5/p)` segments, 1.29
//! times Reno's `sqrt(1.5/p)`. The paper's claim that fairness does not change overlooks this.
//!
//! Units: bytes.
//!
//! **Choices where the source is silent.** A timeout keeps two thirds as ssthresh too, as in ns-3,
//! for which the algorithm was written and which uses the same function for both. Slow start after
//! a timeout counts one segment per acknowledgment (RFC 3465 section 2.3), otherwise as many as
//! were acknowledged. Growth is in bytes, not in whole segments.

use crate::building_blocks::rule::{Rule, WindowController, grow_as_reno};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, Loss, LossResponse, Timeout};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Look, code};
use whimbrel_units::Bytes;

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "rta-newreno",
    code: code!("algorithms/adaptive/rta/newreno.rs"),
    summary: "TCP-RTA's NewReno alone: slow start counts all bytes acknowledged, a loss leaves two \
              thirds",
    citation: super::CITATION,
    parameters: &[],
    feed: Feed::Acknowledgments {
        family: Family::Adaptive,
        driven_by: DrivenBy::Losses,
        build: |setup, _| Box::new(WindowController::new(setup, RtaNewReno)),
    },
    look: Look::of(27, 12),
    ..Entry::BLANK
};

#[derive(Debug, Clone)]
struct RtaNewReno;

/// The window after a loss, without its minimum.
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
    fn slow_start_grows_by_all_bytes_acked_and_stops_at_ssthresh() {
        let mut controller = built("rta-newreno", 30);
        controller.on_ack(&acked(8));
        assert_eq!(
            segments(&*controller),
            38.0,
            "L of RFC 3465 would allow two"
        );
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(
            (segments(&*controller), controller.phase()),
            (1.0, "slow start (NewReno)")
        );
        for _ in 0..40 {
            controller.on_ack(&acked(1));
        }
        // Two thirds of 38,000 bytes are 25,333. 25 more ACKs reach that; the other 15 are less
        // than a window.
        assert_eq!(controller.cwnd(), Bytes::new(25_333));
        assert_eq!(controller.phase(), "congestion avoidance (NewReno)");
    }

    #[test]
    fn a_loss_leaves_two_thirds_of_the_flight() {
        let mut controller = built("rta-newreno", 90);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(
            (segments(&*controller), controller.ssthresh()),
            (60.0, Some(Bytes::new(60_000)))
        );
    }

    #[test]
    fn a_round_trip_of_congestion_avoidance_adds_a_segment() {
        let mut controller = built("rta-newreno", 90);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        let mut path = Path::new(Duration::from_millis(100));
        for expected in [61.0, 62.0, 63.0] {
            path.round(&mut *controller);
            assert_eq!(segments(&*controller), expected);
        }
    }

    #[test]
    fn the_mean_window_exceeds_that_of_reno_by_a_quarter() {
        // RFC 9438 table 1 gives Reno 38 segments at one loss in 1000. From W to 2W/3 and back
        // takes W/3 round trips of 5W/6 on average: 5W^2/18 = 1000 packets, W = 60, and the mean is
        // 50.
        let mut controller = built("rta-newreno", 10);
        let mean = Path::new(Duration::from_millis(100)).mean_window(&mut *controller, 1_000, 20);
        assert!((mean - 50.0).abs() < 2.0, "{mean}");
    }
}
