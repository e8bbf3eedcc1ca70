//! TCP-NACK's laws: Reno and Westwood, for a transport in which corrupted packets are no losses.
//!
//! G. Olmedo, R. Lara-Cueva, D. Martínez, C. de Almeida, "Performance Analysis of a Novel TCP Protocol Algorithm Adapted to
//! Wireless Networks", Future Internet 12(6), 101, 2020, doi:10.3390/fi12060101, sections 2.1 and 2.3; read in full.
//!
//! A segment that arrives corrupted, its header still readable, is answered by a negative acknowledgment, and resent at once
//! with cwnd and ssthresh as they are (sections 2.3.4, 2.3.5). That is the transport's (its setting `nack`), under any law. What
//! is here are the two laws that the paper put over it; they differ from their bases in nothing but that they ask for it
//! ([`TransportFeatures::nack`]).
//!
//! * `tcp-nack`: slow start by a segment per ACK, then one for each window, halving after a loss (9)
//! * `tcp-nack-westwood`: after a loss the bandwidth that was measured times the least RTT (10); see `westwood.rs`
//!
//! Units: bytes, seconds.
//!
//! **The physics.** Reno's rate falls with the root of how often it halves. Where noise corrupts a share p of the packets, it
//! halves for each; told which they are, it halves only for those whose header was hit, h bits of n, and so runs
//! `sqrt(n/h)` times as fast, until the path is full: some five times with 1500-byte packets.
//!
//! **When it works.** Noise that hits packets in few places, on a link that hands on what it corrupted.
//!
//! **When not.** Most links drop corrupted frames themselves (Ethernet, Wi-Fi), and nothing is left to be told of. On
//! QUIC no corrupted packet can be read, so there these are just Reno and Westwood.
//!
//! **Where the source is silent.** Its base is "TCP-Reno" of Linux 2.6.32. That is the window rule of that name under Linux's own
//! recovery, which with SACK or without lasts until all is repaired: NewReno (RFC 6582) in all but name, not the Reno of
//! `reno.rs`, which halves once for each loss of a window. So the rule is `newreno.rs`'s, with L = 1: that kernel grew by a
//! segment per ACK in slow start. In congestion avoidance it counted ACKs too, not bytes, so that with delayed ACKs it
//! grew half as fast as this one does.

use crate::algorithms::bandwidth::westwood;
use crate::algorithms::bandwidth::westwood::Westwood;
use crate::algorithms::loss::newreno::NewReno;
use crate::building_blocks::rule::WindowController;
use crate::interface::TransportFeatures;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, code};

const CITATION: &str = "G. Olmedo et al., \"Performance Analysis of a Novel TCP Protocol Algorithm Adapted to Wireless \
                        Networks\", Future Internet 12(6), 2020";

/// Its place in the registry.
pub(crate) static RENO: Entry = Entry {
    name: "tcp-nack",
    code: code!(
        "algorithms/random_loss/tcp_nack.rs",
        "algorithms/loss/newreno.rs"
    ),
    summary: "Reno that resends corrupted packets without slowing down: the receiver names them (on QUIC just Reno)",
    citation: CITATION,
    family: Family::RandomLoss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: &[Parameter {
        name: "L",
        default: Value::Number(1.0),
        range: (1.0, 2.0),
        meaning: "most segments slow start grows by per ACK (RFC 5681 equation 2: one)",
    }],
    build: |setup, values| {
        let rule = NewReno::new(values.number("L") as u64, false);
        Box::new(
            WindowController::new(setup, rule).with_transport_features(TransportFeatures::NACK),
        )
    },
};

/// Its place in the registry.
pub(crate) static WESTWOOD: Entry = Entry {
    name: "tcp-nack-westwood",
    code: code!(
        "algorithms/random_loss/tcp_nack.rs",
        "algorithms/bandwidth/westwood.rs"
    ),
    summary: "Westwood that resends corrupted packets without slowing down (on QUIC just Westwood)",
    citation: CITATION,
    family: Family::RandomLoss,
    driven_by: DrivenBy::Losses,
    feed: Feed::Acknowledgments,
    parameters: westwood::ENTRY.parameters,
    build: |setup, values| {
        let rule = Westwood::classic(values.number("tau"), values.number("m"));
        Box::new(
            WindowController::new(setup, rule).with_transport_features(TransportFeatures::NACK),
        )
    },
};

#[cfg(test)]
mod tests {
    use crate::interface::{Ack, Controller, FastRecovery};
    use crate::registry::Spec;
    use crate::testing::{ACK, MSS, loss, segments, setup};
    use whimbrel_units::{Bytes, Time};

    fn law(name: &str) -> Box<dyn Controller> {
        name.parse::<Spec>().expect("registered").build(&setup(20))
    }

    #[test]
    fn they_ask_for_nacks_and_their_bases_do_not() {
        let needs_nack = |name| law(name).transport_features().nack;
        assert!(
            needs_nack("tcp-nack")
                && needs_nack("tcp-nack-westwood")
                && needs_nack("tcp-nack+cerl")
        );
        assert!(!needs_nack("newreno") && !needs_nack("westwood") && !needs_nack("cubic"));
        assert!(
            "tcp-nack"
                .parse::<Spec>()
                .expect("registered")
                .transport_features()
                .nack
        );
    }

    #[test]
    fn slow_start_is_by_one_segment_an_ack_and_a_loss_halves_once_until_it_is_repaired() {
        let mut law = law("tcp-nack");
        law.on_ack(&Ack {
            acked: Bytes::new(2 * MSS),
            ..ACK
        });
        assert_eq!(segments(&*law), 21.0);
        law.on_loss(&loss(&*law, Time::ZERO));
        assert_eq!(segments(&*law), 10.5);
        assert_eq!(law.fast_recovery(), FastRecovery::UntilRepaired);
    }
}
