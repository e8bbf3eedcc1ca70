//! Do losses come where the queue is long? The sign of others in a buffer that is too short to show
//! them.
//!
//! Others are known by a queue that is longer than flows of this algorithm make it
//! (`elasticity.rs`, drains). In a buffer of a tenth of a BDP no queue is so long: this flow keeps
//! its few packets of queue, a drain leaves none, and a flow that sends in bursts loses a seventh of
//! its packets at a queue that is always nearly full. What such a buffer does show is *when* it
//! loses. Losses of a channel are independent of the queue: the fraction of them that comes at a
//! long queue is the fraction of the time for which the queue is long. Those of a buffer come at a
//! long queue more often. So this compares both fractions over five to ten seconds, and if at least
//! [`LEAST`] losses came at a long queue, [`DEVIATIONS`] more than by chance, losses govern the
//! path: this flow competes, answers each loss as CUBIC does, and stays so for as long as there are
//! such losses. None of them passes for the channel's then: what drains lost before was lost beside
//! others.
//!
//! Departures from a plain test of proportions: one observation of each fraction is added, so that
//! a queue that was always or never long is no division by zero.
//!
//! Units: seconds.

/// Losses at a long queue that are enough.
const LEAST: f64 = 6.0;

/// Standard deviations of a binomial distribution.
const DEVIATIONS: f64 = 3.0;

/// How long a period of the comparison lasts, s, and in round trips, at least.
const PERIOD: f64 = 5.0;
const PERIOD_ROUNDS: f64 = 20.0;

/// So many losses at a long queue in a period are none.
const FEW: f64 = 1.0;

/// Events, and those of them at a long queue.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    all: f64,
    long: f64,
}

impl Count {
    fn add(&mut self, long: bool) {
        self.all += 1.0;
        self.long += if long { 1.0 } else { 0.0 };
    }

    fn plus(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            long: self.long + other.long,
        }
    }
}

/// What a period has seen.
#[derive(Debug, Clone, Copy, Default)]
struct Period {
    /// Episodes of loss.
    losses: Count,
    /// Round trips, by the queue at their end.
    rounds: Count,
}

/// When losses come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Overflows {
    /// The present period and the one before it.
    periods: [Period; 2],
    began: f64,
}

impl Overflows {
    /// An episode of loss begins. `long`: the queue is as long as where a buffer overflows.
    pub fn on_loss(&mut self, long: bool) {
        self.periods[0].losses.add(long);
    }

    /// Ends a round trip of `rtt`. `long` as above. Returns whether a period ends in which the
    /// buffer did not overflow.
    pub fn on_round(&mut self, now: f64, rtt: f64, long: bool) -> bool {
        self.periods[0].rounds.add(long);
        if now - self.began < PERIOD.max(PERIOD_ROUNDS * rtt) {
            return false;
        }
        let quiet = self.periods[0].losses.long <= FEW;
        self.periods = [Period::default(), self.periods[0]];
        self.began = now;
        quiet
    }

    /// Whether losses come with the queue.
    pub fn govern(&self) -> bool {
        let [new, old] = self.periods;
        let (losses, rounds) = (new.losses.plus(old.losses), new.rounds.plus(old.rounds));
        let share = (rounds.long + 1.0) / (rounds.all + 2.0);
        let by_chance = losses.all * share;
        let deviation = (by_chance * (1.0 - share) + 1.0).sqrt();
        losses.long >= LEAST && losses.long - by_chance >= DEVIATIONS * deviation
    }

    /// The path is another one.
    pub fn forget(&mut self) {
        self.periods = [Period::default(); 2];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After `rounds` round trips of 50 ms of which every `nth` ends at a long queue, and `losses`
    /// of which `long` came at one.
    fn after(rounds: u32, nth: u32, losses: u32, long: u32) -> Overflows {
        let mut overflows = Overflows::default();
        for loss in 0..losses {
            overflows.on_loss(loss < long);
        }
        for round in 0..rounds {
            overflows.on_round(0.05 * f64::from(round), 0.05, round % nth == 0);
        }
        overflows
    }

    #[test]
    fn losses_that_come_with_the_queue_govern() {
        // The queue is long in a third of the round trips. Of 20 losses 7 are there by chance, with
        // a standard deviation of 2.3.
        assert!(
            after(90, 3, 20, 15).govern(),
            "by more than three deviations"
        );
        assert!(!after(90, 3, 20, 7).govern(), "those of a channel");
        assert!(!after(90, 3, 20, 13).govern(), "by two and a half");
        assert!(!after(90, 9, 5, 5).govern(), "too few");
        assert!(!after(90, 1, 30, 30).govern(), "the queue is always long");
    }

    #[test]
    fn a_period_with_one_overflow_is_quiet_and_two_periods_count() {
        let mut overflows = after(90, 3, 20, 17);
        assert!(!overflows.on_round(5.0, 0.05, false), "17 overflows");
        assert!(overflows.govern(), "the last period counts");
        overflows.on_loss(true);
        assert!(!overflows.on_round(9.9, 0.05, false), "not over");
        assert!(overflows.on_round(10.0, 0.05, false));
        assert!(!overflows.govern(), "forgotten");
        assert!(
            !overflows.on_round(15.0, 0.5, false),
            "20 round trips of 0.5 s"
        );
    }
}
