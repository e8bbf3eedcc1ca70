//! The event engine: what happens next, and where packets are meanwhile.

mod calendar;
mod channel;
mod collect;
pub(crate) mod mail;
pub(crate) mod packet;
mod pipe;
mod routes;
mod watch;
pub(crate) mod world;
