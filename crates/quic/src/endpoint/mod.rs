//! QUIC endpoints: an own driver over noq's protocol state machine.
//!
//! noq-proto is the protocol; noq's own driver runs on an async runtime and hands packets on as the
//! runtime schedules it. This one has a thread for each socket. It differs in this:
//!
//! * The feedback of each connection is called around every packet that noq makes, so that a packet
//!   can carry the number of its burst and leave at its time.
//! * While a connection needs it, each packet comes with the time at which the kernel received it,
//!   and the kernel does not merge packets.
//! * The core has no clock, socket or thread, so that tests run it in virtual time.
//!
//! | part | content |
//! |---|---|
//! | `core` | noq's endpoint and connections; datagrams in, datagrams out |
//! | `transmit`, `outgoing`, `quantum` | what leaves next, and how many datagrams at once |
//! | `state`, `waiters` | one connection, and the tasks that wait for it |
//! | `driver`, `socket` | the thread, and the system calls |
//! | `kept`, `receive_window` | data that the application keeps, and the window |
//! | `links` | the sockets of several links |
//! | `route` | which way packets to an address leave |
//! | `watch` | changes of this host's addresses and routes, and its sleep |
//! | `paths` | several paths of a connection |
//! | `obstacle` | why packets do not reach a peer |
//! | `inbox` | what the application's threads changed, and how they wake the driver |
//! | [`Carrier`] | instead of the thread and the socket: the application carries the datagrams |
//! | [`Endpoint`], [`Connection`], ... | the application's handles |
//!
//! Every connection has a lock, held for microseconds, and so has the core. The core's lock is
//! taken before a connection's. Tasks are woken when no lock is held. A panic in a connection ends
//! this connection only.
//!
//! The handles have noq's names and meaning. What is not offered: 0-RTT data, and DATAGRAM frames
//! of the application.

mod carrier;
mod clock;
mod connecting;
mod connection;
mod contain;
mod core;
mod driver;
mod handle;
#[cfg(test)]
mod handshake_tests;
mod inbox;
mod incoming;
mod kept;
mod links;
#[cfg(test)]
mod loom_tests;
#[cfg(test)]
mod moving_tests;
mod obstacle;
#[cfg(test)]
mod outage_tests;
mod outgoing;
mod paths;
#[cfg(test)]
mod paths_tests;
mod prepared;
mod quantum;
mod receive_stream;
mod receive_window;
#[cfg(test)]
mod reordering_tests;
mod route;
mod send_stream;
mod shared;
mod socket;
mod state;
mod sync;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod transmit;
mod waiters;
mod watch;

pub use carrier::Carrier;
pub use connecting::Connecting;
pub use connection::Connection;
pub use handle::{Endpoint, Server};
pub use incoming::{Incoming, RetryError};
pub use kept::Kept;
pub use links::{LinkOptions, MAX_LINKS, OpenLink, device_of, devices, source_over};
pub use obstacle::Obstacle;
pub use paths::{PathCondition, PathReport};
pub use prepared::Prepared;
pub use receive_stream::{ReadError, ReadExactError, ReadToEndError, RecvStream, ResetError};
pub use route::bind_to_device;
pub use send_stream::{SendStream, StoppedError, WriteError};
