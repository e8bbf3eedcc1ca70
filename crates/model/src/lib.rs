//! Analytical models of the throughput of one TCP flow whose packets are lost at random.
//!
//! * [`mathis()`]: the square root formula, `C/(RTT*sqrt(p))`: only halving and growth.
//! * [`pftk()`] and [`pftk_short()`]: with retransmission timeouts and a maximum window.
//! * [`solve()`]: a Markov chain over the windows with which cycles begin, on a link of finite rate
//!   with a finite buffer; for Reno and Westwood, and for both with a receiver that distinguishes
//!   corrupted packets from lost ones (TCP-NACK).
//!
//! In this order the models include more details of flow and path. None includes slow start, and
//! all assume independent losses. The closed forms give packets per second, the chain gives
//! utilization.

mod chain;
mod cycle;
mod error;
mod first_loss;
mod formula;
mod mathis;
mod modelled;
mod path;
mod pftk;
mod throughput;

#[cfg(test)]
mod pipe;

pub use error::{MAX_WINDOW, ModelError};
pub use formula::Formula;
pub use mathis::{Acks, Losses, mathis};
pub use modelled::{MODELLED, Modelled};
pub use path::ModelPath;
pub use pftk::{Sender, pftk, pftk_short};
pub use throughput::{Receiver, Solution, solve};
