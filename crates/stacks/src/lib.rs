//! Unmodified protocol stacks of others on the paths of the simulator: the same links, the same
//! lost packets, the same measures, in virtual time.
//!
//! | file | contents |
//! |---|---|
//! | `endpoint` | the interface of a stack; how to add one |
//! | `stack/` | the stacks, a file for each |
//! | `catalog` | their names, versions and controllers |
//! | `virtual_os` | the clock and the random numbers that stacks see |
//! | `application` | what the sending application writes, and when |
//! | `pair`, `host` | both ends of a connection, as the engine drives them |
//! | `runs` | runs on a path or at a point of the matrix, and what they showed |
//! | `runner` | stacks for the search of `whimbrel hunt` |
//! | `show` | tables, JSON, and the page with the league |
//!
//! The engine is that of [`whimbrel_sim`]: a flow of a scenario is carried by a stack instead of
//! the simulator's transport ([`whimbrel_sim::Host`]).

pub mod application;
pub mod catalog;
pub mod endpoint;
mod host;
mod identity;
mod pair;
pub mod runner;
pub mod runs;
mod stack;
pub mod virtual_os;
