//! Statistics of a path with hand-overs: capacity, round-trip time, holds, and what changes at a
//! hold.
//!
//! They serve to compare a generated path ([`LowOrbit`](crate::LowOrbit)) with a recorded one. A
//! hold is a span of at least 40 ms without capacity; recorded traces have gaps of up to 24 ms
//! between hand-overs, and hold packets for 59 ms or longer. All other numbers leave the holds out.

use crate::delay::Delay;
use crate::service::WORK_PER_BYTE;
use crate::spec::ServiceSpec;
use whimbrel_units::{Duration, Time};

/// The resolution of the capacity.
const TICK: Duration = Duration::from_millis(1);
/// Ticks in one sample of the capacity.
const WINDOW: usize = 100;
/// The fewest ticks of a hold.
const HOLD: usize = 40;
/// Ticks from one sample of the round-trip time to the next.
const RTT_STEP: usize = 10;
/// Ticks before and after a hold that belong to the hand-over: delays change a little earlier or
/// later than the capacity.
const MARGIN: usize = 200;

/// Statistics of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathStatistics {
    /// Capacity of the forward direction in Mbit/s, by samples of 100 ms outside the holds.
    pub capacity: Quantiles,
    /// Standard deviation of those samples between two holds, as a part of their mean; the mean
    /// over all spans between holds.
    pub fading: f64,
    /// Round-trip time of the empty path in ms, by samples of 10 ms outside the hand-overs.
    pub rtt: Quantiles,
    /// The mean change of the round-trip time in ms from one sample to the next.
    pub jitter: f64,
    /// Length of the holds in ms.
    pub hold: Quantiles,
    /// Time from one hold to the next, in s.
    pub interval: Quantiles,
    /// Absolute change of the mean capacity in Mbit/s from before a hold to after it.
    pub capacity_jump: Quantiles,
    /// Absolute change of the mean round-trip time in ms from before a hold to after it.
    pub rtt_jump: Quantiles,
}

/// The distribution of a quantity. All values are zero if there is no sample.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Quantiles {
    /// Number of samples.
    pub count: usize,
    /// 5th percentile.
    pub p5: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

impl Quantiles {
    /// Of these samples. A percentile is the sample of that rank, without interpolation.
    pub fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        let Some(max) = samples.last() else {
            return Self::default();
        };
        let rank = |part: f64| samples[((samples.len() - 1) as f64 * part).round() as usize];
        Self {
            count: samples.len(),
            p5: rank(0.05),
            median: rank(0.5),
            p95: rank(0.95),
            mean: mean(&samples),
            max: *max,
        }
    }
}

/// A span between two holds: ticks from the first to before the last.
type Span = (usize, usize);

impl PathStatistics {
    /// Of a path from time zero on, for this length. `None` if the forward direction has no limited
    /// capacity.
    pub fn of(
        service: &ServiceSpec,
        delay: &Delay,
        reverse_delay: &Delay,
        length: Duration,
    ) -> Option<Self> {
        let ticks = per_tick(service, (length.as_nanos() / TICK.as_nanos()) as usize)?;
        let holds = holds(&ticks);
        let mut spans: Vec<Span> = Vec::new();
        let mut from = 0;
        for (begin, end) in holds.iter().copied().chain([(ticks.len(), ticks.len())]) {
            spans.push((from, begin));
            from = end;
        }
        let capacities: Vec<Vec<f64>> = spans.iter().map(|span| windows(&ticks, *span)).collect();
        let rtts: Vec<Vec<f64>> = spans
            .iter()
            .map(|span| rtts(delay, reverse_delay, *span))
            .collect();
        let fading: Vec<f64> = capacities
            .iter()
            .filter_map(|span| deviation(span))
            .collect();
        let changes: Vec<f64> = rtts
            .iter()
            .flat_map(|span| span.windows(2).map(|pair| (pair[1] - pair[0]).abs()))
            .collect();
        let intervals = holds
            .windows(2)
            .map(|pair| (pair[1].0 - pair[0].0) as f64 / 1e3);
        Some(Self {
            capacity: Quantiles::of(capacities.concat()),
            fading: mean(&fading),
            rtt: Quantiles::of(rtts.concat()),
            jitter: mean(&changes),
            hold: Quantiles::of(holds.iter().map(|(a, b)| (b - a) as f64).collect()),
            interval: Quantiles::of(intervals.collect()),
            capacity_jump: jumps(&capacities),
            rtt_jump: jumps(&rtts),
        })
    }
}

/// Bytes that the link can carry in each tick.
fn per_tick(service: &ServiceSpec, ticks: usize) -> Option<Vec<f64>> {
    let at = |tick: usize| Time::ZERO + TICK * tick as u64;
    match service {
        ServiceSpec::Unlimited => None,
        ServiceSpec::Rate(schedule) => {
            // One pass over the steps: a long path has many.
            let mut all = vec![0.0; ticks];
            let steps = schedule.all();
            let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([Time::MAX]);
            for ((from, rate), to) in steps.iter().zip(ends) {
                let first = (from.as_nanos() / TICK.as_nanos()) as usize;
                for tick in (first..ticks).take_while(|tick| at(*tick) < to) {
                    let overlap = to.min(at(tick + 1)).since((*from).max(at(tick)));
                    all[tick] += rate.as_bits_per_sec() as f64 * overlap.as_nanos() as f64
                        / WORK_PER_BYTE as f64;
                }
            }
            Some(all)
        }
        ServiceSpec::Trace(_) | ServiceSpec::Wireless(_) => {
            let until = |tick| service.capacity(at(tick)).map(|bytes| bytes.get() as f64);
            (0..ticks)
                .map(|tick| Some(until(tick + 1)? - until(tick)?))
                .collect()
        }
    }
}

/// From which tick to before which tick packets are held.
fn holds(ticks: &[f64]) -> Vec<Span> {
    let mut holds = Vec::new();
    let mut begin = None;
    for (tick, bytes) in ticks.iter().enumerate() {
        match begin {
            None if *bytes == 0.0 => begin = Some(tick),
            Some(from) if *bytes > 0.0 => {
                if tick - from >= HOLD {
                    holds.push((from, tick));
                }
                begin = None;
            }
            _ => {}
        }
    }
    holds
}

/// Mean capacity of each whole window of a span, in Mbit/s.
fn windows(ticks: &[f64], (from, to): Span) -> Vec<f64> {
    let whole = ticks[from..to].chunks_exact(WINDOW);
    whole
        .map(|window| window.iter().sum::<f64>() * 8.0 / (WINDOW as f64 * 1e3))
        .collect()
}

/// Round-trip times of a span in ms, without what belongs to the hand-overs.
fn rtts(delay: &Delay, reverse_delay: &Delay, (from, to): Span) -> Vec<f64> {
    let samples = (from + MARGIN..to.saturating_sub(MARGIN)).step_by(RTT_STEP);
    samples
        .map(|tick| {
            let at = Time::ZERO + TICK * tick as u64;
            (delay.at(at) + reverse_delay.at(at)).as_millis_f64()
        })
        .collect()
}

/// How far the means of neighbouring spans are apart.
fn jumps(spans: &[Vec<f64>]) -> Quantiles {
    let means: Vec<f64> = spans
        .iter()
        .filter(|span| !span.is_empty())
        .map(|span| mean(span))
        .collect();
    Quantiles::of(
        means
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).abs())
            .collect(),
    )
}

/// Zero if there is no sample.
fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len().max(1) as f64
}

/// The standard deviation as a part of the mean; `None` of fewer than two samples.
fn deviation(samples: &[f64]) -> Option<f64> {
    let mean = mean(samples);
    let squares = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    (samples.len() > 1 && mean > 0.0).then(|| (squares / samples.len() as f64).sqrt() / mean)
}
