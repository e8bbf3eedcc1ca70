//! Counts round trips, and tells whether the sender used its window in them.
//!
//! A round ends when a packet is acknowledged that was sent after the round began. Use of the
//! window is judged over the current and the previous round, because a paced sender reaches its
//! window only now and then, not before every acknowledgment. noq paces at 5/4 of a window per
//! round trip in slow start too, and so never quite fills the window. Half a window in flight
//! therefore counts as use, as in Linux's `tcp_is_cwnd_limited`. Otherwise pacing would stop slow
//! start, which RFC 9002 section 7.8 advises against.

/// Counts rounds and records the use of the window in them.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    /// The round ends when a packet of this order or a later one is acknowledged.
    end: u64,
    this: Use,
    last: Use,
}

#[derive(Debug, Clone, Copy, Default)]
struct Use {
    /// The window stopped noq from sending.
    limited: bool,
    /// Maximum number of bytes in flight.
    peak: u64,
}

impl Rounds {
    /// The window stopped noq from sending.
    pub fn on_limited(&mut self) {
        self.this.limited = true;
    }

    /// `in_flight` bytes are in flight now.
    pub fn on_in_flight(&mut self, in_flight: u64) {
        self.this.peak = self.this.peak.max(in_flight);
    }

    /// Whether the sender used its window of `window` bytes. `app_limited`: it had no data to send.
    pub fn used(&self, window: u64, app_limited: bool) -> bool {
        let peak = self.this.peak.max(self.last.peak);
        self.this.limited || self.last.limited || (!app_limited && peak.saturating_mul(2) >= window)
    }

    /// The newest packet acknowledged has the order `order`; the next to be sent has the order
    /// `next`. Returns whether a new round begins.
    pub fn on_ack(&mut self, order: u64, next: u64) -> bool {
        let begins = order >= self.end;
        if begins {
            self.end = next;
            self.last = std::mem::take(&mut self.this);
        }
        begins
    }
}
