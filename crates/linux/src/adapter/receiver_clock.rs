//! The peer's clock, as its timestamps show it (TSval, RFC 7323), for loss classifiers by jitter.
//!
//! A timestamp says when the acknowledgment left the receiver, in ticks of the receiver's choice:
//! 1 ms to 1 s (RFC 7323 section 5.4), 1 us on a Linux route with `features tcp_usec_ts`. The tick
//! is measured: elapsed time by our clock over ticks by the peer's.
//!
//! **What is fine enough.** A classifier by jitter compares how long a round trip's packets took to
//! leave and to arrive. One tick of error at either end of a round of length RTT is an error of
//! tick/RTT in the Jitter Ratio, which must be small against the ratios of a growing queue. The
//! bound is 1/16 of the minimum RTT: errors of several rounds average out, and one of 6 % does not
//! look like a queue that doubles a round trip. With a coarser clock no receiver time is reported,
//! and such a classifier takes every loss for congestion, its conservative answer.

use crate::connection::ReceiverClock;
use crate::wire::Start;
use whimbrel_units::{Duration, Time};

/// Changes of the timestamp before the tick is trusted.
const MIN_CHANGES: u32 = 16;
/// Time before the tick is trusted, nanoseconds: our own error is below 1 % by then.
const MIN_SPAN: u64 = 200_000_000;
/// The tick may be at most this fraction of the minimum RTT.
const FRACTION: u64 = 16;

/// Measures the tick and converts timestamps.
#[derive(Debug, Clone)]
pub(super) struct PeerClock {
    present: bool,
    /// The first timestamp and when it arrived, nanoseconds.
    first: Option<(u64, u32)>,
    last: u32,
    /// Ticks since the first timestamp.
    ticks: u64,
    changes: u32,
    /// Nanoseconds.
    tick: Option<u64>,
}

impl PeerClock {
    pub fn new(start: &Start) -> Self {
        Self {
            present: start.timestamps != 0,
            first: None,
            last: 0,
            ticks: 0,
            changes: 0,
            tick: None,
        }
    }

    /// A segment with the timestamp `value` arrived at `now`, nanoseconds.
    pub fn sample(&mut self, now: u64, value: u32) {
        if !self.present {
            return;
        }
        let Some((began, _)) = self.first else {
            self.first = Some((now, value));
            self.last = value;
            return;
        };
        let step = value.wrapping_sub(self.last);
        // A peer's clock never goes backwards; a reordered segment's does.
        if step == 0 || step > u32::MAX / 2 {
            return;
        }
        self.last = value;
        self.ticks += u64::from(step);
        self.changes += 1;
        let span = now.saturating_sub(began);
        if self.changes >= MIN_CHANGES && span >= MIN_SPAN {
            self.tick = Some(nominal(span / self.ticks));
        }
    }

    /// The receiver's time of a timestamp, if the clock is usable on a path with this minimum RTT.
    pub fn time(&self, value: u32, min_rtt: Option<Duration>) -> Option<Time> {
        let ReceiverClock::Usable(tick) = self.state(min_rtt) else {
            return None;
        };
        let (_, first) = self.first?;
        // The low 32 bits of the ticks since the first timestamp, with the upper ones of the last.
        let behind = self.last.wrapping_sub(value);
        let ticks = self
            .ticks
            .checked_sub(u64::from(behind))
            .unwrap_or_else(|| u64::from(value.wrapping_sub(first)));
        Some(Time::from_nanos(ticks.saturating_mul(tick.as_nanos())))
    }

    /// What is known of the clock.
    pub fn state(&self, min_rtt: Option<Duration>) -> ReceiverClock {
        if !self.present {
            return ReceiverClock::Absent;
        }
        let (Some(tick), Some(min_rtt)) = (self.tick, min_rtt) else {
            return ReceiverClock::Unknown;
        };
        let tick = Duration::from_nanos(tick);
        if tick * FRACTION <= min_rtt {
            ReceiverClock::Usable(tick)
        } else {
            ReceiverClock::TooCoarse(tick)
        }
    }
}

/// The tick that a measured one stands for: the nearest of 1, 2, 4, 5 or 10 times a power of ten
/// (clocks of 1000, 250, 200 or 100 Hz) if it is within 5 %, because a tick that is wrong by 1 %
/// would look like a clock that drifts.
fn nominal(measured: u64) -> u64 {
    let measured = measured.max(1);
    let power = 10u64.saturating_pow(measured.ilog10());
    let nearest = [1, 2, 4, 5, 10]
        .map(|factor| power.saturating_mul(factor))
        .into_iter()
        .min_by_key(|tick| tick.abs_diff(measured))
        .unwrap_or(measured);
    if nearest.abs_diff(measured).saturating_mul(20) <= measured {
        nearest
    } else {
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(tick_us: u64, seconds: u64) -> PeerClock {
        let start = Start {
            timestamps: 1,
            ..Start::default()
        };
        let mut clock = PeerClock::new(&start);
        for us in (0..seconds * 1_000_000).step_by(700) {
            // The peer's clock starts near its end, so that it wraps.
            let value = (u64::from(u32::MAX) - 50 + us / tick_us) as u32;
            clock.sample(1_000_000_000 + us * 1000, value);
        }
        clock
    }

    const RTT: Option<Duration> = Some(Duration::from_millis(100));

    #[test]
    fn the_tick_is_measured() {
        for (tick, expected) in [
            (1, ReceiverClock::Usable(Duration::from_micros(1))),
            (1000, ReceiverClock::Usable(Duration::from_millis(1))),
            (4000, ReceiverClock::Usable(Duration::from_millis(4))),
            (10_000, ReceiverClock::TooCoarse(Duration::from_millis(10))),
            (
                100_000,
                ReceiverClock::TooCoarse(Duration::from_millis(100)),
            ),
        ] {
            assert_eq!(clock(tick, 3).state(RTT), expected, "{tick} us");
        }
    }

    #[test]
    fn receiver_times_advance_with_the_peers_clock() {
        let clock = clock(1000, 3);
        let value = |ms: u64| (u64::from(u32::MAX) - 50 + ms) as u32;
        let time = |ms| clock.time(value(ms), RTT).expect("usable");
        assert_eq!(time(2999).since(time(2000)), Duration::from_millis(999));
        assert_eq!(time(10), Time::from_nanos(10_000_000));
    }

    #[test]
    fn segments_that_were_overtaken_do_not_turn_the_clock() {
        let mut clock = clock(1000, 3);
        let value = |ms: u64| (u64::from(u32::MAX) - 50 + ms) as u32;
        let tick = clock.state(RTT);
        for ms in 3000..3100 {
            clock.sample(1_000_000_000 + ms * 1_000_000, value(ms));
            clock.sample(1_000_000_000 + ms * 1_000_000, value(ms - 20));
        }
        assert_eq!(clock.state(RTT), tick);
        let time = |ms| clock.time(value(ms), RTT).expect("usable");
        assert_eq!(time(3099).since(time(2000)), Duration::from_millis(1099));
    }

    #[test]
    fn without_timestamps_or_before_the_tick_is_known_there_is_no_time() {
        let absent = PeerClock::new(&Start::default());
        assert_eq!(absent.state(RTT), ReceiverClock::Absent);
        let mut young = clock(1000, 0);
        young.sample(5, 7);
        assert_eq!(young.state(RTT), ReceiverClock::Unknown);
        assert_eq!(young.time(7, RTT), None);
    }
}
