//! The event engine: what happens next, and where packets are meanwhile.

pub(crate) mod calendar;
pub(crate) mod packet;
pub(crate) mod pipe;
pub(crate) mod world;
