//! RTA-plus: any law, that follows the path when the path changes, by however much, and takes no queue for a path.
//!
//! Whimbrel's own, after R. Srinivasan, J. J. Garcia-Luna-Aceves, "TCP-RTA: Real-time Topology Adaptive Congestion Control
//! Strategy in TCP", University of California, Santa Cruz, 2022.
//!
//! * what finds the change: a step of the round-trip time (`../rtt_step.rs`), whatever thresholds lie between
//! * what follows: TCP-RTA's hand-over (`mod.rs`), with the measured boost: the law begins anew, with the delivered rate times the
//!   new round-trip time for a window, and a new idea of what the empty path takes
//! * to which law: by default to CUBIC again, or to that of the new round-trip time in a table
//!
//! **The physics.** CUBIC grows by time and not by round trips, so that it needs no helper on long paths that is as hasty as
//! Hybla there, whose probe of rho^2 segments a round trip overflows the queue of its own link. What CUBIC lacks is that a step
//! up is not congestion but room, and a step down leaves the window too large; that is what is added.
//!
//! A law that goes by delay gains more: one that keeps the queue short by the least round-trip time it knows takes a longer path for
//! a queue and starves; begun anew it learns the new path's (`ranges=vegas`).
//!
//! **When.** Paths that step, by 20 ms from one satellite to the next or by 600 ms to another kind; in front of queues longer than
//! a round trip as well; with a capacity that falls at the same step, since the new path's rate counts if it is the lower one.
//! **When not.** Where the queue of the old path already held what the new one needs: nothing is found, and nothing was missing.
//! On a satellite with many random losses CUBIC is slow: a table with Hybla is better there
//! (`ranges=cubic:300:500:rta-hybla`), or a discriminator on it (`rta-plus+cerl-plus`). A hand-over that holds packets for
//! several round trips is taken for two changes.
//!
//! Units: as `mod.rs`.

use super::handover::{Adaptive, Boost};
use super::{ranges, table};
use crate::path_change::rtt_step::RttStep;
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, code};

/// Its place in the registry.
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
    summary: "CUBIC (or a table of laws) that follows a longer or shorter path of any size at once, and takes no queue for one",
    citation: "Whimbrel, after R. Srinivasan, J. J. Garcia-Luna-Aceves, \"TCP-RTA\", University of California, Santa Cruz, 2022",
    family: Family::Adaptive,
    driven_by: DrivenBy::Path,
    feed: Feed::Acknowledgments,
    parameters: &[ranges("cubic")],
    build: |setup, values| {
        let ranges = table(values);
        Box::new(Adaptive::new(
            setup,
            ranges,
            RttStep::default(),
            Boost::Measured,
        ))
    },
};
