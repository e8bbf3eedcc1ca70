//! Propagation delay: constant, in steps, in steps that repeat, or recorded on a real path.
//!
//! **Order.** A packet whose last bit leaves the link at t comes out at t + d(t). If d falls faster
//! than time passes, a packet would come out before the one in front of it. If the path itself
//! changed (a hand-over to a shorter one), this happens: both paths exist, and the later packet
//! arrives first. If one radio link was measured repeatedly, it cannot happen: a radio link is
//! first in, first out. So a delay either lets packets overtake each other (the default of steps)
//! or keeps their order (the default of a recorded delay). If order is kept, a packet comes out no
//! earlier than the one before it: packets that would overtake it come out together with it.
//!
//! **A recorded delay** is a text with a one-way delay in milliseconds on each line, one line for
//! each interval of a set length; it repeats. This is the format of Z. Lai et al., "LeoCC: Making
//! Internet Congestion Control Robust to LEO Satellite Dynamics", ACM SIGCOMM 2025, whose traces of
//! Starlink have a line for each 10 ms (`traces/README.md` of github.com/SpaceNetLab/LeoCC: "the
//! one-way delay"). Its shell (`leoreplayer`, a mahimahi with a changed `delay_queue.cc`) gives
//! each packet the delay of the interval in which it arrives, and plays the same file in both
//! directions, so that the round-trip time is twice the value. The differences here:
//! * The interval is the one in which the packet's last bit leaves the link, as for all delays
//!   here.
//! * The shell sorts packets by the time at which they are due, so that packets overtake each other
//!   whenever the delay falls. A few milliseconds of jitter every 10 ms would reorder packets all
//!   the time, which such a radio does not do. Here order is kept; [`Delay::in_order`] changes
//!   that.
//! * Values may have decimals (the shell reads whole numbers). Empty lines are refused as there,
//!   except at the end.

use crate::noise::Noise;
use crate::schedule::{Cursor, Schedule};
use crate::trace::TraceError;
use std::sync::Arc;
use whimbrel_units::{Duration, Time};

/// The maximum number of lines of a recorded delay: a day at 10 ms has 8.6 million.
const MAX_LINES: usize = 20_000_000;
/// The maximum delay in milliseconds: an hour.
const LONGEST_MS: f64 = 3_600_000.0;

/// The propagation delay of one direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Delay {
    course: Course,
    keep_order: bool,
}

/// The values of a delay over time.
#[derive(Debug, Clone, PartialEq)]
enum Course {
    Steps(Schedule<Duration>),
    /// A value for each interval of length `every`; the first value follows the last.
    Cycle {
        every: Duration,
        trace: DelayTrace,
        recorded: bool,
    },
    Noise(Noise),
}

impl Delay {
    /// A delay that never changes.
    pub fn constant(delay: Duration) -> Self {
        Self::steps(Schedule::constant(delay))
    }

    /// A delay in steps. Later packets can overtake earlier ones when the delay falls.
    pub fn steps(steps: Schedule<Duration>) -> Self {
        Self {
            course: Course::Steps(steps),
            keep_order: false,
        }
    }

    /// A delay in steps of length `every` that repeat. Later packets can overtake earlier ones when
    /// the delay falls.
    ///
    /// # Errors
    /// If `every` is zero.
    pub fn cycle(every: Duration, steps: DelayTrace) -> Result<Self, &'static str> {
        Self::repeated(every, steps, false)
    }

    /// A recorded delay with a value for each interval of length `every`; it repeats. Packets keep
    /// their order.
    ///
    /// # Errors
    /// If `every` is zero.
    pub fn recorded(every: Duration, trace: DelayTrace) -> Result<Self, &'static str> {
        Self::repeated(every, trace, true)
    }

    /// A delay with noise, drawn by the seed of the link. Packets keep their order.
    pub fn noisy(noise: Noise) -> Self {
        Self {
            course: Course::Noise(noise),
            keep_order: true,
        }
    }

    fn repeated(every: Duration, trace: DelayTrace, recorded: bool) -> Result<Self, &'static str> {
        if every.is_zero() {
            return Err("a delay must hold for longer than zero before the next");
        }
        Ok(Self {
            course: Course::Cycle {
                every,
                trace,
                recorded,
            },
            keep_order: recorded,
        })
    }

    /// The same delay, where packets keep their order if `keep` is true, and may overtake each
    /// other if not.
    pub fn in_order(mut self, keep: bool) -> Self {
        self.keep_order = keep;
        self
    }

    /// Whether packets always come out in the order in which they left.
    pub fn keeps_order(&self) -> bool {
        self.keep_order || matches!(&self.course, Course::Steps(steps) if steps.is_constant())
    }

    /// The delay of a packet whose last bit leaves the link at `time`, if it need not wait for the
    /// one before it. Of noise, which a seed decides, the mean.
    pub fn at(&self, time: Time) -> Duration {
        match &self.course {
            Course::Steps(steps) => {
                let all = steps.all();
                let begun = all.partition_point(|(from, _)| *from <= time);
                all[begun.saturating_sub(1)].1
            }
            Course::Cycle { every, trace, .. } => {
                // The constructors ensure that neither is zero.
                let interval = time.as_nanos() / every.as_nanos();
                trace.values[(interval % trace.values.len() as u64) as usize]
            }
            Course::Noise(noise) => noise.mean(),
        }
    }

    /// The minimum delay.
    pub fn minimum(&self) -> Duration {
        match &self.course {
            Course::Steps(steps) => values(steps).min().unwrap_or_default(),
            Course::Cycle { trace, .. } => trace.minimum,
            Course::Noise(noise) => noise.base,
        }
    }

    /// The delay as one number, for sizing a queue: the maximum of steps, which were chosen; the
    /// mean of a recorded delay and of noise, whose maximum is a rare event.
    pub fn nominal(&self) -> Duration {
        match &self.course {
            Course::Steps(steps) => values(steps).max().unwrap_or_default(),
            Course::Cycle {
                trace, recorded, ..
            } => {
                if *recorded {
                    trace.mean
                } else {
                    trace.maximum
                }
            }
            Course::Noise(noise) => noise.mean(),
        }
    }

    /// How many values each link stores of its own; values that repeat are shared.
    pub fn own_steps(&self) -> usize {
        match &self.course {
            Course::Steps(steps) => steps.all().len(),
            Course::Cycle { .. } | Course::Noise(_) => 0,
        }
    }
}

fn values(steps: &Schedule<Duration>) -> impl Iterator<Item = Duration> {
    steps.all().iter().map(|(_, delay)| *delay)
}

/// A sequence of delays; copies share it.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayTrace {
    /// Not empty.
    values: Arc<[Duration]>,
    minimum: Duration,
    maximum: Duration,
    mean: Duration,
}

impl DelayTrace {
    /// A trace of these delays.
    ///
    /// # Errors
    /// If there is no delay.
    pub fn new(values: Vec<Duration>) -> Result<Self, &'static str> {
        let (Some(minimum), Some(maximum)) = (values.iter().min(), values.iter().max()) else {
            return Err("needs at least one delay");
        };
        let sum: u128 = values.iter().map(|v| u128::from(v.as_nanos())).sum();
        let mean = sum / values.len() as u128;
        Ok(Self {
            minimum: *minimum,
            maximum: *maximum,
            mean: Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)),
            values: values.into(),
        })
    }

    /// Reads a recorded delay: milliseconds on each line, decimals allowed.
    ///
    /// # Errors
    /// If a line is not a delay from 0 to an hour (the error names the line), or there is no line.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut values = Vec::new();
        for (i, line) in text.trim_end().lines().enumerate() {
            let fail = |why: String| TraceError { line: i + 1, why };
            let line = line.trim();
            let ms: f64 = line
                .parse()
                .ok()
                .filter(|ms| (0.0..=LONGEST_MS).contains(ms))
                .ok_or_else(|| {
                    fail(format!(
                        "`{line}` is not a delay in milliseconds, from 0 to an hour"
                    ))
                })?;
            if values.len() == MAX_LINES {
                return Err(fail(format!(
                    "a recorded delay may have at most {MAX_LINES} lines"
                )));
            }
            values.push(Duration::from_secs_f64(ms * 1e-3));
        }
        Self::new(values).map_err(|_| TraceError {
            line: 1,
            why: "the recorded delay is empty: it needs milliseconds on each line".to_owned(),
        })
    }

    /// Number of delays.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The delays, in order.
    pub fn values(&self) -> &[Duration] {
        &self.values
    }
}

/// Applies a delay to packets. Times never go back. The order in memory is that of
/// [`Link`](crate::Link).
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Delaying {
    varying: Option<Box<Varying>>,
    /// The delay if it never changes, which is the common case: one addition per packet.
    pub constant: Duration,
}

/// Applies a delay that varies.
#[derive(Debug, Clone)]
pub(crate) struct Varying {
    course: Reading,
    keep_order: bool,
    /// When the last packet comes out; used if order is kept.
    last: Time,
}

#[derive(Debug, Clone)]
enum Reading {
    Steps(Cursor<Duration>),
    Cycle { every: u64, values: Arc<[Duration]> },
    Noise { noise: Noise, seed: u64 },
}

impl Delaying {
    /// `seed` decides noise.
    pub fn new(delay: &Delay, seed: u64) -> Self {
        let course = match &delay.course {
            Course::Steps(steps) if steps.is_constant() => {
                return Self {
                    constant: steps.all()[0].1,
                    varying: None,
                };
            }
            Course::Steps(steps) => Reading::Steps(Cursor::new(steps.clone())),
            Course::Cycle { every, trace, .. } => Reading::Cycle {
                every: every.as_nanos(),
                values: Arc::clone(&trace.values),
            },
            Course::Noise(noise) => Reading::Noise {
                noise: *noise,
                seed,
            },
        };
        Self {
            constant: Duration::ZERO,
            varying: Some(Box::new(Varying {
                course,
                keep_order: delay.keep_order,
                last: Time::ZERO,
            })),
        }
    }

    /// When a packet comes out whose last bit left at `left`.
    #[inline]
    pub fn out(&mut self, left: Time) -> Time {
        match &mut self.varying {
            None => self.out_constant(left),
            Some(varying) => varying.out(left),
        }
    }

    /// [`Self::out`] if the delay [never changes](Self::is_constant).
    #[inline(always)]
    pub fn out_constant(&self, left: Time) -> Time {
        left + self.constant
    }

    /// Whether it never changes.
    pub fn is_constant(&self) -> bool {
        self.varying.is_none()
    }

    /// Whether packets always come out in the order in which they left.
    pub fn keeps_order(&self) -> bool {
        self.varying
            .as_ref()
            .is_none_or(|varying| varying.keep_order)
    }
}

impl Varying {
    #[inline(never)]
    fn out(&mut self, left: Time) -> Time {
        let at = left
            + match &mut self.course {
                Reading::Steps(cursor) => cursor.at(left),
                Reading::Cycle { every, values } => {
                    let interval = left.as_nanos() / *every;
                    values[(interval % values.len() as u64) as usize]
                }
                Reading::Noise { noise, seed } => noise.delay(*seed, left),
            };
        let at = match &self.course {
            Reading::Noise { noise, .. } => noise.released(at),
            Reading::Steps(_) | Reading::Cycle { .. } => at,
        };
        if !self.keep_order {
            return at;
        }
        self.last = self.last.max(at);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// When packets that left at these milliseconds come out, in milliseconds.
    fn out(delay: &Delay, left: &[u64]) -> Vec<f64> {
        let mut delaying = Delaying::new(delay, 0);
        let at = |left: &u64| delaying.out(Time::ZERO + ms(*left)).as_secs_f64() * 1e3;
        left.iter().map(at).collect()
    }

    fn trace(text: &str) -> DelayTrace {
        DelayTrace::parse(text).expect("a trace")
    }

    #[test]
    fn the_delay_at_a_time_is_that_of_its_step() {
        let at = |delay: &Delay, times: &[u64]| -> Vec<f64> {
            let of = |t: &u64| delay.at(Time::ZERO + ms(*t)).as_millis_f64();
            times.iter().map(of).collect()
        };
        let steps = vec![(Time::ZERO, ms(25)), (Time::ZERO + ms(5), ms(300))];
        let steps = Delay::steps(Schedule::steps(steps).expect("in order"));
        assert_eq!(at(&steps, &[0, 4, 5, 900]), [25.0, 25.0, 300.0, 300.0]);
        let repeated = Delay::recorded(ms(10), trace("24\n18.5\n30\n")).expect("intervals");
        assert_eq!(at(&repeated, &[9, 10, 29, 30]), [24.0, 18.5, 30.0, 24.0]);
        assert_eq!(at(&Delay::constant(ms(7)), &[0, 1_000_000]), [7.0, 7.0]);
    }

    #[test]
    fn a_line_holds_for_its_interval_and_the_trace_repeats() {
        let delay = Delay::recorded(ms(10), trace("24\n18.5\n30\n")).expect("intervals");
        // 0 to 10 ms: 24 ms; 10 to 20 ms: 18.5 ms; 20 to 30 ms: 30 ms; then again from the first.
        let found = out(&delay, &[0, 9, 20, 29, 30, 60]);
        assert_eq!(found, [24.0, 33.0, 50.0, 59.0, 59.0, 84.0]);
        let overtaking = delay.in_order(false);
        assert_eq!(out(&overtaking, &[9, 10, 29, 30]), [33.0, 28.5, 59.0, 54.0]);
    }

    #[test]
    fn packets_in_order_come_out_together_instead_of_overtaking() {
        // 100 ms until 50 ms, then 20 ms: the packet that leaves at 49 ms comes out at 149 ms, and
        // no later packet before it.
        let delay = Delay::cycle(
            ms(50),
            DelayTrace::new(vec![ms(100), ms(20)]).expect("delays"),
        )
        .expect("steps")
        .in_order(true);
        assert!(delay.keeps_order());
        assert_eq!(out(&delay, &[49, 50, 90, 99]), [149.0, 149.0, 149.0, 149.0]);
        // One round later the first step is in force again.
        assert_eq!(out(&delay, &[49, 100]), [149.0, 200.0]);
    }

    #[test]
    fn steps_let_packets_overtake_and_recorded_delays_do_not() {
        let steps = Delay::cycle(ms(1), trace("2\n1\n")).expect("steps");
        assert!(!steps.keeps_order());
        assert!(
            Delay::recorded(ms(1), trace("2\n1\n"))
                .expect("a trace")
                .keeps_order()
        );
        assert!(Delay::constant(ms(5)).keeps_order());
        assert!(!Delaying::new(&steps, 0).keeps_order());
    }

    #[test]
    fn nominal_is_the_maximum_of_steps_and_the_mean_of_recorded_delays() {
        let row = || trace("10\n10\n40\n");
        let cycle = Delay::cycle(ms(10), row()).expect("steps");
        assert_eq!((cycle.minimum(), cycle.nominal()), (ms(10), ms(40)));
        let recorded = Delay::recorded(ms(10), row()).expect("a trace");
        assert_eq!((recorded.minimum(), recorded.nominal()), (ms(10), ms(20)));
        let steps = Schedule::steps(vec![(Time::ZERO, ms(7)), (Time::ZERO + ms(9), ms(3))]);
        let steps = Delay::steps(steps.expect("in order"));
        assert_eq!((steps.minimum(), steps.nominal()), (ms(3), ms(7)));
        assert_eq!((steps.own_steps(), recorded.own_steps()), (2, 0));
    }

    #[test]
    fn an_invalid_line_is_refused_with_its_number() {
        let wrong = |text| DelayTrace::parse(text).expect_err("wrong").to_string();
        assert_eq!(
            wrong("12\n1O\n"),
            "line 2: `1O` is not a delay in milliseconds, from 0 to an hour"
        );
        // Ignoring an empty line would shift all later lines by an interval.
        assert!(wrong("12\n\n13\n").starts_with("line 2: "));
        for text in ["-1\n", "NaN", "inf", "3600000.1"] {
            assert!(wrong(text).starts_with("line 1: "), "{text}");
        }
        assert!(wrong("\n\n").starts_with("line 1: the recorded delay is empty"));
        assert_eq!(trace("12\r\n0\r\n\n").count(), 2);
        assert!(Delay::recorded(Duration::ZERO, trace("1")).is_err());
    }

    #[test]
    fn the_end_of_time_does_not_overflow() {
        let delay = Delay::recorded(Duration::from_nanos(1), trace("3600000\n0\n")).expect("one");
        assert_eq!(Delaying::new(&delay, 0).out(Time::MAX), Time::MAX);
    }
}
