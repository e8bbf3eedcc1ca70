//! TCP-RTA: the congestion control that suits the path, as long as the path is what it is.
//!
//! R. Srinivasan, J. J. Garcia-Luna-Aceves, "TCP-RTA: Real-time Topology Adaptive Congestion Control Strategy in TCP",
//! University of California, Santa Cruz, 2022.
//!
//! * the kind of path: the handshake's round-trip time chooses it, three samples in a row change it (Algorithm 1,
//!   `three_samples.rs`)
//! * its law: NewReno and Hybla, both modified (Algorithms 2 and 3, `newreno.rs`, `hybla.rs`), or any others: a table
//!   (`ranges.rs`)
//! * hand-over: the window becomes what the new path holds (enhancement 4), and does not grow while it takes place
//!   (Algorithm 3 lines 10 and 33)
//!
//! **The physics.** A window W fills a path of rate C and round-trip time R if W >= C*R. When a hand-over makes R twelve times
//! longer, the same window carries a twelfth, and additive increase needs hundreds of long round trips to win it back; when it
//! makes R shorter, what is too much of W stands in the queue. Neither is congestion, and both follow at once from a rate that was
//! measured before: the new window is C times the new R.
//!
//! **What happens in between.** Longer: acknowledgments that were under way are late by the step, and nothing comes for so
//! long; a retransmission timer that is shorter fires, by mistake. Then they come as densely as ever, and the third says that
//! the path changed. Shorter: new packets overtake the old ones, which look lost until they arrive.
//!
//! * Of losses of packets that were sent before the hand-over the law hears nothing: they tell of the old path.
//! * A reduction by the old law that proves a mistake after the hand-over is taken back in the window that was handed over.
//! * Longer: the new window leaves at the rate that it stands for, spread over one new round trip.
//! * Longer, and shorter again within that round trip: something held packets, a blackout. The old law goes on where it was.
//! * Shorter: the new window is less than what is in flight on the old path, and to wait for that would leave the new path
//!   idle. For as long as the old path's packets still come the old window stands, and packets leave at the new one's rate.
//!
//! **When it works.** Where the rate stays about the same and the round-trip time does not. **When not.** A queue that is as
//! long as a satellite's path (see `three_samples.rs`): `guard=true`, or `rta-plus`. A new path that carries less than the
//! old one gets a window of the old rate, and loses the excess; one that carries more is found out by the law's growth.
//!
//! Units: bytes, bits per second, times. Where the source is silent, or cannot be meant:
//! * "Default boost of a factor of 10 (constant) of the Bandwidth*Delay product": `boost=paper` multiplies the window by ten, or
//!   divides it by ten. From 80 ms to 800 that is the ratio of the delays; from 50 to 600 it is too little. `boost=measured`
//!   is the delivered rate times the new round-trip time, and the default. Neither is more than twice what that
//!   rate fills.
//! * Algorithm 3 sets `cwnd = m_bd / m_segmentSize`, segments into a window of bytes, and by its else-branches (lines 26, 36)
//!   outside of hand-overs too, at every ACK. Read: during a hand-over cwnd is the product in bytes.
//! * how long a hand-over lasts (`m_adaptiveAlgProgCnt`) is not said: one new round-trip time, or, to a shorter path, the
//!   difference of the two.
//! * Hybla's rho needs the round-trip time of the path as it is: the laws are told of the least and the smoothed one since the
//!   hand-over, without outliers. (ns-3's least is that of the whole connection, with which rho would not change.)
//! * the law that takes over begins in congestion avoidance, at what the path is believed to hold.

mod handover;
mod hybla;
mod newreno;
mod plus;
mod table;

pub(crate) use hybla::ENTRY as HYBLA;
pub(crate) use newreno::ENTRY as NEWRENO;
pub(crate) use plus::ENTRY as PLUS;

use crate::path_change::three_samples::ThreeSamples;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Text, Value, Values, code};
use handover::{Adaptive, Boost};
use table::Ranges;

const CITATION: &str = "R. Srinivasan, J. J. Garcia-Luna-Aceves, \"TCP-RTA: Real-time Topology Adaptive Congestion \
                        Control Strategy in TCP\", University of California, Santa Cruz, 2022";

/// Its place in the registry.
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
    summary: "NewReno on short paths, Hybla on satellites: three round-trip times in a row tell which, and the window follows",
    citation: CITATION,
    family: Family::Adaptive,
    driven_by: DrivenBy::Path,
    feed: Feed::Acknowledgments,
    parameters: &[
        ranges("rta-newreno:500:800:rta-hybla"),
        Parameter {
            name: "boost",
            default: Value::Text(Text::new("measured", Boost::check)),
            range: (0.0, 0.0),
            meaning: "window after a hand-over: `measured`, the delivered rate times the new RTT, or `paper`, ten times or a \
                      tenth of what it was",
        },
        Parameter {
            name: "guard",
            default: Value::Switch(false),
            range: (0.0, 0.0),
            meaning: "only a step of the RTT counts as a longer path, not a queue that fills (not of the paper)",
        },
    ],
    build: |setup, values| {
        let ranges = table(values);
        let watch = ThreeSamples::new(ranges.bounds.clone(), values.switch("guard"));
        let boost = Boost::read(values.text("boost"));
        Box::new(Adaptive::new(setup, ranges, watch, boost))
    },
};

/// Which law for which round-trip times.
const fn ranges(default: &'static str) -> Parameter {
    Parameter {
        name: "ranges",
        default: Value::Text(Text::new(default, Ranges::check)),
        range: (0.0, 0.0),
        meaning: "laws, and between them the RTT in ms below which one goes back and above which one goes on: CONTROLLER:DOWN:UP:CONTROLLER",
    }
}

/// The table that the parameter `ranges` describes.
fn table(values: &Values) -> Ranges {
    Ranges::read(values.text("ranges"), values.parse_controller())
        .expect("a text of the registry has passed its check, and defaults are tested to")
}
