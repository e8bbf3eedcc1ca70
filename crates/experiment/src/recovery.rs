//! How long a flow needs after a loss until it is back where it was.
//!
//! S. Ahmad, M. J. Arshad, "Enhanced Multistream Fast TCP: Rapid Bandwidth Utilization after Fast-Recovery Phase", Applied
//! Sciences 9(21), 4698, 2019, equation (3):
//! T = T_LF - T_PD, from the third duplicate acknowledgment, T_PD, until "the protocol regains the fair share of the available
//! bandwidth", T_LF. The paper says no more of T_LF; its figures 6 to 9 and the text below them read it off the congestion
//! window, which is back when it has the size it had. Here it is:
//!
//! * **before**: the greatest window of the [`BEFORE`] that ended with the loss. The greatest, as the paper does for laws
//!   whose window is a sawtooth (57 segments for NewReno); a law with a steady window has but one size;
//! * **back**: at [`BACK`] of that or more. Not at all of it: a law that closes in on its window geometrically, as FAST does,
//!   would need for ever for the last segment, and a window is only known to a segment anyway;
//! * only times are looked at in which nothing is being repaired: while it is, NewReno's flight holds what has long arrived,
//!   and data that waited behind a hole comes all at once when that is filled.
//!
//! So the least that comes out is the time of the repair itself, a round trip. Three things can be asked to be back: the window
//! ([`Recovery::of_window`], equation (3)), the rate of delivery ([`Recovery::of_share`]: a window may be back that has no
//! bandwidth, or bandwidth be back with a smaller window, if the queue was long before), and the flight
//! ([`Recovery::of_flight`]), in round trips, as the paper counts "9 RTT" and "17 RTTs".
//!
//! All times are exact to one sample.

use crate::window::{Window, average};
use whimbrel_sim::{FlowOutcome, FlowSample, LossEpisode};
use whimbrel_units::{Duration, Time};

/// How much of what was before must be there again.
const BACK: f64 = 0.95;
/// How long before a loss is looked at.
const BEFORE: Duration = Duration::from_secs(5);

/// A flow after its first loss in a part of a run.
pub(crate) struct Recovery<'a> {
    flow: &'a FlowOutcome,
    loss: &'a LossEpisode,
    /// Where it ends: what is back later does not count.
    until: Time,
}

impl<'a> Recovery<'a> {
    /// After the first episode of loss that began in this part; `None` if none did.
    pub(crate) fn first(flow: &'a FlowOutcome, part: Window) -> Option<Self> {
        let loss = flow.episodes.iter().find(|e| part.takes(e.at))?;
        Some(Self {
            flow,
            loss,
            until: part.to,
        })
    }

    /// From the loss until the window is what it was; `None` if it never is.
    pub(crate) fn of_window(&self) -> Option<Duration> {
        self.of(|s| s.cwnd.get() as f64, self.loss.cwnd.get() as f64)
    }

    /// From the loss until the bytes in flight are what they were, in smoothed RTTs at the loss; `None` if they never are.
    pub(crate) fn of_flight(&self) -> Option<f64> {
        let flight = |s: &FlowSample| s.in_flight.get() as f64;
        let span = self.of(flight, self.loss.in_flight.get() as f64)?;
        let rtt = self.loss.srtt.as_secs_f64();
        (rtt > 0.0).then(|| span.as_secs_f64() / rtt)
    }

    /// From the loss until the rate at which data is delivered, in the mean over one smoothed RTT since the repair, is what it
    /// was in the mean before; `None` if it never is. `interval` is between samples.
    pub(crate) fn of_share(&self, interval: Duration) -> Option<Duration> {
        let rate = |s: &FlowSample| s.rate.as_bits_per_sec() as f64;
        let before = average(self.before().map(rate))?;
        let repaired = self.loss.ended?;
        let back = self.after().find(|sample| {
            let from = sample.at - sample.srtt.max(interval);
            let round = self.flow.samples.iter();
            let round = round.filter(|s| from < s.at && s.at <= sample.at);
            from >= repaired && average(round.map(rate)).is_some_and(|mean| mean >= BACK * before)
        });
        back.map(|sample| sample.at.since(self.loss.at))
    }

    /// From the loss until a value is back; `last` is what it was just before.
    fn of(&self, value: impl Fn(&FlowSample) -> f64, last: f64) -> Option<Duration> {
        let calm = self.before().filter(|s| self.is_calm(s));
        let before = calm.map(&value).fold(last, f64::max);
        let back = self.after().find(|s| value(s) >= BACK * before)?;
        Some(back.at.since(self.loss.at))
    }

    fn before(&self) -> impl Iterator<Item = &FlowSample> {
        let loss = self.loss.at;
        let samples = self.flow.samples.iter();
        samples.filter(move |s| loss - BEFORE < s.at && s.at <= loss)
    }

    /// After the repair, while nothing else is being repaired.
    fn after(&self) -> impl Iterator<Item = &FlowSample> {
        let samples = self.flow.samples.iter();
        samples.filter(|s| {
            let repaired = self.loss.ended.is_some_and(|ended| ended <= s.at);
            repaired && s.at <= self.until && self.is_calm(s)
        })
    }

    /// Nothing is being repaired.
    fn is_calm(&self, sample: &FlowSample) -> bool {
        let repairs =
            |e: &LossEpisode| e.at <= sample.at && e.ended.is_none_or(|ended| sample.at < ended);
        !self.flow.episodes.iter().any(repairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_units::{Bytes, Rate};

    const fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn loss(from: u64, ended: Option<u64>, window: u64) -> LossEpisode {
        LossEpisode {
            at: at(from),
            cwnd: Bytes::new(window),
            in_flight: Bytes::new(window),
            srtt: Duration::from_millis(200),
            reduced: true,
            timeout: false,
            ended: ended.map(at),
        }
    }

    /// Samples each 100 ms from 100 ms on: window, which is the flight too, and kbit/s.
    fn flow(samples: &[(u64, u64)], episodes: Vec<LossEpisode>) -> FlowOutcome {
        let sample = |(i, (window, kbit)): (usize, &(u64, u64))| FlowSample {
            at: at(100 * (i as u64 + 1)),
            cwnd: Bytes::new(*window),
            ssthresh: None,
            in_flight: Bytes::new(*window),
            srtt: Duration::from_millis(200),
            rate: Rate::from_bits_per_sec(kbit * 1000),
            sent: Bytes::ZERO,
            ack_spacing: None,
            path_changes: None,
            pacing_rate: None,
            ..FlowSample::default()
        };
        FlowOutcome {
            samples: samples.iter().enumerate().map(sample).collect(),
            episodes,
            ..FlowOutcome::default()
        }
    }

    fn all() -> Window {
        Window {
            from: at(0),
            to: at(100_000),
        }
    }

    const TENTH: Duration = Duration::from_millis(100);

    /// 50 kB at 1 Mbit/s for half a second; lost at 520 ms and repaired at 750 ms; then 25 kB at half the rate, 5 kB and 0.1
    /// Mbit/s more with each sample.
    fn halved() -> FlowOutcome {
        let mut samples = vec![(50_000, 1000); 5];
        // While it is repaired the flight looks full, and data that waited comes at once.
        samples.extend([(80_000, 0), (80_000, 3000)]);
        samples.extend((0..8).map(|i| (25_000 + 5_000 * i, 500 + 100 * i)));
        flow(&samples, vec![loss(520, Some(750), 50_000)])
    }

    #[test]
    fn a_window_is_back_when_it_has_95_percent_of_the_greatest_before() {
        let flow = halved();
        let recovery = Recovery::first(&flow, all()).expect("a loss");
        // 47.5 kB: 25 kB at 800 ms, 45 kB at 1200 ms, 50 kB at 1300 ms; 780 ms after the loss.
        assert_eq!(recovery.of_window(), Some(Duration::from_millis(780)));
        // In round trips of 200 ms.
        let rounds = recovery.of_flight().expect("it is back");
        assert!((rounds - 3.9).abs() < 1e-9, "{rounds}");
    }

    #[test]
    fn a_share_is_back_when_a_round_trip_after_the_repair_brings_what_one_brought_before() {
        let flow = halved();
        let recovery = Recovery::first(&flow, all()).expect("a loss");
        // 950 kbit/s: in the two samples until 1300 ms it is 900 and 1000; until 1200 ms 800 and 900.
        assert_eq!(recovery.of_share(TENTH), Some(Duration::from_millis(780)));
        // A flow that lost nothing but a round trip: 200 ms after 750 ms is the sample at 1000 ms.
        let mut samples = vec![(50_000, 1000); 7];
        samples[5].1 = 0;
        samples.extend([(50_000, 1000); 4]);
        let kept = self::flow(&samples, vec![loss(520, Some(750), 50_000)]);
        let recovery = Recovery::first(&kept, all()).expect("a loss");
        assert_eq!(recovery.of_share(TENTH), Some(Duration::from_millis(480)));
        assert_eq!(recovery.of_window(), Some(Duration::from_millis(280)));
    }

    #[test]
    fn the_greatest_window_of_the_last_five_seconds_counts_and_no_older_one() {
        // 100 kB until 1 s, then 40 kB until a loss at 6.05 s; repaired at 6.15 s, back at 40 kB then.
        let mut samples = vec![(100_000, 1000); 10];
        samples.extend(vec![(40_000, 1000); 60]);
        let after = |from| {
            let flow = flow(&samples, vec![loss(from, Some(from + 100), 40_000)]);
            let recovery = Recovery::first(&flow, all()).expect("a loss");
            recovery.of_window()
        };
        assert_eq!(after(6050), Some(Duration::from_millis(150)));
        // At 5.95 s the sample at 1 s is 4.95 s old: 100 kB is what it was.
        assert_eq!(after(5950), None);
    }

    #[test]
    fn what_never_comes_back_or_is_repaired_without_end_has_no_time() {
        let low = vec![(50_000, 1000), (20_000, 400), (20_000, 400)];
        let mut never = flow(&low, vec![loss(150, Some(160), 50_000)]);
        let recovery = Recovery::first(&never, all()).expect("a loss");
        assert_eq!((recovery.of_window(), recovery.of_flight()), (None, None));
        assert_eq!(recovery.of_share(TENTH), None);
        never.episodes[0].cwnd = Bytes::new(20_000);
        never.samples[0].cwnd = Bytes::new(20_000);
        let back = Recovery::first(&never, all()).expect("a loss").of_window();
        assert_eq!(back, Some(Duration::from_millis(50)));
        // A second loss goes on to the end.
        never.episodes.push(loss(180, None, 20_000));
        let back = Recovery::first(&never, all()).expect("a loss").of_window();
        assert_eq!(back, None);
    }

    #[test]
    fn the_first_loss_of_the_part_counts_and_what_is_back_after_it_does_not() {
        let mut flow = halved();
        flow.episodes.insert(0, loss(110, Some(120), 50_000));
        let part = |from, to| Window {
            from: at(from),
            to: at(to),
        };
        let of = |part| Recovery::first(&flow, part).map(|recovery| recovery.of_window());
        assert_eq!(of(part(0, 5000)), Some(Some(Duration::from_millis(90))));
        assert_eq!(of(part(200, 5000)), Some(Some(Duration::from_millis(780))));
        assert_eq!(of(part(200, 1250)), Some(None));
        assert_eq!(of(part(600, 5000)), None);
    }
}
