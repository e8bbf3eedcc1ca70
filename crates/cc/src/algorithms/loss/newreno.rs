//! NewReno: slow start, congestion avoidance, halving on loss.
//!
//! M. Allman, V. Paxson, E. Blanton, "TCP Congestion Control", RFC 5681, 2009; T. Henderson et al.,
//! "The NewReno Modification to TCP's Fast Recovery Algorithm", RFC 6582, 2012; M. Allman, "TCP
//! Congestion Control with Appropriate Byte Counting", RFC 3465, 2003.
//!
//! * slow start: `cwnd += min(acked, L*SMSS)`, L = 2, 1 after a timeout (RFC 3465 sections 2.2,
//!   2.3)
//! * congestion avoidance: one SMSS for each cwnd of bytes acknowledged (RFC 3465 section 2.1)
//! * loss: `ssthresh = max(FlightSize/2, 2*SMSS)`, `cwnd = ssthresh` (RFC 5681 equation 4)
//! * timeout: the same ssthresh, `cwnd = SMSS` (RFC 5681 section 3.1)
//! * a spurious loss or timeout: window and ssthresh return to their previous values (after RFC
//!   4015)
//!
//! Units: bytes. The subject of RFC 6582, partial acknowledgments and window inflation, is recovery
//! and belongs to the transport.
//!
//! **Choices where the RFCs are silent.** FlightSize counts up to cwnd, which excludes limited
//! transmit as RFC 5681 section 3.2 requires. A loss never raises the window. One ACK counts for at
//! most one cwnd, so that after a stretch ACK the following ACKs do not each add a segment. RFC
//! 4015 would restore FlightSize plus a little to avoid bursts; here the transport spreads bursts.

use crate::building_blocks::hystart::SlowStart;
use crate::building_blocks::rule::{Rule, WindowController, half};
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{Ack, Loss, LossResponse};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "newreno",
    code: code!("algorithms/loss/newreno.rs", "building_blocks/hystart.rs"),
    summary: "Additive increase, halving on loss: the standard that others are compared with",
    citation: "RFC 5681; RFC 6582; RFC 3465",
    parameters: &[
        Parameter {
            name: "L",
            domain: Domain::Number {
                default: 2.0,
                range: (1.0, 2.0),
            },
            meaning: "maximum growth per ACK in slow start, segments (RFC 3465 section 2.3)",
        },
        Parameter {
            name: "hystart",
            domain: Domain::Switch(false),
            meaning: "leave the initial slow start when the RTT rises (HyStart++, RFC 9406)",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Loss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let limit = values.number("L") as u64;
            let rule = NewReno::new(limit, values.switch("hystart"));
            Box::new(WindowController::new(setup, rule))
        },
    },
    kernel: Some("reno"),
    look: Look::of(0, 0),
    ..Entry::BLANK
};

/// The rule of NewReno.
#[derive(Debug, Clone)]
pub(crate) struct NewReno {
    /// The variant of slow start.
    slow_start: SlowStart,
}

impl NewReno {
    /// `limit` is L of RFC 3465, 1 or 2 segments. With `hystart` the initial slow start is
    /// HyStart++ (RFC 9406).
    pub fn new(limit: u64, hystart: bool) -> Self {
        Self {
            slow_start: SlowStart::new(limit, hystart),
        }
    }
}

/// The defaults of the RFCs.
impl Default for NewReno {
    fn default() -> Self {
        Self::new(SLOW_START_LIMIT, false)
    }
}

impl Rule for NewReno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if window.in_slow_start() {
            let left_over = self.slow_start.on_ack(window, ack);
            window.grow_by_counting(left_over);
        } else if Window::may_grow(ack) {
            window.grow_by_counting(ack.acked.get());
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        window.reduce_to(half(window, loss.in_flight));
        LossResponse::REDUCED
    }

    fn slow_start_phase(&self, window: &Window) -> &'static str {
        self.slow_start.phase(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{Controller, Timeout};
    use crate::testing::{ACK, MSS, Path, loss, newreno, segments, setup, timeout};
    use whimbrel_units::{Bytes, Duration, Time};

    const RTT: Duration = Duration::from_millis(100);

    /// A controller in congestion avoidance with `segments` segments.
    fn avoiding(segments: u64) -> WindowController<NewReno> {
        let mut controller = newreno(2 * segments);
        controller.on_loss(&loss(&controller, Time::ZERO));
        assert_eq!(controller.cwnd(), Bytes::new(segments * MSS));
        controller
    }

    #[test]
    fn slow_start_doubles_the_window_each_round_trip() {
        let mut controller = newreno(10);
        let mut path = Path::new(RTT);
        for expected in [20.0, 40.0, 80.0, 160.0] {
            path.round(&mut controller);
            assert_eq!(segments(&controller), expected);
        }
        assert_eq!(controller.ssthresh(), None);
    }

    #[test]
    fn delayed_acks_slow_down_slow_start_with_l_1_but_not_l_2() {
        // RFC 3465 section 2.3: L = 2 balances delayed ACKs.
        let mut path = Path {
            per_ack: 2,
            ..Path::new(RTT)
        };
        let mut two = newreno(10);
        path.round(&mut two);
        assert_eq!(segments(&two), 20.0);
        let mut one = WindowController::new(&setup(10), NewReno::new(1, false));
        path.round(&mut one);
        assert_eq!(segments(&one), 15.0);
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_per_round_trip() {
        for per_ack in [1, 2] {
            let mut controller = avoiding(20);
            let mut path = Path {
                per_ack,
                ..Path::new(RTT)
            };
            path.rounds_for(&mut controller, RTT * 10);
            // Within one segment: a round of an odd window leaves half an ACK for the next round.
            assert!(
                (29.0..=30.0).contains(&segments(&controller)),
                "{per_ack}: {}",
                segments(&controller)
            );
        }
    }

    #[test]
    fn bytes_beyond_a_full_window_count_for_the_next_one() {
        // RFC 3465 section 2.1. Windows of 10 and 11 are full after 21 segments.
        let mut controller = avoiding(10);
        for _ in 0..7 {
            controller.on_ack(&Ack {
                acked: Bytes::new(3 * MSS),
                ..ACK
            });
        }
        assert_eq!(segments(&controller), 12.0);
    }

    #[test]
    fn one_ack_counts_for_at_most_one_window() {
        let mut controller = avoiding(10);
        controller.on_ack(&Ack {
            acked: Bytes::new(1000 * MSS),
            ..ACK
        });
        assert_eq!(segments(&controller), 11.0);
        for _ in 0..10 {
            controller.on_ack(&ACK);
        }
        assert_eq!(
            segments(&controller),
            11.0,
            "nothing is carried over to later ACKs"
        );
    }

    #[test]
    fn no_growth_in_recovery_or_while_the_window_is_unused() {
        for mut controller in [newreno(10), avoiding(10)] {
            for _ in 0..100 {
                controller.on_ack(&Ack {
                    in_recovery: true,
                    ..ACK
                });
                controller.on_ack(&Ack {
                    cwnd_limited: false,
                    ..ACK
                });
            }
            assert_eq!(segments(&controller), 10.0);
        }
    }

    #[test]
    fn a_loss_halves_the_flight() {
        let mut controller = newreno(40);
        // An application that uses 30 of its 40 segments (RFC 5681 section 3.1: FlightSize, not
        // cwnd).
        let short = Loss {
            in_flight: Bytes::new(30 * MSS),
            ..loss(&controller, Time::ZERO)
        };
        assert_eq!(controller.on_loss(&short), LossResponse::REDUCED);
        assert_eq!(segments(&controller), 15.0);
        assert_eq!(controller.ssthresh(), Some(Bytes::new(15 * MSS)));
        assert_eq!(controller.phase(), "congestion avoidance");
    }

    #[test]
    fn limited_transmit_does_not_count_as_flight() {
        let mut controller = newreno(40);
        controller.on_loss(&Loss {
            in_flight: Bytes::new(42 * MSS),
            ..loss(&controller, Time::ZERO)
        });
        assert_eq!(segments(&controller), 20.0);
    }

    #[test]
    fn losses_leave_two_segments_and_a_timeout_one() {
        let mut controller = newreno(10);
        for _ in 0..10 {
            controller.on_loss(&loss(&controller, Time::ZERO));
        }
        assert_eq!(segments(&controller), 2.0);
        controller.on_timeout(&timeout(&controller, Time::ZERO));
        assert_eq!(segments(&controller), 1.0);
        assert_eq!(controller.ssthresh(), Some(Bytes::new(2 * MSS)));
    }

    #[test]
    fn after_a_timeout_slow_start_runs_to_half_of_the_flight() {
        let mut controller = newreno(32);
        controller.on_timeout(&timeout(&controller, Time::ZERO));
        assert_eq!(controller.phase(), "slow start");
        // RFC 3465 section 2.3: L is 1 after a timeout.
        controller.on_ack(&Ack {
            acked: Bytes::new(8 * MSS),
            ..ACK
        });
        assert_eq!(segments(&controller), 2.0);
        for _ in 0..14 {
            controller.on_ack(&ACK);
        }
        assert_eq!(segments(&controller), 16.0);
        assert_eq!(controller.phase(), "congestion avoidance");
    }

    #[test]
    fn a_repeated_timeout_does_not_change_ssthresh() {
        let mut controller = newreno(40);
        controller.on_timeout(&timeout(&controller, Time::ZERO));
        controller.on_timeout(&Timeout {
            repeated: true,
            ..timeout(&controller, Time::ZERO)
        });
        assert_eq!(controller.ssthresh(), Some(Bytes::new(20 * MSS)));
        controller.on_spurious(Time::ZERO);
        assert_eq!(segments(&controller), 40.0, "both are undone");
        assert_eq!(controller.ssthresh(), None);
    }

    #[test]
    fn a_spurious_loss_is_undone_once_if_the_window_is_still_lower() {
        let mut controller = newreno(40);
        controller.on_loss(&loss(&controller, Time::ZERO));
        controller.on_mss(Bytes::new(1200));
        controller.on_spurious(Time::ZERO);
        assert_eq!(segments(&controller), 40.0);
        controller.on_loss(&Loss {
            in_flight: Bytes::new(39 * MSS),
            ..loss(&controller, Time::ZERO)
        });
        controller.on_ack(&Ack {
            acked: controller.cwnd(),
            ..ACK
        });
        assert_eq!(
            segments(&controller),
            19.5 + 1.2,
            "the new segment size is kept"
        );

        let mut controller = avoiding(10);
        controller.on_loss(&loss(&controller, Time::ZERO));
        Path::new(RTT).rounds_for(&mut controller, RTT * 10);
        let grown = controller.cwnd();
        controller.on_spurious(Time::ZERO);
        assert_eq!(
            controller.cwnd(),
            grown,
            "it is already above the former 10 segments"
        );
    }

    #[test]
    fn with_hystart_the_initial_slow_start_ends_when_the_rtt_rises() {
        let mut controller = WindowController::new(&setup(10), NewReno::new(2, true));
        let mut path = Path::new(RTT);
        path.round(&mut controller);
        path.rtt = Duration::from_millis(150);
        path.round(&mut controller);
        assert_eq!(controller.phase(), "conservative slow start");
        path.rounds_for(&mut controller, path.rtt * 5);
        assert_eq!(controller.phase(), "congestion avoidance");
        let before = segments(&controller);
        path.rounds_for(&mut controller, path.rtt * 3);
        assert!(segments(&controller) - before <= 3.0);
    }

    #[test]
    fn the_mean_window_matches_the_rfc_tables() {
        // RFC 9438 table 1, from RFC 3649: column "Reno".
        for (packets, expected) in [(100, 12.0), (1_000, 38.0), (10_000, 120.0)] {
            let mut controller = newreno(10);
            let mean = Path::new(RTT).mean_window(&mut controller, packets, 20);
            assert!((mean / expected - 1.0).abs() < 0.05, "1/{packets}: {mean}");
        }
    }
}
