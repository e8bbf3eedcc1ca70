//! The server: stores files from clients that have a token in one directory.
//!
//! | part | content |
//! |---|---|
//! | `serve` | the socket, and the loop that accepts connections |
//! | `options`, `users` | options, limits and events; who may do what |
//! | `shared` | what all connections share |
//! | `admission`, `strangers` | which connections are accepted |
//! | `tcp` | connections over TCP |
//! | `reset` | how clients learn that the server started again |
//! | `peer`, `client` | a connection and its slot; whom the server serves there |
//! | `session` | one connection: its requests and data streams |
//! | `put` | one file, from the request to the answer |
//! | `tree` | many small files |
//! | `stored_files`, `listing` | get, list, remove; what of a listing a user may see |
//! | `request` | what several requests do alike |
//! | `many` | get many small files |
//! | `pipe`, `pipe_target` | one pipe, and what it reaches |
//! | `meetings`, `meet` | senders that wait; strangers who meet |
//! | `discard` | where the data of a probe goes |
//! | `queue` | places for transfers, and who waits for one |
//! | `shares` | what one user may hold of all |
//! | `claims` | which transfer stores which file, and what was stored last |
//! | `usage` | quotas |
//! | `known_clients` | what the paths to clients carried |
//! | `counts`, `incoming` | what is counted for metrics, and what arrives |

mod admission;
mod claims;
mod client;
mod counts;
mod discard;
mod incoming;
mod known_clients;
mod listing;
mod many;
mod meet;
mod meetings;
mod options;
mod peer;
mod pipe;
mod pipe_target;
mod put;
mod queue;
mod request;
mod reset;
mod serve;
mod session;
mod shared;
mod shares;
mod stored_files;
mod strangers;
mod tcp;
mod tree;
mod usage;
pub mod users;

pub use counts::Counts;
pub use incoming::{Incoming, IncomingPath, Receiving, Share};
pub use options::{Event, Limits, RemoteUser, ServeOptions};
pub use serve::Server;
