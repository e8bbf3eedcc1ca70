//! Beside flows that do not yield: CUBIC, until they are gone.
//!
//! A flow that keeps its queue short gets nothing beside one that fills it. So while
//! `elasticity.rs` or a drain finds such flows, the window is that of CUBIC (RFC 9438;
//! `loss/cubic.rs`, the same code), which gets about what one more CUBIC flow would get. Only
//! losses that are surely congestion reduce it: those at a long queue, and beyond what the path
//! loses while this flow leaves it room. It begins with growth by [`SPRINT`] up to the first loss:
//! CUBIC's own plateau would be at the rate to which the others have pushed this flow.
//!
//! In a buffer that is too short to show others, losses are their sign (`overflows.rs`). Then each
//! loss is answered, by RFC 9438's own factor, and nothing of what follows applies. Competition
//! ends after a period without losses at a long queue, and begins again with the next one, or when
//! the flow **hears** others of its kind: at a stroke of `clock.rs` they drain, and the queue falls
//! to [`REST`] without this flow's doing. Other queues do not empty at strokes.
//!
//! Where losses come at any length of the queue, the sign of others is that drains lose less
//! (`contrast.rs`). Then it begins with the answer to a loss, answers each one in the same way, and
//! ends after [`STAY`]: nothing but further drains would show that the others are gone.
//!
//! Beside a queue that stays it ends when
//!
//! * the queue was nearly empty in each of [`EMPTY`] round trips, or
//! * the window grew and the queue did not answer (`elasticity.rs`, [`Pushing`]), if the last drain
//!   has left no queue, or
//! * a **trial** empties the queue: the window goes to [`TRIAL`] of what the path holds of this
//!   flow without a queue, for three round trips, at a stroke of `clock.rs`: first at strokes that
//!   are [`TRIALS`] seconds apart, and then twice that up to the second of them. If the queue
//!   empties, no other flow keeps it. Flows of this algorithm that took each other for others all
//!   do so at the same time, and find themselves alone. The first trial of a connection is at the
//!   next full second ([`FIRST_TRIAL`]).
//!
//! Units: seconds, bytes.

use super::drain::Excursion;
use super::elasticity::Pushing;
use super::queue_owner;
use crate::algorithms::loss::cubic::{Cubic, CubicConfig};
use crate::interface::{Ack, Controller, Loss};
use crate::registry::entry::Setup;
use whimbrel_units::Bytes;

/// Growth in a round trip before the first loss, at least and at most. In between, the window grows
/// to e times its size in [`SPRINT_TIME`], s: where buffers hold seconds, a minute has few round
/// trips.
const SPRINT: (f64, f64) = (0.15, 0.5);
const SPRINT_TIME: f64 = 2.0;

/// Round trips of a nearly empty queue that end it.
const EMPTY: u32 = 8;

/// Time from one trial to the next, first and at most, s.
const TRIALS: (f64, f64) = (4.0, 32.0);

/// The first trial is at a multiple of this of UTC, s. Before it nothing is known of the others,
/// and while many flows begin, one that is mistaken misleads all the others.
pub(super) const FIRST_TRIAL: f64 = 1.0;

/// Round trips from one trial to the next, and before the first, at least. One that misses the
/// trial of the others would have the path for itself until the next, and drive them back to it.
const TRIAL_ROUNDS: (f64, f64) = (20.0, 3.0);

/// The window of a trial, over what the path holds of this flow without a queue.
pub(super) const TRIAL: f64 = 0.95;

/// The queue counts as empty if no more than this part of it is left. A small flow sends a few
/// packets in a trial, and sees the queue late and inexactly.
pub(super) const REST: f64 = 0.25;

/// What a congestion loss leaves of the window. RFC 9438 has 0.7. Trials leave to others what this
/// flow gives up, and a flow that crosses several bottlenecks loses more often than each of them.
pub(super) const KEPT: f64 = 0.8;

/// The same where losses are the sign of others: there are no trials then.
const RFC_KEPT: f64 = 0.7;

/// How long it competes where only drains have shown others, s.
const STAY: f64 = 60.0;

/// The window over what the path delivers in a round trip, at most. Where round trips take seconds,
/// a quarter more in each would be slower than CUBIC.
pub(super) const HEADROOM: f64 = 2.0;

/// RFC 9438's values but for that, without slow start.
const CUBIC: CubicConfig = CubicConfig {
    c: 0.4,
    beta: KEPT,
    fast_convergence: true,
    tcp_friendliness: true,
    hystart: false,
    linux: false,
};

/// What has shown that others do not yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// A queue that stays.
    Queue,
    /// Losses in a buffer that is too short for such a queue.
    Losses,
    /// Drains that lose less.
    Drains,
}

/// The state of the competition.
#[derive(Debug, Clone)]
pub(super) struct Compete {
    sign: Sign,
    /// `None` before the first loss.
    cubic: Option<Cubic>,
    pushing: Pushing,
    empty: u32,
    since: f64,
    /// Time between trials.
    wait: f64,
    /// What it hears of the others since a stroke.
    heard: Option<Excursion>,
}

impl Compete {
    pub fn begin(sign: Sign, now: f64, window: f64, standing: f64) -> Self {
        Self {
            sign,
            cubic: None,
            pushing: Pushing::new(window, standing),
            empty: 0,
            since: now,
            wait: TRIALS.0,
            heard: None,
        }
    }

    pub fn sign(&self) -> Sign {
        self.sign
    }

    /// Whether it has competed for long enough since drains have shown others.
    pub fn has_lasted(&self, now: f64) -> bool {
        now - self.since >= STAY
    }

    /// Continues after a trial that found others.
    pub fn resume(&mut self, now: f64, window: f64, standing: f64) {
        self.pushing = Pushing::new(window, standing);
        self.since = now;
        self.wait = (2.0 * self.wait).min(TRIALS.1);
    }

    /// The window after an acknowledgment.
    pub fn on_ack(&mut self, ack: &Ack, window: f64) -> f64 {
        match &mut self.cubic {
            Some(cubic) => {
                cubic.on_ack(ack);
                cubic.cwnd().get() as f64
            }
            None if ack.cwnd_limited => {
                let (least, most) = SPRINT;
                let growth = (ack.srtt.as_secs_f64() / SPRINT_TIME).clamp(least, most);
                window + growth * (ack.acked.get() as f64).min(window)
            }
            None => window,
        }
    }

    /// The window after a loss that is congestion. `window` may be below CUBIC's, because the rate
    /// of the path limits it; CUBIC then begins anew there, so that a loss reduces what was used.
    pub fn on_loss(&mut self, loss: &Loss, window: f64, mss: u64) -> f64 {
        if self
            .cubic
            .as_ref()
            .is_some_and(|c| c.cwnd().get() as f64 > window)
        {
            self.cubic = None;
        }
        let beta = self.kept();
        let cubic = self.cubic.get_or_insert_with(|| cubic(window, mss, beta));
        cubic.on_loss(loss);
        // A full queue does not answer either.
        self.pushing = Pushing::new(window, 0.0);
        cubic.cwnd().get() as f64
    }

    /// CUBIC begins anew from this window.
    pub fn restart(&mut self, window: f64, mss: u64) {
        self.cubic = Some(cubic(window, mss, self.kept()));
        self.pushing = Pushing::new(window, 0.0);
    }

    /// What a loss that is answered leaves of the window.
    pub fn kept(&self) -> f64 {
        match self.sign {
            Sign::Queue => KEPT,
            Sign::Losses | Sign::Drains => RFC_KEPT,
        }
    }

    /// Ends a round trip. Returns whether the window has grown without an answer on a path of this
    /// `capacity`, bytes per second.
    pub fn pushes_in_vain(
        &mut self,
        window: f64,
        standing: f64,
        queue: f64,
        capacity: f64,
    ) -> bool {
        self.pushing.on_round(window, standing, queue, capacity)
    }

    /// Ends a round trip. Returns whether the queue was empty for long enough.
    pub fn is_over(&mut self, nearly_empty: bool) -> bool {
        self.empty = if nearly_empty { self.empty + 1 } else { 0 };
        self.empty >= EMPTY
    }

    /// The time between trials, at least, s; `None` if it is too early for one, or there are none.
    /// `base` and `standing`: the RTTs, s.
    pub fn between_trials(&self, now: f64, base: f64, standing: f64) -> Option<f64> {
        let (between, first) = TRIAL_ROUNDS;
        let tries = self.sign == Sign::Queue && now - self.since > first * base;
        // A trial beside others takes as long as their queue. The first one may find only own
        // flows.
        let trip = match self.wait > TRIALS.0 {
            true => standing,
            false => base,
        };
        tries.then(|| self.wait.max(between * trip))
    }

    /// The clock strikes. Where there are no trials, it listens whether others drain.
    pub fn listen(&mut self, now: f64, window: f64, standing: f64) {
        if self.sign == Sign::Losses {
            self.heard = Some(Excursion::begin(now, window, standing));
        }
    }

    /// Processes the standing RTT while it listens.
    pub fn on_sample(&mut self, now: f64, standing: f64) {
        if let Some(heard) = &mut self.heard {
            heard.on_sample(now, standing, standing);
        }
    }

    /// Ends a round trip. Returns whether the others have drained: a queue longer than `own`, s,
    /// has fallen to [`REST`] of its length since the stroke. `base`: the base RTT, s.
    pub fn hears_own(&mut self, now: f64, base: f64, own: f64) -> bool {
        let Some(heard) = &mut self.heard else {
            return false;
        };
        if !heard.on_round(now) {
            return false;
        }
        let (before, left) = (heard.before().1 - base, heard.min() - base);
        self.heard = None;
        before > own && !queue_owner::is_kept(before, left, 0.0, REST)
    }

    pub fn on_mss(&mut self, mss: Bytes) {
        if let Some(cubic) = &mut self.cubic {
            cubic.on_mss(mss);
        }
    }
}

/// CUBIC past its slow start.
fn cubic(window: f64, mss: u64, beta: f64) -> Cubic {
    let window = Bytes::new(window as u64);
    let setup = Setup {
        mss: Bytes::new(mss),
        initial_window: window,
        paced: true,
        ssthresh: Some(window),
        growth: Default::default(),
        seed: 0,
        time_of_day: Default::default(),
        saved: None,
    };
    Cubic::new(&setup, CubicConfig { beta, ..CUBIC })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ACK, loss, newreno};
    use whimbrel_units::Time;

    #[test]
    fn it_sprints_until_the_first_loss_and_is_cubic_then() {
        let mut compete = Compete::begin(Sign::Queue, 0.0, 100_000.0, 0.1);
        let mut window = 100_000.0;
        for _ in 0..100 {
            window = compete.on_ack(&ACK, window);
        }
        assert_eq!(window, 115_000.0);
        let event = Loss {
            in_flight: Bytes::new(window as u64),
            ..loss(&newreno(10), Time::ZERO)
        };
        window = compete.on_loss(&event, window, 1000);
        assert_eq!(window, 92_000.0, "0.8");
    }

    #[test]
    fn a_loss_reduces_a_window_that_was_limited_below_cubics() {
        let mut compete = Compete::begin(Sign::Queue, 0.0, 100_000.0, 0.1);
        for (window, reduced) in [(100_000.0, 80_000.0), (50_000.0, 40_000.0)] {
            let event = Loss {
                in_flight: Bytes::new(window as u64),
                ..loss(&newreno(10), Time::ZERO)
            };
            assert_eq!(compete.on_loss(&event, window, 1000), reduced);
        }
    }

    #[test]
    fn after_a_flood_it_is_cubic_from_what_is_left() {
        let mut compete = Compete::begin(Sign::Queue, 0.0, 100_000.0, 0.1);
        compete.restart(60_000.0, 1000);
        let window = (0..60).fold(60_000.0, |window, _| compete.on_ack(&ACK, window));
        assert!((60_000.0..62_000.0).contains(&window), "{window}");
    }

    #[test]
    fn trials_become_rarer() {
        let mut compete = Compete::begin(Sign::Queue, 0.0, 100_000.0, 0.1);
        assert_eq!(compete.between_trials(0.3, 0.1, 0.1), None);
        assert_eq!(compete.between_trials(0.31, 0.1, 0.1), Some(4.0));
        assert_eq!(
            compete.between_trials(7.0, 0.6, 1.0),
            Some(12.0),
            "20 base RTTs"
        );
        for wait in [8.0, 16.0, 32.0, 32.0] {
            compete.resume(100.0, 100_000.0, 0.1);
            assert_eq!(compete.between_trials(101.1, 0.1, 0.1), Some(wait));
        }
        let slow = compete.between_trials(101.1, 0.1, 3.0);
        assert_eq!(slow, Some(60.0), "beside others 20 round trips");
    }

    #[test]
    fn it_hears_others_that_drain_at_a_stroke() {
        // Their queue of 9.3 ms falls to 0.6 ms, or those of CUBIC to 4 ms by a loss.
        for (left, own) in [(0.0006, true), (0.004, false)] {
            let mut compete = Compete::begin(Sign::Losses, 0.0, 100_000.0, 0.0193);
            assert!(!compete.hears_own(5.0, 0.01, 0.002), "no stroke yet");
            compete.listen(5.0, 100_000.0, 0.0193);
            compete.on_sample(5.1, 0.01 + left);
            let rounds = [5.1, 5.15, 5.25].map(|now| compete.hears_own(now, 0.01, 0.002));
            assert_eq!(rounds, [false, false, own]);
        }
        let mut trying = Compete::begin(Sign::Queue, 0.0, 100_000.0, 0.0193);
        trying.listen(5.0, 100_000.0, 0.0193);
        trying.on_sample(5.1, 0.01);
        assert!(!(51..60).any(|tenth| trying.hears_own(f64::from(tenth) / 10.0, 0.01, 0.002)));
    }

    #[test]
    fn eight_nearly_empty_rounds_end_it() {
        let mut compete = Compete::begin(Sign::Queue, 0.0, 100_000.0, 0.1);
        for _ in 0..7 {
            assert!(!compete.is_over(true));
        }
        assert!(!compete.is_over(false));
        assert_eq!((0..8).position(|_| compete.is_over(true)), Some(7));
    }
}
