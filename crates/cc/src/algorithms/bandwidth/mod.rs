//! Algorithms that after a loss set the window to the measured bandwidth-delay product.

pub(crate) mod dtcp;
pub(crate) mod westwood;
pub(crate) mod westwood_plus;
