//! Congestion control of SCTP: Reno with byte counting and a larger minimum window.
//!
//! R. Stewart, M. Tuexen, K. Nielsen, "Stream Control Transmission Protocol", RFC 9260, 2022,
//! section 7.2. Only parts of its text were available. The code follows what implementations and
//! conformance tests quote from it, from RFC 4960 and from the errata in RFC 8540 (Linux's
//! `net/sctp/transport.c`; the tests of networktest.sourceforge.net).
//!
//! * slow start, while `cwnd <= ssthresh`: if the window was fully used, `cwnd += min(acked,
//!   L*PMDCS)`, L = 1 (section 7.2.1)
//! * congestion avoidance: `partial_bytes_acked += acked`. When it reaches cwnd with a fully used
//!   window, it is reduced by cwnd and `cwnd += PMDCS`; with a window not fully used it stops at
//!   cwnd (section 7.2.2; RFC 8540 sections 3.12, 3.26)
//! * all data acknowledged: `partial_bytes_acked = 0` (section 7.2.2)
//! * loss: `ssthresh = max(cwnd/2, 4*PMDCS)`, `cwnd = ssthresh`, `partial_bytes_acked = 0` (section
//!   7.2.3)
//! * T3-rtx: the same ssthresh, `cwnd = PMDCS` (section 7.2.3)
//!
//! Units: bytes; PMDCS is the maximum payload of a packet.
//!
//! **Physics.** That of Reno, with three differences. The minimum of four packets keeps enough in
//! flight for three miss indications. A loss halves the window instead of the flight. Slow start
//! grows by one packet per SACK; with a SACK for every second packet the window grows by half per
//! round trip and does not double.
//!
//! **Limits.** As `newreno`. On paths that hold fewer than eight packets the minimum keeps more
//! than half of the window.
//!
//! **Tasks of the transport.** Streams, which this controller requests from the transport. The
//! scenario sets the rest: SACK and fast retransmit after the third miss indication (`recovery =
//! "sack"`), a SACK for every second packet or after 200 ms at the latest (`ack_every = 2`,
//! `ack_delay = "200 ms"`), an RTO.Min of 1 s (`min_rto = "1 s"`), and the initial window
//! `min(4*PMDCS, max(2*PMDCS, 4404))` (`initial_window`: 4 packets up to 1101 B, 3 up to 1468 B).
//! The rule of the highest TSN newly acknowledged (HTNA, section 7.2.4) is what RFC 6675 does for
//! original transmissions.
//!
//! **Departures.** A loss never raises the window, as RFC 9260 would below four packets. An idle
//! association keeps its window (section 7.2.1 halves it once per RTO, down to four packets),
//! because the controller is not notified of idle time. Duplicates reported by the receiver do not
//! count.

use crate::building_blocks::rule::{Rule, WindowController};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, Loss, LossResponse, Timeout, TransportFeatures};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "sctp",
    code: code!("algorithms/loss/sctp.rs"),
    summary: "SCTP's controller: Reno with byte counting, at least four packets after a loss, \
              several streams",
    citation: "RFC 9260 section 7.2",
    parameters: &[Parameter {
        name: "L",
        domain: Domain::Number {
            default: 1.0,
            range: (1.0, 2.0),
        },
        meaning: "maximum growth per SACK in slow start, packets (RFC 9260 section 7.2.1)",
    }],
    feed: Feed::Acknowledgments {
        family: Family::Loss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let rule = Sctp {
                limit: values.number("L") as u64,
                partial_bytes_acked: 0,
            };
            Box::new(
                WindowController::new(setup, rule)
                    .with_transport_features(TransportFeatures::STREAMS),
            )
        },
    },
    look: Look::of(11, 10),
    ..Entry::BLANK
};

/// The rule of SCTP.
#[derive(Debug, Clone)]
struct Sctp {
    /// L, packets.
    limit: u64,
    /// `partial_bytes_acked`.
    partial_bytes_acked: u64,
}

/// `max(cwnd/2, 4*PMDCS)`.
fn threshold(window: &Window) -> u64 {
    (window.cwnd / 2).max(window.mss.saturating_mul(4))
}

impl Rule for Sctp {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let acked = ack.acked.get();
        if window.cwnd <= window.ssthresh {
            if Window::may_grow(ack) {
                let grow = acked.min(self.limit.saturating_mul(window.mss));
                window.cwnd = window.cwnd.saturating_add(grow);
            }
        } else {
            self.partial_bytes_acked = self.partial_bytes_acked.saturating_add(acked);
            if self.partial_bytes_acked >= window.cwnd {
                if Window::may_grow(ack) {
                    self.partial_bytes_acked -= window.cwnd;
                    window.cwnd = window.cwnd.saturating_add(window.mss);
                } else {
                    self.partial_bytes_acked = window.cwnd;
                }
            }
        }
        if ack.in_flight.is_zero() {
            self.partial_bytes_acked = 0;
        }
    }

    fn on_loss(&mut self, window: &mut Window, _loss: &Loss) -> LossResponse {
        self.partial_bytes_acked = 0;
        window.reduce_to(threshold(window));
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, window: &mut Window, _timeout: &Timeout) {
        self.partial_bytes_acked = 0;
        window.collapse(Some(threshold(window)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::testing::{ACK, MSS, Path, built, loss, segments, timeout};
    use whimbrel_units::{Bytes, Duration, Time};

    fn ack(controller: &mut dyn Controller, acked: u64, limited: bool) -> f64 {
        controller.on_ack(&Ack {
            acked: Bytes::new(acked * MSS),
            cwnd_limited: limited,
            ..ACK
        });
        segments(controller)
    }

    /// A controller in congestion avoidance with a window of 11 packets and no bytes counted yet.
    fn avoiding() -> Box<dyn Controller> {
        let mut controller = built("sctp", 20);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 10.0);
        // At ssthresh it is still in slow start (section 7.2.1: "less than or equal to").
        assert_eq!(ack(&mut *controller, 1, true), 11.0);
        controller
    }

    #[test]
    fn slow_start_adds_one_packet_for_each_sack_of_a_full_window() {
        let mut controller = built("sctp", 4);
        assert_eq!(ack(&mut *controller, 2, true), 5.0);
        assert_eq!(ack(&mut *controller, 2, false), 5.0);
        controller.on_ack(&Ack {
            acked: Bytes::new(300),
            ..ACK
        });
        assert_eq!(segments(&*controller), 5.3);
        // With a SACK for every second packet the window grows by half per round trip.
        let mut controller = built("sctp", 16);
        let mut path = Path {
            per_ack: 2,
            ..Path::new(Duration::from_millis(100))
        };
        path.round(&mut *controller);
        assert_eq!(segments(&*controller), 24.0);
    }

    #[test]
    fn congestion_avoidance_adds_a_packet_for_each_window_acknowledged() {
        let mut controller = avoiding();
        for _ in 0..10 {
            assert_eq!(ack(&mut *controller, 1, true), 11.0);
        }
        assert_eq!(ack(&mut *controller, 1, true), 12.0);
        for _ in 0..11 {
            assert_eq!(ack(&mut *controller, 1, true), 12.0);
        }
        assert_eq!(ack(&mut *controller, 1, true), 13.0);
    }

    #[test]
    fn an_unused_window_saves_up_growth_of_one_packet_only() {
        // RFC 8540 section 3.26.
        let mut controller = avoiding();
        for _ in 0..100 {
            assert_eq!(ack(&mut *controller, 1, false), 11.0);
        }
        assert_eq!(ack(&mut *controller, 1, true), 12.0);
        for _ in 0..10 {
            assert_eq!(ack(&mut *controller, 1, true), 12.0);
        }
        assert_eq!(
            ack(&mut *controller, 1, true),
            13.0,
            "one was left over and eleven arrived"
        );
    }

    #[test]
    fn counting_restarts_when_all_data_is_acknowledged() {
        let mut controller = avoiding();
        ack(&mut *controller, 10, true);
        controller.on_ack(&Ack {
            in_flight: Bytes::ZERO,
            cwnd_limited: false,
            ..ACK
        });
        assert_eq!(ack(&mut *controller, 10, true), 11.0);
        assert_eq!(ack(&mut *controller, 1, true), 12.0);
    }

    #[test]
    fn a_loss_halves_the_window_but_leaves_four_packets() {
        for (before, after) in [(40, 20.0), (8, 4.0), (6, 4.0), (3, 3.0)] {
            let mut controller = built("sctp", before);
            controller.on_loss(&Loss {
                in_flight: Bytes::new(MSS),
                ..loss(&*controller, Time::ZERO)
            });
            assert_eq!(segments(&*controller), after, "{before}");
            assert!(controller.ssthresh() >= Some(Bytes::new(4 * MSS)));
        }
    }

    #[test]
    fn a_timeout_leaves_one_packet_and_a_threshold_of_half() {
        let mut controller = built("sctp", 40);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 1.0);
        assert_eq!(controller.ssthresh(), Some(Bytes::new(20 * MSS)));
        for expected in [2.0, 3.0] {
            assert_eq!(ack(&mut *controller, 1, true), expected);
        }
    }

    #[test]
    fn streams_are_requested_from_the_transport() {
        assert!(built("sctp", 10).transport_features().streams);
    }
}
