//! A page on localhost on which a user chooses or draws a path, neighbours and algorithms, and sees
//! what the simulator makes of them.
//!
//! | module | contents |
//! |---|---|
//! | [`state`] | the fields of the page as text, and the scenario of them |
//! | `steps` | values drawn over time |
//! | [`opened`] | a scenario file as a state |
//! | [`recordings`] | recorded rates that a user gave |
//! | [`limits`] | how large a request may be |
//! | [`runs`] | the runs of a request, streamed as they finish |
//! | `words` | results in a sentence |
//! | [`tour`] | scenes that teach what the papers saw |
//! | [`server`] | HTTP on loopback: who may ask for what |
//!
//! The state of the page is a text, which a link has behind its `#`. [`State::spec`] makes a
//! [`ScenarioSpec`](whimbrel_sim::scenario::ScenarioSpec) of it through the request of `compare`,
//! and the saved file is that scenario, printed. So the page, the link and the file have the same
//! numbers.

mod field;
pub mod limits;
pub mod opened;
pub mod recordings;
pub mod runs;
pub mod server;
pub mod state;
mod steps;
pub mod tour;
mod words;

pub use field::FieldError;
pub use state::State;
pub use words::Numbers;
