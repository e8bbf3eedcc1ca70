//! Parts that algorithms are built from.
//!
//! * [`rule`]: the window controller of Reno's family; a rule is what an algorithm changes in it
//! * [`aimd`]: a rule that is only an increase and a decrease
//! * [`window`]: a congestion window with its slow start threshold
//! * [`hystart`]: the end of slow start by delay
//! * [`fairness`]: fairness indexes, and the allocation of a node that receives several flows
//! * [`splitmix`]: pseudorandom numbers

pub(crate) mod aimd;
pub mod fairness;
pub(crate) mod hystart;
pub(crate) mod rule;
pub(crate) mod splitmix;
pub(crate) mod window;
