//! Gets files and directories from a server.
//!
//! | part | content |
//! |---|---|
//! | `get` | a request, and each large file of it |
//! | `packs` | small files |
//! | `item` | what to download, and how much of it is here |
//! | `place` | where it goes |

mod get;
mod item;
mod packs;
#[cfg(test)]
mod packs_tests;
mod place;

pub use get::{GetOptions, GetReport, get};
pub use place::Wanted;
