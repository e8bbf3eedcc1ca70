//! RTA-plus: TCP-RTA's hand-over for path changes of any size, and never for a queue.
//!
//! Whimbrel's own, after R. Srinivasan, J. J. Garcia-Luna-Aceves, "TCP-RTA", University of California, Santa Cruz, 2022.

use super::handover::{Adaptive, Boost};
use super::{RANGES, table};
use crate::registry::{Entry, Feed};
use crate::rtt_step::RttStep;

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "rta-plus",
    summary: "TCP-RTA that tells a longer path from a longer queue, and follows steps of any size",
    citation: "Whimbrel, after R. Srinivasan, J. J. Garcia-Luna-Aceves, \"TCP-RTA\", University of California, Santa Cruz, 2022",
    feed: Feed::Acknowledgments,
    parameters: &[RANGES],
    build: |setup, values| {
        let ranges = table(values.text("ranges"));
        Box::new(Adaptive::new(
            setup,
            ranges,
            RttStep::default(),
            Boost::Measured,
        ))
    },
};
