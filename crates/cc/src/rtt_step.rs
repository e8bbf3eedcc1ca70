//! A path that became longer, told from a queue that became longer: by how the round-trip time rose.
//!
//! Whimbrel's own. The need for it is Srinivasan and Garcia-Luna-Aceves' (TCP-RTA, 2022, section 6: "to clearly differentiate
//! between longer RTTs due to real congestion versus due to topology change").
//!
//! **The physics.** Let a queue be served at the rate C. Of two packets of which the second is sent `ds` later, with X bytes
//! sent after the first up to it, the second waits longer by at most `X/C - ds`: a queue can only hold what somebody sent. In
//! slow start, which sends at 2C, the round-trip time so rises by `ds`: a ramp. A path that becomes longer by J adds J between
//! one packet and the next: a step. And a path that stands still for J (a blackout of a hand-over) adds J too, but only to
//! what was sent before its acknowledgments stopped: the next flight takes as long as ever.
//!
//! * suspicion: a sample exceeds the greatest of the last 8 by more than `max(X/C - ds, 0) + margin(J)`
//! * margin: 1/8 of the least round-trip time of the path, at least 5 ms, at least what 14 600 bytes take at C: the first flight
//!   of somebody else's connection (RFC 6928), which may have come between
//! * certainty: no sample falls back to the old ones' level, up to the third of those sent more than 1.25 of the old
//!   round-trip time after the first suspicious one. By then the sender has heard of the new path, or of the end of the blackout.
//! * the new path: the least of the last 8 samples; its rate: that of the last train of 8 acknowledgments or more, none of which
//!   came later than half the old round-trip time after the one before it
//! * a shorter path: three samples in a row below the least of the path by 1/8 of it, 5 ms at least. Whatever waited in queues,
//!   nothing is faster than the empty path.
//!
//! **When it works.** Whether the step is 20 ms or 600, comes with losses, or with another capacity. **When not.** A longer path
//! is overlooked while the old one's queue held more than the step: the flight then fills the new path as it filled the
//! queue, and no window needs to change. A hand-over that queues (or slows down) for more than a round trip and a quarter looks like
//! a longer path until it is over; then the path looks shorter again. On a path whose empty round-trip time was never
//! seen, the end of somebody else's queue looks like a shorter path.
//!
//! Samples that are under suspicion are not passed on: a blackout is no queue either. Units: bytes, times.

use crate::delivered_rate::DeliveredRate;
use crate::event::{Ack, AtSending};
use crate::path_change::{Change, Heard, PathChange};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Share of the round-trip time that is no step.
const SHARE: u64 = 8;

/// A step is longer than this.
const LEAST: Duration = Duration::from_millis(5);

/// The first flight of another connection (RFC 6928).
const FOREIGN: Bytes = Bytes::new(14_600);

/// Samples in a row that settle a question: TCP-RTA's number.
const IN_A_ROW: u32 = 3;

/// Old round-trip times after which what was sent knows of the change.
const FEEDBACK: f64 = 1.25;

/// Samples that say how long a path takes now.
const RECENT: usize = 8;

/// Acknowledgments that make a train.
const TRAIN: u32 = 8;

/// Watches how the round-trip time came to be what it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct RttStep {
    rate: DeliveredRate,
    /// Least round-trip time of the present path.
    base: Option<Duration>,
    recent: Recent,
    /// Everything sent up to the packet of the last sample.
    last: Option<Sent>,
    suspicion: Option<Suspicion>,
    /// Samples in a row that no packet of this path can have, and the greatest of them.
    shorter: (u32, Duration),
}

/// When a packet was sent, and how much had been sent up to it.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Time,
    total: u64,
}

impl Sent {
    fn of(newest: AtSending) -> Self {
        let total = newest.delivered.get().saturating_add(newest.lost.get());
        Self {
            at: newest.sent,
            total: total.saturating_add(newest.in_flight.get()),
        }
    }
}

/// The path may have become longer.
#[derive(Debug, Clone, Copy)]
struct Suspicion {
    /// What it took before.
    before: Duration,
    /// A sample not above this clears it.
    level: Duration,
    /// What was sent after this knows of the change.
    feedback: Time,
    /// Samples of what was sent after that.
    after: u32,
    samples: Recent,
    train: Train,
}

/// The last samples.
#[derive(Debug, Clone, Copy, Default)]
struct Recent {
    samples: [Duration; RECENT],
    next: usize,
    count: usize,
}

impl Recent {
    fn push(&mut self, rtt: Duration) {
        self.samples[self.next] = rtt;
        self.next = (self.next + 1) % RECENT;
        self.count = (self.count + 1).min(RECENT);
    }

    fn least(&self) -> Option<Duration> {
        self.samples[..self.count].iter().min().copied()
    }

    fn greatest(&self) -> Option<Duration> {
        self.samples[..self.count].iter().max().copied()
    }
}

/// Acknowledgments that came one behind the other.
#[derive(Debug, Clone, Copy)]
struct Train {
    /// A longer silence ends it.
    gap: Duration,
    began: Time,
    last: Time,
    /// Bytes acknowledged since it began, without its first acknowledgment's.
    acked: u64,
    acks: u32,
    /// The rate of the last that was long enough.
    rate: Option<Rate>,
}

impl Train {
    fn new(now: Time, gap: Duration) -> Self {
        Self {
            gap,
            began: now,
            last: now,
            acked: 0,
            acks: 1,
            rate: None,
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.now.since(self.last) > self.gap {
            let rate = self.rate;
            *self = Self {
                rate,
                ..Self::new(ack.now, self.gap)
            };
            return;
        }
        self.last = ack.now;
        self.acked = self.acked.saturating_add(ack.acked.get());
        self.acks = self.acks.saturating_add(1);
        let span = ack.now.since(self.began);
        if self.acks >= TRAIN && !span.is_zero() {
            self.rate = Some(Rate::over(Bytes::new(self.acked), span));
        }
    }
}

impl RttStep {
    /// Least round-trip time of the present path, once a sample was taken.
    pub fn base(&self) -> Option<Duration> {
        self.base
    }

    /// The step of the round-trip time that no queue explains, for a packet sent at `sent`: more than that is a step.
    fn explained(&self, base: Duration, sent: Sent) -> Option<Duration> {
        let (rate, last) = (self.rate.get()?, self.last?);
        let bytes = Bytes::new(sent.total.saturating_sub(last.total));
        let queue = rate.time_for(bytes) - sent.at.since(last.at);
        let margin = (base / SHARE).max(LEAST).max(rate.time_for(FOREIGN));
        Some(queue.saturating_add(margin))
    }

    /// The suspicion that this sample gives rise to.
    fn suspect(&self, ack: &Ack, rtt: Duration, base: Duration, sent: Sent) -> Option<Suspicion> {
        let (least, greatest) = (self.recent.least()?, self.recent.greatest()?);
        let step = rtt - greatest;
        if step <= self.explained(base, sent)? {
            return None;
        }
        let mut samples = Recent::default();
        samples.push(rtt);
        Some(Suspicion {
            before: least,
            level: greatest.saturating_add(step / 2),
            feedback: sent.at + greatest.mul_f64(FEEDBACK),
            after: 0,
            samples,
            train: Train::new(ack.now, greatest / 2),
        })
    }

    /// The present path is this one.
    fn settle(&mut self, base: Duration, samples: Recent, rate: Option<Rate>) {
        self.base = Some(base);
        self.recent = samples;
        self.rate = DeliveredRate::of(rate);
        self.suspicion = None;
        self.shorter = (0, Duration::ZERO);
    }

    /// A sample below all of this path.
    fn on_shorter(&mut self, rtt: Duration, base: Duration) -> Heard {
        let (count, greatest) = self.shorter;
        self.shorter = (count + 1, greatest.max(rtt));
        if self.shorter.0 < IN_A_ROW {
            return Heard::sample(None);
        }
        let to = self.shorter.1;
        let mut samples = Recent::default();
        samples.push(to);
        self.settle(to, samples, self.rate.get());
        let change = Change {
            from: base,
            to,
            rate: None,
        };
        Heard::change(rtt, change)
    }

    /// A sample while there is a suspicion.
    fn on_suspected(&mut self, ack: &Ack, rtt: Duration, sent: Sent, mut it: Suspicion) -> Heard {
        if rtt <= it.level {
            self.suspicion = None;
            self.recent.push(rtt);
            return Heard::sample(Some(rtt));
        }
        it.samples.push(rtt);
        it.train.on_ack(ack);
        it.after += u32::from(sent.at > it.feedback);
        self.suspicion = Some(it);
        if it.after < IN_A_ROW {
            return Heard::sample(None);
        }
        let to = it.samples.least().unwrap_or(rtt);
        let old = self.rate.get();
        let rate = it.train.rate;
        let believed = rate.map_or(old, |rate| Some(old.map_or(rate, |old| old.min(rate))));
        self.settle(to, it.samples, believed);
        let change = Change {
            from: it.before,
            to,
            rate,
        };
        Heard::change(rtt, change)
    }
}

impl PathChange for RttStep {
    fn on_ack(&mut self, ack: &Ack) -> Heard {
        self.rate.on_ack(ack);
        let (Some(rtt), Some(newest)) = (ack.rtt, ack.newest) else {
            return Heard::sample(ack.rtt);
        };
        let sent = Sent::of(newest);
        let base = *self.base.get_or_insert(rtt);
        if base > rtt.saturating_add((base / SHARE).max(LEAST)) {
            return self.on_shorter(rtt, base);
        }
        self.shorter = (0, Duration::ZERO);
        self.base = Some(base.min(rtt));
        let heard = match self.suspicion {
            Some(suspicion) => self.on_suspected(ack, rtt, sent, suspicion),
            None => match self.suspect(ack, rtt, base, sent) {
                Some(suspicion) => {
                    self.suspicion = Some(suspicion);
                    Heard::sample(None)
                }
                None => {
                    self.recent.push(rtt);
                    Heard::sample(Some(rtt))
                }
            },
        };
        self.last = Some(sent);
        heard
    }
}
