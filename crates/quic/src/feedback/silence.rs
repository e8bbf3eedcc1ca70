//! Probing during an outage.
//!
//! The rule, and why there is one, is [`whimbrel_cc::connection::Silence`]'s: the simulator has it,
//! too.
//!
//! **The other end** of a fade has a window, too, and what it sent into the fade fills it. noq
//! holds back even acknowledgments then if anything else waits, such as flow control, until its own
//! probe timeout. The first packet that arrives after a silence therefore lets one packet leave.

use std::time::{Duration as Span, Instant};
use whimbrel_cc::connection;
use whimbrel_units::{Duration, Time};

/// Watches for silence.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    /// The clock of `probes` shows zero then: at the first event.
    origin: Option<Instant>,
    probes: connection::Silence,
    /// When the last packet of the peer arrived.
    arrived: Option<Instant>,
}

impl Silence {
    /// A packet was sent.
    pub fn on_sent(&mut self, now: Instant) {
        let now = self.time(now);
        self.probes.on_sent(now);
    }

    /// An acknowledgment arrived; `idle`: nothing is in flight any more.
    pub fn on_heard(&mut self, now: Instant, idle: bool, srtt: Duration, min_rtt: Duration) {
        let now = self.time(now);
        self.probes.on_rtt(srtt, min_rtt);
        self.probes.on_heard(now, idle);
    }

    /// A packet of the peer arrived. Returns whether it ended a silence.
    pub fn on_arrival(&mut self, now: Instant) -> bool {
        let before = self.arrived.replace(now);
        before.is_some_and(|before| now >= before + Span::from(self.probes.interval()))
    }

    /// When the next probe is due.
    pub fn probe_at(&self) -> Option<Instant> {
        let at = self.probes.deadline();
        let origin = self.origin.filter(|_| at < Time::MAX)?;
        Some(origin + Span::from(at.since(Time::ZERO)))
    }

    /// Whether a probe is due; the next one is then due an interval later.
    pub fn take_probe(&mut self, now: Instant) -> bool {
        let now = self.time(now);
        self.probes.take(now)
    }

    fn time(&mut self, now: Instant) -> Time {
        let origin = *self.origin.get_or_insert(now);
        Time::ZERO + Duration::from(now.saturating_duration_since(origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: std::time::Duration = std::time::Duration::from_millis(1);

    #[test]
    fn a_silent_path_is_probed() {
        let start = Instant::now();
        let mut silence = Silence::default();
        assert_eq!(silence.probe_at(), None, "nothing in flight");
        silence.on_sent(start);
        silence.on_sent(start + 200 * MS);
        assert!(!silence.take_probe(start + 249 * MS));
        assert!(silence.take_probe(start + 250 * MS));
        assert_eq!(silence.probe_at(), Some(start + 500 * MS));
        let rtt = Duration::from_millis(600);
        silence.on_heard(start + 2500 * MS, false, rtt, rtt);
        assert_eq!(silence.probe_at(), Some(start + 3250 * MS));
        silence.on_heard(start + 2600 * MS, true, rtt, rtt);
        assert_eq!(silence.probe_at(), None);
    }

    #[test]
    fn the_first_packet_after_a_silence_is_noticed() {
        let start = Instant::now();
        let mut silence = Silence::default();
        assert!(!silence.on_arrival(start), "the first of all");
        assert!(!silence.on_arrival(start + 249 * MS));
        assert!(silence.on_arrival(start + 499 * MS));
        assert!(!silence.on_arrival(start + 500 * MS));
        let rtt = Duration::from_millis(600);
        silence.on_heard(start + 500 * MS, false, rtt, rtt);
        assert!(!silence.on_arrival(start + 1249 * MS));
        assert!(silence.on_arrival(start + 1999 * MS));
    }
}
