//! Draining: the queue is emptied to measure the base RTT.
//!
//! Flows at the fixed point never see an empty queue, and a flow that came later has never seen
//! one: its base RTT contains the queue of the others, and it takes more than its share. So at
//! each stroke of `clock.rs`, every `drain_after` (5 s, or the next 5, 10, 20 s... that are 20 RTT
//! on long paths), the window goes to [`KEPT`] of what the path holds, for [`ROUNDS`] round trips
//! and [`LEAST`]. A base that errs by up to a tenth in one of the flows does not prevent that the
//! queue empties. A flow that saw its base within the last [`LATELY`] of that time needs no drain:
//! on paths that lose packets the queue empties often.
//!
//! The first drain on a path goes to [`FIRST_KEPT`]. Where ten flows begin within some seconds, the
//! bottleneck is never empty, so each base contains half of the queue or more, and a tenth less of
//! each would leave the rest of it.
//!
//! Where others keep a queue of seconds, three round trips would be most of the time to the next
//! drain. So it ends when it has lasted as long as they take if the queue empties: the standing RTT
//! before it, and two base RTTs.
//!
//! A drain costs three round trips with a tenth less: 1 % of 5 s at an RTT of 100 ms. The first
//! costs a round trip and a half.
//!
//! The same excursion, from another window, is the trial of `compete.rs`.
//!
//! Units: seconds, bytes.

/// Fraction of the bandwidth-delay product that stays in flight, and that of the first drain.
pub(super) const KEPT: f64 = 0.9;
pub(super) const FIRST_KEPT: f64 = 0.5;

/// Round trips that it lasts.
const ROUNDS: u32 = 3;

/// Time that it lasts at least, s: flows with short RTTs must wait for those with long ones.
const LEAST: f64 = 0.2;

/// Round trips that take so long, s, are worth to be cut short.
const SLOW: f64 = 0.25;

/// Round trips from one drain to the next, at least.
pub(super) const MIN_ROUNDS: f64 = 20.0;

/// Part of the time between drains within which a base RTT that was seen makes one needless.
pub(super) const LATELY: f64 = 0.1;

/// Part of a round trip after which samples count.
const FEEDBACK: f64 = 0.9;

/// A time with a smaller window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Excursion {
    began: f64,
    rounds: u32,
    /// The lowest RTT since its packets are acknowledged.
    min: f64,
    /// A packet that left in it was acknowledged.
    answered: bool,
    /// Window and standing RTT before it.
    before: (f64, f64),
}

impl Excursion {
    pub fn begin(now: f64, window: f64, standing: f64) -> Self {
        Self {
            began: now,
            rounds: 0,
            min: f64::INFINITY,
            answered: false,
            before: (window, standing),
        }
    }

    /// Processes a sample and the standing RTT.
    pub fn on_sample(&mut self, now: f64, rtt: f64, standing: f64) {
        if now - self.began > FEEDBACK * standing {
            self.min = super::lower(self.min, rtt);
        }
        self.answered |= now - rtt >= self.began;
    }

    /// Ends a round trip. Returns whether the excursion is over.
    pub fn on_round(&mut self, now: f64) -> bool {
        self.rounds += 1;
        self.rounds >= ROUNDS && now - self.began >= LEAST
    }

    /// Whether it has lasted as long as its round trips take if the queue is gone after the first
    /// one. Where others keep a queue of seconds, each takes as long as the first.
    pub fn is_long(&self, now: f64, base: f64) -> bool {
        let usual = self.before.1 + f64::from(ROUNDS - 1) * base;
        let heard = self.answered && self.min.is_finite();
        heard && self.before.1 >= SLOW && now - self.began >= usual
    }

    /// Whether packets of the smaller window are acknowledged.
    pub fn is_heard(&self) -> bool {
        self.rounds >= 1
    }

    /// The minimum RTT that it saw; infinite without a sample.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// Window and standing RTT before it.
    pub fn before(&self) -> (f64, f64) {
        self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_samples_of_the_smaller_window_count() {
        let mut drain = Excursion::begin(1.0, 100.0, 0.1);
        drain.on_sample(1.08, 0.05, 0.1);
        assert_eq!(drain.min(), f64::INFINITY);
        drain.on_sample(1.1, 0.09, 0.1);
        drain.on_sample(1.2, 0.095, 0.1);
        assert_eq!(drain.min(), 0.09);
        assert_eq!(drain.before(), (100.0, 0.1));
    }

    #[test]
    fn a_queue_of_others_does_not_make_it_longer() {
        // 2 s of queue on a path of 0.1 s: with an empty queue the second and the third round trip
        // would take 0.1 s each.
        let mut drain = Excursion::begin(1.0, 100.0, 2.1);
        drain.on_sample(2.95, 2.0, 2.1);
        assert!(!drain.is_long(4.0, 0.1), "that packet left before");
        drain.on_sample(3.0, 2.0, 2.1);
        assert!(!drain.is_long(3.2, 0.1));
        assert!(drain.is_long(3.4, 0.1));
        let mut short = Excursion::begin(1.0, 100.0, 0.2);
        short.on_sample(1.2, 0.2, 0.2);
        assert!(!short.is_long(2.0, 0.01), "it ends with a round trip");
    }

    #[test]
    fn it_lasts_three_round_trips_and_a_fifth_of_a_second() {
        let mut drain = Excursion::begin(1.0, 100.0, 0.1);
        assert!(!drain.is_heard());
        let ends = [1.1, 1.2, 1.3].map(|now| drain.on_round(now));
        assert_eq!(ends, [false, false, true]);
        assert!(drain.is_heard());
        let mut short = Excursion::begin(1.0, 100.0, 0.02);
        let end = (1..20).find(|round| short.on_round(1.001 + 0.02 * f64::from(*round)));
        assert_eq!(end, Some(10));
    }
}
