//! How long a flow needs after a loss to be back where it was.
//!
//! S. Ahmad, M. J. Arshad, "Enhanced Multistream Fast TCP: Rapid Bandwidth Utilization after
//! Fast-Recovery Phase", Applied Sciences 9(21), 4698, 2019, equation (3):
//! T = T_LF - T_PD, from the third duplicate acknowledgment, T_PD, until "the protocol regains the
//! fair share of the available bandwidth", T_LF. The paper does not define T_LF further. Its
//! figures 6 to 9 and the text below them read T_LF off the congestion window, which is back when
//! it has its earlier size. Here:
//!
//! * **before** is the maximum window in the [`BEFORE`] that ended with the loss. The paper uses
//!   the maximum for algorithms whose window is a sawtooth (57 segments for NewReno); an algorithm
//!   with a steady window has only one size;
//! * **back** is [`BACK`] of that or more. Not all of it: an algorithm that approaches its window
//!   geometrically, as FAST does, would never reach the last segment, and a window is only known
//!   to a segment;
//! * times in which a loss is being repaired do not count: during a repair, NewReno's flight
//!   includes data that arrived long ago, and data that waited behind a hole arrives all at once
//!   when the hole is filled.
//!
//! So the minimum result is the time of the repair itself, one round trip. Three quantities can be
//! measured: the window ([`Recovery::of_window`], equation (3)); the rate of delivery
//! ([`Recovery::of_share`]), because a window may be back without its bandwidth, or the bandwidth
//! may be back with a smaller window if the queue was long before; and the bytes in flight
//! ([`Recovery::of_flight`]), in round trips, as the paper counts "9 RTT" and "17 RTTs".
//!
//! All times are exact to one sampling interval.

use super::definition::{Definition, Samples};
use super::period::{Period, average};
use whimbrel_sim::{FlowOutcome, FlowSample, LossEpisode};
use whimbrel_units::{Duration, Time};

/// The measures of this topic.
pub(super) const MEASURES: &[Definition] = &[
    // Time from the first loss that a flow detects in the period until its congestion window is
    // back at 95 % of the maximum of the 5 s before; mean over the flows. No value if a flow loses
    // nothing, or is not back at the end of the period.
    Definition {
        name: "recovery time",
        unit: "s",
        samples: Samples::Always,
        value: |view| {
            view.mean(|f| {
                let recovery = Recovery::first(f, view.span)?;
                Some(recovery.of_window()?.as_secs_f64())
            })
        },
    },
    // As `recovery time`, until the rate of delivery, averaged over one smoothed RTT since the
    // repair, is back at 95 % of its mean in the 5 s before.
    Definition {
        name: "share recovery time",
        unit: "s",
        samples: Samples::Always,
        value: |view| {
            let interval = view.run.point.sample()?;
            view.mean(|f| {
                let share = Recovery::first(f, view.span)?.of_share(interval)?;
                Some(share.as_secs_f64())
            })
        },
    },
    // As `recovery time`, until the bytes in flight are back; in smoothed RTTs at the loss.
    Definition {
        name: "refill",
        unit: "RTTs",
        samples: Samples::Always,
        value: |view| view.mean(|f| Recovery::first(f, view.span)?.of_flight()),
    },
    // As `share recovery time`; in smoothed RTTs at the loss. The spacing of acknowledgments is the
    // inverse of this rate, so it is even again then.
    Definition {
        name: "rate refill",
        unit: "RTTs",
        samples: Samples::Always,
        value: |view| {
            let interval = view.run.point.sample()?;
            view.mean(|f| {
                let recovery = Recovery::first(f, view.span)?;
                recovery.in_rtts(recovery.of_share(interval)?)
            })
        },
    },
];

/// The share of the earlier value at which a flow is back.
const BACK: f64 = 0.95;
/// The time before a loss that defines the earlier value.
const BEFORE: Duration = Duration::from_secs(5);

/// A flow after its first loss in a period of a run.
pub(crate) struct Recovery<'a> {
    flow: &'a FlowOutcome,
    loss: &'a LossEpisode,
    /// The end of the period: a later return does not count.
    until: Time,
}

impl<'a> Recovery<'a> {
    /// After the first episode of loss that began in this period; `None` if none did.
    pub(crate) fn first(flow: &'a FlowOutcome, period: Period) -> Option<Self> {
        let loss = flow.episodes.iter().find(|e| period.contains(e.at))?;
        Some(Self {
            flow,
            loss,
            until: period.to,
        })
    }

    /// From the loss until the window is back; `None` if it never is.
    pub(crate) fn of_window(&self) -> Option<Duration> {
        self.of(|s| s.cwnd.get() as f64, self.loss.cwnd.get() as f64)
    }

    /// From the loss until the bytes in flight are back, in smoothed RTTs at the loss; `None` if
    /// they never are.
    pub(crate) fn of_flight(&self) -> Option<f64> {
        let flight = |s: &FlowSample| s.in_flight.get() as f64;
        self.in_rtts(self.of(flight, self.loss.in_flight.get() as f64)?)
    }

    /// A time in smoothed RTTs at the loss; `None` if no RTT was known.
    fn in_rtts(&self, span: Duration) -> Option<f64> {
        let rtt = self.loss.srtt.as_secs_f64();
        (rtt > 0.0).then(|| span.as_secs_f64() / rtt)
    }

    /// From the loss until the rate of delivery is back: its mean over one smoothed RTT since the
    /// repair, compared with its mean before the loss. `None` if it never is. Samples are
    /// `interval` apart.
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

    /// From the loss until a value is back; `last` is the value just before the loss.
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

    /// Samples after the repair, while no other loss is being repaired.
    fn after(&self) -> impl Iterator<Item = &FlowSample> {
        let samples = self.flow.samples.iter();
        samples.filter(|s| {
            let repaired = self.loss.ended.is_some_and(|ended| ended <= s.at);
            repaired && s.at <= self.until && self.is_calm(s)
        })
    }

    /// Whether no loss is being repaired.
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

    /// Samples every 100 ms from 100 ms on: the window, which is also the flight, and kbit/s.
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

    fn all() -> Period {
        Period {
            from: at(0),
            to: at(100_000),
        }
    }

    const TENTH: Duration = Duration::from_millis(100);

    /// 50 kB at 1 Mbit/s for half a second; a loss at 520 ms, repaired at 750 ms; then 25 kB at
    /// half the rate, 5 kB and 0.1 Mbit/s more with each sample.
    fn halved() -> FlowOutcome {
        let mut samples = vec![(50_000, 1000); 5];
        // During the repair the flight looks full, and data that waited arrives at once.
        samples.extend([(80_000, 0), (80_000, 3000)]);
        samples.extend((0..8).map(|i| (25_000 + 5_000 * i, 500 + 100 * i)));
        flow(&samples, vec![loss(520, Some(750), 50_000)])
    }

    #[test]
    fn a_window_is_back_at_95_percent_of_its_earlier_maximum() {
        let flow = halved();
        let recovery = Recovery::first(&flow, all()).expect("a loss");
        // 47.5 kB: 25 kB at 800 ms, 45 kB at 1200 ms, 50 kB at 1300 ms; 780 ms after the loss.
        assert_eq!(recovery.of_window(), Some(Duration::from_millis(780)));
        // In round trips of 200 ms.
        let rounds = recovery.of_flight().expect("it is back");
        assert!((rounds - 3.9).abs() < 1e-9, "{rounds}");
    }

    #[test]
    fn a_share_is_back_when_a_round_trip_delivers_as_much_as_before() {
        let flow = halved();
        let recovery = Recovery::first(&flow, all()).expect("a loss");
        // 950 kbit/s: in the two samples until 1300 ms it is 900 and 1000; until 1200 ms 800 and
        // 900.
        assert_eq!(recovery.of_share(TENTH), Some(Duration::from_millis(780)));
        let rtts = recovery.in_rtts(Duration::from_millis(780));
        let rtt = recovery.loss.srtt.as_secs_f64();
        assert_eq!(rtts, (rtt > 0.0).then(|| 0.78 / rtt));
        // A flow that lost only one round trip: 200 ms after 750 ms is the sample at 1000 ms.
        let mut samples = vec![(50_000, 1000); 7];
        samples[5].1 = 0;
        samples.extend([(50_000, 1000); 4]);
        let kept = self::flow(&samples, vec![loss(520, Some(750), 50_000)]);
        let recovery = Recovery::first(&kept, all()).expect("a loss");
        assert_eq!(recovery.of_share(TENTH), Some(Duration::from_millis(480)));
        assert_eq!(recovery.of_window(), Some(Duration::from_millis(280)));
    }

    #[test]
    fn only_windows_of_the_last_five_seconds_count_as_earlier_maximum() {
        // 100 kB until 1 s, then 40 kB until a loss at 6.05 s; repaired and back at 40 kB at 6.15
        // s.
        let mut samples = vec![(100_000, 1000); 10];
        samples.extend(vec![(40_000, 1000); 60]);
        let after = |from| {
            let flow = flow(&samples, vec![loss(from, Some(from + 100), 40_000)]);
            let recovery = Recovery::first(&flow, all()).expect("a loss");
            recovery.of_window()
        };
        assert_eq!(after(6050), Some(Duration::from_millis(150)));
        // At 5.95 s the sample at 1 s is 4.95 s old, so the earlier maximum is 100 kB.
        assert_eq!(after(5950), None);
    }

    #[test]
    fn a_flow_that_never_recovers_has_no_recovery_time() {
        let low = vec![(50_000, 1000), (20_000, 400), (20_000, 400)];
        let mut never = flow(&low, vec![loss(150, Some(160), 50_000)]);
        let recovery = Recovery::first(&never, all()).expect("a loss");
        assert_eq!((recovery.of_window(), recovery.of_flight()), (None, None));
        assert_eq!(recovery.of_share(TENTH), None);
        never.episodes[0].cwnd = Bytes::new(20_000);
        never.samples[0].cwnd = Bytes::new(20_000);
        let back = Recovery::first(&never, all()).expect("a loss").of_window();
        assert_eq!(back, Some(Duration::from_millis(50)));
        // A second loss is never repaired.
        never.episodes.push(loss(180, None, 20_000));
        let back = Recovery::first(&never, all()).expect("a loss").of_window();
        assert_eq!(back, None);
    }

    #[test]
    fn the_first_loss_of_the_period_counts_and_later_returns_do_not() {
        let mut flow = halved();
        flow.episodes.insert(0, loss(110, Some(120), 50_000));
        let part = |from, to| Period {
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
