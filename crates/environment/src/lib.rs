//! Environments in which congestion controllers learn: runs of the simulator, step by step.
//!
//! An [`Episode`] is a run in which some flows are [`agents`](Agent): between two steps their
//! windows are what the learner sets, and after a step it reads what each of them has
//! [`Seen`]. [`Batch`] plays many episodes at once on all cores.

mod agent;
mod batch;
mod episode;

pub use agent::{Agent, FIELDS, Seen};
pub use batch::Batch;
pub use episode::{Episode, EpisodeError};
