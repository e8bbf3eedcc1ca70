//! TCP-RTA: selects the congestion control algorithm for the current path.
//!
//! R. Srinivasan, J. J. Garcia-Luna-Aceves, "TCP-RTA: Real-time Topology Adaptive Congestion
//! Control Strategy in TCP", University of California, Santa Cruz, 2022.
//!
//! * kind of path: selected by the RTT of the handshake, changed by three consecutive samples
//!   (Algorithm 1, `three_samples.rs`)
//! * algorithm for each kind: NewReno and Hybla, both modified (Algorithms 2 and 3, `newreno.rs`,
//!   `hybla.rs`), or any others from a table (`table.rs`)
//! * handover: the window becomes what the new path holds (enhancement 4), and does not grow during
//!   the handover (Algorithm 3 lines 10 and 33)
//!
//! **Physics.** A window W fills a path with rate C and round-trip time R if W >= C*R. When a
//! handover makes R twelve times longer, the same window gives a twelfth of the rate, and additive
//! increase needs hundreds of long round trips to regain it. When R becomes shorter, the excess of
//! W waits in the queue. Neither is congestion, and the right window follows at once from the rate
//! measured before: C times the new R.
//!
//! **During the handover.** Longer path: acknowledgments in transit are delayed by the step, and
//! none arrives for that time. A shorter retransmission timer then fires spuriously. After that
//! they arrive as densely as before, and the third shows that the path changed. Shorter path: new
//! packets overtake old ones, which look lost until they arrive.
//!
//! * The controller does not receive losses of packets that were sent before the handover: they
//!   belong to the old path.
//! * A reduction by the old controller that turns out to be spurious after the handover is undone
//!   in the window that was handed over.
//! * Longer path: the new window leaves at its own rate, spread over one new round trip.
//! * Longer path that becomes shorter again within that round trip: the packets were held up by a
//!   stall. The old controller continues where it was.
//! * Shorter path: the new window is less than the flight on the old path, and waiting for that
//!   would leave the new path idle. While packets of the old path still arrive, the old window
//!   applies, and packets leave at the new window's rate.
//!
//! **When it works.** The rate stays about the same while the round-trip time changes.
//!
//! **Limits.** A queue as long as a satellite path (see `three_samples.rs`): use `guard=true` or
//! `rta-plus`. A new path with a lower rate gets a window for the old rate and loses the excess; a
//! higher rate is found by the growth of the new controller.
//!
//! Units: bytes, bits per second, times.
//!
//! **Choices where the source is silent or cannot be taken literally.**
//! * "Default boost of a factor of 10 (constant) of the Bandwidth*Delay product": `boost=paper`
//!   multiplies the window by ten or divides it by ten. From 80 ms to 800 that is the ratio of the
//!   delays; from 50 to 600 it is too little. `boost=measured`, the default, is the delivery rate
//!   times the new round-trip time. Neither exceeds twice what that rate fills.
//! * Algorithm 3 sets `cwnd = m_bd / m_segmentSize`, segments into a window of bytes, and by its
//!   else-branches (lines 26, 36) outside of handovers too, at every ACK. Interpretation: during a
//!   handover cwnd is the product in bytes.
//! * The duration of a handover (`m_adaptiveAlgProgCnt`) is not given: here one new round-trip
//!   time, or, to a shorter path, the difference of the two.
//! * Hybla's rho needs the round-trip time of the current path: controllers receive the minimum and
//!   the smoothed RTT since the handover, without outliers. (ns-3's minimum is that of the whole
//!   connection, with which rho would not change.)
//! * The new controller begins in congestion avoidance, at the estimated capacity of the path.

mod handover;
mod hybla;
mod newreno;
mod plus;
mod table;

pub(crate) use hybla::ENTRY as HYBLA;
pub(crate) use newreno::ENTRY as NEWRENO;
pub(crate) use plus::ENTRY as PLUS;

use crate::path_change::three_samples::ThreeSamples;
use crate::registry::entry::{
    Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, Text, Values, code,
};
use handover::{Adaptive, Boost};
use table::Ranges;

const CITATION: &str = "R. Srinivasan, J. J. Garcia-Luna-Aceves, \"TCP-RTA: Real-time Topology \
                        Adaptive Congestion Control Strategy in TCP\", University of California, \
                        Santa Cruz, 2022";

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "rta",
    code: code!(
        "algorithms/adaptive/rta/mod.rs",
        "algorithms/adaptive/rta/table.rs",
        "algorithms/adaptive/rta/handover.rs",
        "path_change/three_samples.rs",
        "algorithms/adaptive/rta/newreno.rs",
        "algorithms/adaptive/rta/hybla.rs"
    ),
    summary: "NewReno on short paths, Hybla on satellite paths: three consecutive RTT samples \
              switch, and the window follows",
    citation: CITATION,
    parameters: &[
        ranges("rta-newreno:500:800:rta-hybla"),
        Parameter {
            name: "boost",
            domain: Domain::Text(Text::new("measured", Boost::check)),
            meaning: "window after a handover: `measured` (delivery rate times the new RTT) or \
                      `paper` (ten times or a tenth of the old window)",
        },
        Parameter {
            name: "guard",
            domain: Domain::Switch(false),
            meaning: "only a step of the RTT counts as a longer path, not a growing queue (not in \
                      the paper)",
        },
        Parameter {
            name: "ecn",
            domain: Domain::Switch(false),
            meaning: "with congestion marks: a longer RTT with a mark in the last round trip is a \
                      queue, not a longer path (the paper's future work)",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Adaptive,
        driven_by: DrivenBy::Path,
        build: |setup, values| {
            let ranges = table(values);
            let marks = values.switch("ecn");
            let watch = ThreeSamples::new(ranges.bounds.clone(), values.switch("guard"), marks);
            let boost = Boost::read(&values.text("boost"));
            Box::new(Adaptive::new(setup, ranges, watch, boost).with_marks(marks))
        },
    },
    look: Look::of(7, 7),
    ..Entry::BLANK
};

/// The parameter for the table of controllers and RTT bounds.
const fn ranges(default: &'static str) -> Parameter {
    Parameter {
        name: "ranges",
        domain: Domain::Text(Text::new(default, Ranges::check)),
        meaning: "controllers, and between them the RTTs in ms to go back below and to go on \
                  above: CONTROLLER:DOWN:UP:CONTROLLER",
    }
}

/// The table given by the parameter `ranges`.
fn table(values: &Values) -> Ranges {
    Ranges::read(&values.text("ranges"), values.parse_controller())
        .expect("a text of the registry has passed its check, and defaults are tested to")
}
