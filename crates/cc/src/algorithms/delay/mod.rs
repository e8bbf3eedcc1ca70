//! Algorithms that respond to delays, alone or together with losses.

pub(crate) mod compound;
pub(crate) mod fast;
pub(crate) mod illinois;
pub(crate) mod vegas;
pub(crate) mod yeah;
