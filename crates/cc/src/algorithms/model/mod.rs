//! Algorithms based on a model of the path: its rate and its delay.

pub(crate) mod bbr;
pub(crate) mod bbr3;
pub(crate) mod copa;
pub(crate) mod indigo;
pub(crate) mod pcc;
pub(crate) mod verus;
pub(crate) mod whimbrel;
