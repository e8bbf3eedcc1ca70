//! Sends files.
//!
//! | part | content |
//! |---|---|
//! | `file` | one file, or standard input |
//! | `tree` | directories and many files |

mod file;
mod tree;

pub use file::{Report, SendOptions, SendSource, StreamReader, send, transfer};
pub use tree::{TreeOptions, TreeReport, send_tree};
