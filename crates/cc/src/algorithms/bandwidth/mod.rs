//! Algorithms that set the window to the measured bandwidth-delay product after a loss.

pub(crate) mod dtcp;
pub(crate) mod westwood;
mod westwood_linux;
pub(crate) mod westwood_plus;
