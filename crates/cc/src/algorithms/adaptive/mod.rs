//! Algorithms that replace another one when the path changes.

pub(crate) mod rta;
