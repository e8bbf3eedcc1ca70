//! What a program around a server or a client needs, without flags and output: events as lines and
//! JSON, an audit log, the rates of what arrives, metrics for Prometheus, places on a server as
//! users write them, local ports that lead to ports at a server, the confinement of a server's
//! process, and the limits on its open files and its memory.

mod audit;
mod confinement;
mod counted;
mod descriptors;
mod events;
mod listening;
mod listing;
mod location;
mod memory;
mod metrics;
mod output;
mod rates;
mod tunnel;

pub use audit::AuditLog;
pub use confinement::{Confinement, Needs, NeedsMore, Uses};
pub use counted::{count, metrics, refresh};
pub use descriptors::raise_descriptor_limit;
pub use listening::{Listening, bind};
pub use listing::{entry_json, entry_line};
pub use location::Location;
pub use memory::bound_memory;
pub use metrics::{Metrics, serve as serve_metrics};
pub use output::Output;
pub use rates::{Arrival, Arrivals, Meter};
pub use tunnel::{Forward, Tunnel, TunnelEvent};
