//! Pipes: a byte stream in each direction between a client and a port or program at the server.
//!
//! | part | content |
//! |---|---|
//! | `stream` | a byte stream as chunks on streams of QUIC |
//! | `relay` | joins a pipe to something local |
//!
//! A client asks for a pipe on a stream of its own (`Pipe`). The server opens the target, answers
//! with the pipe's number (`Accepted`), and with the exit status when the target has ended
//! (`Exited`). Data travels on streams in one direction, whose headers name pipe and chunk.

mod relay;
mod stream;
#[cfg(test)]
mod stream_tests;

pub use relay::Carried;
pub(crate) use relay::{inward, outward, relay};
pub(crate) use stream::{PipeReader, PipeWriter};
