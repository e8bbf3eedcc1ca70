//! The event engine: which event is next, and where packets are until then. It knows links, and
//! drives flows of any kind through the interface in [`crate::flow`]. [`crate::any_flow`] lists the
//! kinds.
//!
//! | file | contents |
//! |---|---|
//! | `world` | a run: its loop, packets on links, calls of flows |
//! | `calendar`, `sources` | the next event of every source |
//! | `time_queue` | what waits for its time |
//! | `pipe`, `polled_link` | a link with the packets on it |
//! | `routes` | the links that each packet passes |
//! | `lookahead` | outcomes that are computed before their time |
//! | `observation` | events for an observer |
//! | `results` | samples, and the outcome of a run |

mod calendar;
mod helper;
mod lookahead;
pub(crate) mod observation;
mod pipe;
mod polled_link;
mod results;
mod routes;
mod sources;
mod time_queue;
pub(crate) mod world;
