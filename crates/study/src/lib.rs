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
//! | `arrivals` | what a server is receiving, as text |
//! | [`atomic_file`] | files that appear under their names when they are complete |
//! | [`cache`] | results that are stored |
//! | [`catalog`] | the algorithms and loss classifiers |
//! | [`compare`] | algorithms on one path |
//! | [`controllers`] | controllers that a user chooses |
//! | `credentials` | the token and the fingerprint of a server |
//! | `error` | why a request failed |
//! | [`figure_files`] | the figures of a page as files for a paper |
//! | [`hunt`] | a search for the path on which an algorithm does worst |
//! | [`iperf3`] | one run as iperf3 prints it |
//! | [`judge`] | decisions on losses, and their true causes |
//! | [`model`] | formulas and the simulator on the same path |
//! | [`neighbours`] | what algorithms do to others |
//! | `observer` | progress, notes, and stopping |
//! | `path_rows` | a row for each path of a transfer, while it runs |
//! | `progress_lines` | the progress of a transfer as lines |
//! | [`rank`] | scores of algorithms on a matrix of paths |
//! | [`real`] | real transfers over emulated paths, each beside its prediction |
//! | [`recording`] | what recorded rates and delays are like |
//! | [`reproduce`] | the papers' experiments |
//! | [`page`] | the results of a scenario as a page |
//! | [`path`] | a path as flags and arguments describe it |
//! | [`prediction`] | what the simulator predicts for the transfer of a file |
//! | [`presentation`] | a scenario from its runs to tables, pages and files |
//! | [`presets`] | presets of scenarios, as text |
//! | [`provenance`] | what made a result |
//! | [`runs`] | runs of a scenario |
//! | [`saved`] | results as files for other tools |
//! | `sent` | what became of files that were sent |
//! | `server_users` | the users of a file service, as a file lists them |
//! | [`single_run`] | the one run of a scenario that has only one |
//! | [`sweeps`] | sweeps that are played in parts |
//! | [`table_file`] | tables and the files that they go to |
//! | [`table_rows`] | the rows of a table of results |
//! | `tcp` | the connections of Linux TCP under an algorithm: table, time line, page |
//! | `throughput` | what a measurement of throughput found |
//! | [`trace_file`] | traces of one run, packet by packet |
//! | [`transport`] | the transports that simulated senders behave like |
//! | [`under_test`] | the flows under test, beside others |
//! | [`words`] | errors in plain words |

pub mod advice;
pub mod advise;
#[cfg(feature = "real")]
pub mod arrivals;
pub mod atomic_file;
pub mod cache;
pub mod catalog;
pub mod compare;
pub mod controllers;
mod count;
#[cfg(feature = "real")]
pub mod credentials;
mod emphasis;
mod error;
pub mod figure_files;
pub mod hunt;
pub mod iperf3;
pub mod judge;
pub mod model;
pub mod neighbours;
mod observer;
mod output_kind;
pub mod page;
pub mod path;
#[cfg(feature = "real")]
pub mod path_rows;
pub mod prediction;
pub mod presentation;
pub mod presets;
#[cfg(feature = "real")]
pub mod progress_lines;
pub mod provenance;
pub mod rank;
#[cfg(feature = "real")]
pub mod real;
pub mod recording;
pub mod reproduce;
pub mod runs;
pub mod saved;
#[cfg(feature = "real")]
pub mod sent;
#[cfg(feature = "real")]
pub mod server_users;
pub mod single_run;
pub mod sweeps;
pub mod table_file;
pub mod table_rows;
#[cfg(feature = "real")]
pub mod tcp;
#[cfg(test)]
mod testing;
#[cfg(feature = "real")]
pub mod throughput;
pub mod trace_file;
pub mod transport;
pub mod under_test;
pub mod words;

pub use count::count;
pub use error::{BadInput, Error};
/// The program and its version.
pub const VERSION: &str = concat!("whimbrel ", env!("CARGO_PKG_VERSION"));

pub use observer::{Observer, Unobserved};
