//! Data that the application has read but still keeps, such as until it is on disk.
//!
//! noq lets the peer send more as soon as data is read. So that all that waits anywhere stays below
//! one bound, what is kept makes the connection's window smaller. To the peer it looks as if it had
//! not been read yet.

use super::state::{Shared, State};
use noq_proto::VarInt;
use std::sync::Arc;

/// The window follows what is kept in steps of this part of it, so that a fast disk costs nothing.
/// What is kept and what waits to be read are at most the window, a step, and what is read at once.
const STEPS: u64 = 16;

/// The window of a connection, and what is kept of it, bytes.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// The most that may wait; 0 until the application has set it.
    most: u64,
    kept: u64,
    /// What was kept when noq's window was last changed.
    applied: u64,
}

impl Window {
    fn window(&mut self) -> Option<VarInt> {
        self.applied = self.kept;
        VarInt::from_u64(self.most.saturating_sub(self.kept)).ok()
    }

    /// The application has set the most that may wait. Returns the window that noq shall use.
    pub fn set(&mut self, most: VarInt) -> Option<VarInt> {
        self.most = most.into_inner();
        self.window()
    }

    /// Something keeps another number of bytes now. Returns the window that noq shall use, if it is
    /// another one.
    fn keep(&mut self, before: u64, now: u64) -> Option<VarInt> {
        self.kept = self.kept - before + now;
        let far = self.kept.abs_diff(self.applied) >= self.most / STEPS;
        let all = self.kept == 0 && self.applied != 0;
        (self.most > 0 && (far || all)).then(|| self.window())?
    }
}

/// Counts bytes that are kept of a connection's data, until it is dropped.
pub struct Kept {
    connection: Arc<Shared>,
    bytes: u64,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_follows_what_is_kept_in_steps() {
        let mut window = Window::default();
        assert_eq!(window.keep(0, 10), None, "nothing is set yet");
        let is = |bytes| Some(VarInt::from_u32(bytes));
        assert_eq!(window.set(VarInt::from_u32(1600)), is(1590));
        assert_eq!(window.keep(10, 105), None, "less than a step");
        assert_eq!(window.keep(105, 800), is(800));
        assert_eq!(window.keep(800, 5000), is(0));
        assert_eq!(window.keep(5000, 4901), None);
        assert_eq!(window.keep(4901, 1499), is(101));
        assert_eq!(window.keep(1499, 1), is(1599));
        assert_eq!(window.keep(1, 0), is(1600));
        assert_eq!([window.keep(0, 99), window.keep(99, 0)], [None; 2]);
    }
}
