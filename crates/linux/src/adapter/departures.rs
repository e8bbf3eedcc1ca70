//! When packets left, and the state at that time, reconstructed from the events: the kernel keeps
//! it with each packet and does not show it.
//!
//! An event records the state before the packets that it allows leave. A packet that left between
//! two events left at about the time of the first.

use std::collections::VecDeque;

/// The state at one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Point {
    /// The kernel's time, nanoseconds.
    pub time: u64,
    /// Packets in flight before the event.
    pub in_flight: u32,
    /// Bytes lost until then.
    pub lost: u64,
    /// The next sequence number to send, unwrapped.
    pub next: u64,
}

/// The state at a packet's departure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Departure {
    /// Packets in flight.
    pub in_flight: u32,
    /// Bytes lost.
    pub lost: u64,
}

/// The events of the last round trips.
#[derive(Debug, Clone, Default)]
pub(super) struct Departures {
    points: VecDeque<Point>,
    /// Minimum time between events that are kept, nanoseconds; the newest is always kept.
    spacing: u64,
}

/// Events of so many smoothed round trips are kept.
const ROUND_TRIPS: u64 = 3;
/// At least so long, nanoseconds: before the first RTT sample and on short paths.
const MIN_SPAN: u64 = 300_000_000;
/// Upper bound on the events kept. At the bound every second one is dropped, and from then on they
/// are kept at the new distance.
const MAX_POINTS: usize = 4096;

impl Departures {
    /// Records an event.
    pub fn record(&mut self, point: Point) {
        let len = self.points.len();
        if len >= MAX_POINTS {
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
            let span = point.time.saturating_sub(self.points[0].time);
            self.spacing = span / (MAX_POINTS as u64 / 2);
        } else if len < MAX_POINTS / 4 {
            self.spacing = 0;
        }
        // The newest event stands until one follows at the right distance.
        let before_newest = len.checked_sub(2).and_then(|i| self.points.get(i));
        if before_newest.is_some_and(|p| point.time < p.time.saturating_add(self.spacing)) {
            self.points.pop_back();
        }
        self.points.push_back(point);
    }

    /// Forgets events that no packet in flight needs.
    pub fn forget(&mut self, now: u64, srtt_us: u32) {
        let span = (ROUND_TRIPS * 1000 * u64::from(srtt_us)).max(MIN_SPAN);
        let old = now.saturating_sub(span);
        while self.points.len() > 2 && self.points[1].time < old {
            self.points.pop_front();
        }
    }

    /// The state when a packet left at `time`. `now`: the packets in flight now, for one that left
    /// after the last event.
    pub fn at(&self, time: u64, now: u32) -> Departure {
        let next = self.points.partition_point(|point| point.time <= time);
        let before = next.checked_sub(1).and_then(|i| self.points.get(i));
        Departure {
            in_flight: self.points.get(next).map_or(now, |point| point.in_flight),
            lost: before.map_or(0, |point| point.lost),
        }
    }

    /// When the data at `seq` first left, nanoseconds; 0 if that is not known any more.
    pub fn last_sent(&self, seq: u64) -> u64 {
        let next = self.points.partition_point(|point| point.next <= seq);
        let before = next.checked_sub(1).and_then(|i| self.points.get(i));
        before.map_or(0, |point| point.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(time: u64, in_flight: u32, next: u64) -> Point {
        Point {
            time,
            in_flight,
            lost: time,
            next,
        }
    }

    #[test]
    fn a_packet_has_the_state_of_the_events_around_its_departure() {
        let mut log = Departures::default();
        for i in 1..=3 {
            log.record(point(i * 100, i as u32 * 10, i * 1000));
        }
        // Sent after the event at 100, whose flight the event at 200 shows.
        assert_eq!(
            log.at(150, 99),
            Departure {
                in_flight: 20,
                lost: 100
            }
        );
        assert_eq!(
            log.at(300, 99),
            Departure {
                in_flight: 99,
                lost: 300
            }
        );
        assert_eq!(log.last_sent(1000), 100, "sent after the event at 100");
        assert_eq!(log.last_sent(999), 0, "before all events");
        assert_eq!(log.last_sent(2500), 200);
    }

    #[test]
    fn memory_is_bounded_however_dense_events_are() {
        let mut log = Departures::default();
        for i in 0..1_000_000u64 {
            log.record(point(i, 1, i));
            log.forget(i, 1_000_000);
        }
        assert!(log.points.len() <= MAX_POINTS);
        // The whole span is still covered, older events less densely.
        assert!(log.last_sent(500_000).abs_diff(500_000) < 25_000);
        assert_eq!(log.points.back().map(|p| p.time), Some(999_999));
    }
}
