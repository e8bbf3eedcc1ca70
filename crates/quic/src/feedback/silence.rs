//! Probing during an outage.
//!
//! QUIC's probe timeout doubles each time (RFC 9002 section 6.2.1), so after a fade of some seconds
//! the path may have been back for as long again before anything is sent. While data is in flight
//! and nothing has been heard for a quarter of a second, or for a round trip if that is longer, one
//! packet each such interval tests whether the path is back. It is sent whatever the window: one
//! packet per round trip congests nothing (RFC 8085 section 3.1.1).
//!
//! **The other end** of a fade has a window, too, and what it sent into the fade fills it. noq
//! holds back even acknowledgments then if anything else waits, such as flow control, until its own
//! probe timeout. The first packet that arrives after a silence therefore lets one packet leave.

use std::time::{Duration, Instant};

/// The minimum interval of probes.
const INTERVAL: Duration = Duration::from_millis(250);

/// Watches for silence.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    /// The silence is counted from here: the last acknowledgment, the first packet sent after an
    /// idle time, or the last probe. `None`: nothing is in flight.
    since: Option<Instant>,
    /// When the last packet of the peer arrived.
    arrived: Option<Instant>,
    srtt: Duration,
}

impl Silence {
    /// A packet was sent.
    pub fn on_sent(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// An acknowledgment arrived; `idle`: nothing is in flight any more.
    pub fn on_heard(&mut self, now: Instant, idle: bool, srtt: Duration) {
        self.since = (!idle).then_some(now);
        self.srtt = srtt;
    }

    /// A packet of the peer arrived. Returns whether it ended a silence.
    pub fn on_arrival(&mut self, now: Instant) -> bool {
        let before = self.arrived.replace(now);
        before.is_some_and(|before| now >= before + self.interval())
    }

    /// When the next probe is due.
    pub fn probe_at(&self) -> Option<Instant> {
        self.since.map(|since| since + self.interval())
    }

    /// Whether a probe is due; the next one is then due an interval later.
    pub fn take_probe(&mut self, now: Instant) -> bool {
        let due = self.probe_at().is_some_and(|at| at <= now);
        if due {
            self.since = Some(now);
        }
        due
    }

    fn interval(&self) -> Duration {
        INTERVAL.max(self.srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_silent_path_is_probed_each_quarter_second_or_round_trip() {
        let start = Instant::now();
        let mut silence = Silence::default();
        assert_eq!(silence.probe_at(), None, "nothing in flight");
        silence.on_sent(start);
        silence.on_sent(start + 200 * MS);
        assert!(!silence.take_probe(start + 249 * MS));
        assert!(silence.take_probe(start + 250 * MS));
        assert!(!silence.take_probe(start + 251 * MS));
        assert!(silence.take_probe(start + 500 * MS));
        silence.on_heard(start + 2500 * MS, false, 1500 * MS);
        assert_eq!(silence.probe_at(), Some(start + 4000 * MS));
        silence.on_heard(start + 2600 * MS, true, 1500 * MS);
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
        silence.on_heard(start + 500 * MS, false, 600 * MS);
        assert!(!silence.on_arrival(start + 1099 * MS));
        assert!(silence.on_arrival(start + 1699 * MS));
    }
}
