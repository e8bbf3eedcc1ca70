//! What the transport obeys: the window, the pacing rate, and how many packets leave together.
//!
//! A transport reads them for each packet that it sends, and they change only with the events that
//! it reports. So they are computed at the end of each event, once for all packets that it
//! releases.

use super::{Mode, Whimbrel, higher, lower};
use crate::algorithms::model::bbr::signals::at_least_slowest;
use whimbrel_units::{Bytes, Rate};

/// The smallest window that the transport gets in normal operation, segments: two that are
/// acknowledged together and two more, so that no acknowledgment waits for the receiver's timer,
/// whose delay would look like a queue.
const SMALL_WINDOW: u64 = 4;

/// A flow whose packets are further apart than this, s, sends them in pairs. The receiver
/// acknowledges a lone packet after up to 40 ms, and a flow whose packets are all alone would take
/// that for a queue, yield to it, and stay at one packet for each RTT. Less than 40 ms, because a
/// trial or a drain may leave a quarter of the rate.
const PAIRED: f64 = 0.01;

/// Pacing rate over window per round trip in startup, while competing, and otherwise. Above 1 the
/// window decides how much is in flight, and pacing only that it does not come in bursts.
const PACING: (f64, f64, f64) = (2.0, 1.2, 1.1);

/// The same during a push: what it adds is sent within a round trip.
const PUSHING: f64 = 1.4;

/// The answers to the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub cwnd: Bytes,
    /// `None` before the first RTT sample.
    pub pacing_rate: Option<Rate>,
    pub send_quantum: u32,
}

impl Limits {
    /// None is known.
    pub const UNKNOWN: Self = Self {
        cwnd: Bytes::ZERO,
        pacing_rate: None,
        send_quantum: 1,
    };
}

impl Whimbrel {
    /// Whether pacing, and not the window, decides how much is in flight.
    pub(super) fn is_small(&self) -> bool {
        self.window < SMALL_WINDOW as f64 * self.mss
    }

    /// Ends an event: its effect on the limits.
    #[inline]
    pub(super) fn renew_limits(&mut self) {
        self.limits = self.limits_now();
    }

    /// The limits of the present state.
    pub(super) fn limits_now(&self) -> Limits {
        let min = if self.stalled { 1 } else { SMALL_WINDOW };
        let cwnd = Bytes::new((self.window as u64).max(self.segment.saturating_mul(min)));
        if !self.delays.known() {
            return Limits {
                cwnd,
                ..Limits::UNKNOWN
            };
        }
        let paired = self.own_rate() * PAIRED < 1.0;
        Limits {
            cwnd,
            pacing_rate: Some(self.pacing_now()),
            send_quantum: if paired { 2 } else { 1 },
        }
    }

    fn pacing_now(&self) -> Rate {
        let (startup, compete, otherwise) = PACING;
        let gain = match self.mode {
            Mode::Startup(_) => startup,
            Mode::Compete(_) => compete,
            Mode::Push(..) => PUSHING,
            _ => otherwise,
        };
        // A batch should find packets to acknowledge, so the window is spread over the slow trips;
        // but not more slowly than the path has delivered, which makes no queue. Otherwise one
        // stall of the way back would slow the flow down, and with it the acknowledgments that
        // tell the end of the stall.
        let slow = self.window / higher(self.slow_trip(), 1e-6);
        let usual = self.window / higher(self.trip(), 1e-6);
        let shown = self.delivery_rate().unwrap_or(0.0);
        let bits = gain * higher(slow, lower(usual, shown)) * 8.0;
        let rate = Rate::from_bits_per_sec(lower(bits, 1e18) as u64);
        at_least_slowest(rate, self.segment)
    }
}
