//! Episodes of loss, by TCP's rules: which losses belong to the last reduction.

/// The present episode. Positions are unwrapped sequence numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Episode {
    /// The episode ends when everything below is acknowledged.
    repaired: u64,
    open: bool,
    /// It reduced the window, and fast recovery repairs it: proportional rate reduction applies.
    reducing: bool,
    /// The window restarts from one segment: after a timeout, or without fast recovery (Tahoe).
    restarting: bool,
}

impl Episode {
    /// An episode begins. `next`: the next sequence number to send. `reduced`: the window was
    /// reduced. `has_recovery`: the algorithm has fast recovery.
    pub fn begin(&mut self, next: u64, reduced: bool, has_recovery: bool) {
        *self = Self {
            repaired: next,
            open: true,
            reducing: reduced && has_recovery,
            restarting: reduced && !has_recovery,
        };
    }

    /// The retransmission timer fired.
    pub fn begin_timeout(&mut self, next: u64) {
        *self = Self {
            repaired: next,
            open: true,
            reducing: false,
            restarting: true,
        };
    }

    /// Whether it ends when everything below `una` is acknowledged.
    pub fn is_repaired_by(&self, una: u64) -> bool {
        self.open && una >= self.repaired
    }

    /// It ends.
    pub fn end(&mut self) {
        *self = Self::default();
    }

    /// Whether it has not ended.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether its losses are repaired with a reduced window.
    pub fn is_reducing(&self) -> bool {
        self.reducing
    }

    /// Whether further losses belong to it. After a loss that did not reduce the window they do
    /// not: each is judged anew.
    pub fn is_closed_to_new(&self) -> bool {
        self.reducing || self.restarting
    }
}
