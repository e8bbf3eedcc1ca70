//! TCP-DCR: a loss counts a round trip after the first evidence of it.
//!
//! S. Bhandarkar, N. Sadry, A. L. N. Reddy, N. Vaidya, "TCP-DCR: A Novel Protocol for Tolerating
//! Wireless Channel Errors", IEEE Transactions on Mobile Computing 4(5), 2005; S. Bhandarkar, A. L.
//! N. Reddy, draft-tcp-dcr-00, 2003. The abstracts, and two implementations for ns-3 by students,
//! were at hand; RFC 4653 (TCP-NCR), which came of the draft, and RFC 8985 (RACK) are known.
//!
//! * the response to a missing segment, retransmission and reduction, is delayed by tau after the
//!   first duplicate acknowledgment; tau is one RTT
//! * meanwhile each duplicate lets a new segment leave, so the flight stays
//! * if the segment has arrived by then, nothing happened; if not, it is a loss, and the response is
//!   that of NewReno
//!
//! The delay belongs to the transport, which this algorithm requests
//! ([`TransportFeatures::delayed_response`]): with RACK (RFC 8985) the reordering window grows by a
//! smoothed RTT. Its window is NewReno's.
//!
//! **Physics.** A link that repairs its losses by itself delivers the repaired packet late, behind
//! those that followed. TCP takes the gap for a loss. One round trip is time enough for a repair on
//! a link that is shorter than the path.
//!
//! **When it works.** Links that retransmit and do not keep the order, paths that reorder.
//!
//! **Limits.** A real loss is repaired a round trip later, and the application waits for it. Links
//! that keep the order while they repair, as most do, show no gap. Without repair on the link it
//! gains nothing: a random loss halves the window a round trip later.
//!
//! **Choices where the source is silent.** With the recoveries that count duplicates (NewReno, SACK,
//! FACK) and on real transports there is no delay: the algorithm is NewReno there.

use crate::algorithms::loss::newreno::NewReno;
use crate::building_blocks::rule::WindowController;
use crate::interface::TransportFeatures;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Look, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "tcp-dcr",
    code: code!("algorithms/loss/dcr.rs", "algorithms/loss/newreno.rs"),
    summary: "NewReno that responds to a loss a round trip later, so that links can repair it",
    citation: "S. Bhandarkar, N. Sadry, A. L. N. Reddy, N. Vaidya, \"TCP-DCR: A Novel Protocol for \
               Tolerating Wireless Channel Errors\", IEEE TMC 4(5), 2005",
    parameters: &[],
    feed: Feed::Acknowledgments {
        family: Family::Loss,
        driven_by: DrivenBy::Losses,
        build: |setup, _| {
            Box::new(
                WindowController::new(setup, NewReno::default())
                    .with_transport_features(TransportFeatures::DELAYED_RESPONSE),
            )
        },
    },
    look: Look::of(46, 12),
    ..Entry::BLANK
};
