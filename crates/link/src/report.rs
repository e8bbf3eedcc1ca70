//! What happened on a path.

use whimbrel_net::Counters;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// What happened on a path while COMMAND ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// COMMAND's exit status; 128 + signal if one killed it.
    pub status: u8,
    /// From the start of COMMAND to its end.
    pub elapsed: Duration,
    /// From near to far.
    pub forward: DirectionReport,
    /// From far to near.
    pub backward: DirectionReport,
    /// What the user should know: settings that could not be made, a far command that failed.
    pub notes: Vec<String>,
}

/// What happened on one direction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionReport {
    /// What the emulated link did. It counts a packet as delivered when its fate is known, before it arrives.
    pub counters: Counters,
    /// What the link could have carried in the time; none if it has no limit. On Wi-Fi in packets of
    /// [`MTU`](crate::MTU) and with the other direction silent.
    pub capacity: Option<Bytes>,
    /// Packets written to the other end.
    pub arrived: u64,
    /// Packets that were still on their way at the end.
    pub on_the_way: u64,
    /// Packets never offered to the link because too much was held already: the emulator's memory is bounded.
    pub out_of_memory: u64,
    /// Packets never offered to the link because the kernel dropped them before the emulator fetched them: it did
    /// not keep up. None if the kernel did not say.
    pub missed: Option<u64>,
    /// Packets that the other end's kernel refused, such as those with a corrupted IP version.
    pub refused: u64,
    /// How late packets were written.
    pub lateness: Lateness,
}

impl DirectionReport {
    /// Mean rate of the delivered packets, IP headers included.
    pub fn mean_rate(&self, elapsed: Duration) -> Rate {
        Rate::over(self.counters.delivered_bytes, elapsed)
    }

    /// Share of the link's capacity that was used, 0 to 1; none if it has no limit.
    pub fn utilisation(&self) -> Option<f64> {
        let capacity = self.capacity.filter(|c| !c.is_zero())?.get() as f64;
        // What is counted as served may be served after the end.
        Some((self.counters.served_bytes.get() as f64 / capacity).min(1.0))
    }

    /// Mean time that served packets waited in the queue.
    pub fn mean_wait(&self) -> Duration {
        let served = self.counters.admitted();
        if served == 0 {
            Duration::ZERO
        } else {
            self.counters.waited / served
        }
    }
}

/// How late packets were written, against when they were due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// Half of them were not later.
    pub p50: Duration,
    /// 99 of 100 were not later.
    pub p99: Duration,
    /// None was later.
    pub max: Duration,
}

/// Collects [`Lateness`].
pub(crate) struct LatenessMeter(hdrhistogram::Histogram<u64>);

impl LatenessMeter {
    pub fn new() -> Self {
        // From 1 ns to a minute with three digits; what is out of range counts as the nearest end.
        let histogram = hdrhistogram::Histogram::new_with_bounds(1, 60_000_000_000, 3);
        Self(histogram.unwrap_or_else(|_| unreachable!("1 to 60e9 with 3 digits is valid")))
    }

    #[inline]
    pub fn record(&mut self, now: Time, due: Time) {
        self.0.saturating_record(now.since(due).as_nanos());
    }

    pub fn result(&self) -> Lateness {
        let at = |q| Duration::from_nanos(self.0.value_at_quantile(q));
        Lateness {
            p50: at(0.5),
            p99: at(0.99),
            max: Duration::from_nanos(self.0.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_means() {
        let counters = Counters {
            offered: 12,
            queue_overflow: 2,
            served_bytes: Bytes::new(750),
            delivered_bytes: Bytes::new(125_000),
            waited: Duration::from_millis(100),
            ..Counters::default()
        };
        let report = DirectionReport {
            counters,
            capacity: Some(Bytes::new(1000)),
            ..DirectionReport::default()
        };
        assert_eq!(report.utilisation(), Some(0.75));
        assert_eq!(report.mean_wait(), Duration::from_millis(10));
        assert_eq!(
            report.mean_rate(Duration::from_secs(1)),
            Rate::from_bits_per_sec(1_000_000)
        );
        let nothing = DirectionReport::default();
        assert_eq!(
            (nothing.utilisation(), nothing.mean_wait()),
            (None, Duration::ZERO)
        );
    }

    #[test]
    fn lateness_of_a_hundred_packets() {
        let mut meter = LatenessMeter::new();
        for us in 1..=100 {
            meter.record(
                Time::from_nanos(5_000_000 + us * 1_000),
                Time::from_nanos(5_000_000),
            );
        }
        let Lateness { p50, p99, max } = meter.result();
        for (got, expected) in [(p50, 50_000), (p99, 99_000), (max, 100_000)] {
            assert!(
                got.as_nanos().abs_diff(expected) <= expected / 500,
                "{got:?} {expected}"
            );
        }
    }
}
