//! What a program around a server or a client needs, without flags and output: events as lines and
//! JSON, an audit log, the rates of what arrives, metrics for Prometheus, places on a server as users
//! write them, local ports that lead to ports at a server, and
//! the limit on open files.

mod audit;
mod counted;
mod descriptors;
mod events;
mod listing;
mod location;
mod metrics;
mod output;
mod rates;
mod tunnel;

pub use audit::AuditLog;
pub use counted::{count, metrics, refresh};
pub use descriptors::raise_descriptor_limit;
pub use listing::{entry_json, entry_line};
pub use location::Location;
pub use metrics::{Metrics, serve as serve_metrics};
pub use output::Output;
pub use rates::{Arrival, Arrivals, Meter};
pub use tunnel::{Forward, Tunnel, TunnelEvent};
