//! What happens to packets on one direction of a link: rate, queue, loss, corruption, outage, delay.
//!
//! A [`Link`] knows neither a simulator nor sockets. It is told the time and a packet's size, and says
//! when the packet comes out at the far end, or why it does not: the [`DropCause`] travels with the
//! drop, so that whoever guesses the cause can be judged against the truth. The same code serves
//! virtual time (the simulator) and real time (the link emulator).
//!
//! A packet goes through, in this order:
//! 1. the **queue** (DropTail): dropped on arrival if the packets that wait leave no room;
//! 2. the **service**: first in, first out, at the link's rate or by the opportunities of a trace;
//! 3. the **outages** and **random loss**: a packet lost here has used the link's capacity, as one that
//!    a radio sent and nobody understood;
//! 4. **corruption**: marked, not dropped; what a receiver makes of it is the receiver's business;
//! 5. the **propagation delay** in force when its last bit left.

mod link;
mod queue;
mod schedule;
mod service;
mod spec;
mod trace;
mod wifi;

pub use link::{Backlog, Counters, Fate, Link};
pub use queue::Queue;
pub use schedule::Schedule;
pub use spec::{DropCause, LinkSpec, LossSpec, Outage, QueueLimit, ServiceSpec};
pub use trace::{Trace, TraceError};
pub use wifi::{Departure, Side, Wifi, WifiSpec};
