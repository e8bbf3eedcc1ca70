//! Indigo's averages of a path, updated with every acknowledgment: F. Y. Yan et al., "Pantheon: the
//! training ground for Internet congestion-control research", USENIX ATC 2018, section 5.

use std::collections::VecDeque;
use whimbrel_cc::Ack;
use whimbrel_units::{Bytes, Duration, Time};

/// Weight of a new sample in each average: the authors' code.
const WEIGHT: f64 = 0.125;
/// Departures that are remembered, for the rate of sending: one each millisecond.
const GRAIN: Duration = Duration::from_millis(1);
const REMEMBERED: usize = 4096;

/// Averages over acknowledgments, each `x += (sample - x)/8`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Features {
    /// RTT above its minimum, ms.
    pub delay_ms: f64,
    /// Data delivered between the departure of the newest acknowledged packet and its
    /// acknowledgment, over its RTT, Mbit/s.
    pub delivery_mbps: f64,
    /// Data sent in the same time, over the RTT, Mbit/s.
    pub send_mbps: f64,
    started: bool,
    sent: u64,
    /// Bytes sent at times, at most one entry for each [`GRAIN`].
    departures: VecDeque<(Time, u64)>,
}

impl Features {
    /// A packet of `size` bytes leaves at `now`.
    pub fn on_sent(&mut self, now: Time, size: Bytes) {
        let last = self.departures.back().map(|(at, _)| *at);
        if last.is_none_or(|at| now.since(at) >= GRAIN) {
            if self.departures.len() == REMEMBERED {
                self.departures.pop_front();
            }
            self.departures.push_back((now, self.sent));
        }
        self.sent = self.sent.saturating_add(size.get());
    }

    /// Data is acknowledged.
    pub fn on_ack(&mut self, ack: &Ack) {
        let (Some(rtt), Some(newest)) = (ack.rtt, ack.newest) else {
            return;
        };
        let seconds = rtt.as_secs_f64().max(1e-3);
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds;
        // What left before the acknowledged packet is of no use any more.
        while self
            .departures
            .get(1)
            .is_some_and(|(at, _)| *at <= newest.sent)
        {
            self.departures.pop_front();
        }
        let sent_then = self.departures.front().map_or(self.sent, |(_, sent)| *sent);
        let delivered = ack.delivered.get().saturating_sub(newest.delivered.get());
        let samples = [
            (rtt.as_secs_f64() - ack.min_rtt.as_secs_f64()).max(0.0) * 1e3,
            mbps(delivered),
            mbps(self.sent.saturating_sub(sent_then)),
        ];
        let weight = if self.started { WEIGHT } else { 1.0 };
        self.started = true;
        let averages = [
            &mut self.delay_ms,
            &mut self.delivery_mbps,
            &mut self.send_mbps,
        ];
        for (average, sample) in averages.into_iter().zip(samples) {
            *average += (sample - *average) * weight;
        }
    }
}
