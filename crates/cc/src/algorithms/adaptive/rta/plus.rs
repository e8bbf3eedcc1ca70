//! RTA-plus: any controller, which follows a change of the path of any size and does not take a
//! queue for a path.
//!
//! Designed for Whimbrel, after R. Srinivasan, J. J. Garcia-Luna-Aceves, "TCP-RTA: Real-time
//! Topology Adaptive Congestion Control Strategy in TCP", University of California, Santa Cruz,
//! 2022.
//!
//! * detection: a step of the round-trip time (`path_change/rtt_step.rs`), independent of any
//!   bounds
//! * response: TCP-RTA's handover (`mod.rs`) with the measured boost: a new controller begins, with
//!   a window of the delivery rate times the new round-trip time and a new estimate of the base RTT
//! * controller: by default CUBIC again, or the one for the new round-trip time in a table
//!
//! **Physics.** CUBIC grows with time and not with round trips. On long paths it therefore needs no
//! algorithm as aggressive as Hybla, whose growth by rho^2 segments per round trip overflows the
//! queue of its own link. What CUBIC lacks is the knowledge that a step up is capacity and not
//! congestion, and that a step down leaves the window too large; RTA-plus adds that.
//!
//! A delay-based controller gains more: one that keeps the queue short relative to the minimum RTT
//! takes a longer path for a queue and starves. Started again, it learns the new path's minimum
//! (`ranges=vegas`).
//!
//! **When it works.** Paths whose RTT steps, by 20 ms from one satellite to the next or by 600 ms
//! to another kind of path; also with queues longer than a round trip; also if the capacity falls
//! at the same step, because the new path's rate is used if it is lower.
//!
//! **Limits.** If the queue of the old path already held what the new path needs, no change is
//! detected and none is needed. On a satellite path with many random losses CUBIC is slow: a table
//! with Hybla is better there (`ranges=cubic:300:500:rta-hybla`), or a loss classifier on it
//! (`rta-plus+cerl-plus`). A handover that holds packets for several round trips is detected as two
//! changes.
//!
//! Units: as in `mod.rs`.

use super::handover::{Adaptive, Boost};
use super::{ranges, table};
use crate::path_change::rtt_step::RttStep;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Look, code};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "rta-plus",
    code: code!(
        "algorithms/adaptive/rta/plus.rs",
        "algorithms/adaptive/rta/table.rs",
        "algorithms/adaptive/rta/handover.rs",
        "path_change/rtt_step.rs",
        "algorithms/adaptive/rta/newreno.rs",
        "algorithms/adaptive/rta/hybla.rs"
    ),
    summary: "CUBIC (or a table of controllers) that adapts at once when the path becomes longer \
              or shorter, but not to queues",
    citation: "Whimbrel, after R. Srinivasan, J. J. Garcia-Luna-Aceves, \"TCP-RTA\", University of \
               California, Santa Cruz, 2022",
    parameters: &[ranges("cubic")],
    feed: Feed::Acknowledgments {
        family: Family::Adaptive,
        driven_by: DrivenBy::Path,
        build: |setup, values| {
            let ranges = table(values);
            Box::new(Adaptive::new(
                setup,
                ranges,
                RttStep::default(),
                Boost::Measured,
            ))
        },
    },
    look: Look::of(8, 9),
    ..Entry::BLANK
};
