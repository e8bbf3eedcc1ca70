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
//! the transport. What of it is older than NewReno, [`NewReno::recovering`] chooses: Reno (`reno.rs`) and Tahoe
//! (`tahoe.rs`) have this law, and differ in how losses are repaired.
//!
//! Where the RFCs leave room: FlightSize counts up to cwnd, which leaves out limited transmit as RFC 5681
//! section 3.2 asks; a loss never raises the window; one ACK counts for at most one cwnd, so that
//! a stretch ACK cannot make the next ones grow the window by a segment each. RFC 4015 would restore
//! FlightSize plus a little, against bursts: spreading them is the transport's.

use crate::controller::{Controller, FastRecovery, LossResponse};
use crate::event::{Ack, Loss, Timeout};
use crate::hystart::SlowStart;
use crate::registry::{Entry, Feed, Parameter, Setup, Value};
use crate::window::Window;
use whimbrel_units::{Bytes, Time};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "newreno",
    summary: "Additive increase, halving on loss: the standard every other is measured by",
    citation: "RFC 5681; RFC 6582; RFC 3465",
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
        let law = NewReno::new(setup, values.number("L") as u64);
        Box::new(law.hystart(values.switch("hystart")))
    },
};

/// NewReno's window law.
#[derive(Debug, Clone)]
pub struct NewReno {
    pub(crate) window: Window,
    /// How slow start is done.
    slow_start: SlowStart,
    /// Most segments slow start grows by per ACK.
    limit: u64,
    /// How losses are repaired.
    fast_recovery: FastRecovery,
    /// Bytes acknowledged in congestion avoidance that have not yet made the window grow, fewer than cwnd.
    counted: u64,
    /// Window before the last reduction, if that may yet prove to have been a mistake.
    before: Option<Window>,
}

impl NewReno {
    /// For a new connection; `limit` is L of RFC 3465, 1 or 2 segments.
    pub fn new(setup: &Setup, limit: u64) -> Self {
        let slow_start = SlowStart::new(limit, false);
        Self {
            window: Window::new(setup),
            slow_start,
            limit,
            fast_recovery: FastRecovery::UntilRepaired,
            counted: 0,
            before: None,
        }
    }

    /// Whether the initial slow start is HyStart++'s (RFC 9406); `false` unless said.
    pub fn hystart(mut self, on: bool) -> Self {
        self.slow_start = SlowStart::new(self.limit, on);
        self
    }

    /// How losses are repaired; NewReno's way unless said. Where there is no fast recovery a loss leaves one segment,
    /// as a timeout does: what was in flight is sent again in slow start.
    pub fn recovering(mut self, way: FastRecovery) -> Self {
        self.fast_recovery = way;
        self
    }

    /// What an episode of loss or a timeout leaves: RFC 5681 equation 4, but for its floor.
    fn half(&self, in_flight: Bytes) -> u64 {
        self.window.flight(in_flight) / 2
    }

    /// An episode of loss: window and ssthresh come down to `ssthresh`, until it proves a mistake. This and the next two
    /// are for the laws too that grow as this one does and answer losses in their own way.
    pub(crate) fn reduce_to(&mut self, ssthresh: u64) {
        self.before = Some(self.window);
        self.counted = 0;
        self.window.reduce_to(ssthresh);
    }

    /// An episode of loss that the window is kept for: there will be nothing to take back.
    pub(crate) fn keep(&mut self) {
        self.before = None;
    }

    /// The timer fired: one segment, and slow start to `ssthresh`, which only the first time sets.
    pub(crate) fn collapse(&mut self, ssthresh: u64, repeated: bool) {
        if !repeated {
            self.before = Some(self.window);
        }
        self.counted = 0;
        self.window.collapse((!repeated).then_some(ssthresh));
    }
}

impl Controller for NewReno {
    fn on_ack(&mut self, ack: &Ack) {
        let acked = if self.window.in_slow_start() {
            self.slow_start.on_ack(&mut self.window, ack)
        } else if Window::may_grow(ack) {
            ack.acked.get()
        } else {
            0
        };
        // RFC 3465 section 2.1.
        let cwnd = self.window.cwnd;
        self.counted = self.counted.saturating_add(acked.min(cwnd));
        if self.counted >= cwnd {
            self.counted -= cwnd;
            self.window.cwnd = cwnd.saturating_add(self.window.mss);
        }
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        let ssthresh = self.half(loss.in_flight);
        match self.fast_recovery {
            FastRecovery::Never => self.collapse(ssthresh, false),
            FastRecovery::UntilRepaired | FastRecovery::UntilFirstAck => self.reduce_to(ssthresh),
        }
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.collapse(self.half(timeout.in_flight), timeout.repeated);
    }

    fn on_spurious(&mut self, _now: Time) {
        if let Some(before) = self.before.take() {
            self.window.restore(&before);
        }
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.window.set_mss(mss.get());
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.window.cwnd)
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.window.ssthresh()
    }

    fn fast_recovery(&self) -> FastRecovery {
        self.fast_recovery
    }

    fn phase(&self) -> &'static str {
        if self.window.in_slow_start() {
            self.slow_start.phase(&self.window)
        } else {
            "congestion avoidance"
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ACK, MSS, Path, loss, segments, setup, timeout};
    use whimbrel_units::Duration;

    const RTT: Duration = Duration::from_millis(100);

    /// In congestion avoidance with this many segments.
    fn avoiding(segments: u64) -> NewReno {
        let mut law = NewReno::new(&setup(2 * segments), 2);
        law.on_loss(&loss(&law, Time::ZERO));
        assert_eq!(law.cwnd(), Bytes::new(segments * MSS));
        law
    }

    #[test]
    fn slow_start_doubles_the_window_each_round_trip() {
        let mut law = NewReno::new(&setup(10), 2);
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
        let mut two = NewReno::new(&setup(10), 2);
        path.round(&mut two);
        assert_eq!(segments(&two), 20.0);
        let mut one = NewReno::new(&setup(10), 1);
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
        for mut law in [NewReno::new(&setup(10), 2), avoiding(10)] {
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
        let mut law = NewReno::new(&setup(40), 2);
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
        let mut law = NewReno::new(&setup(40), 2);
        law.on_loss(&Loss {
            in_flight: Bytes::new(42 * MSS),
            ..loss(&law, Time::ZERO)
        });
        assert_eq!(segments(&law), 20.0);
    }

    #[test]
    fn losses_leave_at_least_two_segments_and_a_timeout_one() {
        let mut law = NewReno::new(&setup(10), 2);
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
        let mut law = NewReno::new(&setup(32), 2);
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
        let mut law = NewReno::new(&setup(40), 2);
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
        let mut law = NewReno::new(&setup(40), 2);
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
        let mut law = NewReno::new(&setup(10), 2).hystart(true);
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
            let mut law = NewReno::new(&setup(10), 2);
            let mean = Path::new(RTT).mean_window(&mut law, packets, 20);
            assert!((mean / expected - 1.0).abs() < 0.05, "1/{packets}: {mean}");
        }
    }
}
