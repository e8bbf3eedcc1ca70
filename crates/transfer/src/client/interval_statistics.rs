//! Statistics of a transfer, interval by interval.

use super::paths::PathSummary;
use super::summary::IntervalSample;
use crate::connection::over_tcp::DATAGRAM;
use noq_proto::PathId;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use whimbrel_quic::Monitor;
use whimbrel_quic::endpoint::Connection;
use whimbrel_units::{Bytes, Duration};

/// Maximum number of samples kept. A longer transfer has longer intervals, not more of them.
const MAX_SAMPLES: usize = 20_000;
/// Minimum length of an interval: more frequent sampling would affect the transfer.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// Counts of connections that have ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Earlier {
    /// Bytes acknowledged.
    pub delivered: u64,
    /// QUIC packets declared lost.
    pub lost_packets: u64,
    /// Episodes of loss, those that reduced the window, persistent congestion, and reordering.
    pub episodes: u64,
    pub reductions: u64,
    pub timeouts: u64,
    pub spurious: u64,
}

/// Takes one sample of a transfer per interval.
pub(crate) struct IntervalStatistics {
    /// The clock and the length of an interval; `None` takes no samples.
    clock: Option<(Interval, Duration)>,
    started: Instant,
    samples: Vec<IntervalSample>,
}

impl IntervalStatistics {
    /// Starts the statistics of a transfer that began at `started`, with intervals of `length`.
    pub fn new(length: Option<Duration>, started: Instant) -> Self {
        Self {
            clock: length.map(|length| ticks(length.max(MIN_INTERVAL))),
            started,
            samples: Vec::new(),
        }
    }

    /// Waits for the end of the interval; for ever if no samples are taken.
    pub async fn due(&mut self) {
        match &mut self.clock {
            Some((ticks, _)) => {
                ticks.tick().await;
            }
            None => std::future::pending().await,
        }
    }

    /// Takes a sample now. `earlier`: counts of earlier connections; `paths`: what all did on each
    /// of several paths.
    pub fn take(
        &mut self,
        connection: &Connection,
        monitor: &Monitor,
        earlier: &Earlier,
        paths: Vec<PathSummary>,
    ) {
        let Some((_, length)) = self.clock else {
            return;
        };
        let now = monitor.snapshot().state;
        let peer = connection.remote_address();
        let ip = if peer.is_some_and(|peer| peer.is_ipv4()) {
            20
        } else {
            40
        };
        let mtu = connection
            .path_stats(PathId::ZERO)
            .map_or(0, |path| path.current_mtu);
        // Only TCP knows its window and its MTU.
        let over_tcp = mtu == DATAGRAM;
        let sample = IntervalSample {
            at: self.started.elapsed().into(),
            acknowledged: Bytes::new(earlier.delivered + now.delivered.get()),
            lost_packets: earlier.lost_packets + connection.stats().lost_packets,
            cwnd: if over_tcp { Bytes::new(0) } else { now.cwnd },
            srtt: now.srtt,
            rttvar: now.rttvar,
            path_mtu: Bytes::new(if over_tcp { 0 } else { u64::from(mtu) + 8 + ip }),
            paths,
        };
        if merge_pairs(&mut self.samples) {
            self.clock = Some(ticks(length * 2));
        }
        self.samples.push(sample);
    }

    /// Takes the last sample. A remainder of less than a tenth of an interval is merged with the
    /// interval before.
    pub fn end(
        &mut self,
        connection: &Connection,
        monitor: &Monitor,
        earlier: &Earlier,
        paths: Vec<PathSummary>,
    ) {
        let Some((_, length)) = self.clock else {
            return;
        };
        if is_remainder(&self.samples, self.started.elapsed().into(), length) {
            self.samples.pop();
        }
        self.take(connection, monitor, earlier, paths);
    }

    /// All samples.
    pub fn samples(&self) -> Vec<IntervalSample> {
        self.samples.clone()
    }
}

fn ticks(length: Duration) -> (Interval, Duration) {
    let mut ticks = interval_at(Instant::now() + length.into(), length.into());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    (ticks, length)
}

/// Whether `now` follows so soon after the last sample that the remainder is no interval of its
/// own.
fn is_remainder(samples: &[IntervalSample], now: Duration, length: Duration) -> bool {
    samples
        .last()
        .is_some_and(|last| now - last.at < length / 10)
}

/// Merges pairs of intervals if there are too many.
fn merge_pairs(samples: &mut Vec<IntervalSample>) -> bool {
    let full = samples.len() >= MAX_SAMPLES;
    if full {
        let mut keep = true;
        samples.retain(|_| {
            keep = !keep;
            keep
        });
    }
    full
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::pair::Pair;

    fn sample(ms: u64) -> IntervalSample {
        IntervalSample {
            at: Duration::from_millis(ms),
            acknowledged: Bytes::ZERO,
            lost_packets: 0,
            cwnd: Bytes::ZERO,
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            path_mtu: Bytes::ZERO,
            paths: Vec::new(),
        }
    }

    /// Of the connections before, too.
    #[test]
    fn what_was_lost_does_not_become_less() {
        Pair::play(10_000_000, async |pair: Pair| {
            let earlier = Earlier {
                lost_packets: 7,
                ..Earlier::default()
            };
            let second = Some(Duration::from_secs(1));
            let mut intervals = IntervalStatistics::new(second, Instant::now());
            intervals.take(&pair.client, &Monitor::default(), &earlier, Vec::new());
            let lost: Vec<_> = intervals.samples().iter().map(|s| s.lost_packets).collect();
            assert_eq!(lost, [7 + pair.client.stats().lost_packets]);
        });
    }

    #[test]
    fn a_remainder_below_a_tenth_is_no_interval() {
        let (ms, second) = (Duration::from_millis, Duration::from_secs(1));
        let samples = [sample(1000), sample(2001)];
        assert!(
            is_remainder(&samples, ms(2002), second) && is_remainder(&samples, ms(2100), second)
        );
        assert!(
            !is_remainder(&samples, ms(2101), second) && !is_remainder(&samples, ms(2900), second)
        );
        assert!(!is_remainder(&[], ms(1), second), "the only interval");
    }

    #[test]
    fn too_many_intervals_are_merged_in_pairs() {
        let mut samples: Vec<IntervalSample> = (1..=19_999).map(sample).collect();
        assert!(!merge_pairs(&mut samples));
        samples.push(sample(20_000));
        assert!(merge_pairs(&mut samples));
        assert_eq!(samples.len(), 10_000);
        assert_eq!((&samples[0], &samples[9999]), (&sample(2), &sample(20_000)));
    }
}
