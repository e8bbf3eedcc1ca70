//! TCP-NACK: Reno and Westwood on a transport in which corrupted packets are not lost.
//!
//! G. Olmedo, R. Lara-Cueva, D. Martínez, C. de Almeida, "Performance Analysis of a Novel TCP
//! Protocol Algorithm Adapted to Wireless Networks", Future Internet 12(6), 101, 2020,
//! doi:10.3390/fi12060101, sections 2.1 and 2.3; read in full.
//!
//! A segment that arrives corrupted with a readable header is answered by a negative
//! acknowledgment, and is retransmitted at once without a change of cwnd and ssthresh (sections
//! 2.3.4, 2.3.5). The transport implements this (its setting `nack`), for any controller. This file
//! has the two controllers that the paper combines with it. They differ from their bases only in
//! that they request it from the transport ([`TransportFeatures::nack`]).
//!
//! * `tcp-nack`: slow start by one segment per ACK, then one per window, halving after a loss (9)
//! * `tcp-nack-westwood`: after a loss the measured bandwidth times the minimum RTT (10); see
//!   `westwood.rs`
//!
//! Units: bytes, seconds.
//!
//! **Physics.** Reno's rate falls with the square root of the frequency of halvings. Where noise
//! corrupts a fraction p of the packets, Reno halves for each of them. With NACKs it halves only
//! for those whose header was hit, h bits of n, and so runs `sqrt(n/h)` times as fast until the
//! path is full: about five times with 1500-byte packets.
//!
//! **When it works.** Noise that hits few places in a packet, on a link that forwards corrupted
//! packets.
//!
//! **Limits.** Most links drop corrupted frames themselves (Ethernet, Wi-Fi), and there is nothing
//! to acknowledge. On QUIC no corrupted packet can be read, so these controllers are plain Reno and
//! Westwood there.
//!
//! **Choices where the source is silent.** Its base is "TCP-Reno" of Linux 2.6.32. That is the
//! window rule of that name with Linux's recovery, which lasts until everything is repaired, with
//! SACK or without: in effect NewReno (RFC 6582), not the Reno of `reno.rs`, which halves once for
//! each loss of a window. The rule is therefore that of `newreno.rs` with L = 1: that kernel grew
//! by one segment per ACK in slow start. In congestion avoidance it also counted ACKs, not bytes,
//! so with delayed ACKs it grew half as fast as this one does.

use crate::algorithms::bandwidth::westwood;
use crate::algorithms::bandwidth::westwood::Westwood;
use crate::algorithms::loss::newreno::NewReno;
use crate::building_blocks::rule::WindowController;
use crate::interface::TransportFeatures;
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};

const CITATION: &str = "G. Olmedo et al., \"Performance Analysis of a Novel TCP Protocol Algorithm \
                        Adapted to Wireless Networks\", Future Internet 12(6), 2020";

/// The registry entry of TCP-NACK with Reno.
pub(crate) static RENO: Entry = Entry {
    name: "tcp-nack",
    code: code!(
        "algorithms/random_loss/tcp_nack.rs",
        "algorithms/loss/newreno.rs"
    ),
    summary: "Reno that retransmits corrupted packets, reported by NACKs, without reducing the \
              window (on QUIC: plain Reno)",
    citation: CITATION,
    parameters: &[Parameter {
        name: "L",
        domain: Domain::Number {
            default: 1.0,
            range: (1.0, 2.0),
        },
        meaning: "maximum growth per ACK in slow start, segments (RFC 5681 equation 2: one)",
    }],
    feed: Feed::Acknowledgments {
        family: Family::RandomLoss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let rule = NewReno::new(values.number("L") as u64, false);
            Box::new(
                WindowController::new(setup, rule).with_transport_features(TransportFeatures::NACK),
            )
        },
    },
    look: Look::of(12, 12),
    ..Entry::BLANK
};

/// The registry entry of TCP-NACK with Westwood.
pub(crate) static WESTWOOD: Entry = Entry {
    name: "tcp-nack-westwood",
    code: code!(
        "algorithms/random_loss/tcp_nack.rs",
        "algorithms/bandwidth/westwood.rs"
    ),
    summary: "Westwood that retransmits corrupted packets without reducing the window (on QUIC: \
              plain Westwood)",
    citation: CITATION,
    parameters: westwood::ENTRY.parameters,
    feed: Feed::Acknowledgments {
        family: Family::RandomLoss,
        driven_by: DrivenBy::Losses,
        build: |setup, values| {
            let rule = Westwood::classic(values.number("tau"), values.number("m"));
            Box::new(
                WindowController::new(setup, rule).with_transport_features(TransportFeatures::NACK),
            )
        },
    },
    look: Look::of(26, 4),
    ..Entry::BLANK
};

#[cfg(test)]
mod tests {
    use crate::interface::{Ack, Controller, FastRecovery};
    use crate::registry::Spec;
    use crate::testing::{ACK, MSS, loss, segments, setup};
    use whimbrel_units::{Bytes, Time};

    fn controller(name: &str) -> Box<dyn Controller> {
        let spec: Spec = name.parse().expect("a known controller");
        spec.build(&setup(20)).expect("fed acknowledgments")
    }

    #[test]
    fn they_request_nacks_and_their_bases_do_not() {
        let needs_nack = |name| controller(name).transport_features().nack;
        assert!(
            needs_nack("tcp-nack")
                && needs_nack("tcp-nack-westwood")
                && needs_nack("tcp-nack+cerl")
        );
        assert!(!needs_nack("newreno") && !needs_nack("westwood") && !needs_nack("cubic"));
        assert!(
            "tcp-nack"
                .parse::<Spec>()
                .expect("a known controller")
                .transport_features()
                .nack
        );
    }

    #[test]
    fn slow_start_is_one_segment_per_ack_and_a_loss_halves_once() {
        let mut controller = controller("tcp-nack");
        controller.on_ack(&Ack {
            acked: Bytes::new(2 * MSS),
            ..ACK
        });
        assert_eq!(segments(&*controller), 21.0);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 10.5);
        assert_eq!(controller.fast_recovery(), FastRecovery::UntilRepaired);
    }
}
