//! Algorithms that respond to packet loss: the standards, and variants for long paths and large
//! windows.

pub(crate) mod bic;
pub(crate) mod cubic;
pub(crate) mod dcr;
pub(crate) mod highspeed;
pub(crate) mod hybla;
pub(crate) mod lia;
pub(crate) mod newreno;
pub(crate) mod reno;
pub(crate) mod scalable;
pub(crate) mod sctp;
pub(crate) mod tahoe;
