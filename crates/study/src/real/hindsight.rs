//! What a lossy transfer saw of its path, and which algorithm would have been faster there.
//!
//! The path is known as far as the transfer used it: its base RTT, the highest rate of an interval,
//! and the loss while the queue was short. On that path the simulator sends the same file with the
//! algorithm that was used and with others. If the queue was never long, the path may carry more
//! than was seen, and the others may be faster still.

use crate::Unobserved;
use crate::path::Recorded;
use crate::prediction::Transfer;
use serde::Serialize;
use std::sync::mpsc;
use std::thread;
use std::time::Duration as Wait;
use whimbrel_cc::Spec;
use whimbrel_net::Queue;
use whimbrel_transfer::{IntervalSample, PathUse};
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// Of the packets sent, at least so many were lost, or the transfer was not lossy.
const LOSSY: f64 = 0.001;
/// Lost packets that show something.
const LOST: u64 = 10;
/// The queue is short while the RTT is above its minimum by at most this part of it and a
/// millisecond.
const SHORT_QUEUE: f64 = 0.25;
/// The random loss is known if the queue was short for at least this part of the packets.
const CALM: f64 = 0.25;
/// An interval that lost more than so many packets, and so many times what half of the intervals
/// lost at most, had an outage or another burst.
const BURST: (u64, u64) = (10, 5);
/// Algorithms that may have been faster: those that the guide recommends.
const OTHERS: [&str; 4] = ["whimbrel", "bbr", "copa", "cubic+cerl-plus"];
/// An algorithm that is faster by less is not worth a line.
const WORTH: f64 = 1.2;
/// Runs of each algorithm; their median counts.
const SEEDS: u32 = 3;
/// The simulated file is at most this long: bytes, and seconds at the path's rate.
const LONGEST: (u64, f64) = (32 << 20, 30.0);
/// The simulation must be done in this time, or its result is omitted.
const PATIENCE: Wait = Wait::from_secs(1);
/// IP and UDP headers, of a QUIC packet of usual size.
const HEADERS: f64 = 1.02;

/// What a transfer saw of its path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Seen {
    /// Of the packets sent, this part was lost.
    pub lost: f64,
    /// The same while the queue was short, without bursts; null if it was long most of the time.
    pub random_loss: Option<f64>,
    /// Intervals with bursts of loss, such as outages, while the queue was short.
    pub bursts: u64,
    /// Minimum RTT, ms.
    pub min_rtt_ms: f64,
    /// Maximum of the smoothed RTT, ms.
    pub max_rtt_ms: f64,
    /// The highest rate of an interval with headers, bit/s.
    pub rate_bps: f64,
    /// The queue was long at times, so the path carries no more than that.
    pub full: bool,
    /// Which algorithm would have been faster; null if none, or if it is not known.
    pub faster: Option<Faster>,
}

/// An algorithm that would have been faster.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Faster {
    /// Its name.
    pub controller: String,
    /// How many times as fast as the one used it is in the simulation.
    pub times: f64,
}

impl Seen {
    /// What the transfer saw; `None` unless it lost packets. Simulates for at most a second.
    pub fn of(used: &PathUse) -> Option<Self> {
        let mut seen = Self::path(used)?;
        seen.faster = seen.simulate(used);
        Some(seen)
    }

    fn path(used: &PathUse) -> Option<Self> {
        let lost = used.lost_packets as f64 / used.sent_packets.max(1) as f64;
        if lost < LOSSY || used.lost_packets < LOST || used.min_rtt_ms <= 0.0 {
            return None;
        }
        let short = used.min_rtt_ms * (1.0 + SHORT_QUEUE) + 1.0;
        let start = IntervalSample {
            at: Duration::ZERO,
            acknowledged: Bytes::ZERO,
            lost_packets: 0,
            cwnd: Bytes::ZERO,
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            path_mtu: Bytes::ZERO,
            paths: Vec::new(),
        };
        let (mut all, mut calm) = (0.0, Vec::new());
        let (mut rate_bps, mut max_rtt_ms) = (0.0_f64, used.min_rtt_ms);
        let mut before = &start;
        for sample in &used.intervals {
            let bytes = (sample.acknowledged.get() - before.acknowledged.get()) as f64;
            let lost = sample.lost_packets - before.lost_packets;
            let seconds = (sample.at - before.at).as_secs_f64();
            let packets = bytes / f64::from(used.mtu_bytes.max(1)) + lost as f64;
            let rtt_ms = sample.srtt.as_millis_f64();
            all += packets;
            if rtt_ms <= short {
                calm.push((lost, packets));
            }
            max_rtt_ms = max_rtt_ms.max(rtt_ms);
            // In a shorter one, acknowledgments of several round trips may come at once.
            if seconds * 1e3 >= used.min_rtt_ms {
                rate_bps = rate_bps.max(bytes * 8.0 * HEADERS / seconds);
            }
            before = sample;
        }
        calm.sort_by_key(|(lost, _)| *lost);
        let median = calm.get(calm.len() / 2).map_or(0, |(lost, _)| *lost);
        let (more, times) = BURST;
        let is_usual = |(lost, _): &&(u64, f64)| *lost <= more + times * median;
        let usual: Vec<_> = calm.iter().filter(is_usual).collect();
        let packets: f64 = usual.iter().map(|(_, packets)| packets).sum();
        let random: u64 = usual.iter().map(|(lost, _)| lost).sum();
        Some(Self {
            lost,
            random_loss: (packets > 0.0 && packets >= CALM * all).then(|| random as f64 / packets),
            bursts: (calm.len() - usual.len()) as u64,
            min_rtt_ms: used.min_rtt_ms,
            max_rtt_ms,
            rate_bps,
            full: max_rtt_ms > short,
            faster: None,
        })
    }

    /// The fastest of all on this path, if it is another than the one used and worth it.
    fn simulate(&self, used: &PathUse) -> Option<Faster> {
        let loss = Probability::new(self.random_loss?.min(0.5)).ok()?;
        let rate = Rate::from_bits_per_sec(self.rate_bps as u64);
        let rtt = Duration::from_secs_f64(self.min_rtt_ms / 1e3);
        if loss.get() < LOSSY / 2.0 || rate.as_bits_per_sec() < 10_000 || rtt.is_zero() {
            return None;
        }
        let longest = LONGEST.0.min((self.rate_bps / 8.0 * LONGEST.1) as u64);
        let size = Bytes::new(used.bytes.clamp(1, longest.max(1)));
        let own: Spec = used.controller.parse().ok()?;
        let (done, answer) = mpsc::channel();
        // Whatever is not done in time ends with the process.
        thread::spawn(move || {
            let seconds = |controller: &Spec| {
                let transfer = Transfer {
                    rate,
                    rtt,
                    queue: Queue::Bdp(1.0),
                    loss,
                    outages: &[],
                    recorded: &Recorded::default(),
                    controller,
                    tcp: false,
                };
                transfer.seconds(size, SEEDS, &Unobserved).ok()
            };
            let found = (|| {
                let its = seconds(&own)?;
                let others = OTHERS.iter().filter_map(|name| name.parse::<Spec>().ok());
                let others = others.filter(|spec| *spec != own);
                let timed = others.filter_map(|spec| Some((seconds(&spec)?, spec)));
                let (best, spec) = timed.min_by(|a, b| a.0.total_cmp(&b.0))?;
                Some(Faster {
                    controller: spec.to_string(),
                    times: its / best,
                })
            })();
            done.send(found).ok();
        });
        let found = answer.recv_timeout(PATIENCE).ok().flatten()?;
        (found.times >= WORTH).then_some(found)
    }

    /// One or two sentences.
    pub fn text(&self) -> String {
        let percent = |part: f64| format!("{:.2} %", part * 100.0);
        let rtts = format!("RTT {:.0} to {:.0} ms", self.min_rtt_ms, self.max_rtt_ms);
        let mut text = match self.random_loss {
            Some(random) if random >= LOSSY / 2.0 => format!(
                "The path lost {} of the packets while its queue was short ({rtts}): not all losses \
                 are congestion.",
                percent(random)
            ),
            _ if self.bursts > 0 => format!(
                "The path lost {} of the packets, most of them in bursts or outages ({rtts}).",
                percent(self.lost)
            ),
            _ => format!(
                "The path lost {} of the packets, most of them while its queue was long ({rtts}).",
                percent(self.lost)
            ),
        };
        if let Some(Faster { controller, times }) = &self.faster {
            let rate = Rate::from_bits_per_sec(self.rate_bps as u64);
            let at_least = if self.full { "" } else { "at least " };
            text += &format!(
                " In a simulation of such a path of {rate}, --controller {controller} is {at_least}\
                 {times:.1} times as fast."
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second in each interval: bytes, packets lost, RTT in ms.
    fn path_use(controller: &str, intervals: &[(u64, u64, u64)]) -> PathUse {
        let (mut bytes, mut lost_packets) = (0, 0);
        let samples = intervals.iter().enumerate().map(|(i, (more, lost, rtt))| {
            bytes += more;
            lost_packets += lost;
            IntervalSample {
                at: Duration::from_secs(i as u64 + 1),
                acknowledged: Bytes::new(bytes),
                lost_packets,
                cwnd: Bytes::ZERO,
                srtt: Duration::from_millis(*rtt),
                rttvar: Duration::ZERO,
                path_mtu: Bytes::new(1480),
                paths: Vec::new(),
            }
        });
        let intervals = samples.collect();
        PathUse {
            bytes,
            controller: controller.to_owned(),
            lost_packets,
            sent_packets: bytes / 1452 + lost_packets,
            min_rtt_ms: 100.0,
            mtu_bytes: 1452,
            intervals,
        }
    }

    #[test]
    fn a_transfer_without_losses_says_nothing() {
        assert_eq!(
            Seen::path(&path_use("cubic", &[(1_452_000, 0, 100); 5])),
            None
        );
        // 1 of 5000.
        assert_eq!(Seen::path(&path_use("cubic", &[(1_452_000, 1, 100)])), None);
    }

    #[test]
    fn losses_count_as_random_while_the_queue_is_short() {
        // 990 + 10 packets at a short queue, 1900 + 100 at a long one.
        let seen = path_use("cubic", &[(990 * 1452, 10, 101), (1900 * 1452, 100, 190)]);
        let seen = Seen::path(&seen).expect("lossy");
        assert!((seen.random_loss.expect("known") - 0.01).abs() < 1e-9);
        assert!((seen.lost - 110.0 / 3000.0).abs() < 1e-9);
        assert!((seen.rate_bps - 1900.0 * 1452.0 * 8.0 * HEADERS).abs() < 1.0);
        assert!(seen.full);
        assert_eq!(seen.max_rtt_ms, 190.0);
        let long = path_use("cubic", &[(99 * 1452, 1, 101), (9900 * 1452, 100, 190)]);
        let long = Seen::path(&long).expect("lossy");
        assert_eq!(long.random_loss, None);
        assert!(
            long.text().contains("while its queue was long"),
            "{}",
            long.text()
        );
    }

    #[test]
    fn outages_are_no_random_loss() {
        let mut intervals = vec![(4_000_000, 1, 101); 20];
        (intervals[4].1, intervals[9].1) = (700, 400);
        let seen = Seen::path(&path_use("cubic", &intervals)).expect("lossy");
        assert_eq!(seen.bursts, 2);
        assert!(seen.random_loss.expect("known") < LOSSY / 2.0);
        assert!(seen.text().contains("outages"), "{}", seen.text());
    }

    #[test]
    fn cubic_under_random_loss_is_told_of_a_faster_algorithm() {
        // About 4 Mbit/s at first, then CUBIC's rate at 1 %.
        let mut intervals = vec![(120_000, 1, 100), (500_000, 4, 101)];
        intervals.extend([(180_000, 1, 100); 20]);
        let used = path_use("cubic", &intervals);
        let mut seen = Seen::path(&used).expect("lossy");
        assert!(!seen.full);
        seen.faster = seen.simulate(&used);
        // Omitted only if the machine is too slow.
        if let Some(faster) = &seen.faster {
            assert!(faster.times > 1.5, "{faster:?}");
            assert!(seen.text().contains("at least"), "{}", seen.text());
        }
    }
}
