//! What the congestion controller of a path shares with the endpoint's driver.
//!
//! noq owns the controller and calls it while it builds or processes packets. The driver calls
//! [`Feedback`](crate::feedback::Feedback) around that. Both reach this state through a lock that
//! nothing contends for: noq and the driver both hold the connection's own lock.

use crate::PacketLog;
use crate::bursts::BurstFlow;
use crate::feedback::marks::{Arrived, Marks};
use crate::feedback::silence::Silence;
use crate::path_traffic::{News, PathTraffic};
use crate::siblings::{SiblingSlot, Siblings};
use noq_proto::congestion::Controller;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use whimbrel_cc::TimeOfDay;
use whimbrel_units::{Duration, Time};

/// What noq may count in flight beyond what it tells a controller, bytes: packets that it pads but
/// that need no acknowledgment. It makes some dozens of them, of some dozens of bytes, at a
/// timeout.
const PADDED: u64 = 64 << 10;

/// The shared state of a path. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Control(Arc<Mutex<ControlState>>);

/// The state.
#[derive(Debug, Default)]
pub(crate) struct ControlState {
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
    /// The application looks at the controller: a copy is no move to another path.
    pub looked_at: bool,
    /// The flow of an algorithm that is fed bursts, once noq has built its controller.
    pub bursts: Option<BurstFlow>,
    /// Packets and decisions are logged here.
    pub log: Option<PacketLog>,
    /// noq's timers are fired early, and this is the time.
    pub real_time: Option<Instant>,
    /// What the scheduler of several paths decides, and what it needs to know.
    pub traffic: PathTraffic,
}

impl Control {
    /// The state. A panic while it was locked is no reason to stop the connection.
    pub fn lock(&self) -> MutexGuard<'_, ControlState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of an event that noq dates at `now`.
    pub fn time_of(&self, now: Instant) -> Instant {
        self.lock().real_time.map_or(now, |real| real.min(now))
    }

    /// A copy of the controller that shares this, for the application.
    pub fn look_at(&self, controller: &dyn Controller) -> Box<dyn Controller> {
        self.lock().looked_at = true;
        let copy = controller.clone_box();
        self.lock().looked_at = false;
        copy
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
    pub fn on_acks(&self, now: Instant, news: &News) {
        let mut state = self.lock();
        let idle = news.in_flight == 0;
        state.silence.on_heard(now, idle, news.srtt, news.min_rtt);
        state.traffic.on_news(now, news);
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

    /// The window for noq: `window` bytes are the algorithm's, with `in_flight` bytes in flight and
    /// packets of `mtu` bytes.
    pub fn permitted(&self, window: u64, in_flight: u64, mtu: u64) -> u64 {
        let mut state = self.lock();
        if state.one_more {
            // It lets one packet leave.
            return window.max(in_flight + mtu + PADDED);
        }
        state.traffic.permitted(window)
    }
}

/// What all paths of a connection share. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Several(Arc<Common>);

#[derive(Debug, Default)]
struct Common {
    on: AtomicBool,
    built: AtomicU64,
    utc: OnceLock<(Instant, Duration)>,
    siblings: Siblings,
}

impl Several {
    /// Whether the connection may have several paths. Each controller then has a [`Control`] of its
    /// own.
    pub fn is_on(&self) -> bool {
        self.0.on.load(Ordering::Relaxed)
    }

    /// The peers agreed on several paths.
    pub fn switch_on(&self) {
        self.0.on.store(true, Ordering::Relaxed);
    }

    /// The place of one more path.
    pub fn join(&self) -> SiblingSlot {
        self.0.siblings.join()
    }

    /// noq builds a controller: a path was opened, or has moved. Returns whether it is the first.
    pub fn count(&self) -> bool {
        self.0.built.fetch_add(1, Ordering::Relaxed) == 0
    }

    /// How many controllers noq has built.
    pub fn built(&self) -> u64 {
        self.0.built.load(Ordering::Relaxed)
    }

    /// UTC at an instant, since 1970, by the endpoint's own clock; without it the system's counts.
    pub fn set_utc(&self, utc: Option<(Instant, Duration)>) {
        if let Some(utc) = utc {
            self.0.utc.set(utc).ok();
        }
    }

    /// The time of day at `instant`.
    pub fn time_of_day(&self, instant: Instant) -> TimeOfDay {
        match self.0.utc.get() {
            Some((known, utc)) => TimeOfDay {
                utc: *utc + Duration::from(instant.saturating_duration_since(*known)),
                synchronized: true,
            },
            None => whimbrel_host::time_of_day().before(instant.elapsed().into()),
        }
    }
}
