//! NewReno's window law: slow start, congestion avoidance, halving.
//!
//! M. Allman, V. Paxson, E. Blanton, "TCP Congestion Control", RFC 5681, 2009; T. Henderson et al., "The NewReno
//! Modification to TCP's Fast Recovery Algorithm", RFC 6582, 2012; M. Allman, "TCP Congestion Control with
//! Appropriate Byte Counting", RFC 3465, 2003.
//!
//! * slow start: `cwnd += min(acked, L*SMSS)`, L = 2, 1 after a timeout (RFC 3465 sections 2.2, 2.3)
//! * congestion avoidance: one SMSS for each cwnd of bytes acknowledged (RFC 3465 section 2.1)
//! * loss: `ssthresh = max(FlightSize/2, 2*SMSS)`, `cwnd = ssthresh` (RFC 5681 equation 4)
//! * timeout: the same ssthresh, `cwnd = SMSS` (RFC 5681 section 3.1)
//! * a mistaken one of the two: window and ssthresh are what they were before (after RFC 4015)
//!
//! Units: bytes. RFC 6582's own matter, partial acknowledgments and inflation, is recovery and belongs to
//! the transport.
//!
//! Where the RFCs leave room: FlightSize counts up to cwnd, which leaves out limited transmit as RFC 5681
//! section 3.2 asks; a loss never raises the window; one ACK counts for at most one cwnd, so that
//! a stretch ACK cannot make the next ones grow the window by a segment each. RFC 4015 would restore
//! FlightSize plus a little, against bursts: spreading them is the transport's.

use crate::building_blocks::hystart::SlowStart;
use crate::building_blocks::rule::{Rule, WindowController, half};
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{Ack, Loss, LossResponse};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "newreno",
    code: code!("algorithms/loss/newreno.rs", "building_blocks/hystart.rs"),
    summary: "Additive increase, halving on loss: the standard every other is measured by",
    citation: "RFC 5681; RFC 6582; RFC 3465",
    family: Family::Loss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[
        Parameter {
            name: "L",
            default: Value::Number(2.0),
            range: (1.0, 2.0),
            meaning: "most segments slow start grows by per ACK (RFC 3465 section 2.3)",
        },
        Parameter {
            name: "hystart",
            default: Value::Switch(false),
            range: (0.0, 0.0),
            meaning: "leave the initial slow start when the RTT rises (HyStart++, RFC 9406)",
        },
    ],
    build: |setup, values| {
        let limit = values.number("L") as u64;
        let rule = NewReno::new(limit, values.switch("hystart"));
        Box::new(WindowController::new(setup, rule))
    },
};

/// NewReno's rule.
#[derive(Debug, Clone)]
pub(crate) struct NewReno {
    /// How slow start is done.
    slow_start: SlowStart,
}

impl NewReno {
    /// `limit` is L of RFC 3465, 1 or 2 segments; with `hystart` the initial slow start is HyStart++'s (RFC 9406).
    pub fn new(limit: u64, hystart: bool) -> Self {
        Self {
            slow_start: SlowStart::new(limit, hystart),
        }
    }
}

/// As the RFCs have it.
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

    /// In congestion avoidance with this many segments.
    fn avoiding(segments: u64) -> WindowController<NewReno> {
        let mut law = newreno(2 * segments);
        law.on_loss(&loss(&law, Time::ZERO));
        assert_eq!(law.cwnd(), Bytes::new(segments * MSS));
        law
    }

    #[test]
    fn slow_start_doubles_the_window_each_round_trip() {
        let mut law = newreno(10);
        let mut path = Path::new(RTT);
        for expected in [20.0, 40.0, 80.0, 160.0] {
            path.round(&mut law);
            assert_eq!(segments(&law), expected);
        }
        assert_eq!(law.ssthresh(), None);
    }

    #[test]
    fn delayed_acks_do_not_slow_slow_start_with_l_2_and_do_with_l_1() {
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
    fn congestion_avoidance_adds_one_segment_a_round_trip_with_and_without_delayed_acks() {
        for per_ack in [1, 2] {
            let mut law = avoiding(20);
            let mut path = Path {
                per_ack,
                ..Path::new(RTT)
            };
            path.rounds_for(&mut law, RTT * 10);
            // Within one: a round of an odd window leaves half an ACK to the next.
            assert!(
                (29.0..=30.0).contains(&segments(&law)),
                "{per_ack}: {}",
                segments(&law)
            );
        }
    }

    #[test]
    fn bytes_beyond_a_full_window_count_for_the_next() {
        // RFC 3465 section 2.1. Windows of 10 and 11 are full after 21 segments.
        let mut law = avoiding(10);
        for _ in 0..7 {
            law.on_ack(&Ack {
                acked: Bytes::new(3 * MSS),
                ..ACK
            });
        }
        assert_eq!(segments(&law), 12.0);
    }

    #[test]
    fn one_ack_of_many_windows_counts_as_one_window() {
        let mut law = avoiding(10);
        law.on_ack(&Ack {
            acked: Bytes::new(1000 * MSS),
            ..ACK
        });
        assert_eq!(segments(&law), 11.0);
        for _ in 0..10 {
            law.on_ack(&ACK);
        }
        assert_eq!(segments(&law), 11.0, "nothing of it is left for later ACKs");
    }

    #[test]
    fn nothing_grows_in_recovery_or_while_the_window_is_not_used() {
        for mut law in [newreno(10), avoiding(10)] {
            for _ in 0..100 {
                law.on_ack(&Ack {
                    in_recovery: true,
                    ..ACK
                });
                law.on_ack(&Ack {
                    cwnd_limited: false,
                    ..ACK
                });
            }
            assert_eq!(segments(&law), 10.0);
        }
    }

    #[test]
    fn a_loss_halves_what_is_in_flight() {
        let mut law = newreno(40);
        // An application that used 30 of its 40 segments (RFC 5681 section 3.1: FlightSize, not cwnd).
        let short = Loss {
            in_flight: Bytes::new(30 * MSS),
            ..loss(&law, Time::ZERO)
        };
        assert_eq!(law.on_loss(&short), LossResponse::REDUCED);
        assert_eq!(segments(&law), 15.0);
        assert_eq!(law.ssthresh(), Some(Bytes::new(15 * MSS)));
        assert_eq!(law.phase(), "congestion avoidance");
    }

    #[test]
    fn what_limited_transmit_sent_does_not_count_as_flight() {
        let mut law = newreno(40);
        law.on_loss(&Loss {
            in_flight: Bytes::new(42 * MSS),
            ..loss(&law, Time::ZERO)
        });
        assert_eq!(segments(&law), 20.0);
    }

    #[test]
    fn losses_leave_at_least_two_segments_and_a_timeout_one() {
        let mut law = newreno(10);
        for _ in 0..10 {
            law.on_loss(&loss(&law, Time::ZERO));
        }
        assert_eq!(segments(&law), 2.0);
        law.on_timeout(&timeout(&law, Time::ZERO));
        assert_eq!(segments(&law), 1.0);
        assert_eq!(law.ssthresh(), Some(Bytes::new(2 * MSS)));
    }

    #[test]
    fn after_a_timeout_slow_start_runs_to_half_of_the_flight_by_one_segment_per_ack() {
        let mut law = newreno(32);
        law.on_timeout(&timeout(&law, Time::ZERO));
        assert_eq!(law.phase(), "slow start");
        // RFC 3465 section 2.3: L is 1 after a timeout, whatever one ACK acknowledges.
        law.on_ack(&Ack {
            acked: Bytes::new(8 * MSS),
            ..ACK
        });
        assert_eq!(segments(&law), 2.0);
        for _ in 0..14 {
            law.on_ack(&ACK);
        }
        assert_eq!(segments(&law), 16.0);
        assert_eq!(law.phase(), "congestion avoidance");
    }

    #[test]
    fn a_repeated_timeout_leaves_ssthresh_alone() {
        let mut law = newreno(40);
        law.on_timeout(&timeout(&law, Time::ZERO));
        law.on_timeout(&Timeout {
            repeated: true,
            ..timeout(&law, Time::ZERO)
        });
        assert_eq!(law.ssthresh(), Some(Bytes::new(20 * MSS)));
        law.on_spurious(Time::ZERO);
        assert_eq!(segments(&law), 40.0, "both are taken back");
        assert_eq!(law.ssthresh(), None);
    }

    #[test]
    fn a_mistaken_loss_is_taken_back_once_and_only_if_the_window_is_still_lower() {
        let mut law = newreno(40);
        law.on_loss(&loss(&law, Time::ZERO));
        law.on_mss(Bytes::new(1200));
        law.on_spurious(Time::ZERO);
        assert_eq!(segments(&law), 40.0);
        law.on_loss(&Loss {
            in_flight: Bytes::new(39 * MSS),
            ..loss(&law, Time::ZERO)
        });
        law.on_ack(&Ack {
            acked: law.cwnd(),
            ..ACK
        });
        assert_eq!(segments(&law), 19.5 + 1.2, "the new segment size stayed");

        let mut law = avoiding(10);
        law.on_loss(&loss(&law, Time::ZERO));
        Path::new(RTT).rounds_for(&mut law, RTT * 10);
        let grown = law.cwnd();
        law.on_spurious(Time::ZERO);
        assert_eq!(
            law.cwnd(),
            grown,
            "it has outgrown the 10 segments it once had"
        );
    }

    #[test]
    fn with_hystart_the_initial_slow_start_ends_when_the_rtt_rises() {
        let mut law = WindowController::new(&setup(10), NewReno::new(2, true));
        let mut path = Path::new(RTT);
        path.round(&mut law);
        path.rtt = Duration::from_millis(150);
        path.round(&mut law);
        assert_eq!(law.phase(), "conservative slow start");
        path.rounds_for(&mut law, path.rtt * 5);
        assert_eq!(law.phase(), "congestion avoidance");
        let before = segments(&law);
        path.rounds_for(&mut law, path.rtt * 3);
        assert!(segments(&law) - before <= 3.0);
    }

    #[test]
    fn the_mean_window_is_that_of_the_rfc_tables() {
        // RFC 9438 table 1, from RFC 3649: column "Reno".
        for (packets, expected) in [(100, 12.0), (1_000, 38.0), (10_000, 120.0)] {
            let mut law = newreno(10);
            let mean = Path::new(RTT).mean_window(&mut law, packets, 20);
            assert!((mean / expected - 1.0).abs() < 0.05, "1/{packets}: {mean}");
        }
    }
}
