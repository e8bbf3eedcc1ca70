//! What Indigo sees of its path: three averages, updated with every acknowledgment.

use crate::interface::Ack;

/// Weight of a new sample in each average: the authors' code.
const WEIGHT: f64 = 0.125;

/// Averages over acknowledgments, each `x += (sample - x)/8`. The first sample is the first value.
#[derive(Debug, Clone, Default)]
pub struct Features {
    /// RTT above its minimum, ms.
    pub delay_ms: f64,
    /// Data delivered between the departure of the newest acknowledged packet and its
    /// acknowledgment, over its RTT, Mbit/s.
    pub delivery_mbps: f64,
    /// Data sent in the same time, over the RTT, Mbit/s.
    pub send_mbps: f64,
    started: bool,
}

impl Features {
    /// Data is acknowledged. An acknowledgment without an RTT sample, or of a packet whose counts
    /// the transport does not know, changes nothing.
    ///
    /// What was sent until a moment is what was delivered, lost and in flight then.
    pub fn on_ack(&mut self, ack: &Ack) {
        let (Some(rtt), Some(newest)) = (ack.rtt, ack.newest) else {
            return;
        };
        let seconds = rtt.as_secs_f64().max(1e-3);
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds;
        let sent = |delivered: u64, lost: u64, in_flight: u64| {
            delivered.saturating_add(lost).saturating_add(in_flight)
        };
        let sent_now = sent(ack.delivered.get(), ack.lost.get(), ack.in_flight.get());
        let sent_then = sent(
            newest.delivered.get(),
            newest.lost.get(),
            newest.in_flight.get(),
        );
        let delivered = ack.delivered.get().saturating_sub(newest.delivered.get());
        let samples = [
            (rtt.as_secs_f64() - ack.min_rtt.as_secs_f64()).max(0.0) * 1e3,
            mbps(delivered),
            mbps(sent_now.saturating_sub(sent_then)),
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
