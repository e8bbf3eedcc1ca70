//! The same time for all: drains and trials begin at strokes of the clock that hosts share.
//!
//! A queue becomes empty only if all that keep it yield together. Two of this algorithm's flows
//! that drain one after the other each find the queue of the other, and believe it to be part of
//! the path. Flows that have once taken each other for others compete as CUBIC would, and the trial
//! of one of them finds the rest: nothing brings them back. They need a common sign, and a flow
//! sees nothing of the others but the queue.
//!
//! Hosts have one thing in common: the time of day. NTP keeps it within some milliseconds between
//! hosts of the Internet. So a **stroke** is each instant of UTC that is a multiple of
//! `drain_after` (5 s), counted since 1970, and drains and trials begin at strokes only (the first
//! trial of a connection at a full second, `compete.rs`). A flow
//! that needs longer times takes each second, fourth, eighth stroke, so that its strokes are
//! strokes of the others too. An excursion lasts at least 0.2 s (`drain.rs`), so clocks may differ
//! by a part of that. Where they differ by more, each flow drains at its own time, and flows
//! of this algorithm share less well (docs/whimbrel.md has the figures). A host mostly knows that
//! nothing keeps its clock right: its flows use no clock (`rhythm.rs`). What all flows leave for
//! that time is a tenth of what they have, which is less than what a loss costs CUBIC.
//!
//! `clock_error` is a constant error of this host's clock, of which the host knows.
//!
//! Units: seconds.

use super::config::Config;
use crate::registry::entry::Setup;

/// The error of a clock at which drains of hosts still overlap, s: half of their shortest length.
const ALLOWED: f64 = 0.1;

/// The strokes of the shared clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// UTC when the connection's clock shows zero.
    utc: f64,
    /// Time from one stroke to the next.
    unit: f64,
    /// The next stroke, by the connection's clock; `None` before the first acknowledgment.
    next: Option<f64>,
}

/// A stroke: its number since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stroke(u64);

impl Clock {
    /// A clock whose strokes are `unit` apart; `utc`: as in the field.
    pub fn new(utc: f64, unit: f64) -> Self {
        Self {
            utc,
            unit,
            next: None,
        }
    }

    /// That of a connection, with strokes each `unit`.
    pub fn of(setup: &Setup, config: &Config, unit: f64) -> Self {
        // The seed's bits in another order, as a fraction of one.
        let mixed = setup.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        let error = config.clock_error * mixed as f64 / f64::from(1 << 24);
        let utc = setup.time_of_day.utc.as_secs_f64() + error;
        Self::new(utc, unit)
    }

    /// Whether a host takes its clock for one that is right enough: something keeps it right, and
    /// with a smaller error than an excursion allows.
    pub fn is_right(setup: &Setup, config: &Config) -> bool {
        setup.time_of_day.synchronized && config.clock_error <= ALLOWED
    }

    /// The stroke that falls between the last acknowledgment and the one of `now`, if one does.
    /// One that is more than `late` ago is over for the other flows, so it is none.
    pub fn on_ack(&mut self, now: f64, late: f64) -> Option<Stroke> {
        let last = self.next;
        if last.is_some_and(|next| now < next) {
            return None;
        }
        let utc = self.utc;
        let number = ((now + utc) / self.unit).floor();
        self.next = Some((number + 1.0) * self.unit - utc);
        let heard = last.is_some() && now - (number * self.unit - utc) <= late;
        heard.then_some(Stroke(number as u64))
    }

    /// Whether it is one of the strokes of a flow whose strokes are at least `least` apart.
    pub fn counts(&self, stroke: Stroke, least: f64) -> bool {
        let every = (least / self.unit).ceil().clamp(1.0, 1e6) as u64;
        stroke.0.is_multiple_of(every.next_power_of_two())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_began_at_different_times_hear_the_same_strokes() {
        // The clock of each shows zero when it begins: at 1,000,001 and at 1,000,003.5 s of UTC.
        for (utc, strokes) in [(1_000_001.0, [4.0, 9.0]), (1_000_003.5, [1.5, 6.5])] {
            let mut clock = Clock::new(utc, 5.0);
            let heard: Vec<f64> = (0..100)
                .map(|tick| f64::from(tick) / 10.0)
                .filter(|now| clock.on_ack(*now, 0.1).is_some())
                .collect();
            assert_eq!(heard, strokes, "{utc}");
        }
    }

    #[test]
    fn a_stroke_during_a_pause_is_over() {
        let mut clock = Clock::new(0.0, 5.0);
        assert_eq!(clock.on_ack(4.0, 0.1), None);
        assert_eq!(clock.on_ack(7.0, 0.1), None);
        assert_eq!(clock.on_ack(9.9, 0.1), None);
        assert_eq!(clock.on_ack(10.05, 0.1), Some(Stroke(2)));
        assert_eq!(clock.on_ack(10.06, 0.1), None, "once");
    }

    #[test]
    fn slower_flows_take_strokes_of_the_faster_ones() {
        let clock = Clock::new(0.0, 5.0);
        let of = |least: f64| -> Vec<u64> {
            (0..9).filter(|n| clock.counts(Stroke(*n), least)).collect()
        };
        assert_eq!(of(0.0), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(of(5.0), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(of(5.1), [0, 2, 4, 6, 8]);
        assert_eq!(of(12.0), [0, 4, 8]);
        assert_eq!(of(32.0), [0, 8]);
    }
}
