//! Monitor intervals: what became of the packets that were sent at one rate.
//!
//! An interval begins and ends with the sending of a packet, so that its rate is measured between
//! two packets and not rounded to whole ones. It is complete when a packet that was sent a quarter
//! of the minimum RTT after its end is acknowledged: by then the transport has found its losses
//! (RFC 8985 section 6.2 waits as long for reordered packets).

use crate::interface::{Ack, LostPacket};
use std::collections::VecDeque;
use whimbrel_units::{Bytes, Duration, Time};

/// Maximum number of intervals that await their acknowledgments. Then the oldest is given up.
const MAX_PENDING: usize = 64;

/// Which trial of which phase an interval is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trial {
    /// The phase: reports for former ones are ignored.
    pub phase: u32,
    /// Its number in the phase; `None`: the sender only waits for reports.
    pub number: Option<u32>,
}

/// One monitor interval.
#[derive(Debug, Clone, Copy)]
struct Interval {
    trial: Trial,
    /// The rate that was wanted, bytes per second.
    rate: f64,
    began: Time,
    /// When the next one is to begin; after that, when it did.
    ends: Time,
    /// Bytes.
    sent: u64,
    lost: u64,
    rtts: Line,
    app_limited: bool,
}

/// The result of a monitor interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report {
    /// What the interval was for.
    pub trial: Trial,
    /// The rate that was wanted, bytes per second.
    pub rate: f64,
    /// x of the papers: the rate that was sent, bytes per second.
    pub sent: f64,
    /// L: the fraction that was lost, 0 to 1.
    pub loss: f64,
    /// d(RTT)/dT: by how much the RTT grew per second of sending.
    pub rtt_gradient: f64,
    /// The application, not the algorithm, limited the rate.
    pub app_limited: bool,
}

/// The intervals of a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Monitor {
    current: Option<Interval>,
    /// Those that have ended, oldest first.
    pending: VecDeque<Interval>,
}

impl Monitor {
    /// Whether the packet that is sent now begins an interval.
    pub fn is_due(&self, now: Time) -> bool {
        self.current.is_none_or(|interval| now >= interval.ends)
    }

    /// Ends the interval, and begins one of this length.
    pub fn begin(&mut self, now: Time, length: Duration, rate: f64, trial: Trial) {
        if let Some(mut ended) = self.current.take() {
            ended.ends = now;
            if self.pending.len() >= MAX_PENDING {
                self.pending.pop_front();
            }
            self.pending.push_back(ended);
        }
        self.current = Some(Interval {
            trial,
            rate,
            began: now,
            ends: now + length,
            sent: 0,
            lost: 0,
            rtts: Line::default(),
            app_limited: false,
        });
    }

    /// A packet of the present interval is sent.
    pub fn on_sent(&mut self, size: Bytes) {
        if let Some(interval) = &mut self.current {
            interval.sent = interval.sent.saturating_add(size.get());
        }
    }

    /// A packet is acknowledged.
    pub fn on_ack(&mut self, ack: &Ack) {
        let Some(newest) = ack.newest else { return };
        if let Some(interval) = self.of(newest.sent) {
            interval.app_limited |= newest.app_limited;
            if let Some(rtt) = ack.rtt {
                let at = newest.sent.since(interval.began).as_secs_f64();
                interval.rtts.add(at, rtt.as_secs_f64());
            }
        }
    }

    /// A packet is lost.
    pub fn on_packet_lost(&mut self, lost: &LostPacket) {
        if let Some(interval) = self.of(lost.at.sent) {
            interval.lost = interval.lost.saturating_add(lost.size.get());
        }
    }

    /// The oldest interval, if it is complete with this acknowledgment.
    pub fn report(&mut self, ack: &Ack) -> Option<Report> {
        // An acknowledgment of a packet that was retransmitted may be that of the first transmission,
        // unless it has an RTT (RFC 7323 section 4).
        let newest = ack.newest;
        let newest = newest.filter(|packet| !packet.retransmitted || ack.rtt.is_some())?;
        let interval = *self.pending.front()?;
        if newest.sent < interval.ends + ack.min_rtt / 4 {
            return None;
        }
        self.pending.pop_front();
        let length = interval.ends.since(interval.began).as_secs_f64();
        let sent = interval.sent as f64;
        Some(Report {
            trial: interval.trial,
            rate: interval.rate,
            sent: if length > 0.0 {
                sent / length
            } else {
                interval.rate
            },
            loss: (interval.lost as f64 / sent.max(1.0)).min(1.0),
            rtt_gradient: interval.rtts.slope(),
            app_limited: interval.app_limited,
        })
    }

    /// The interval in which a packet was sent.
    fn of(&mut self, sent: Time) -> Option<&mut Interval> {
        if let Some(current) = &mut self.current
            && sent >= current.began
        {
            return Some(current);
        }
        let mut newest_first = self.pending.iter_mut().rev();
        newest_first.find(|interval| sent >= interval.began)
    }
}

/// A regression line through samples, by sums.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Line {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    /// The slope of the least squares; 0 of fewer than two different samples.
    fn slope(&self) -> f64 {
        let spread = self.count * self.xx - self.x * self.x;
        let slope = (self.count * self.xy - self.x * self.y) / spread;
        if spread > 0.0 && slope.is_finite() {
            slope
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::AtSending;
    use crate::testing::{ACK, MSS};

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    fn sending(ms: u64) -> AtSending {
        AtSending {
            sent: at(ms),
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            app_limited: false,
            retransmitted: false,
        }
    }

    #[test]
    fn an_interval_reports_rate_loss_and_the_growth_of_the_rtt() {
        let mut monitor = Monitor::default();
        let trial = Trial {
            phase: 3,
            number: Some(1),
        };
        // A packet each 10 ms for 100 ms, two of ten lost, the RTT grows by 1 ms in 10.
        monitor.begin(at(0), MS * 100, 90_000.0, trial);
        for i in 0..10 {
            assert!(!monitor.is_due(at(10 * i)));
            monitor.on_sent(Bytes::new(MSS));
        }
        assert!(monitor.is_due(at(100)));
        monitor.begin(at(100), MS * 100, 50_000.0, trial);
        let ack = |sent: u64| Ack {
            now: at(sent + 100),
            rtt: Some(MS * (100 + sent / 10)),
            min_rtt: MS * 100,
            newest: Some(sending(sent)),
            ..ACK
        };
        for i in 0..8 {
            monitor.on_ack(&ack(10 * i));
            assert!(monitor.report(&ack(10 * i)).is_none());
        }
        for sent in [80, 90] {
            monitor.on_packet_lost(&LostPacket {
                now: at(220),
                size: Bytes::new(MSS),
                lost: Bytes::new(MSS),
                at: sending(sent),
            });
        }
        assert!(monitor.report(&ack(124)).is_none(), "25 ms must pass");
        let report = monitor.report(&ack(125)).expect("complete");
        assert_eq!(report.trial, trial);
        assert!((report.sent - 100_000.0).abs() < 1e-6, "{}", report.sent);
        assert!((report.loss - 0.2).abs() < 1e-9);
        assert!((report.rtt_gradient - 0.1).abs() < 1e-9);
    }
}
