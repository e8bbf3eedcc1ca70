//! What theory says of the throughput of one TCP flow whose packets are lost at random.
//!
//! * [`mathis()`]: the rule of thumb, `C/(RTT*sqrt(p))`: halving against growing, nothing else.
//! * [`pftk()`] and [`pftk_short()`]: with retransmission timeouts and a greatest window.
//! * [`solve()`]: a Markov chain over the windows with which cycles begin, on a link of finite rate with a finite buffer;
//!   of Reno and Westwood, and of the same where corrupted packets are told from lost ones (TCP-NACK).
//!
//! In this order they know more and more of flow and path. None knows slow start, and all take each packet's loss as
//! independent of all others. The closed forms give packets per second, the chain shares of what the link carries.

mod chain;
mod cycle;
mod error;
mod law;
mod mathis;
mod path;
mod pftk;
mod throughput;

#[cfg(test)]
mod pipe;

pub use error::ModelError;
pub use law::Law;
pub use mathis::{Acks, Losses, mathis};
pub use path::{LARGEST_WINDOW, Path};
pub use pftk::{Sender, pftk, pftk_short};
pub use throughput::{Receiver, Solution, solve};
