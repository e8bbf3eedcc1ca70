//! Statistics of a run.

use whimbrel_net::Counters;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Statistics of a path while COMMAND ran.
#[derive(Debug, Clone, PartialEq)]
pub struct PathReport {
    /// COMMAND's exit status; 128 + signal if a signal killed it.
    pub status: u8,
    /// From the start of COMMAND to its end.
    pub elapsed: Duration,
    /// From near to far.
    pub forward: DirectionReport,
    /// From far to near.
    pub backward: DirectionReport,
    /// The same of each further interface, from near to far and back.
    pub more: Vec<[DirectionReport; 2]>,
    /// Notes for the user: settings that could not be made, a far command that failed.
    pub notes: Vec<String>,
}

/// Statistics of one direction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionReport {
    /// Counters of the emulated link. A packet counts as delivered when its fate is known, before
    /// it arrives.
    pub counters: Counters,
    /// Those of the hops behind the first one; the counters above are of all hops together.
    pub hops: Vec<Counters>,
    /// What the link could have carried in the time; `None` without a limit. On Wi-Fi, in packets
    /// of [`MTU`](crate::MTU) with the other direction silent.
    pub capacity: Option<Bytes>,
    /// Packets written to the other end.
    pub arrived: u64,
    /// Packets still in transit at the end.
    pub on_the_way: u64,
    /// Packets never offered to the link because the emulator's packet memory was full.
    pub out_of_memory: u64,
    /// Packets never offered to the link because the kernel dropped them before the emulator read
    /// them: it was too slow. `None` if the kernel's counter could not be read.
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

    /// Utilization of the link, from 0 to 1; `None` without a limit.
    pub fn utilisation(&self) -> Option<f64> {
        let capacity = self.capacity.filter(|c| !c.is_zero())?.get() as f64;
        // Packets counted as served may be served after the end.
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

/// How much later than due packets were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// Median.
    pub p50: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// Maximum.
    pub max: Duration,
}

/// Collects [`Lateness`].
pub(crate) struct LatenessMeter(hdrhistogram::Histogram<u64>);

impl LatenessMeter {
    pub fn new() -> Self {
        // From 1 ns to a minute with three digits; values out of range count as the nearest bound.
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
    fn utilization_and_means_of_a_direction() {
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
    fn lateness_has_the_percentiles_of_a_hundred_packets() {
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
