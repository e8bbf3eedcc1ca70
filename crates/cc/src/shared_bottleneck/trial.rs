//! One trial: a path pauses, and the round trips of the others tell whether their queue is the same.

use super::PathSample;
use whimbrel_units::{Bytes, Duration, Time};

/// No pause is longer: as little as possible waits.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);
/// A shorter pause shows nothing beside the noise of hosts. So short queues are not examined.
pub(super) const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
/// A pause keeps at least so much back: single packets show nothing.
const LEAST: Bytes = Bytes::new(6000);
/// The part of a queue that a pause may empty: no link falls idle for it.
const OF_QUEUE: f64 = 0.8;
/// A queue that shrinks by this part of the pause is the same one.
const SHRINKS: f64 = 0.125;
/// A queue changes by so much for other reasons.
const NOISE: Duration = Duration::from_millis(1);
/// RTT samples in a window, at least.
const SAMPLES: u32 = 3;
/// A window that grows or shrinks by this factor makes or empties a queue of its own.
const STEADY: f64 = 0.75;

/// A window of time before the pause, another one, and the one around the pause.
const WINDOWS: usize = 3;

/// One path during a trial.
#[derive(Debug, Clone)]
struct Watched {
    id: u32,
    cwnd: Bytes,
    /// The lowest RTT of packets that left in each window, and how many samples there were.
    lowest: [(Duration, u32); WINDOWS],
}

/// What a trial has shown of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// Its queue shrank.
    Shrank,
    /// It did not.
    Stayed,
    /// It moves by itself, or too little was seen.
    Nothing,
}

/// A trial.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    /// The path that pauses, and then those that are watched.
    watched: Vec<Watched>,
    began: Time,
    window: Duration,
    pause: (Time, Time),
    judged: Time,
    /// Something else happened that moves queues.
    pub disturbed: bool,
}

/// How long a path may pause, if that can show anything.
pub(super) fn pause_of(path: &PathSample) -> Option<Duration> {
    let pause = path.queue().mul_f64(OF_QUEUE).min(LONGEST_PAUSE);
    let enough = pause >= SHORTEST_PAUSE && path.rate.bytes_in(pause) >= LEAST;
    enough.then_some(pause)
}

impl Trial {
    /// `subject` is to pause for `pause`, and the others are watched; each with its number.
    pub fn new(
        now: Time,
        subject: (u32, &PathSample),
        pause: Duration,
        others: &[(u32, &PathSample)],
    ) -> Self {
        let all = || std::iter::once(&subject).chain(others);
        let base = |(_, path): &(u32, &PathSample)| path.min_rtt;
        let longest = others.iter().map(base).max().unwrap_or_default();
        // Packets of two paths that leave at the same time reach a common queue at times that
        // differ by at most a round trip of either.
        let window = subject.1.min_rtt + longest + pause * 2;
        let begins = now + window * 2 + longest;
        let latest = all().map(|(_, path)| path.rtt).max().unwrap_or_default();
        Self {
            watched: all()
                .map(|(id, path)| Watched {
                    id: *id,
                    cwnd: path.cwnd,
                    lowest: [(Duration::MAX, 0); WINDOWS],
                })
                .collect(),
            began: now,
            window,
            pause: (begins, begins + pause),
            judged: now + window * 3 + latest + latest / 4,
            disturbed: false,
        }
    }

    fn subject(&self) -> u32 {
        self.watched[0].id
    }

    /// The path that pauses now.
    pub fn pauses(&self, now: Time) -> Option<u32> {
        let (from, to) = self.pause;
        (!self.disturbed && from <= now && now < to).then_some(self.subject())
    }

    /// When the pause ends, if it has begun.
    pub fn pause_ends(&self, now: Time) -> Option<Time> {
        self.pauses(now).map(|_| self.pause.1)
    }

    /// The time between two trials differs with `part`, 0 to 1: what repeats must not meet them all.
    pub fn gap(&self, part: f64) -> Duration {
        self.window.mul_f64(part)
    }

    /// Whether it can be judged.
    pub fn is_over(&self, now: Time) -> bool {
        self.disturbed || now >= self.judged
    }

    /// An RTT sample of a path.
    pub fn on_sample(&mut self, id: u32, sample: &PathSample) {
        let is_subject = self.subject() == id;
        let (from, to) = self.pause;
        // A queue that is gone when it is to be emptied shows nothing, and its link would fall idle.
        let is_last = sample.at < from && from.since(sample.at) < sample.rtt;
        self.disturbed |= is_subject && is_last && sample.queue() * 2 < to.since(from);
        let Some(path) = self.watched.iter_mut().find(|path| path.id == id) else {
            return;
        };
        let (before, now) = (path.cwnd.get() as f64, sample.cwnd.get() as f64);
        self.disturbed |= now < before * STEADY || now * STEADY > before;
        let sent = sample.at - sample.rtt;
        if sent < self.began || self.window.is_zero() {
            return;
        }
        let window = sent.since(self.began).as_nanos() / self.window.as_nanos();
        if let Some((lowest, samples)) = path.lowest.get_mut(window as usize) {
            *lowest = sample.rtt.min(*lowest);
            *samples += 1;
        }
    }

    /// What it has shown of each path that was watched.
    pub fn findings(&self) -> impl Iterator<Item = (u32, Finding)> + '_ {
        let paused = self.pause.1.since(self.pause.0);
        let least = paused.mul_f64(SHRINKS).max(NOISE);
        self.watched[1..].iter().map(move |path| {
            let [first, second, third] = path.lowest;
            let seen = path.lowest.iter().all(|(_, samples)| *samples >= SAMPLES);
            // A queue that grows goes on growing.
            let expected = second.0.saturating_add(second.0 - first.0);
            let finding = match (first.0 - second.0 < least, expected - third.0 >= least) {
                _ if !seen || self.disturbed => Finding::Nothing,
                (true, true) => Finding::Shrank,
                (true, false) => Finding::Stayed,
                (false, _) => Finding::Nothing,
            };
            (path.id, finding)
        })
    }
}
