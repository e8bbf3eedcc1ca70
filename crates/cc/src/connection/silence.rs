//! Probes in silence: packets are in flight, and nothing arrives.
//!
//! The retransmission timer of RFC 6298 and the probe timeout of RFC 9002 follow the smoothed RTT,
//! and double. After a fade of some seconds the path may have been back for as long again before
//! anything is sent. Where a trickle of packets went through, the smoothed RTT is seconds, and a
//! sender whose window is full of lost packets says nothing for half a minute.
//!
//! While packets are in flight and nothing has been heard for an interval, one packet each interval
//! tests whether the path is back. It is sent whatever the window: one packet per round trip
//! congests nothing (RFC 8085 section 3.1.1). The interval is a quarter of a second, or 5/4 of the
//! smoothed RTT if that is longer, but at most two minimum RTTs then: what a stall has made of the
//! smoothed RTT says nothing of the path after it. (Without the quarter, the acknowledgment of the
//! first packet after a pause, which waits for no other, would come too late by its own length.)

use whimbrel_units::{Duration, Time};

/// The least interval of probes.
const LEAST: Duration = Duration::from_millis(250);

/// When a sender that hears nothing sends a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// When the next probe is due; [`Time::MAX`]: nothing is in flight.
    at: Time,
    interval: Duration,
}

impl Default for Silence {
    fn default() -> Self {
        Self {
            at: Time::MAX,
            interval: LEAST,
        }
    }
}

impl Silence {
    /// When the next probe is due; [`Time::MAX`]: none is.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.at
    }

    /// The time between two probes.
    #[inline]
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// A packet was sent. If nothing was in flight, the silence begins.
    #[inline]
    pub fn on_sent(&mut self, now: Time) {
        if self.at == Time::MAX {
            self.at = now + self.interval;
        }
    }

    /// The smoothed and the minimum RTT, as they are known now.
    #[inline]
    pub fn on_rtt(&mut self, srtt: Duration, min_rtt: Duration) {
        self.interval = (srtt * 5 / 4).min(min_rtt * 2).max(LEAST);
    }

    /// An acknowledgment arrived; `idle`: nothing is in flight any more.
    #[inline]
    pub fn on_heard(&mut self, now: Time, idle: bool) {
        self.at = match idle {
            true => Time::MAX,
            false => now + self.interval,
        };
    }

    /// Whether a probe is due; the next one is then due an interval later.
    #[inline]
    pub fn take(&mut self, now: Time) -> bool {
        let is_due = self.at <= now;
        if is_due {
            self.at = now + self.interval;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(after: u64) -> Time {
        Time::ZERO + ms(after)
    }

    #[test]
    fn a_silent_path_is_probed_each_quarter_second_or_round_trip() {
        let mut silence = Silence::default();
        assert_eq!(silence.deadline(), Time::MAX, "nothing in flight");
        silence.on_sent(at(0));
        silence.on_sent(at(200));
        assert!(!silence.take(at(249)));
        assert!(silence.take(at(250)));
        assert!(!silence.take(at(251)));
        assert!(silence.take(at(500)));
        silence.on_rtt(ms(1200), ms(1000));
        silence.on_heard(at(2500), false);
        assert_eq!(silence.deadline(), at(4000));
        silence.on_heard(at(2600), true);
        assert_eq!(silence.deadline(), Time::MAX);
    }

    #[test]
    fn what_a_stall_makes_of_the_smoothed_rtt_delays_no_probe() {
        let mut silence = Silence::default();
        silence.on_sent(at(0));
        silence.on_rtt(ms(5000), ms(40));
        silence.on_heard(at(1000), false);
        assert_eq!(silence.deadline(), at(1250));
        silence.on_rtt(ms(5000), ms(600));
        silence.on_heard(at(2000), false);
        assert_eq!(silence.deadline(), at(3200));
    }
}
