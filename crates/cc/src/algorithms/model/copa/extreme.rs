//! The minimum or maximum round-trip time of a sliding time window, in bounded memory.
//!
//! A monotone queue, as in the authors' `rtt-window.cc`: a sample that is not more extreme than a
//! newer one can never be the extreme again and is removed. The rest is ordered by time and by
//! value, so the oldest entry is the extreme.
//!
//! Departure: the authors' queue may grow with every packet. This one has at most one entry per
//! 1/32 of the window, so that an extreme may be forgotten early by that fraction of the window,
//! and never late. The last sample is kept at any age: after a silence the old value is assumed.

use whimbrel_units::{Duration, Time};

/// Maximum number of entries.
const CAPACITY: usize = 32;

/// The kind of extreme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Min,
    Max,
}

/// The extreme sample of a sliding time window.
#[derive(Debug, Clone)]
pub(super) struct Extreme {
    kind: Kind,
    /// The first `len` are in use, oldest first; each is less extreme than all before it.
    entries: [(Time, Duration); CAPACITY],
    len: usize,
}

impl Extreme {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            entries: [(Time::ZERO, Duration::ZERO); CAPACITY],
            len: 0,
        }
    }

    /// The extreme; `None` before the first sample.
    pub fn get(&self) -> Option<Duration> {
        self.used().first().map(|(_, sample)| *sample)
    }

    /// Adds a sample and drops those older than `span`.
    pub fn add(&mut self, now: Time, sample: Duration, span: Duration) {
        while let Some((_, last)) = self.used().last() {
            if self.beats(*last, sample) {
                break;
            }
            self.len -= 1;
        }
        let step = span / CAPACITY as u64;
        let crowded = self
            .used()
            .last()
            .is_some_and(|(at, _)| now.since(*at) < step);
        if !crowded {
            if self.len == CAPACITY {
                self.drop_oldest(1);
            }
            self.entries[self.len] = (now, sample);
            self.len += 1;
        }
        let used = self.used();
        let old = used
            .iter()
            .take_while(|(at, _)| now.since(*at) > span)
            .count();
        self.drop_oldest(old.min(self.len - 1));
    }

    /// Whether `a` is strictly more extreme than `b`.
    fn beats(&self, a: Duration, b: Duration) -> bool {
        match self.kind {
            Kind::Min => a < b,
            Kind::Max => a > b,
        }
    }

    fn used(&self) -> &[(Time, Duration)] {
        &self.entries[..self.len]
    }

    fn drop_oldest(&mut self, count: usize) {
        self.entries.copy_within(count..self.len, 0);
        self.len -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    /// The extreme after samples (time, value) in milliseconds over a window of 100 ms.
    fn after(kind: Kind, samples: &[(u64, u64)]) -> Option<Duration> {
        let mut extreme = Extreme::new(kind);
        for (now, value) in samples {
            extreme.add(at(*now), MS * *value, MS * 100);
        }
        extreme.get()
    }

    #[test]
    fn an_extreme_lasts_until_it_is_exceeded_or_too_old() {
        assert_eq!(after(Kind::Min, &[]), None);
        assert_eq!(after(Kind::Min, &[(0, 40), (50, 60)]), Some(MS * 40));
        assert_eq!(after(Kind::Min, &[(0, 40), (50, 30)]), Some(MS * 30));
        assert_eq!(
            after(Kind::Min, &[(0, 40), (50, 60), (100, 70)]),
            Some(MS * 40)
        );
        assert_eq!(
            after(Kind::Min, &[(0, 40), (50, 60), (101, 70)]),
            Some(MS * 60)
        );
        assert_eq!(
            after(Kind::Max, &[(0, 90), (50, 60), (101, 50)]),
            Some(MS * 60)
        );
    }

    #[test]
    fn after_a_silence_only_the_newest_counts() {
        assert_eq!(
            after(Kind::Min, &[(0, 40), (10, 50), (5000, 80)]),
            Some(MS * 80)
        );
    }

    #[test]
    fn many_samples_shorten_the_window_by_a_32nd_at_most() {
        let mut extreme = Extreme::new(Kind::Min);
        // Each sample is less extreme than the one before, so none removes another. The value is
        // the time in microseconds.
        for us in 0..1_000_000u64 {
            let now = Time::ZERO + Duration::from_micros(us);
            extreme.add(now, Duration::from_micros(us), MS * 100);
        }
        let oldest = extreme.get().expect("sampled");
        assert!(oldest >= MS * 899, "{oldest}");
        assert!(oldest <= MS * 903 + MS / 5, "{oldest}");
    }
}
