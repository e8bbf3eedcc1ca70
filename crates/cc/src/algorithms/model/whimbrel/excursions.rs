//! Drains and trials: when they begin, and what they have shown. `drain.rs` and `compete.rs` say
//! why there are such, `clock.rs` and `rhythm.rs` when.
//!
//! Units: seconds, bytes.

use super::clock::Stroke;
use super::compete::{FIRST_TRIAL, REST, Sign, TRIAL};
use super::cruise::Cruise;
use super::drain::{Excursion, FIRST_KEPT, KEPT, LATELY, MIN_ROUNDS};
use super::queue_owner;
use super::share;
use super::{Mode, Whimbrel};

/// Drains in a row whose queue others keep, from which on it competes.
const FAILED_DRAINS: u32 = 2;

/// Periods from one trial to the next that has no clock, at most. Trials cost beside others, and
/// flows of this algorithm that try more rarely do not meet.
const RAREST: f64 = 2.0;

/// The part of a queue that is left after a drain if others keep it.
const STAYS: f64 = 0.5;

impl Whimbrel {
    /// The clock strikes: it is time for a drain or a trial of all flows, or with `early` for the
    /// first trials.
    pub(super) fn on_stroke(&mut self, now: f64, early: bool, stroke: Option<Stroke>) {
        let base = self.delays.base();
        let counts = |least| stroke.is_some_and(|stroke| self.clock.counts(stroke, least));
        match &mut self.mode {
            Mode::Cruise(_) | Mode::Push(..) if self.config.drain => {
                let between = self.config.drain_after.max(MIN_ROUNDS * base);
                if counts(between) && self.needs_drain(now, between) {
                    self.begin_drain(now);
                }
            }
            Mode::Compete(compete) => {
                if stroke.is_some() {
                    compete.listen(now, self.window, self.delays.standing());
                }
                let between = compete.between_trials(now, base, self.delays.standing());
                let first = early && !self.tried;
                if between.is_some_and(|between| first || counts(between)) {
                    self.begin_trial(now);
                }
            }
            _ => {}
        }
    }

    fn needs_drain(&self, now: f64, between: f64) -> bool {
        let lately = now - self.delays.seen() < LATELY * between;
        let short = self.has_short_buffer();
        !lately || self.losses.doubtful(now, 0.5 * between, short)
    }

    /// Begins a drain or a trial if it is time for that by the lowest RTT (`rhythm.rs`).
    pub(super) fn on_rhythm(&mut self, now: f64) {
        let rtt = self.delays.standing();
        let period = self.config.drain_after;
        let least = period.max(MIN_ROUNDS * rtt);
        match &self.mode {
            Mode::Cruise(_) | Mode::Push(..)
                if self.config.drain && self.rhythm.is_due(now, period, least) =>
            {
                self.begin_drain(now);
            }
            Mode::Compete(compete) => {
                let Some(between) = compete.between_trials(now, rtt, rtt) else {
                    return;
                };
                let (period, least) = match self.tried {
                    true => (period, least.max(between.min(RAREST * period))),
                    false => (FIRST_TRIAL, FIRST_TRIAL),
                };
                if self.rhythm.is_due(now, period, least) {
                    self.begin_trial(now);
                }
            }
            _ => {}
        }
    }

    pub(super) fn begin_drain(&mut self, now: f64) {
        let cruise = match self.mode {
            Mode::Push(push, cruise) => {
                self.window = push.before().0;
                cruise
            }
            Mode::Cruise(cruise) => cruise,
            _ => return,
        };
        // A policer, or a buffer that is always full, loses what exceeds its rate, so only the part
        // that arrives counts.
        let held = self.without_queue(self.window) * self.losses.arriving();
        let drain = Excursion::begin(now, self.window, self.delays.standing());
        self.rhythm.begin(now);
        self.enter(Mode::Drain(drain, cruise));
        let kept = if self.drained { KEPT } else { FIRST_KEPT };
        self.drained = true;
        self.window = (kept * held).max(self.min_window());
    }

    fn begin_trial(&mut self, now: f64) {
        let Mode::Compete(compete) = &self.mode else {
            return;
        };
        let trial = Excursion::begin(now, self.window, self.delays.standing());
        self.tried = true;
        self.rhythm.begin(now);
        self.enter(Mode::Trial(trial, compete.clone()));
        self.window = (TRIAL * self.without_queue(self.window)).max(self.min_window());
    }

    /// An excursion measured `rtt`: the oldest drain period is forgotten, of both directions.
    fn end_period(&mut self, now: f64, rtt: f64) {
        self.delays.end_period(now, rtt);
        self.backward.end_period();
    }

    pub(super) fn on_draining_round(&mut self, now: f64) {
        if let Mode::Drain(drain, _) = &mut self.mode
            && drain.on_round(now)
        {
            self.end_drain(now);
        }
    }

    /// Ends a drain or a trial that takes too long because others keep the queue.
    pub(super) fn end_long_excursion(&mut self, now: f64) {
        let base = self.delays.base();
        match &self.mode {
            Mode::Drain(drain, _) if drain.is_long(now, base) => self.end_drain(now),
            Mode::Trial(trial, _) if trial.is_long(now, base) => self.end_trial(now),
            _ => {}
        }
    }

    fn end_drain(&mut self, now: f64) {
        let Mode::Drain(drain, cruise) = self.mode else {
            return;
        };
        let (window, standing) = drain.before();
        self.window = window;
        let base = self.delays.base();
        let min = match drain.min().is_finite() {
            true => drain.min(),
            false => base,
        };
        let (noise, alone) = (self.allowance(), self.alone());
        let (before, left) = (standing - base, min - base);
        self.emptied = left <= self.foreign();
        self.free = queue_owner::is_gone(left, self.wanted(self.own_rate()));
        self.losses.end_drain(now, self.free);
        let crowded = self.contrast.end_drain();
        self.was_own = self.free && before - noise >= queue_owner::SEVERAL * alone;
        let kept = queue_owner::is_kept(before, left, self.several(), STAYS);
        self.failed_drains = match (kept, self.is_huge(left)) {
            (true, true) => FAILED_DRAINS,
            (true, false) => self.failed_drains + 1,
            (false, _) => 0,
        };
        if self.failed_drains >= FAILED_DRAINS && self.config.elasticity {
            self.begin_competing(Sign::Queue, now);
            return;
        }
        self.end_period(now, min);
        if self.emptied {
            self.fullness
                .on_empty(self.delays.standing() - self.delays.base());
        }
        if crowded && self.config.elasticity {
            self.contrast.forget();
            self.begin_competing(Sign::Drains, now);
            return;
        }
        self.enter(Mode::Cruise(cruise));
        self.give_way(left);
    }

    /// A drain has left so much of the queue, s.
    fn give_way(&mut self, left: f64) {
        let Some(fair) = self.share.take() else {
            return;
        };
        if !queue_owner::is_gone(left, self.wanted(self.own_rate())) {
            return;
        }
        self.window *= share::kept(fair);
        if fair > 1.0 {
            self.mode = Mode::Cruise(Cruise::with_room());
        }
    }

    pub(super) fn on_trying_round(&mut self, now: f64) {
        if let Mode::Trial(trial, _) = &mut self.mode
            && trial.on_round(now)
        {
            self.end_trial(now);
        }
    }

    fn end_trial(&mut self, now: f64) {
        let Mode::Trial(trial, compete) = &self.mode else {
            return;
        };
        let (trial, mut compete) = (*trial, compete.clone());
        let (window, standing) = trial.before();
        let (base, min) = (self.delays.base(), trial.min());
        self.window = window;
        let kept = queue_owner::is_kept(standing - base, min - base, self.several(), REST);
        self.losses.end_drain(now, !kept);
        if kept {
            compete.resume(now, window, standing);
            self.mode = Mode::Compete(compete);
            return;
        }
        self.end_period(now, min);
        self.end_as_own(window * self.delays.base() / standing);
    }

    /// All who made the queue have yielded at the same time, so they are of this kind. `held`: what
    /// the path holds of this flow without a queue.
    pub(super) fn end_as_own(&mut self, held: f64) {
        self.was_own = true;
        self.window = held.max(self.min_window());
        self.enter(Mode::cruise());
    }
}
