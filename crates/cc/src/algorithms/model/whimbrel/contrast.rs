//! Do drains lose less? The sign of others where losses come at any length of the queue.
//!
//! Queue management (RED, CoDel) drops packets of short queues, and a buffer of a few packets is
//! full whenever flows happen to send at once. There neither the queue at a loss (`losses.rs`) nor
//! the queue at all losses (`overflows.rs`) tells whose they are, and a flow that takes them for
//! the channel's takes the path from flows that answer them. A drain tells: a channel loses the
//! same fraction of whatever is sent, a bottleneck loses less of less.
//!
//! So this compares the fraction that was lost in the last [`DRAINS`] drains with that lost between
//! them. If drains lost at most half, and the difference is [`DEVIATIONS`] standard deviations, the
//! losses are the bottleneck's: the flow competes (`compete.rs`). Not where more than [`MOST`] is
//! lost: there flows have a packet or two each, of their own kind as of others.
//!
//! Departure from a plain test of proportions: channels lose packets in bursts. The variance is
//! that of independent losses times their *dispersion*: the mean of (lost - expected)^2 / expected
//! over the round trips between drains, which is 1 for independent losses (P. McCullagh, J. Nelder,
//! "Generalized Linear Models", 1989, section 4.5).
//!
//! Units: packets.

use super::losses::Round;

/// Drains that count, and the times between them.
const DRAINS: usize = 8;

/// Standard deviations between the losses of drains and those of the time between them.
const DEVIATIONS: f64 = 2.5;

/// Drains lose at most this part of what is lost otherwise.
const LESS: f64 = 0.5;

/// The fraction that is lost between drains, at most: where it is more, the answer of one flow
/// changes nothing for the others.
const MOST: f64 = 0.15;

/// A drain, and the time before it.
#[derive(Debug, Clone, Copy)]
struct Period {
    drain: Round,
    before: Round,
    /// The sum of lost^2 / packets over the round trips before the drain, and their number.
    squares: f64,
    rounds: f64,
}

impl Period {
    const NONE: Self = Self {
        drain: Round::NONE,
        before: Round::NONE,
        squares: 0.0,
        rounds: 0.0,
    };

    fn plus(self, other: Self) -> Self {
        Self {
            drain: self.drain.plus(other.drain),
            before: self.before.plus(other.before),
            squares: self.squares + other.squares,
            rounds: self.rounds + other.rounds,
        }
    }

    fn drains_lose_less(&self) -> bool {
        let Round { packets, lost } = self.before;
        if lost == 0.0 || self.drain.packets == 0.0 {
            return false;
        }
        let fraction = lost / packets;
        let expected = fraction * self.drain.packets;
        // The sum of (lost - expected)^2 / expected over the round trips.
        let sum = self.squares / fraction - lost;
        let dispersion = (sum / self.rounds).max(1.0);
        let variance = expected * dispersion * (1.0 + self.drain.packets / packets);
        let less = expected - self.drain.lost;
        fraction <= MOST
            && self.drain.lost <= LESS * expected
            && less >= DEVIATIONS * variance.sqrt()
    }
}

/// What drains lose, and what is lost between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contrast {
    present: Period,
    past: [Period; DRAINS],
    /// The time before the next drain counts. That before the first one on a path contains the
    /// losses of startup.
    counts: bool,
}

impl Contrast {
    /// Nothing is known of the path.
    pub const NEW: Self = Self {
        present: Period::NONE,
        past: [Period::NONE; DRAINS],
        counts: false,
    };

    /// Ends a round trip of a `drain`, or of the time between drains.
    pub fn on_round(&mut self, round: Round, drain: bool) {
        let present = &mut self.present;
        if drain {
            present.drain = present.drain.plus(round);
        } else {
            present.before = present.before.plus(round);
            present.squares += round.lost * round.lost / round.packets;
            present.rounds += 1.0;
        }
    }

    /// Ends a drain. Returns whether drains lose less.
    pub fn end_drain(&mut self) -> bool {
        let present = std::mem::replace(&mut self.present, Period::NONE);
        if !std::mem::replace(&mut self.counts, true) {
            return false;
        }
        self.past.rotate_right(1);
        self.past[0] = present;
        let all = self.past.iter();
        let all = all.fold(Period::NONE, |sum, period| sum.plus(*period));
        all.drains_lose_less()
    }

    /// The flow has answered, or the path is another one.
    pub fn forget(&mut self) {
        *self = Self::NEW;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The drain, from the second one on, after which drains lose less, if one of twenty does.
    /// Between them are 50 round trips of 100 packets, in drains 3 of 90. Each `nth` round trip
    /// loses `lost`, in drains `drained`.
    fn shown(nth: u32, lost: f64, drained: f64) -> Option<u32> {
        let mut contrast = Contrast::NEW;
        (0..20).find(|drain| {
            for number in 0..53 {
                let drains = number >= 50;
                let here = if drains { drained } else { lost };
                let lost = if (drain * 53 + number) % nth == 0 {
                    here
                } else {
                    0.0
                };
                let packets = if drains { 90.0 } else { 100.0 };
                contrast.on_round(Round { packets, lost }, drains);
            }
            contrast.end_drain()
        })
    }

    #[test]
    fn a_channel_loses_the_same_of_less() {
        assert_eq!(shown(1, 2.0, 1.8), None);
        // In bursts of ten, of which few meet a drain.
        assert_eq!(shown(40, 10.0, 9.0), None);
        assert_eq!(shown(200, 30.0, 27.0), None);
    }

    /// Of 2 % a drain of 270 packets loses 5.4: 0 are 2.3 deviations less in one drain and 3.2 in
    /// two, because one count in fifty is the same.
    #[test]
    fn a_bottleneck_loses_less_of_less() {
        assert_eq!(shown(1, 2.0, 0.0), Some(2));
        assert_eq!(shown(1, 6.0, 0.0), Some(1), "more losses show it sooner");
        assert_eq!(shown(1, 2.0, 1.2), None, "more than half");
    }

    #[test]
    fn where_flows_have_a_packet_each_the_answer_of_one_changes_nothing() {
        assert_eq!(shown(1, 14.0, 0.0), Some(1));
        assert_eq!(shown(1, 16.0, 0.0), None);
    }

    #[test]
    fn what_comes_in_bursts_needs_longer() {
        let [bursts, even] = [(3, 6.0), (1, 2.0)].map(|(nth, lost)| shown(nth, lost, 0.0));
        assert_eq!((even, bursts), (Some(2), Some(5)), "a dispersion of 4");
    }

    #[test]
    fn the_time_before_the_first_drain_is_startups() {
        let mut contrast = Contrast::NEW;
        let flood = Round {
            packets: 1000.0,
            lost: 120.0,
        };
        let drain = Round {
            packets: 300.0,
            lost: 0.0,
        };
        for counts in [false, true] {
            contrast.on_round(flood, false);
            contrast.on_round(drain, true);
            assert_eq!(contrast.end_drain(), counts);
        }
        contrast.forget();
        contrast.on_round(flood, false);
        contrast.on_round(drain, true);
        assert!(!contrast.end_drain());
    }
}
