//! The window of a connection's data that waits, made smaller by what the application keeps.

use noq_proto::VarInt;

/// The window follows what is kept in steps of this part of it, so that a fast disk costs nothing.
/// What is kept and what waits to be read are at most the window, a step, and what is read at once.
const STEPS: u64 = 16;

/// The window of a connection, and what is kept of it, bytes.
#[derive(Debug, Default)]
pub(crate) struct ReceiveWindow {
    /// The most that may wait; 0 until the application has set it.
    most: u64,
    kept: u64,
    /// What was kept when noq's window was last changed.
    applied: u64,
}

impl ReceiveWindow {
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
    pub fn keep(&mut self, before: u64, now: u64) -> Option<VarInt> {
        self.kept = self.kept - before + now;
        let far = self.kept.abs_diff(self.applied) >= self.most / STEPS;
        let all = self.kept == 0 && self.applied != 0;
        (self.most > 0 && (far || all)).then(|| self.window())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_follows_what_is_kept_in_steps() {
        let mut window = ReceiveWindow::default();
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
