//! Loss classifiers: random loss or congestion?
//!
//! * [`wrap`]: puts a classifier on any window algorithm
//! * [`cerl`], [`cerl_plus`]: by the length of the queue
//! * [`eln`]: by what a helper on the path says
//! * [`jitter`]: by how much the path stretches a round trip

pub(crate) mod cerl;
pub(crate) mod cerl_plus;
pub(crate) mod eln;
pub(crate) mod jitter;
pub(crate) mod wrap;
