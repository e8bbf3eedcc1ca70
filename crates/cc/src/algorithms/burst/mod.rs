//! Algorithms that send in bursts and are fed reports on them.

pub(crate) mod aatp;
