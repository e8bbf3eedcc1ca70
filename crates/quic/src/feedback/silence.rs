//! Probing during an outage.
//!
//! QUIC's probe timeout doubles each time (RFC 9002 section 6.2.1), so after a fade of some seconds
//! the path may have been back for as long again before anything is sent. While data is in flight
//! and nothing has been heard for a second, or for a round trip if that is longer, one small packet
//! each such interval tests whether the path is back. It is sent whatever the window: one packet a
//! second congests nothing (RFC 8085 section 3.1.1 allows one per 3 s without any knowledge of the
//! path, and one per RTT with it).

use std::time::{Duration, Instant};

/// The minimum interval of probes.
const INTERVAL: Duration = Duration::from_secs(1);

/// Watches for silence.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    /// The silence is counted from here: the last packet that was heard, the first one sent after
    /// an idle time, or the last probe. `None`: nothing is in flight.
    since: Option<Instant>,
    srtt: Duration,
}

impl Silence {
    /// A packet was sent.
    pub fn on_sent(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Something was heard of the peer; `idle`: nothing is in flight any more.
    pub fn on_heard(&mut self, now: Instant, idle: bool, srtt: Duration) {
        self.since = (!idle).then_some(now);
        self.srtt = srtt;
    }

    /// When the next probe is due.
    pub fn probe_at(&self) -> Option<Instant> {
        self.since.map(|since| since + INTERVAL.max(self.srtt))
    }

    /// Whether a probe is due; the next one is then due an interval later.
    pub fn take_probe(&mut self, now: Instant) -> bool {
        let due = self.probe_at().is_some_and(|at| at <= now);
        if due {
            self.since = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_silent_path_is_probed_each_second_or_round_trip() {
        let start = Instant::now();
        let mut silence = Silence::default();
        assert_eq!(silence.probe_at(), None, "nothing in flight");
        silence.on_sent(start);
        silence.on_sent(start + 900 * MS);
        assert!(!silence.take_probe(start + 999 * MS));
        assert!(silence.take_probe(start + 1000 * MS));
        assert!(!silence.take_probe(start + 1001 * MS));
        assert!(silence.take_probe(start + 2000 * MS));
        silence.on_heard(start + 2500 * MS, false, 1500 * MS);
        assert_eq!(silence.probe_at(), Some(start + 4000 * MS));
        silence.on_heard(start + 2600 * MS, true, 1500 * MS);
        assert_eq!(silence.probe_at(), None);
    }
}
