//! Drains and trials: when they begin, and what they have shown. `drain.rs` and `compete.rs` say
//! why there are such, `clock.rs` when.
//!
//! Units: seconds, bytes.

use super::clock::Stroke;
use super::compete::{EMPTIED, REST, TRIAL};
use super::cruise::Cruise;
use super::drain::{Excursion, KEPT, LATELY, MIN_ROUNDS};
use super::kin::{self, Drained};
use super::share;
use super::{Mode, Whimbrel};

/// Drains in a row after which the queue is still long, from which on it competes.
const SPOILED: u32 = 2;

impl Whimbrel {
    /// The clock strikes: it is time for a drain or a trial of all flows.
    pub(super) fn on_stroke(&mut self, now: f64, stroke: Stroke) {
        let base = self.delays.base();
        match &self.mode {
            Mode::Cruise(_) | Mode::Push(..) if self.config.drain => {
                let between = self.config.drain_after.max(MIN_ROUNDS * base);
                if self.clock.counts(stroke, between) && self.needs_drain(now, between) {
                    self.begin_drain(now);
                }
            }
            Mode::Compete(compete) => {
                let between = compete.between_trials(now, base);
                if between.is_some_and(|between| self.clock.counts(stroke, between)) {
                    self.begin_trial(now);
                }
            }
            _ => {}
        }
    }

    /// A full second begins: it is time for the first trials of all flows.
    pub(super) fn on_early_stroke(&mut self, now: f64) {
        let base = self.delays.base();
        if let Mode::Compete(compete) = &self.mode
            && !self.tried
            && compete.between_trials(now, base).is_some()
        {
            self.begin_trial(now);
        }
    }

    fn needs_drain(&self, now: f64, between: f64) -> bool {
        let lately = now - self.delays.seen() < LATELY * between;
        !lately || self.losses.doubtful(now, 0.5 * between)
    }

    fn begin_drain(&mut self, now: f64) {
        if let Mode::Push(push, _) = self.mode {
            self.window = push.before().0;
        }
        // A policer loses what exceeds its rate, so only the part that arrives counts.
        let held = self.without_queue(self.window) * (1.0 - self.losses.floor());
        let drain = Excursion::begin(now, self.window, self.delays.standing());
        self.enter(Mode::Drain(drain));
        self.window = (KEPT * held).max(self.min_window());
    }

    fn begin_trial(&mut self, now: f64) {
        let Mode::Compete(compete) = &self.mode else {
            return;
        };
        let trial = Excursion::begin(now, self.window, self.delays.standing());
        self.tried = true;
        self.enter(Mode::Trial(trial, compete.clone()));
        self.window = (TRIAL * self.without_queue(self.window)).max(self.min_window());
    }

    /// An excursion measured `rtt`: the oldest drain period is forgotten, of both directions.
    fn end_period(&mut self, now: f64, rtt: f64) {
        self.delays.end_period(now, rtt);
        self.backward.end_period();
    }

    /// A drain ends: the next one comes when those of other flows do.
    fn keep_step(&mut self, now: f64, drain: Excursion) {
        let lowest = drain.lowest();
        let earlier = (self.rhythm).end_period(now, lowest, self.config.drain_after);
        let left = lowest.rtt - self.delays.base();
        if self.config.listen && !kin::is_gone(left, self.wanted(self.own_rate())) {
            self.clock.advance(earlier);
            self.early.advance(earlier);
        }
    }

    pub(super) fn on_draining_round(&mut self, now: f64) {
        let Mode::Drain(drain) = &mut self.mode else {
            return;
        };
        if !drain.on_round(now) {
            return;
        }
        let drain = *drain;
        self.keep_step(now, drain);
        self.losses.end_quiet(now, false);
        self.window = drain.before().0;
        let min = drain.min();
        let min = if min.is_finite() {
            min
        } else {
            self.delays.base()
        };
        let left = min - self.delays.base();
        self.emptied = left <= self.foreign();
        let drained = self.drained(drain.before().1, left);
        self.kin = drained == Drained::Kin;
        self.spoiled = if self.emptied { 0 } else { self.spoiled + 1 };
        if self.spoiled >= SPOILED && self.config.elasticity {
            self.begin_competing(now);
            return;
        }
        let longer = self.emptied && drained == Drained::Unmoved && self.config.path;
        if longer && self.longer.may_assume(now) {
            self.assume_longer(now, min);
            self.enter(Mode::Cruise(Cruise::with_room()));
            return;
        }
        self.end_period(now, min);
        if self.emptied {
            self.fullness
                .on_empty(self.delays.standing() - self.delays.base());
        }
        self.enter(Mode::cruise());
        self.give_way(left);
    }

    /// What a drain that began at this standing RTT and has left so much of the queue, s, says
    /// about it.
    fn drained(&self, standing: f64, left: f64) -> Drained {
        if !self.config.kin {
            return Drained::Open;
        }
        let before = standing - self.delays.base() - self.allowance();
        Drained::of(before, left, self.alone(), self.wanted(self.own_rate()))
    }

    /// A drain has left so much of the queue, s.
    fn give_way(&mut self, left: f64) {
        let Some(fair) = self.share.take().filter(|_| self.config.share) else {
            return;
        };
        if !kin::is_gone(left, self.wanted(self.own_rate())) {
            return;
        }
        self.window *= share::kept(fair);
        if fair > 1.0 {
            self.mode = Mode::Cruise(Cruise::with_room());
        }
    }

    pub(super) fn on_trying_round(&mut self, now: f64) {
        let Mode::Trial(trial, compete) = &mut self.mode else {
            return;
        };
        if !trial.on_round(now) {
            return;
        }
        let (trial, mut compete) = (*trial, compete.clone());
        self.losses.end_quiet(now, false);
        let (window, standing) = trial.before();
        let min = trial.min();
        self.window = window;
        let (before, left) = (standing - self.delays.base(), min - self.delays.base());
        let own = EMPTIED * self.alone() + self.allowance();
        if left <= own.max(REST * before) {
            self.end_period(now, min);
            // All who made this queue have yielded at this stroke.
            self.kin = self.config.kin;
            let held = window * self.delays.base() / standing;
            self.window = held.max(self.min_window());
            self.enter(Mode::cruise());
        } else {
            compete.resume(now, window, standing);
            self.mode = Mode::Compete(compete);
        }
    }
}
