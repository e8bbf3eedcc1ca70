//! Algorithms that send in bursts and receive a report on each.

pub(crate) mod aatp;
