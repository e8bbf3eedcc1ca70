//! A generated cellular path, both ways.
//!
//! A base station serves its users in slots. A user's rate fades as the user and the surroundings
//! move; now and then the radio loses the user and nothing passes for a while; at a hand-over to
//! another cell the path pauses, and the rate is another. Upwards a device has to request a grant
//! before it may send, so that packets, and the acknowledgments of a download, leave in batches.
//! The generator draws such a path from a seed, as one capacity trace for each direction. The same
//! seed gives the same path.
//!
//! **The model**, direction by direction:
//! * Capacity comes at multiples of the direction's slot. The scheduler grants a slot with the
//!   probability [`share`](Cellular::share); in the others it serves other users. A grant carries
//!   what the present rate gives for the slots since the last grant, in opportunities of 1504
//!   bytes.
//! * The logarithm of the rate is `ln(mean) + f - s^2/2` with an Ornstein-Uhlenbeck process f of
//!   standard deviation s = [`fading`](Cellular::fading) and correlation time
//!   [`coherence`](Cellular::coherence), so that the mean rate is the mean. Both directions fade
//!   independently: their frequencies are far apart.
//! * Stalls begin at random, [`stall_interval`](Cellular::stall_interval) apart on average, and
//!   last for a time with a Pareto distribution from the minimum of [`stall`](Cellular::stall) with
//!   the exponent [`stall_tail`](Cellular::stall_tail), cut off at its maximum. Each stops the way
//!   down, the way up, or both, with equal probability. Packets wait; only a full queue drops them.
//! * Hand-overs take place at random, [`handover_interval`](Cellular::handover_interval) apart on
//!   average. Both directions pause for a time uniform in [`pause`](Cellular::pause), and fade from
//!   a new value on.
//!
//! The buffer is the link's `queue`. Base stations keep one for each user, of hundreds of packets
//! to megabytes: H. Jiang et al., "Tackling Bufferbloat in 3G/4G Networks", ACM IMC 2012. The delay
//! is the link's `delay`.
//!
//! **Sources.** Every field's default says where its value comes from, or that it is ours: chosen
//! so that the generated path resembles recorded LTE paths (those of mahimahi and of S. Abbasloo et
//! al., "Classic Meets Modern", ACM SIGCOMM 2020). `docs/simulate.md` compares the statistics.
//!
//! **What is left out.** Retransmissions of the radio layer, random loss (the link's `loss` adds
//! it), carrier aggregation, and the competition of a device's own flows for grants: a direction
//! has grants whether it has data or not.

use crate::streams::Streams;
use crate::trace::{OPPORTUNITY, Trace};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::f64::consts::TAU;
use std::sync::Arc;
use whimbrel_units::{Duration, Rate, Time};

/// The longest path that can be drawn.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The maximum number of opportunities of a direction: at 100 Mbit/s more than an hour.
const MOST: f64 = 5e7;
/// The maximum number of stalls and hand-overs of a path, on average.
const MOST_GAPS: f64 = 1e6;
/// The shortest slot: that of 5G with a subcarrier spacing of 120 kHz.
const SHORTEST_SLOT: Duration = Duration::from_micros(125);

/// The parameters of a cellular path.
#[derive(Debug, Clone, PartialEq)]
pub struct Cellular {
    /// Mean rate of the forward direction, towards the device; stalls and pauses not counted.
    /// Default 12 Mbit/s: ours, the median of the recorded paths.
    pub rate: Rate,
    /// Mean rate of the reverse direction. Default 6 Mbit/s: ours; recorded uplinks have 0.8 to 13.
    pub reverse_rate: Rate,
    /// Standard deviation of the rate's logarithm. Default 0.6: ours; recorded paths have 0.5 to
    /// 1.2 over windows of 100 ms.
    pub fading: f64,
    /// Time in which the correlation of the rate falls to 1/e. Default 1.5 s: ours; recorded rates
    /// have a correlation of 0.1 to 0.7 over a second.
    pub coherence: Duration,
    /// Slot of the forward direction. Default 1 ms: LTE's transmission time interval (3GPP TS
    /// 36.211, section 4).
    pub slot: Duration,
    /// Slot of the reverse direction. Default 5 ms: a usual period of scheduling requests (3GPP TS
    /// 36.213, table 10.1.5-1 has 1 to 80 ms).
    pub reverse_slot: Duration,
    /// Probability that a slot is granted. Default 0.4: ours; the median gap is then one or two
    /// slots, and one of a hundred lasts ten, as in the recorded paths.
    pub share: f64,
    /// Mean time between stalls. Default 7 s: that of all recorded paths together; single ones have
    /// 4 s to 170 s.
    pub stall_interval: Duration,
    /// Minimum and maximum length of a stall. Default 100 ms to 5 s: ours; recorded ones last up to
    /// 2 s but for a few.
    pub stall: (Duration, Duration),
    /// Exponent of the distribution of stalls: a stall is longer than t with a probability in
    /// proportion to t to the power of minus this. Default 1.35: ours, Hill's estimate for 646
    /// recorded stalls. K. Winstein et al., "Stochastic Forecasts Achieve High Throughput and Low
    /// Delay over Cellular Networks", NSDI 2013, section 2.1, found 2.27 for all gaps above 20 ms.
    pub stall_tail: f64,
    /// Mean time between hand-overs. Default 40 s: ours, a city's cells at the speed of a bus.
    pub handover_interval: Duration,
    /// Minimum and maximum pause at a hand-over. Default 30 ms to 80 ms; 3GPP TR 36.881, section
    /// 5.2, has 49.5 ms as the usual interruption of LTE.
    pub pause: (Duration, Duration),
}

impl Default for Cellular {
    fn default() -> Self {
        Self {
            rate: Rate::from_bits_per_sec(12_000_000),
            reverse_rate: Rate::from_bits_per_sec(6_000_000),
            fading: 0.6,
            coherence: Duration::from_millis(1500),
            slot: Duration::from_millis(1),
            reverse_slot: Duration::from_millis(5),
            share: 0.4,
            stall_interval: Duration::from_secs(7),
            stall: (Duration::from_millis(100), Duration::from_secs(5)),
            stall_tail: 1.35,
            handover_interval: Duration::from_secs(40),
            pause: (Duration::from_millis(30), Duration::from_millis(80)),
        }
    }
}

/// A drawn path.
#[derive(Debug, Clone, PartialEq)]
pub struct CellularPath {
    /// The direction with [`Cellular::rate`].
    pub forward: Arc<Trace>,
    /// The direction with [`Cellular::reverse_rate`].
    pub reverse: Arc<Trace>,
}

/// A time in which a direction carries nothing, in seconds.
#[derive(Debug, Clone, Copy)]
struct Gap {
    from: f64,
    to: f64,
    /// The rate afterwards has nothing to do with that before.
    new_cell: bool,
}

impl Cellular {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Says what is out of range.
    pub fn check(&self) -> Result<(), &'static str> {
        let slots = [self.slot, self.reverse_slot];
        if self.rate == Rate::ZERO || self.reverse_rate == Rate::ZERO {
            Err("a rate must be greater than zero")
        } else if !(0.0..=3.0).contains(&self.fading) {
            Err("fading must be between 0 and 3")
        } else if !(self.share > 0.0 && self.share <= 1.0) {
            Err("the share of slots must be above 0 % and at most 100 %")
        } else if slots.iter().any(|slot| *slot < SHORTEST_SLOT) {
            Err("a slot must be at least 125 us")
        } else if self.coherence.is_zero() {
            Err("the coherence time must be greater than zero")
        } else if self.stall.0 > self.stall.1 || self.pause.0 > self.pause.1 {
            Err("a minimum must not exceed its maximum")
        } else if self.stall.0.is_zero() {
            Err("a stall must be longer than zero")
        } else if !(0.1..=100.0).contains(&self.stall_tail) {
            Err("the stalls' exponent must be between 0.1 and 100")
        } else if self.stall_interval <= self.stall.0 || self.handover_interval <= self.pause.1 {
            Err("stalls and hand-overs must be further apart than they are long")
        } else {
            Ok(())
        }
    }

    /// How many opportunities both directions of a path of this length have, about.
    pub fn steps(&self, length: Duration) -> u64 {
        let bits = (self.rate.as_bits_per_sec() + self.reverse_rate.as_bits_per_sec()) as f64;
        (bits * length.as_secs_f64() / (8.0 * f64::from(OPPORTUNITY))) as u64
    }

    /// Draws a path of this length, after which it repeats.
    ///
    /// # Errors
    /// As [`check`](Self::check); besides, if `length` is zero or exceeds 24 h, or if it has room
    /// for too many packets, or for none, or too many stalls and hand-overs.
    pub fn draw(&self, length: Duration, seed: u64) -> Result<CellularPath, &'static str> {
        self.check()?;
        if length.is_zero() || length > LONGEST {
            return Err("a cellular path is longer than zero and at most 24 h long");
        }
        if self.steps(length) as f64 > MOST {
            return Err("a cellular path has room for at most 50 million packets");
        }
        let intervals = [self.stall_interval, self.handover_interval];
        let gaps = intervals.map(|interval| length.as_secs_f64() / interval.as_secs_f64());
        if gaps.iter().sum::<f64>() > MOST_GAPS {
            return Err("a cellular path has at most a million stalls and hand-overs");
        }
        let mut streams = Streams::new(seed);
        let [down, up] = self.gaps(length.as_secs_f64(), &mut streams.next());
        let mut direction = |rate: Rate, slot: Duration, gaps: &[Gap]| {
            self.direction(rate, slot, gaps, length, &mut streams.next())
        };
        Ok(CellularPath {
            forward: direction(self.rate, self.slot, &down)?,
            reverse: direction(self.reverse_rate, self.reverse_slot, &up)?,
        })
    }

    /// The gaps of the forward and of the reverse direction, in order of their begin.
    fn gaps(&self, length: f64, rng: &mut Xoshiro256PlusPlus) -> [Vec<Gap>; 2] {
        let mut gaps = [Vec::new(), Vec::new()];
        let mut at = exponential(self.stall_interval, rng);
        while at < length {
            let (shortest, longest) = (self.stall.0.as_secs_f64(), self.stall.1.as_secs_f64());
            let drawn = shortest * (1.0 - rng.random::<f64>()).powf(-1.0 / self.stall_tail);
            let to = at + drawn.min(longest);
            let which = rng.random_range(0..3);
            for (direction, gaps) in gaps.iter_mut().enumerate() {
                if which != direction {
                    gaps.push(Gap {
                        from: at,
                        to,
                        new_cell: false,
                    });
                }
            }
            at = to + exponential(self.stall_interval, rng);
        }
        let mut at = exponential(self.handover_interval, rng);
        while at < length {
            let (least, most) = (self.pause.0.as_secs_f64(), self.pause.1.as_secs_f64());
            let to = at + least + rng.random::<f64>() * (most - least);
            for gaps in &mut gaps {
                gaps.push(Gap {
                    from: at,
                    to,
                    new_cell: true,
                });
            }
            at = to + exponential(self.handover_interval, rng);
        }
        for gaps in &mut gaps {
            gaps.sort_by(|a, b| a.from.total_cmp(&b.from));
        }
        gaps
    }

    fn direction(
        &self,
        mean: Rate,
        slot: Duration,
        gaps: &[Gap],
        length: Duration,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<Arc<Trace>, &'static str> {
        let slots = length.as_nanos() / slot.as_nanos();
        let seconds = slot.as_secs_f64();
        // What one slot gives at the mean rate, in opportunities.
        let per_slot = mean.as_bits_per_sec() as f64 * seconds / (8.0 * f64::from(OPPORTUNITY));
        let keep = (-seconds / self.coherence.as_secs_f64()).exp();
        let change = self.fading * (1.0 - keep * keep).sqrt();
        let mut fading = self.fading * normal(rng);
        let mut opportunities = Vec::with_capacity((per_slot * slots as f64) as usize);
        let mut gaps = gaps.iter().peekable();
        let mut closed_until = 0.0;
        let mut due = 0.0;
        for i in 1..=slots {
            let now = i as f64 * seconds;
            while let Some(gap) = gaps.next_if(|gap| gap.from < now) {
                closed_until = f64::max(closed_until, gap.to);
                if gap.new_cell {
                    fading = self.fading * normal(rng);
                }
            }
            fading = keep * fading + change * normal(rng);
            let granted = rng.random::<f64>() < self.share;
            if now < closed_until {
                // Nothing is left over from before the gap.
                due = 0.0;
                continue;
            }
            due += per_slot * (fading - self.fading * self.fading / 2.0).exp();
            if granted {
                let at = (Time::ZERO + slot * i).as_nanos();
                opportunities.extend(std::iter::repeat_n(at, due as usize));
                due = due.fract();
            }
        }
        Trace::of_opportunities(opportunities, length)
            .map(Arc::new)
            .ok_or("the path is too short or too slow for a single packet")
    }
}

/// Exponential with this mean, in seconds.
fn exponential(mean: Duration, rng: &mut Xoshiro256PlusPlus) -> f64 {
    -mean.as_secs_f64() * (1.0 - rng.random::<f64>()).ln()
}

/// Normal with mean 0 and variance 1, after G. E. P. Box and M. E. Muller, 1958.
fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (TAU * rng.random::<f64>()).cos()
}
