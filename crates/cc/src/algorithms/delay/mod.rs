//! Algorithms that respond to delay, alone or together with loss.

pub(crate) mod compound;
pub(crate) mod fast;
pub(crate) mod illinois;
pub(crate) mod ledbat_plus_plus;
pub(crate) mod santa_cruz;
pub(crate) mod vegas;
pub(crate) mod yeah;
