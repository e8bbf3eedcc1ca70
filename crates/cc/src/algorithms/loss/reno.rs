//! Reno: NewReno's window, with a fast recovery that ends at the first acknowledgment of new data.
//!
//! V. Jacobson, "Modified TCP Congestion Avoidance Algorithm", mail to end2end-interest, 30 April
//! 1990; M. Allman, V. Paxson, W. Stevens, "TCP Congestion Control", RFC 2581, 1999, and its
//! successor RFC 5681, 2009, section 3.
//!
//! * slow start: `cwnd += min(acked, SMSS)` per ACK (RFC 5681 equation 2), so L = 1
//! * the rest of the window rules: as in `newreno.rs`
//! * recovery: ends with the first ACK of new data (RFC 5681 section 3.2 step 6):
//!   [`FastRecovery::UntilFirstAck`]
//!
//! **Physics.** One loss in a window halves it, as in NewReno. Of several losses in one window each
//! begins its own episode, because the first new ACK ends the episode before. The window is halved
//! for each, until too few packets are in flight for three duplicate ACKs and only the timer is
//! left. RFC 6582 was written to correct this. With SACK there is no difference.
//!
//! **Limits.** Reno performs badly where losses come in bursts: after the overshoot of slow start,
//! on a fading channel.
//!
//! The transport implements recovery. The sources, and the comparison by Fall and Floyd that a test
//! below follows, are cited from memory.

use crate::building_blocks::rule::{Rule, WindowController, grow_as_reno, half};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, FastRecovery, Loss, LossResponse};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "reno",
    code: code!("algorithms/loss/reno.rs"),
    summary: "Predecessor of NewReno: recovery ends at the first new ACK, and every further loss \
              halves again",
    citation: "RFC 2581; RFC 5681",
    parameters: &[Parameter {
        name: "L",
        domain: Domain::Number {
            default: 1.0,
            range: (1.0, 2.0),
        },
        meaning: "maximum growth per ACK in slow start, segments (RFC 5681 equation 2: one)",
    }],
    feed: Feed::Acknowledgments {
        family: Family::Loss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let limit = values.number("L") as u64;
            Box::new(WindowController::new(setup, Reno { limit }))
        },
    },
    kernel: Some("reno"),
    look: Look::of(20, 9),
    ..Entry::BLANK
};

/// The rule of Reno.
#[derive(Debug, Clone)]
struct Reno {
    /// L, segments.
    limit: u64,
}

impl Rule for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        grow_as_reno(window, ack, self.limit);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        window.reduce_to(half(window, loss.in_flight));
        LossResponse::REDUCED
    }

    fn fast_recovery(&self) -> FastRecovery {
        FastRecovery::UntilFirstAck
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::registry::Spec;
    use crate::testing::{Bottleneck, Path, loss, segments, setup, timeout};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    const RTT: Duration = Duration::from_millis(100);

    fn reno(segments: u64) -> Box<dyn Controller> {
        let spec: Spec = "reno".parse().expect("a known controller");
        spec.build(&setup(segments)).expect("fed acknowledgments")
    }

    #[test]
    fn recovery_ends_at_the_first_new_ack() {
        assert_eq!(reno(10).fast_recovery(), FastRecovery::UntilFirstAck);
    }

    #[test]
    fn delayed_acks_slow_down_slow_start() {
        // RFC 5681 equation 2: one SMSS per ACK. With an ACK for every second segment the window
        // grows by a factor of 1.5 per round trip.
        let mut controller = reno(10);
        let mut path = Path {
            per_ack: 2,
            ..Path::new(RTT)
        };
        path.round(&mut *controller);
        assert_eq!(segments(&*controller), 15.0);
    }

    #[test]
    fn three_episodes_in_one_window_leave_an_eighth() {
        // K. Fall, S. Floyd, "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", CCR
        // 26(3), 1996.
        let mut controller = reno(32);
        for left in [16.0, 8.0, 4.0] {
            controller.on_loss(&loss(&*controller, Time::ZERO));
            assert_eq!(segments(&*controller), left);
        }
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 1.0);
        assert_eq!(controller.ssthresh(), Some(Bytes::new(2_000)));
    }

    #[test]
    fn the_mean_window_matches_the_rfc_tables() {
        // RFC 9438 table 1, from RFC 3649: column "Reno".
        for (packets, expected) in [(1_000, 38.0), (10_000, 120.0)] {
            let mean = Path::new(RTT).mean_window(&mut *reno(10), packets, 20);
            assert!((mean / expected - 1.0).abs() < 0.05, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn a_single_flow_fills_a_link_with_a_buffer_of_one_bdp() {
        // 10 Mbit/s and 100 ms: 125 packets in flight and 125 in the buffer. The window oscillates
        // between 250 and 125 packets.
        let mut link = Bottleneck::new(Rate::from_bits_per_sec(10_000_000), 125);
        link.add(reno(10), RTT);
        link.run(Duration::from_secs(60));
        let before = link.flows[0].delivered;
        link.run(Duration::from_secs(60));
        let rate = link.flows[0].rate_since(before, Duration::from_secs(60));
        assert!(rate.as_bits_per_sec() > 9_900_000, "{rate}");
    }
}
