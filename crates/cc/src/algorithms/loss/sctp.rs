//! SCTP's congestion control: Reno by counted bytes, with a higher floor.
//!
//! R. Stewart, M. Tuexen, K. Nielsen, "Stream Control Transmission Protocol", RFC 9260, 2022, section 7.2. Its text was to be had
//! only in part; built from what implementations and conformance tests quote of it, of RFC 4960 and of the errata in RFC 8540
//! (Linux' `net/sctp/transport.c`; the tests of networktest.sourceforge.net).
//!
//! * slow start, while `cwnd <= ssthresh`: if the window was fully used, `cwnd += min(acked, L*PMDCS)`, L = 1 (section
//!   7.2.1)
//! * congestion avoidance: `partial_bytes_acked += acked`; once it reaches cwnd with a fully used window, cwnd is taken off it
//!   and `cwnd += PMDCS`; with less in flight it stops at cwnd (section 7.2.2; RFC 8540 sections 3.12, 3.26)
//! * all acknowledged: `partial_bytes_acked = 0` (section 7.2.2)
//! * loss: `ssthresh = max(cwnd/2, 4*PMDCS)`, `cwnd = ssthresh`, `partial_bytes_acked = 0` (section 7.2.3)
//! * T3-rtx: the same ssthresh, `cwnd = PMDCS` (section 7.2.3)
//!
//! Units: bytes; PMDCS is the greatest payload of a packet.
//!
//! **The physics.** Reno's. It differs by the floor of four packets, which keeps enough in flight for three miss
//! indications, by halving the window and not the flight, and by slow start's one packet for each SACK: with one for every second
//! packet the window grows by half in a round trip, not to the double.
//!
//! **When it works, and when not.** As `newreno`. On paths that carry fewer than eight packets the floor holds more than half.
//!
//! **What is the transport's.** Streams, which the law asks for; the rest by the scenario: SACK and fast retransmit upon the third
//! miss indication (`recovery = "sack"`), a SACK for every second packet, at the latest after 200 ms (`ack_every = 2`,
//! `ack_delay = "200 ms"`), RTO.Min of 1 s (`min_rto = "1 s"`), the initial window `min(4*PMDCS, max(2*PMDCS, 4404))`
//! (`initial_window`: 4 packets up to 1101 B, 3 up to 1468 B). Highest TSN newly acknowledged (HTNA, section 7.2.4) is what RFC 6675
//! does for originals.
//!
//! **Where it departs.** A loss never raises the window, as RFC 9260 would below four packets. An idle association keeps its
//! window (section 7.2.1 halves it once per RTO down to four packets: the law hears of no idle time). Duplicates that
//! the receiver reports do not count.

use crate::building_blocks::rule::{Rule, WindowController};
use crate::building_blocks::window::Window;
use crate::interface::{Ack, Loss, LossResponse, Timeout, TransportFeatures};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "sctp",
    code: code!("algorithms/loss/sctp.rs"),
    summary: "SCTP's: Reno by counted bytes, never less than four packets after a loss, several streams",
    citation: "RFC 9260 section 7.2",
    family: Family::Loss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[Parameter {
        name: "L",
        default: Value::Number(1.0),
        range: (1.0, 2.0),
        meaning: "most packets slow start grows by per SACK (RFC 9260 section 7.2.1)",
    }],
    build: |setup, values| {
        let rule = Sctp {
            limit: values.number("L") as u64,
            partial_bytes_acked: 0,
        };
        Box::new(
            WindowController::new(setup, rule).with_transport_features(TransportFeatures::STREAMS),
        )
    },
};

/// SCTP's rule.
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

    fn ack(law: &mut dyn Controller, acked: u64, limited: bool) -> f64 {
        law.on_ack(&Ack {
            acked: Bytes::new(acked * MSS),
            cwnd_limited: limited,
            ..ACK
        });
        segments(law)
    }

    /// With 11 packets, of which none counts yet.
    fn avoiding() -> Box<dyn Controller> {
        let mut law = built("sctp", 20);
        law.on_loss(&loss(&*law, Time::ZERO));
        assert_eq!(segments(&*law), 10.0);
        // At ssthresh it is slow start's turn once more (section 7.2.1: "less than or equal to").
        assert_eq!(ack(&mut *law, 1, true), 11.0);
        law
    }

    #[test]
    fn slow_start_adds_one_packet_for_each_sack_of_a_full_window() {
        let mut law = built("sctp", 4);
        assert_eq!(ack(&mut *law, 2, true), 5.0);
        assert_eq!(ack(&mut *law, 2, false), 5.0);
        law.on_ack(&Ack {
            acked: Bytes::new(300),
            ..ACK
        });
        assert_eq!(segments(&*law), 5.3);
        // A SACK for every second packet: by half in a round trip.
        let mut law = built("sctp", 16);
        let mut path = Path {
            per_ack: 2,
            ..Path::new(Duration::from_millis(100))
        };
        path.round(&mut *law);
        assert_eq!(segments(&*law), 24.0);
    }

    #[test]
    fn congestion_avoidance_adds_a_packet_for_each_window_acknowledged() {
        let mut law = avoiding();
        for _ in 0..10 {
            assert_eq!(ack(&mut *law, 1, true), 11.0);
        }
        assert_eq!(ack(&mut *law, 1, true), 12.0);
        for _ in 0..11 {
            assert_eq!(ack(&mut *law, 1, true), 12.0);
        }
        assert_eq!(ack(&mut *law, 1, true), 13.0);
    }

    #[test]
    fn a_window_that_is_not_used_collects_one_packets_worth_of_growth_and_no_more() {
        // RFC 8540 section 3.26.
        let mut law = avoiding();
        for _ in 0..100 {
            assert_eq!(ack(&mut *law, 1, false), 11.0);
        }
        assert_eq!(ack(&mut *law, 1, true), 12.0);
        for _ in 0..10 {
            assert_eq!(ack(&mut *law, 1, true), 12.0);
        }
        assert_eq!(
            ack(&mut *law, 1, true),
            13.0,
            "one was left over, eleven came"
        );
    }

    #[test]
    fn when_all_is_acknowledged_counting_begins_anew() {
        let mut law = avoiding();
        ack(&mut *law, 10, true);
        law.on_ack(&Ack {
            in_flight: Bytes::ZERO,
            cwnd_limited: false,
            ..ACK
        });
        assert_eq!(ack(&mut *law, 10, true), 11.0);
        assert_eq!(ack(&mut *law, 1, true), 12.0);
    }

    #[test]
    fn a_loss_halves_the_window_whatever_is_in_flight_and_leaves_four_packets() {
        for (before, after) in [(40, 20.0), (8, 4.0), (6, 4.0), (3, 3.0)] {
            let mut law = built("sctp", before);
            law.on_loss(&Loss {
                in_flight: Bytes::new(MSS),
                ..loss(&*law, Time::ZERO)
            });
            assert_eq!(segments(&*law), after, "{before}");
            assert!(law.ssthresh() >= Some(Bytes::new(4 * MSS)));
        }
    }

    #[test]
    fn a_timeout_leaves_one_packet_and_half_of_the_window_to_slow_start() {
        let mut law = built("sctp", 40);
        law.on_timeout(&timeout(&*law, Time::ZERO));
        assert_eq!(segments(&*law), 1.0);
        assert_eq!(law.ssthresh(), Some(Bytes::new(20 * MSS)));
        for expected in [2.0, 3.0] {
            assert_eq!(ack(&mut *law, 1, true), expected);
        }
    }

    #[test]
    fn it_asks_for_streams() {
        assert!(built("sctp", 10).transport_features().streams);
    }
}
