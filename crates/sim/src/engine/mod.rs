//! The event engine: what happens next, and where packets are meanwhile.

mod calendar;
mod collect;
pub(crate) mod packet;
mod pipe;
mod routes;
pub(crate) mod world;
