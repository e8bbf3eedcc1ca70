//! The long-term bandwidth: the rate of a policer.
//!
//! A token-bucket policer forwards bursts until its tokens are used up, and then drops everything
//! above its rate. The maximum rate measured is then that of a burst, and pacing at it loses a
//! large fraction permanently (T. Flach et al., "An Internet-Wide Analysis of Traffic Policing",
//! SIGCOMM 2016). Two consecutive intervals, each from a loss to a loss, both with high loss and
//! the same mean rate, are therefore attributed to a policer, and BBR paces at that mean for some
//! time (bbr_lt_bw_sampling and bbr_lt_bw_interval_done of tcp_bbr.c).

use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Minimum round trips of an interval (bbr_lt_intvl_min_rtts); more than four times as many are too
/// many.
const MIN_ROUNDS: u32 = 4;
/// Loss ratio, bytes lost per byte delivered, from which an interval is lossy: 50/256, nearly 20 %
/// (bbr_lt_loss_thresh).
const LOSSY: f64 = 50.0 / 256.0;
/// Two rates are equal if they differ by at most this fraction of the first (bbr_lt_bw_ratio) ...
const SAME_SHARE: f64 = 1.0 / 8.0;
/// ... or by at most this rate (bbr_lt_bw_diff).
const SAME_RATE: Rate = Rate::from_bits_per_sec(4_000);
/// Round trips for which the rate is used (bbr_lt_bw_max_rtts).
const ROUNDS_IN_USE: u32 = 48;

/// The connection's counts after an acknowledgment, and its properties.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub now: Time,
    /// Bytes delivered so far.
    pub delivered: u64,
    /// Bytes lost so far.
    pub lost: u64,
    /// Losses were found with it.
    pub losses: bool,
    pub round_start: bool,
    pub app_limited: bool,
    /// BBR is in PROBE_BW.
    pub probing: bool,
}

/// The long-term estimator.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LongTerm {
    /// The mean rate of the last lossy interval; while in use, of the last two.
    bandwidth: Rate,
    in_use: bool,
    sampling: bool,
    /// Round trips in the interval, or in use.
    rounds: u32,
    began: Time,
    delivered: u64,
    lost: u64,
}

impl LongTerm {
    /// The rate to use instead of the maximum, while a policer is suspected.
    pub fn in_use(&self) -> Option<Rate> {
        self.in_use.then_some(self.bandwidth)
    }

    /// Resets the estimator.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Processes an acknowledgment (or a timeout). Returns whether the use of the rate has just
    /// ended.
    pub fn sample(&mut self, counts: &Counts) -> bool {
        if self.in_use {
            self.rounds += u32::from(counts.probing && counts.round_start);
            let over = self.rounds >= ROUNDS_IN_USE;
            if over {
                self.reset();
            }
            return over;
        }
        if !self.sampling {
            // The first loss shows that the tokens are used up: earlier data was a burst.
            if !counts.losses {
                return false;
            }
            self.sampling = true;
            self.begin(counts);
        }
        if counts.app_limited {
            self.reset();
            return false;
        }
        self.rounds += u32::from(counts.round_start);
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset();
        } else if self.rounds >= MIN_ROUNDS && counts.losses {
            self.end(counts);
        }
        false
    }

    /// Begins an interval.
    fn begin(&mut self, counts: &Counts) {
        self.began = counts.now;
        self.delivered = counts.delivered;
        self.lost = counts.lost;
        self.rounds = 0;
    }

    /// Ends the interval with a loss, if the interval was lossy.
    fn end(&mut self, counts: &Counts) {
        let lost = counts.lost.saturating_sub(self.lost);
        let delivered = counts.delivered.saturating_sub(self.delivered);
        let span = counts.now.since(self.began);
        let lossy = delivered > 0 && lost as f64 >= LOSSY * delivered as f64;
        if !lossy || span < Duration::from_millis(1) {
            return;
        }
        let rate = Rate::over(Bytes::new(delivered), span);
        let (new, old) = (rate.as_bits_per_sec(), self.bandwidth.as_bits_per_sec());
        let apart = new.abs_diff(old);
        let same = apart as f64 <= SAME_SHARE * old as f64 || apart <= SAME_RATE.as_bits_per_sec();
        if old > 0 && same {
            self.bandwidth = Rate::from_bits_per_sec(new / 2 + old / 2);
            self.in_use = true;
            self.rounds = 0;
        } else {
            self.bandwidth = rate;
            self.begin(counts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trips of 100 ms of a policed flow: each delivers `delivered` kB and loses `lost` kB.
    fn rounds(c: &mut LongTerm, at: &mut Counts, n: u32, delivered: u64, lost: u64) -> bool {
        let mut over = false;
        for _ in 0..n {
            at.now += Duration::from_millis(100);
            at.delivered += delivered * 1_000;
            at.lost += lost * 1_000;
            at.losses = lost > 0;
            over |= c.sample(at);
        }
        over
    }

    fn start() -> Counts {
        Counts {
            now: Time::ZERO,
            delivered: 0,
            lost: 0,
            losses: false,
            round_start: true,
            app_limited: false,
            probing: true,
        }
    }

    #[test]
    fn two_lossy_intervals_of_the_same_rate_reveal_a_policer() {
        let (mut c, mut at) = (LongTerm::default(), start());
        rounds(&mut c, &mut at, 20, 100, 0);
        // 100 kB in 100 ms are 8 Mbit/s. The loss of the first round opens an interval and is its
        // first of four rounds; so three rounds are measured, and then four.
        rounds(&mut c, &mut at, 4, 100, 30);
        assert_eq!(c.in_use(), None);
        rounds(&mut c, &mut at, 4, 100, 30);
        assert_eq!(c.in_use(), Some(Rate::from_bits_per_sec(8_000_000)));
        // For 48 round trips.
        assert!(!rounds(&mut c, &mut at, 47, 100, 0));
        assert!(rounds(&mut c, &mut at, 1, 100, 0));
        assert_eq!(c.in_use(), None);
    }

    #[test]
    fn a_loss_of_less_than_a_fifth_is_no_policer() {
        let (mut c, mut at) = (LongTerm::default(), start());
        // 19 lost per 100 delivered is below 50/256 = 19.53 %, 20 is above.
        rounds(&mut c, &mut at, 12, 100, 19);
        assert_eq!(c.in_use(), None);
        c.reset();
        rounds(&mut c, &mut at, 12, 100, 20);
        assert!(c.in_use().is_some());
    }

    #[test]
    fn intervals_with_different_rates_are_no_policer() {
        for (second, policed) in [(112, true), (114, false)] {
            let (mut c, mut at) = (LongTerm::default(), start());
            rounds(&mut c, &mut at, 4, 100, 30);
            rounds(&mut c, &mut at, 4, second, 40);
            assert_eq!(c.in_use().is_some(), policed, "{second}");
        }
    }

    #[test]
    fn the_rate_of_an_application_is_not_that_of_a_policer() {
        let (mut c, mut at) = (LongTerm::default(), start());
        rounds(&mut c, &mut at, 4, 100, 30);
        at.app_limited = true;
        rounds(&mut c, &mut at, 1, 100, 30);
        at.app_limited = false;
        rounds(&mut c, &mut at, 4, 100, 30);
        assert_eq!(c.in_use(), None, "the first interval is forgotten");
        rounds(&mut c, &mut at, 4, 100, 30);
        assert!(c.in_use().is_some());
    }

    #[test]
    fn an_interval_without_loss_for_16_round_trips_is_discarded() {
        let (mut c, mut at) = (LongTerm::default(), start());
        rounds(&mut c, &mut at, 4, 100, 30);
        rounds(&mut c, &mut at, 17, 100, 0);
        rounds(&mut c, &mut at, 4, 100, 30);
        assert_eq!(c.in_use(), None, "the first interval is forgotten");
    }
}
