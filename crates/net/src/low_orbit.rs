//! A generated path over satellites in low Earth orbit.
//!
//! A terminal on the ground uses one satellite for some seconds, then another. At each hand-over
//! the path holds packets for tens of milliseconds; then it has another capacity and another
//! round-trip time. The generator draws such a path from a seed: a rate in steps and a one-way
//! delay for each direction. The same seed gives the same path.
//!
//! **The model**, direction by direction:
//! * A hand-over takes place every [`interval`](LowOrbit::interval). The first one comes at a
//!   random time within the first interval. Both directions change satellites together.
//! * At a hand-over the rate is zero for a time drawn uniformly from [`hold`](LowOrbit::hold).
//!   Packets wait in the queue; only a full queue drops them.
//! * Satellite k carries `rate * (1 + s_k)`, with `s_k` uniform in ±[`spread`](LowOrbit::spread).
//! * While a satellite is in use, its rate changes every 100 ms by a factor `1 + w_i`, with `w_i =
//!   w_(i-1) / 2 + e_i` and `e_i` uniform in ±[`fading`](LowOrbit::fading)/2. So `|w_i|` stays
//!   below `fading`, and neighbouring steps resemble each other. J. Garcia, S. Sundberg, A.
//!   Brunstrom, "Modeling and predicting Starlink throughput with fine-grained burst
//!   characterization", Computer Communications 234, 2025, found that the physical rate switches
//!   mainly to neighbouring rates.
//! * The one-way delay is [`ground`](LowOrbit::ground), plus the way up to satellite k and down
//!   again, uniform in [`space`](LowOrbit::space), plus jitter, uniform from zero to
//!   [`jitter`](LowOrbit::jitter) and drawn anew every 10 ms. Packets keep their order.
//!
//! **Sources.** Every field's default says where its value comes from, or that it is ours: chosen
//! so that the generated path resembles the recorded path of Z. Lai et al., "LeoCC: Making Internet
//! Congestion Control Robust to LEO Satellite Dynamics", ACM SIGCOMM 2025. `docs/simulate.md`
//! compares the two paths' statistics; the example `path_statistics` computes them.
//!
//! **What is left out.** The delay does not drift while a satellite is in use: at 7.6 km/s a
//! satellite moves 114 km in 15 s, which changes the one-way delay by less than 0.8 ms. There is no
//! random loss: the link's `loss` adds it. Scheduling on the uplink, frames and weather are not
//! modelled.

use crate::delay::{Delay, DelayTrace};
use crate::schedule::Schedule;
use crate::streams::Streams;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::{Duration, Rate, Time};

/// How long a rate holds.
const RATE_STEP: Duration = Duration::from_millis(100);
/// How long a delay holds: the resolution of LeoCC's traces.
const DELAY_STEP: Duration = Duration::from_millis(10);
/// The longest path that can be drawn.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The parameters of a low-orbit path.
#[derive(Debug, Clone, PartialEq)]
pub struct LowOrbit {
    /// Mean rate of the forward direction, holds not counted. Default 50 Mbit/s: ours, as in the
    /// recorded trace. Terminals see from 10 to 370 Mbit/s (G. Huston, "A Transport Protocol's View
    /// of Starlink", APNIC, 2024).
    pub rate: Rate,
    /// Mean rate of the reverse direction. Default 50 Mbit/s: ours, so that acknowledgments do not
    /// limit a flow; LeoCC's replayer also plays one trace in both directions.
    pub reverse_rate: Rate,
    /// Time between hand-overs. Default 15 s: H. B. Tanveer et al., "Making Sense of
    /// Constellations", CoNEXT Companion 2023; N. Mohan et al., "A Multifaceted Look at Starlink
    /// Performance", WWW 2024.
    pub interval: Duration,
    /// Minimum and maximum time for which a hand-over holds packets. Default 60 ms to 140 ms. The
    /// maximum is from A. Casparsen et al., "Statistical Characterization and Prediction of E2E
    /// Latency over LEO Satellite Networks", arXiv:2601.08439, 2026: latency spikes of about 140 ms
    /// begin each 15 s cycle. The minimum is that of the recorded trace, 59 ms.
    pub hold: (Duration, Duration),
    /// By which part of the mean rate satellites differ, at most. From 0 to below 1. Default 0.25:
    /// ours; two satellites then differ by a sixth of the mean rate on average, as in the recorded
    /// trace.
    pub spread: f64,
    /// By which part of a satellite's rate its rate changes, at most. From 0 to below 1. Default
    /// 0.3: ours; the standard deviation is then 10 %, as in the recorded trace.
    pub fading: f64,
    /// One-way delay on the ground. Default 3 ms: ours. With the other defaults the minimum
    /// round-trip time is 13.4 ms and the mean 21.2 ms; F. Michel et al., "A First Look at Starlink
    /// Performance", IMC 2022, measured a minimum of 20 ms to servers at the gateway's exchange
    /// point.
    pub ground: Duration,
    /// Minimum and maximum time up to a satellite and down again. Default 3.7 ms to 7.5 ms:
    /// geometry, at an altitude of 550 km from the zenith down to an elevation of 25° (Huston,
    /// 2024).
    pub space: (Duration, Duration),
    /// The maximum jitter of a direction. Default 4 ms: ours; the recorded trace has 8 ms to 12 ms
    /// from its 5th to its 95th percentile. Huston's pings, one a second, changed by 6.7 ms on
    /// average from one to the next, which includes the uplink's scheduling.
    pub jitter: Duration,
}

impl Default for LowOrbit {
    fn default() -> Self {
        let rate = Rate::from_bits_per_sec(50_000_000);
        Self {
            rate,
            reverse_rate: rate,
            interval: Duration::from_secs(15),
            hold: (Duration::from_millis(60), Duration::from_millis(140)),
            spread: 0.25,
            fading: 0.3,
            ground: Duration::from_millis(3),
            space: (Duration::from_micros(3_700), Duration::from_micros(7_500)),
            jitter: Duration::from_millis(4),
        }
    }
}

/// A drawn path.
#[derive(Debug, Clone, PartialEq)]
pub struct LowOrbitPath {
    /// The direction with [`LowOrbit::rate`].
    pub forward: LowOrbitDirection,
    /// The direction with [`LowOrbit::reverse_rate`].
    pub reverse: LowOrbitDirection,
}

/// One direction of a drawn path.
#[derive(Debug, Clone, PartialEq)]
pub struct LowOrbitDirection {
    /// Zero while a hand-over holds packets.
    pub rate: Schedule<Rate>,
    /// One way. Packets keep their order.
    pub delay: Delay,
}

/// The time with one satellite.
struct Satellite {
    /// When the hand-over to it takes place.
    begin: Time,
    /// For how long the hand-over holds packets.
    hold: Duration,
    /// By which part of the mean rate its rate exceeds the mean, in each direction.
    excess: [f64; 2],
    /// Time up to it and down again.
    space: Duration,
}

impl LowOrbit {
    /// One delay that stands for the path where a single number is needed: that of a satellite
    /// halfway between the minimum and the maximum distance, with mean jitter.
    pub fn nominal_delay(&self) -> Duration {
        let (near, far) = self.space;
        self.ground + (near + far) / 2 + self.jitter / 2
    }

    /// The maximum rates of the forward and of the reverse direction.
    pub fn peak_rates(&self) -> [Rate; 2] {
        let peak = (1.0 + self.spread) * (1.0 + self.fading);
        [self.rate, self.reverse_rate].map(|rate| rate.mul_f64(peak))
    }

    /// How many steps of rate and delay a direction of this length has, about.
    pub fn steps(&self, length: Duration) -> u64 {
        length.as_nanos() / RATE_STEP.as_nanos() + length.as_nanos() / DELAY_STEP.as_nanos()
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Says what is out of range.
    pub fn check(&self) -> Result<(), &'static str> {
        let part = 0.0..1.0;
        if self.rate == Rate::ZERO || self.reverse_rate == Rate::ZERO {
            Err("a rate must be greater than zero")
        } else if self.hold.0 > self.hold.1 || self.space.0 > self.space.1 {
            Err("a minimum must not exceed its maximum")
        } else if self.interval < RATE_STEP || self.interval <= self.hold.1 {
            Err("the interval must be at least 100 ms and longer than the hold")
        } else if !part.contains(&self.spread) || !part.contains(&self.fading) {
            Err("spread and fading must be at least 0 % and less than 100 %")
        } else if [self.ground, self.space.1, self.jitter]
            .iter()
            .any(|delay| *delay > LONGEST)
        {
            Err("a delay must not exceed 24 h")
        } else {
            Ok(())
        }
    }

    /// Draws a path of this length. After it the last rate remains, and the delays repeat.
    ///
    /// # Errors
    /// As [`check`](Self::check); besides, if `length` exceeds 24 h.
    pub fn draw(&self, length: Duration, seed: u64) -> Result<LowOrbitPath, &'static str> {
        self.check()?;
        if length > LONGEST {
            return Err("a low-orbit path is at most 24 h long");
        }
        let mut streams = Streams::new(seed);
        let satellites = self.satellites(length, &mut streams.next());
        let mut direction = |mean: Rate, which: usize| -> Result<LowOrbitDirection, &'static str> {
            let rate = self.rates(mean, which, &satellites, length, &mut streams.next())?;
            let delay = self.delays(&satellites, length, &mut streams.next())?;
            Ok(LowOrbitDirection { rate, delay })
        };
        Ok(LowOrbitPath {
            forward: direction(self.rate, 0)?,
            reverse: direction(self.reverse_rate, 1)?,
        })
    }

    /// The satellites in order of time. The first is in use from time zero, without a hold.
    fn satellites(&self, length: Duration, rng: &mut Xoshiro256PlusPlus) -> Vec<Satellite> {
        let end = Time::ZERO + length;
        let first = Time::ZERO + between((Duration::from_nanos(1), self.interval), rng);
        let mut begin = Time::ZERO;
        let mut all = Vec::new();
        while all.is_empty() || begin < end {
            let hold = between(self.hold, rng);
            all.push(Satellite {
                begin,
                hold: if all.is_empty() { Duration::ZERO } else { hold },
                excess: [symmetric(self.spread, rng), symmetric(self.spread, rng)],
                space: between(self.space, rng),
            });
            begin = if all.len() == 1 {
                first
            } else {
                begin + self.interval
            };
        }
        all
    }

    fn rates(
        &self,
        mean: Rate,
        which: usize,
        satellites: &[Satellite],
        length: Duration,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<Schedule<Rate>, &'static str> {
        let ends = satellites.iter().skip(1).map(|next| next.begin);
        let mut steps = Vec::new();
        for (satellite, end) in satellites.iter().zip(ends.chain([Time::ZERO + length])) {
            if !satellite.hold.is_zero() {
                steps.push((satellite.begin, Rate::ZERO));
            }
            let mut at = satellite.begin + satellite.hold;
            let mut fading = 0.0;
            // Of the last satellite at least one step: packets must not be held for ever.
            loop {
                fading = fading / 2.0 + symmetric(self.fading / 2.0, rng);
                let factor = (1.0 + satellite.excess[which]) * (1.0 + fading);
                steps.push((at, mean.mul_f64(factor).max(Rate::from_bits_per_sec(1))));
                at += RATE_STEP;
                if at >= end {
                    break;
                }
            }
        }
        Schedule::steps(steps)
    }

    fn delays(
        &self,
        satellites: &[Satellite],
        length: Duration,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<Delay, &'static str> {
        let count = (length.as_nanos() / DELAY_STEP.as_nanos()).max(1);
        let mut current = 0;
        let delay = |i: u64| {
            let at = Time::ZERO + DELAY_STEP * i;
            while satellites
                .get(current + 1)
                .is_some_and(|next| next.begin <= at)
            {
                current += 1;
            }
            let jitter = between((Duration::ZERO, self.jitter), rng);
            self.ground + satellites[current].space + jitter
        };
        let values = (0..count).map(delay).collect();
        Delay::recorded(DELAY_STEP, DelayTrace::new(values)?)
    }
}

/// Uniform between two times, both included.
fn between((min, max): (Duration, Duration), rng: &mut Xoshiro256PlusPlus) -> Duration {
    Duration::from_nanos(rng.random_range(min.as_nanos()..=max.as_nanos()))
}

/// Uniform in ±`most`.
fn symmetric(most: f64, rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.random::<f64>() * 2.0 - 1.0) * most
}
