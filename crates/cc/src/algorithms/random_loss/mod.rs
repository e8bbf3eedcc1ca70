//! Algorithms that respond to losses except random ones.

pub(crate) mod cerl;
pub(crate) mod cerl_plus;
pub(crate) mod cerl_plus_printed;
pub(crate) mod jersey;
pub(crate) mod jtcp;
pub(crate) mod mveno;
pub(crate) mod newjersey;
pub(crate) mod newjersey_plus;
pub(crate) mod tcp_nack;
pub(crate) mod veno;
