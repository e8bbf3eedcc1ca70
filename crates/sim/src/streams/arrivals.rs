//! When an application submits its messages, and how large they are.

use crate::network::Messages;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use whimbrel_units::{Bytes, Duration, Time};

/// Maximum number of messages of a connection: they are numbered with 32 bits, and the next message
/// of a stream has a number that is higher by the number of streams.
const MAX_MESSAGES: u32 = u32::MAX - (1 << 16);

/// The messages that are still to arrive. The draws depend on the seed alone, so every controller
/// gets the same messages.
#[derive(Debug)]
pub(super) struct Arrivals {
    spec: Messages,
    left: u32,
    /// When the next message arrives. `None`: the connection is not established, or there are no
    /// more messages.
    next: Option<Time>,
    rng: Xoshiro256PlusPlus,
}

impl Arrivals {
    /// The messages of a flow.
    pub fn new(spec: Messages, seed: u64) -> Self {
        Self {
            spec,
            left: spec.count.unwrap_or(MAX_MESSAGES).min(MAX_MESSAGES),
            next: None,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// The connection is established: the first message arrives.
    pub fn begin(&mut self, now: Time) {
        self.next = (self.left > 0).then_some(now);
    }

    /// No more messages arrive.
    pub fn stop(&mut self) {
        self.left = 0;
        self.next = None;
    }

    /// Whether no more messages will arrive.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// When the next message arrives.
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Takes the next message that has arrived by `now`: when it arrived, and its size.
    pub fn take(&mut self, now: Time) -> Option<(Time, Bytes)> {
        let at = self.next.filter(|at| *at <= now)?;
        let Messages {
            min_size, max_size, ..
        } = self.spec;
        let smallest = min_size.get().max(1);
        let size = if max_size.get() > smallest {
            self.rng.random_range(smallest..=max_size.get())
        } else {
            smallest
        };
        let following = at + self.interval();
        self.left -= 1;
        self.next = (self.left > 0).then_some(following);
        Some((at, Bytes::new(size)))
    }

    /// The interval to the next message. It is never zero, because time must advance.
    fn interval(&mut self) -> Duration {
        let every = self.spec.every;
        let drawn = if self.spec.exponential {
            let factor: f64 = Exp1.sample(&mut self.rng);
            every.mul_f64(factor)
        } else {
            every
        };
        drawn.max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Messages {
        Messages {
            min_size: Bytes::new(1000),
            max_size: Bytes::new(1000),
            every: Duration::from_millis(10),
            exponential: false,
            count: Some(3),
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn messages_arrive_one_by_one_once_the_connection_is_established() {
        let mut arrivals = Arrivals::new(spec(), 1);
        assert_eq!(
            arrivals.take(at(99)),
            None,
            "the connection is not established"
        );
        arrivals.begin(at(100));
        let size = Bytes::new(1000);
        assert_eq!(arrivals.take(at(100)), Some((at(100), size)));
        assert_eq!(
            (arrivals.take(at(109)), arrivals.next()),
            (None, Some(at(110)))
        );
        // Messages taken late keep their own times.
        assert_eq!(arrivals.take(at(150)), Some((at(110), size)));
        assert!(!arrivals.is_over());
        assert_eq!(arrivals.take(at(150)), Some((at(120), size)));
        assert_eq!((arrivals.take(at(150)), arrivals.next()), (None, None));
        assert!(arrivals.is_over());
    }

    #[test]
    fn sizes_are_within_bounds_and_intervals_have_their_mean() {
        let spec = Messages {
            max_size: Bytes::new(3000),
            exponential: true,
            count: Some(20_000),
            ..spec()
        };
        let mut arrivals = Arrivals::new(spec, 7);
        arrivals.begin(Time::ZERO);
        let all: Vec<(Time, Bytes)> = std::iter::from_fn(|| arrivals.take(Time::MAX)).collect();
        assert_eq!(all.len(), 20_000);
        assert!(
            all.iter()
                .all(|(_, size)| (1000..=3000).contains(&size.get()))
        );
        let mean = all.iter().map(|(_, size)| size.get()).sum::<u64>() / 20_000;
        assert!((1980..2020).contains(&mean), "{mean}");
        // 19,999 intervals of 10 ms: 200 s, with a relative deviation of 1/sqrt(20,000).
        let last = all[19_999].0.since(Time::ZERO).as_secs_f64();
        assert!((195.0..205.0).contains(&last), "{last}");
        // Of exponential intervals, 1 - 1/e = 63.2 % are shorter than the mean.
        let short = all
            .windows(2)
            .filter(|w| w[1].0.since(w[0].0) < spec.every)
            .count();
        assert!((12_300..13_000).contains(&short), "{short}");
    }

    #[test]
    fn no_message_arrives_after_a_stop_or_with_a_count_of_zero() {
        let mut arrivals = Arrivals::new(spec(), 1);
        arrivals.begin(at(0));
        arrivals.stop();
        assert_eq!((arrivals.take(at(500)), arrivals.is_over()), (None, true));
        let none = Messages {
            count: Some(0),
            ..spec()
        };
        let mut arrivals = Arrivals::new(none, 1);
        arrivals.begin(at(0));
        assert_eq!((arrivals.take(at(500)), arrivals.is_over()), (None, true));
    }

    #[test]
    fn with_an_interval_of_zero_time_still_advances() {
        let at_once = Messages {
            every: Duration::ZERO,
            count: None,
            ..spec()
        };
        let mut arrivals = Arrivals::new(at_once, 1);
        arrivals.begin(Time::ZERO);
        assert!(arrivals.take(Time::ZERO).is_some());
        assert_eq!(arrivals.take(Time::ZERO), None);
    }
}
