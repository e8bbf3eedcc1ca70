//! How a transfer stands, interval by interval.

use crate::summary::Standing;
use noq::{Connection, PathId};
use std::time::Instant;
use tokio::time::{Interval, MissedTickBehavior, interval_at};
use whimbrel_quic::Monitor;
use whimbrel_units::{Bytes, Duration};

/// Most that are kept: a longer transfer has coarser intervals, not more.
const MOST: usize = 20_000;
/// Looking more often would cost what it measures.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);

/// What is noted of a transfer, at most once an interval.
pub(crate) struct Standings {
    /// Nothing is noted without.
    every: Option<(Interval, Duration)>,
    begun: Instant,
    all: Vec<Standing>,
}

impl Standings {
    /// Of a transfer that began then.
    pub fn every(length: Option<Duration>, begun: Instant) -> Self {
        Self {
            every: length.map(|length| ticks(length.max(LEAST_INTERVAL))),
            begun,
            all: Vec::new(),
        }
    }

    /// Returns when an interval is over; never if there are none.
    pub async fn due(&mut self) {
        match &mut self.every {
            Some((ticks, _)) => {
                ticks.tick().await;
            }
            None => std::future::pending().await,
        }
    }

    /// Notes how it stands now.
    pub fn take(&mut self, connection: &Connection, monitor: &Monitor) {
        let Some((_, length)) = self.every else {
            return;
        };
        let now = monitor.snapshot();
        let peer = connection
            .path(PathId::ZERO)
            .and_then(|path| path.remote_address().ok());
        let ip = if peer.is_some_and(|peer| peer.is_ipv4()) {
            20
        } else {
            40
        };
        let mtu = connection
            .path_stats(PathId::ZERO)
            .map_or(0, |path| path.current_mtu);
        let standing = Standing {
            at: self.begun.elapsed().into(),
            acknowledged: now.delivered,
            lost_packets: connection.stats().lost_packets,
            cwnd: now.cwnd,
            srtt: now.srtt,
            rttvar: now.rttvar,
            path_mtu: Bytes::new(u64::from(mtu) + 8 + ip),
        };
        if coarsen(&mut self.all) {
            self.every = Some(ticks(length * 2));
        }
        self.all.push(standing);
    }

    /// Notes how it stands at its end. What is left of the last interval is no interval of its own if it is less than a tenth of
    /// one.
    pub fn end(&mut self, connection: &Connection, monitor: &Monitor) {
        let Some((_, length)) = self.every else {
            return;
        };
        if is_rest(&self.all, self.begun.elapsed().into(), length) {
            self.all.pop();
        }
        self.take(connection, monitor);
    }

    /// All that was noted.
    pub fn all(self) -> Vec<Standing> {
        self.all
    }
}

fn ticks(length: Duration) -> (Interval, Duration) {
    let mut ticks = interval_at(tokio::time::Instant::now() + length.into(), length.into());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    (ticks, length)
}

/// Whether an instant is so soon after the last that what lies between is no interval.
fn is_rest(all: &[Standing], now: Duration, length: Duration) -> bool {
    all.last().is_some_and(|last| now - last.at < length / 10)
}

/// Makes two intervals one if there are too many.
fn coarsen(all: &mut Vec<Standing>) -> bool {
    let many = all.len() >= MOST;
    if many {
        let mut keep = true;
        all.retain(|_| {
            keep = !keep;
            keep
        });
    }
    many
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(ms: u64) -> Standing {
        Standing {
            at: Duration::from_millis(ms),
            acknowledged: Bytes::ZERO,
            lost_packets: 0,
            cwnd: Bytes::ZERO,
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            path_mtu: Bytes::ZERO,
        }
    }

    #[test]
    fn what_is_left_at_the_end_is_an_interval_from_a_tenth_of_one_on() {
        let (ms, second) = (Duration::from_millis, Duration::from_secs(1));
        let all = [standing(1000), standing(2001)];
        assert!(is_rest(&all, ms(2002), second) && is_rest(&all, ms(2100), second));
        assert!(!is_rest(&all, ms(2101), second) && !is_rest(&all, ms(2900), second));
        assert!(!is_rest(&[], ms(1), second), "all there is");
    }

    #[test]
    fn many_intervals_become_half_as_many_that_end_where_every_second_did() {
        let mut all: Vec<Standing> = (1..=19_999).map(standing).collect();
        assert!(!coarsen(&mut all));
        all.push(standing(20_000));
        assert!(coarsen(&mut all));
        assert_eq!(all.len(), 10_000);
        assert_eq!((all[0], all[9999]), (standing(2), standing(20_000)));
    }
}
