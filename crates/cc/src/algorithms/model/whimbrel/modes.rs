//! From one mode to the next.
//!
//! ```text
//! startup ──> default <──> drain
//!               │ ^           │
//!      elastic  v │ alone     │ twice still a queue
//!             compete <───────┘
//!               │ ^
//!               v │ others
//!              trial
//! ```
//!
//! An outage or a new path leads to default.

use super::compete::{Compete, Sign};
use super::cruise::Cruise;
use super::drain::Excursion;
use super::fullness::Stage;
use super::losses::Round;
use super::queue_owner;
use super::startup::{Queue, Startup};
use super::{Mode, SURE, Whimbrel, surges};
use crate::interface::{Ack, Signal};
use crate::path_change::Change;
use whimbrel_units::Duration;

/// The longest target of one flow that counts for this, s: that of 1100 packets per second. So
/// flows of this algorithm of 1 Mbit/s each, or more, are never taken for others.
const OWN_MAX: f64 = 0.003;

/// The longest queue that may hide others, in own queues. A buffer that is a little longer than the
/// queue of own flows shows others only in its last part, and loss-based flows empty it again
/// before the round trips have passed that prove them (`elasticity.rs`). 1 and 1.25 cost a flow
/// beside CUBIC, NewReno and BBRv3 in such a buffer a sixth of its score; twice as much costs 0.002
/// on drawn paths (docs/whimbrel-tried.md).
const SHOWN: f64 = 1.5;

/// Round trips after which a huge queue is worth a drain at once: each takes long.
const HUGE_ROUNDS: u32 = 3;

/// What a round trip forgets of the maximum rate.
const FORGET: f64 = 0.002;

/// Part of what the path's rate says that it holds, which a window has at least after startup.
const KNOWN: f64 = 0.9;

/// A shorter queue is none while startup measures what the channel loses: s, and base RTTs.
const NO_QUEUE: (f64, f64) = (0.002, 0.125);

/// Round trips in which the first flight arrives: that of the first acknowledgment, and the rest.
const FIRST_FLIGHT: u64 = 2;

/// The window below which delays do not end startup, segments: HyStart's (S. Ha, I. Rhee, "Taming
/// the Elephants", 2011). A few packets are no sample.
const FEW: f64 = 16.0;

/// The window from which on each eighth of a round trip has two acknowledgments of two packets
/// unless they come in batches, segments.
const DENSE: f64 = 32.0;

/// Part of what a competing flow sends above which its losses are its own, wherever the queue is.
const FLOOD: f64 = 0.15;

/// Largest growth of the window when it begins to compete.
const BACK: f64 = 3.0;

impl Whimbrel {
    /// The queue that a flow of this algorithm keeps when it is alone on the path, s.
    pub(super) fn alone(&self) -> f64 {
        let rate = self.reference.max(self.own_rate());
        self.target.delay(rate).min(OWN_MAX)
    }

    /// The queue of a few flows of this algorithm, and what is allowed for noise, s.
    pub(super) fn several(&self) -> f64 {
        queue_owner::SEVERAL * self.alone() + self.allowance()
    }

    /// The queue of as many flows of this algorithm as may be expected, s.
    pub(super) fn own_queue(&self) -> f64 {
        self.config.own_flows * self.alone()
    }

    /// The longest queue that flows of this algorithm make, s.
    pub(super) fn foreign(&self) -> f64 {
        let longest = self.own_queue().max(2.0 * self.allowance());
        if self.was_own {
            queue_owner::MORE * longest
        } else {
            longest
        }
    }

    /// Whether the buffer may be too short to show others by its queue.
    pub(super) fn has_short_buffer(&self) -> bool {
        self.delays.longest() < SHOWN * self.own_queue()
    }

    /// Whether a queue is far longer than flows of this algorithm make it, and longer than what a
    /// newcomer's startup may add: the base RTT.
    pub(super) fn is_huge(&self, queue: f64) -> bool {
        surges::is_long(queue, self.foreign(), self.delays.base())
    }

    pub(super) fn enter(&mut self, mode: Mode) {
        self.mode = mode;
        self.yielding.reset();
        self.huge = 0;
    }

    /// The step of the default mode is small again.
    pub(super) fn slow_down(&mut self) {
        if let Mode::Cruise(cruise) = &mut self.mode {
            cruise.slow_down();
        }
    }

    /// Startup: doubles the window, until a queue begins.
    pub(super) fn search(&mut self, ack: &Ack, acked: f64, wanted: f64) {
        if ack.cwnd_limited {
            self.window += acked;
        }
        let base = self.delays.base();
        let queue = self.recent_queue();
        let flight = ack
            .newest
            .map_or(0.0, |newest| newest.in_flight.get() as f64);
        let limit = Startup::limit(base, wanted, self.own_rate());
        let now = super::seconds(ack.now);
        let Mode::Startup(startup) = &mut self.mode else {
            return;
        };
        if startup.is_lone(now, acked / self.mss) {
            return;
        }
        let ended = startup.on_queue(flight, queue, base, limit);
        let few = self.window < FEW * self.mss;
        if self.round.count < 2 || few {
            return;
        }
        match ended {
            Some(Queue::Own) => self.leave_startup(now, self.held(ack).unwrap_or(0.0)),
            Some(Queue::Others) => {
                self.leave_startup(now, flight);
                self.yielding.suspect();
            }
            None => {}
        }
    }

    /// The queue of the last quarter of a round trip. A path that passes packets on in batches
    /// leaves parts of it without a sample, and so does a small window.
    pub(super) fn recent_queue(&self) -> f64 {
        let batches = self.window >= DENSE * self.mss;
        self.delays.recent_queue(batches)
    }

    /// What the path holds without a queue, by Little's law for the packet just acknowledged, if
    /// there is a queue.
    fn held(&self, ack: &Ack) -> Option<f64> {
        let trip = self.empty_trip();
        let flight = ack.newest?.in_flight.get() as f64;
        Some(flight * trip / (trip + self.recent_queue()))
    }

    /// What the path holds without a queue at the rate that it has shown; 0 if that is not known.
    fn known_to_hold(&self) -> f64 {
        match self.delivery_rate() {
            Some(rate) if self.delays.known() => rate * self.empty_trip(),
            _ => 0.0,
        }
    }

    /// Fast growth of the default mode has made a queue.
    pub(super) fn end_growth(&mut self, ack: &Ack, alpha: f64) {
        self.slow_down();
        if let Some(held) = self.held(ack) {
            let held = held.max(self.known_to_hold());
            self.window = self.window.min((held + alpha).max(self.min_window()));
        }
    }

    /// The path holds at least `held`, and what its rate says.
    pub(super) fn leave_startup(&mut self, now: f64, held: f64) {
        let held = held.max(self.known_to_hold()).max(self.min_window());
        let packets = held / self.mss;
        self.losses.end_startup(now, self.delays.base(), packets);
        self.window = self.window.min(held);
        self.enter(Mode::Cruise(Cruise::after_startup()));
    }

    /// The first acknowledgment after a timeout: the path is back, with the capacity that it had.
    pub(super) fn refill(&mut self, ack: &Ack, now: f64) {
        self.stalled = false;
        self.settled = 0.0;
        self.round.lost = ack.lost.get();
        self.round.delivered = ack.delivered.get();
        self.round.began = now;
        self.losses.forgive();
        let Some((window, mode)) = &self.before else {
            return;
        };
        let window = *window;
        if mode.is_startup() {
            self.window = window;
            self.mode = mode.clone();
            return;
        }
        self.window = self.known_to_hold().min(window).max(self.min_window());
        self.enter(Mode::cruise());
    }

    /// The path is another one.
    pub(super) fn on_new_path(&mut self, now: f64, change: &Change) {
        self.changes += 1;
        self.drained = false;
        // The way back is another one, too. Its change counts from here on.
        let back = self.backward.latest();
        let rtt = (change.to.as_secs_f64() + back).max(1e-6);
        self.delays.rebase(now, rtt);
        self.backward.on_new_path();
        self.step.lengthen(Duration::from_secs_f64(back));
        self.losses.on_new_path(rtt);
        self.overflows.forget();
        self.contrast.forget();
        self.was_own = false;
        self.governed = false;
        self.emptied = false;
        self.free = false;
        self.fullness.on_new_path();
        self.settled = 0.0;
        if self.mode.is_startup() {
            return;
        }
        let old = self.delivery_rate();
        let new = change.rate.map(|rate| rate.as_bits_per_sec() as f64 / 8.0);
        let rate = match (old, new) {
            (Some(old), Some(new)) => old.min(new),
            (Some(rate), None) | (None, Some(rate)) => rate,
            (None, None) => return,
        };
        self.window = (rate * rtt).max(self.min_window());
        self.enter(Mode::Cruise(Cruise::with_room()));
    }

    /// Ends a round trip.
    pub(super) fn on_round(&mut self, ack: &Ack, now: f64) {
        let span = now - self.round.began;
        self.backward.on_round();
        let before = self.round.window;
        let round = self.count(ack, now);
        let standing = self.delays.standing();
        let queue = self.delays.queue();
        let wanted = self.wanted(self.own_rate());
        let quiet = !matches!(self.mode, Mode::Startup(_) | Mode::Compete(_));
        self.delays.on_round(quiet && self.round.count > 2);
        let room = match &self.mode {
            Mode::Drain(it, _) | Mode::Trial(it, _) => it.is_heard(),
            Mode::Startup(_) => {
                let no_queue = queue < NO_QUEUE.0.min(NO_QUEUE.1 * self.delays.base());
                if no_queue && self.round.count > FIRST_FLIGHT {
                    self.losses.on_startup_round(round);
                }
                false
            }
            Mode::Cruise(_) | Mode::Push(..) | Mode::Compete(_) => false,
        };
        let calm = matches!(self.mode, Mode::Cruise(_)) && queue < 2.0 * wanted;
        let own = self.want(self.own_rate());
        self.losses.on_base(self.delays.base(), own);
        let excess = self.losses.on_round(round, standing, room, calm);
        match &self.mode {
            Mode::Drain(..) if room => self.contrast.on_round(round, true),
            Mode::Cruise(_) | Mode::Push(..) => self.contrast.on_round(round, false),
            _ => {}
        }
        let mut quiet_buffer = false;
        if matches!(self.mode, Mode::Cruise(_) | Mode::Compete(_)) {
            let long = self.confidence(Signal::Loss) >= SURE;
            quiet_buffer = self.overflows.on_round(now, standing, long);
        }
        if !self.mode.is_startup() {
            let rate = self.delivery_rate().unwrap_or(0.0) / self.mss;
            self.reference = (self.reference * (1.0 - FORGET)).max(rate);
        }
        let least = self.min_window();
        match &mut self.mode {
            Mode::Startup(startup) => {
                let rate = round.packets * self.mss / span.max(1e-6);
                if ack.app_limited {
                    return;
                }
                if startup.on_round(rate) || excess.is_some() {
                    self.leave_startup(now, 0.0);
                }
            }
            Mode::Cruise(_) => {
                if let Some(back) = excess {
                    self.window = (self.window * (1.0 - back)).max(least);
                    self.slow_down();
                }
                let room = self.has_room(self.own_rate());
                let used = ack.cwnd_limited || self.is_small();
                let patience = Cruise::patience(self.window, self.settled, standing);
                if !room {
                    // The queue of this round trip is that of the window at its beginning.
                    self.settled = before;
                }
                let mut settling = false;
                if let Mode::Cruise(cruise) = &mut self.mode {
                    settling = cruise.on_round(room && used, patience);
                }
                // Acknowledgments that wait for longer than the path takes hide its room.
                let far = self.backward.mean() > self.delays.base();
                if room && used && (settling || far) {
                    self.window = self.window.max(KNOWN * self.known_to_hold());
                }
                self.on_cruising_round(before, now);
                if used {
                    self.consider_push(now);
                }
            }
            Mode::Drain(..) => self.on_draining_round(now),
            Mode::Push(..) => self.on_pushing_round(),
            Mode::Compete(compete) => {
                if let Some(back) = excess.filter(|back| *back > FLOOD) {
                    self.window = (self.window * (1.0 - back)).max(least);
                    compete.restart(self.window, self.segment);
                }
                self.on_competing_round(now, quiet_buffer);
            }
            Mode::Trial(..) => self.on_trying_round(now),
        }
    }

    /// The counts of the round trip that ends.
    fn count(&mut self, ack: &Ack, now: f64) -> Round {
        let delivered = ack.delivered.get().saturating_sub(self.round.delivered);
        let lost = ack.lost.get().saturating_sub(self.round.lost);
        self.round.rate = delivered as f64 / (now - self.round.began).max(1e-6);
        self.round.began = now;
        self.round.delivered = ack.delivered.get();
        self.round.lost = ack.lost.get();
        self.round.window = self.window;
        self.round.count += 1;
        let (delivered, lost) = (delivered as f64 / self.mss, lost as f64 / self.mss);
        Round {
            packets: (delivered + lost).max(1.0),
            lost,
        }
    }

    fn on_cruising_round(&mut self, before: f64, now: f64) {
        let short = self.has_short_buffer();
        if short && self.config.elasticity && self.overflows.govern() {
            self.begin_competing(Sign::Losses, now);
            return;
        }
        let (queue, foreign) = (self.delays.queue(), self.foreign());
        let onset = self.yielding.onset();
        let before = before.max(self.window);
        let elastic = self.yielding.on_round(before, queue, foreign);
        if elastic && self.config.elasticity {
            self.window = onset.min(BACK * self.window).max(self.window);
            self.begin_competing(Sign::Queue, now);
            return;
        }
        self.surges
            .on_round(now, queue, foreign, self.delays.base());
        self.huge = match self.is_huge(queue) {
            true => self.huge + 1,
            false => 0,
        };
        if self.huge >= HUGE_ROUNDS && self.config.drain && self.config.elasticity {
            self.begin_drain(now);
        } else {
            let own = self.want(self.own_rate());
            self.share.on_round(queue - self.allowance(), own);
        }
    }

    /// Pushes, if it is time for that and the flow does not grow.
    fn consider_push(&mut self, now: f64) {
        let Mode::Cruise(cruise) = self.mode else {
            return;
        };
        if cruise.is_fast() {
            return;
        }
        // The noise is worth a look: it may explain the delay, and hide the queue that the flow
        // wants.
        let delay = self.delays.queue().max(self.target.delay(self.own_rate()));
        let noise = self.config.noise && delay < self.noise_limit() && !self.is_crowded();
        if noise && !self.losses.suspicious() && self.fullness.may_push() {
            let before = self.delays.half();
            self.mode = Mode::Push(Excursion::begin(now, self.window, before), cruise);
            self.window *= 1.0 + self.fullness.push(self.noise_limit(), self.delays.base());
        }
    }

    fn on_pushing_round(&mut self) {
        let Mode::Push(push, cruise) = self.mode else {
            return;
        };
        match self.fullness.on_push_round() {
            Stage::Waiting => {}
            Stage::Answered => self.on_answer(push.before()),
            Stage::Settled => self.mode = Mode::Cruise(cruise),
        }
    }

    /// The RTT has answered a push that began with this window and RTT.
    fn on_answer(&mut self, (window, before): (f64, f64)) {
        let after = self.delays.half();
        if !(after - before).is_finite() || self.losses.suspicious() {
            self.window = window;
            return;
        }
        let expected = self.fullness.pushed() * before;
        let excess = after - self.delays.base();
        let limit = self.own_queue().min(self.noise_limit());
        let full = self
            .fullness
            .on_answer(after - before, expected, excess, limit);
        if full {
            self.window = window;
        } else {
            self.enter(Mode::Cruise(Cruise::with_room()));
        }
    }

    pub(super) fn begin_competing(&mut self, sign: Sign, now: f64) {
        self.failed_drains = 0;
        let mut compete = Compete::begin(sign, now, self.window, self.delays.standing());
        if sign == Sign::Drains {
            self.window = (compete.kept() * self.window).max(self.min_window());
            compete.restart(self.window, self.segment);
        }
        self.enter(Mode::Compete(Box::new(compete)));
    }

    /// `quiet`: the buffer has not overflowed for a while.
    fn on_competing_round(&mut self, now: f64, quiet: bool) {
        let (standing, queue) = (self.delays.standing(), self.delays.queue());
        let (base, foreign) = (self.delays.base(), self.foreign());
        let several = self.several();
        let capacity = self.reference * self.mss;
        let empty = (0.1 * self.delays.longest())
            .min(0.5 * foreign)
            .max(0.5 * self.alone());
        let Mode::Compete(compete) = &mut self.mode else {
            return;
        };
        match compete.sign() {
            Sign::Queue => {}
            Sign::Losses => {
                if compete.hears_own(now, base, several) {
                    self.end_as_own(self.without_queue(self.window));
                } else if quiet {
                    self.governed = true;
                    self.enter(Mode::cruise());
                }
                return;
            }
            Sign::Drains => {
                if compete.has_lasted(now) {
                    self.enter(Mode::cruise());
                }
                return;
            }
        }
        // Only a flow that had the path, or its share among its own kind, knows the capacity.
        let vain = compete.pushes_in_vain(self.window, standing, queue, capacity);
        if vain && self.free {
            if self.config.path {
                self.changes += 1;
                self.delays.rebase(now, standing);
                self.losses.on_new_path(standing);
            }
            self.enter(Mode::cruise());
        } else if compete.is_over(queue < empty) {
            self.enter(Mode::cruise());
        }
    }
}
