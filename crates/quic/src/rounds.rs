//! Round trips, and whether the window was used in them.
//!
//! A round ends when a packet is acknowledged that was sent after it began. Whether the window was
//! used is judged over this round and the last: a paced sender touches its window once in a while,
//! not before every acknowledgment. In slow start noq's pacing (5/4 of a window per round trip) never
//! quite fills the window, so having had half of it in flight counts too, as in Linux's
//! `tcp_is_cwnd_limited`; otherwise pacing would stop slow start (RFC 9002 section 7.8 says not to).

/// Counts rounds and remembers what happened in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rounds {
    /// The round ends when a packet of this order or a later one is acknowledged.
    end: u64,
    this: Use,
    last: Use,
}

#[derive(Debug, Clone, Copy, Default)]
struct Use {
    /// noq was held back by the window.
    limited: bool,
    /// Most bytes in flight.
    peak: u64,
}

impl Rounds {
    /// noq was held back by the window.
    pub fn on_limited(&mut self) {
        self.this.limited = true;
    }

    /// So much is in flight now, bytes.
    pub fn on_in_flight(&mut self, in_flight: u64) {
        self.this.peak = self.this.peak.max(in_flight);
    }

    /// Whether the sender used its window of `window` bytes; `app_limited`: it had nothing to send.
    pub fn used(&self, window: u64, app_limited: bool) -> bool {
        let peak = self.this.peak.max(self.last.peak);
        self.this.limited || self.last.limited || (!app_limited && peak.saturating_mul(2) >= window)
    }

    /// The newest packet acknowledged is the `order`-th, the next to be sent the `next`-th. Whether
    /// that begins a round.
    pub fn on_ack(&mut self, order: u64, next: u64) -> bool {
        let begins = order >= self.end;
        if begins {
            self.end = next;
            self.last = std::mem::take(&mut self.this);
        }
        begins
    }
}
