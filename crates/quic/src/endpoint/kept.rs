//! Data that the application has read but still keeps, such as until it is on disk.
//!
//! noq lets the peer send more as soon as data is read. So that all that waits anywhere stays below
//! one bound, what is kept makes the connection's window smaller. To the peer it looks as if it had
//! not been read yet.

use super::state::{ConnectionRef, Shared, State};
use noq_proto::VarInt;
use std::sync::Arc;

/// Counts bytes that are kept of a connection's data, until it is dropped.
pub struct Kept {
    connection: Arc<Shared>,
    bytes: u64,
}

impl ConnectionRef {
    /// See [`RecvStream::keep`](super::RecvStream::keep). It does not keep the connection open.
    pub fn keep(&self, bytes: u64) -> Kept {
        Kept::new(self.shared(), bytes)
    }
}

impl Kept {
    pub(super) fn new(connection: Arc<Shared>, bytes: u64) -> Self {
        let mut kept = Self {
            connection,
            bytes: 0,
        };
        kept.set(bytes);
        kept
    }

    /// Changes the number of bytes.
    pub fn set(&mut self, bytes: u64) {
        if bytes == self.bytes {
            return;
        }
        let changed = {
            let mut state = self.connection.lock();
            let window = state.window.keep(self.bytes, bytes);
            self.bytes = bytes;
            apply(&mut state, window)
        };
        if changed {
            self.connection.touch();
        }
    }
}

/// Sets noq's window. Returns whether there is anything to send.
fn apply(state: &mut State, window: Option<VarInt>) -> bool {
    match window {
        Some(window) if state.error.is_none() => {
            state.proto.set_receive_window(window);
            true
        }
        _ => false,
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.set(0);
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("bytes", &self.bytes).finish()
    }
}
