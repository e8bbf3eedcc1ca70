//! The long-term bandwidth: what a policer lets through.
//!
//! A token-bucket policer passes bursts until its tokens are gone and then drops all above its rate. The greatest rate
//! seen is then that of a burst, and pacing at it loses a large share for good (T. Flach et al., "An Internet-Wide
//! Analysis of Traffic Policing", SIGCOMM 2016). So two intervals in a row, each from a loss to a loss, each with much loss
//! and both with the same mean rate are taken for a policer's, and that mean is paced at for a while
//! (bbr_lt_bw_sampling and bbr_lt_bw_interval_done of tcp_bbr.c).

use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Fewest round trips of an interval (bbr_lt_intvl_min_rtts); four times as many are too many.
const LEAST_ROUNDS: u32 = 4;
/// Bytes lost for each delivered from which an interval is lossy: 50/256, nearly 20 % (bbr_lt_loss_thresh).
const LOSSY: f64 = 50.0 / 256.0;
/// Two rates are the same if they differ by no more than this share of the first (bbr_lt_bw_ratio) ...
const SAME_SHARE: f64 = 1.0 / 8.0;
/// ... or by no more than this (bbr_lt_bw_diff).
const SAME_RATE: Rate = Rate::from_bits_per_sec(4_000);
/// Round trips for which the rate is used (bbr_lt_bw_max_rtts).
const ROUNDS_IN_USE: u32 = 48;

/// The connection's counts after an acknowledgment, and what it brought.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub now: Time,
    /// Bytes delivered so far.
    pub delivered: u64,
    /// Bytes lost so far.
    pub lost: u64,
    /// Something was found lost with it.
    pub losses: bool,
    pub round_start: bool,
    pub app_limited: bool,
    /// BBR is in PROBE_BW.
    pub probing: bool,
}

/// The long-term estimator.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LongTerm {
    /// The mean rate of the last lossy interval; once in use, of the last two.
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
    /// The rate to use instead of the greatest seen, while a policer is suspected.
    pub fn in_use(&self) -> Option<Rate> {
        self.in_use.then_some(self.bandwidth)
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Takes an acknowledgment (or a timeout) in. Whether the rate has just gone out of use.
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
            // The first loss shows that the tokens are gone: what passed before was a burst.
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
        if self.rounds > 4 * LEAST_ROUNDS {
            self.reset();
        } else if self.rounds >= LEAST_ROUNDS && counts.losses {
            self.end(counts);
        }
        false
    }

    /// An interval begins.
    fn begin(&mut self, counts: &Counts) {
        self.began = counts.now;
        self.delivered = counts.delivered;
        self.lost = counts.lost;
        self.rounds = 0;
    }

    /// The interval ends with a loss, if enough was lost in it.
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

    /// Round trips of 100 ms of a policed flow: each delivers `delivered` and loses `lost` kB.
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
    fn two_lossy_intervals_of_the_same_rate_are_a_policers() {
        let (mut c, mut at) = (LongTerm::default(), start());
        rounds(&mut c, &mut at, 20, 100, 0);
        // 100 kB in 100 ms are 8 Mbit/s. The first round's loss opens an interval and is its first of four rounds; so
        // three rounds are measured, and then four.
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
    fn a_loss_of_less_than_a_fifth_is_no_policers() {
        let (mut c, mut at) = (LongTerm::default(), start());
        // 19 lost for 100 delivered is below 50/256 = 19.53 %, 20 above.
        rounds(&mut c, &mut at, 12, 100, 19);
        assert_eq!(c.in_use(), None);
        c.reset();
        rounds(&mut c, &mut at, 12, 100, 20);
        assert!(c.in_use().is_some());
    }

    #[test]
    fn intervals_whose_rates_differ_by_more_than_an_eighth_are_no_policers() {
        for (second, policed) in [(112, true), (114, false)] {
            let (mut c, mut at) = (LongTerm::default(), start());
            rounds(&mut c, &mut at, 4, 100, 30);
            rounds(&mut c, &mut at, 4, second, 40);
            assert_eq!(c.in_use().is_some(), policed, "{second}");
        }
    }

    #[test]
    fn an_interval_without_loss_for_16_round_trips_is_given_up() {
        let (mut c, mut at) = (LongTerm::default(), start());
        rounds(&mut c, &mut at, 4, 100, 30);
        rounds(&mut c, &mut at, 17, 100, 0);
        rounds(&mut c, &mut at, 4, 100, 30);
        assert_eq!(c.in_use(), None, "the first interval is forgotten");
    }
}
