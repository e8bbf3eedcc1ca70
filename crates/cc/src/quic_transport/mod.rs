//! What a QUIC stack's adapter needs, whatever the stack: the packets in flight in order of
//! transmission, round trips and the use of the window in them, and round-trip times. The adapters
//! for noq and for quinn share it.

mod flight;
mod packets;
mod rounds;
mod rtt;

pub use flight::{Flight, Packet};
pub use packets::{Packets, PendingAck};
pub use rounds::Rounds;
pub use rtt::Rtt;
