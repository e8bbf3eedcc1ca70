//! What the congestion controller of a connection shares with the endpoint's driver.
//!
//! noq owns the controller and calls it while it builds or processes packets. The driver calls
//! [`Feedback`](crate::feedback::Feedback) around that. Both reach this state through a lock that
//! nothing contends for: noq and the driver both hold the connection's own lock.

use crate::PacketLog;
use crate::bursts::BurstFlow;
use crate::feedback::marks::{Arrived, Marks};
use crate::feedback::silence::Silence;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use whimbrel_units::Time;

/// What noq may count in flight beyond what it tells a controller, bytes: packets that it pads but
/// that need no acknowledgment. It makes some dozens of them, of some dozens of bytes, at a
/// timeout.
const PADDED: u64 = 64 << 10;

/// The shared state of a connection. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Control(Arc<Mutex<State>>);

/// The state.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Marks of an algorithm that is fed acknowledgments.
    pub marks: Marks,
    /// Watches for outages.
    pub silence: Silence,
    /// The order of the last packet sent, and when it was.
    pub last_sent: Option<(u64, Time)>,
    /// One packet may leave whatever the window: a probe, an answer after a silence, or a report.
    /// Reports take the place of acknowledgments, which no window limits, and are as many: at most
    /// one for two packets.
    pub one_more: bool,
    /// The local address changed; the congestion controller does not know yet.
    pub moved: bool,
    /// The flow of an algorithm that is fed bursts, once noq has built its controller.
    pub bursts: Option<BurstFlow>,
    /// Packets and decisions are logged here.
    pub log: Option<PacketLog>,
}

impl Control {
    /// The state. A panic while it was locked is no reason to stop the connection.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs something, if there is a log.
    pub fn log(&self, write: impl FnOnce(&PacketLog)) {
        if let Some(log) = &self.lock().log {
            write(log);
        }
    }

    /// The packet `order`, in order of transmission, was sent at `now`, which is `sent` on the
    /// connection's clock.
    pub fn on_sent(&self, now: Instant, sent: Time, order: u64) {
        let mut state = self.lock();
        state.last_sent = Some((order, sent));
        state.one_more = false;
        state.silence.on_sent(now);
    }

    /// An acknowledgment arrived.
    pub fn on_acks(&self, now: Instant, in_flight: u64, srtt: Duration) {
        self.lock().silence.on_heard(now, in_flight == 0, srtt);
    }

    /// Whether the local address changed since the last call.
    pub fn take_moved(&self) -> bool {
        std::mem::take(&mut self.lock().moved)
    }

    /// What is known of an arrival, with the packet `order` the newest that is acknowledged.
    pub fn arrived(&self, order: u64) -> Option<Arrived> {
        self.lock().marks.acknowledged(order)
    }

    /// Whether one packet may leave whatever the window.
    pub fn lets_one_more(&self) -> bool {
        self.lock().one_more
    }

    /// The minimum window, with `in_flight` bytes in flight and packets of `mtu` bytes. It lets one
    /// packet leave: with the next one that is sent, it is 0 again.
    pub fn min_window(&self, in_flight: u64, mtu: u64) -> u64 {
        if self.lets_one_more() {
            in_flight + mtu + PADDED
        } else {
            0
        }
    }
}
