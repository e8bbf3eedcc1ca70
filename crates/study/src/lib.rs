//! What Whimbrel does for a user, as functions: a typed request goes in, a typed result comes out,
//! and an [`Observer`] sees the progress and may stop the work.
//!
//! Nothing here parses a command line, prints, or knows a terminal: the command and the Python
//! package are two doors to these functions.
//!
//! | module | contents |
//! |---|---|
//! | [`advice`] | the advice on a path in words |
//! | [`advise`] | which algorithm to use on a path |
//! | [`atomic_file`] | files that appear under their names when they are complete |
//! | [`cache`] | results that are stored |
//! | [`controllers`] | controllers that are chosen by name |
//! | [`compare`] | algorithms on one path |
//! | [`controllers`] | controllers that a user chooses |
//! | `error` | why a request failed |
//! | [`judge`] | decisions on losses, and their true causes |
//! | [`model`] | formulas and the simulator on the same path |
//! | [`neighbours`] | what algorithms do to others |
//! | `observer` | progress, notes, and stopping |
//! | [`rank`] | scores of algorithms on a matrix of paths |
//! | [`reproduce`] | the papers' experiments |
//! | [`page`] | the results of a scenario as a page |
//! | [`path`] | a path as flags and arguments describe it |
//! | [`prediction`] | what the simulator predicts for the transfer of a file |
//! | [`runs`] | runs of a scenario |
//! | [`sweeps`] | sweeps that are played in parts |
//! | [`table_rows`] | the rows of a table of results |
//! | [`transport`] | the transports that simulated senders behave like |

pub mod advice;
pub mod advise;
pub mod atomic_file;
pub mod cache;
pub mod compare;
pub mod controllers;
mod error;
pub mod judge;
pub mod model;
pub mod neighbours;
mod observer;
pub mod page;
pub mod path;
pub mod prediction;
pub mod rank;
pub mod reproduce;
pub mod runs;
pub mod sweeps;
pub mod table_rows;
pub mod transport;

pub use error::{BadInput, Error};
pub use observer::{Observer, Unobserved};
