//! What Whimbrel does for a user, as functions: a typed request goes in, a typed result comes out,
//! and an [`Observer`] sees the progress and may stop the work.
//!
//! Nothing here parses a command line, prints, or knows a terminal: the command and the Python
//! package are two doors to these functions.
//!
//! | module | contents |
//! |---|---|
//! | [`atomic_file`] | files that appear under their names when they are complete |
//! | [`cache`] | results that are stored |
//! | [`controllers`] | controllers that are chosen by name |
//! | `error` | why a request failed |
//! | `observer` | progress, notes, and stopping |
//! | [`rank`] | scores of algorithms on a matrix of paths |
//! | [`reproduce`] | the papers' experiments |
//! | [`runs`] | runs of a scenario |
//! | [`sweeps`] | sweeps that are played in parts |

pub mod atomic_file;
pub mod cache;
pub mod controllers;
mod error;
mod observer;
pub mod rank;
pub mod reproduce;
pub mod runs;
pub mod sweeps;

pub use error::{BadInput, Error};
pub use observer::{Observer, Unobserved};
