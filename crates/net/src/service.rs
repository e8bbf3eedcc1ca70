//! Serving packets first in, first out. Because nothing overtakes, a packet's departure is known the
//! moment it arrives: one event per hop.
//!
//! Clocks tick in whole nanoseconds, packets do not: at 100 Gbit/s a 66-byte packet takes 5.28 ns.
//! What a rounded departure leaves undone is carried to the next packet, so that a busy link passes
//! exactly its rate however small its packets are.

use crate::schedule::Cursor;
use crate::spec::ServiceSpec;
use crate::trace::{self, Trace};
use crate::wireless::Radio;
use std::sync::Arc;
use whimbrel_units::{Duration, Rate, Time};

/// Work is counted in bits x 10^9: a rate in bits per second does that much of it per nanosecond, and
/// nothing is rounded.
pub(crate) const WORK_PER_BYTE: u64 = 8_000_000_000;

/// When a packet leaves the queue, and when its last bit leaves the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Served {
    pub begins: Time,
    /// The link is free again; without a radio its last bit leaves then.
    pub ends: Time,
    /// What a radio made of it, if the link is one.
    pub radio: Option<OnAir>,
}

/// What became of a packet between two radios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OnAir {
    /// Its last bit leaves: before the link is free again, as a radio may send again what has arrived.
    pub out: Time,
    pub reception: Reception,
}

/// What the far end's radio makes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reception {
    Understood,
    /// Wrong bits are passed on.
    Corrupted,
    Lost,
}

impl Served {
    /// Without a radio.
    pub fn new(begins: Time, ends: Time) -> Self {
        Self {
            begins,
            ends,
            radio: None,
        }
    }
}

/// The server of one link.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    kind: Kind,
    /// When the last packet so far leaves.
    free_at: Time,
}

#[derive(Debug, Clone)]
enum Kind {
    Unlimited,
    Constant(Constant),
    Steps(Steps),
    Trace(trace::Reader),
    Wireless(Box<Radio>),
}

impl Server {
    /// `seed` decides what happens on a radio.
    pub fn new(spec: &ServiceSpec, seed: u64) -> Self {
        let kind = match spec {
            ServiceSpec::Unlimited => Kind::Unlimited,
            ServiceSpec::Rate(schedule) if schedule.is_constant() => {
                Kind::Constant(Constant::new(schedule.all()[0].1))
            }
            ServiceSpec::Rate(schedule) => Kind::Steps(Steps {
                rate: Cursor::new(schedule.clone()),
                carried: 0,
            }),
            ServiceSpec::Trace(trace) => Kind::Trace(Trace::reader(Arc::clone(trace))),
            ServiceSpec::Wireless(link) => {
                Kind::Wireless(Box::new(Radio::new(Arc::clone(link), seed)))
            }
        };
        Self {
            kind,
            free_at: Time::ZERO,
        }
    }

    /// When a packet that arrives now would begin to be served, by the packets before it.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// When a packet that arrived at `arrived` begins to be served, if it is the next.
    pub fn begin(&mut self, arrived: Time) -> Time {
        match &mut self.kind {
            Kind::Unlimited => arrived,
            Kind::Constant(_) | Kind::Steps(_) | Kind::Wireless(_) => self.free_at.max(arrived),
            Kind::Trace(reader) => reader.begin(arrived),
        }
    }

    /// Serves one packet after all before it.
    #[inline(always)]
    pub fn serve(&mut self, now: Time, size: u32) -> Served {
        let idle = self.free_at < now;
        let begins = if idle { now } else { self.free_at };
        let served = match &mut self.kind {
            Kind::Unlimited => Served::new(now, now),
            Kind::Constant(constant) => Served::new(begins, begins + constant.time_for(size, idle)),
            Kind::Steps(steps) => Served::new(begins, steps.serve(begins, size, idle)),
            Kind::Trace(reader) => reader.serve(now, size),
            Kind::Wireless(radio) => radio.serve(begins, size),
        };
        self.free_at = served.ends;
        served
    }
}

/// A constant rate. Nearly all packets have one of two sizes (data, ACK), so their times are kept: a
/// division costs more than the rest of a hop.
#[derive(Debug, Clone)]
struct Constant {
    rate: u64,
    known: [(u32, Work); 2],
    /// Work that the packets of this busy period are behind, less than a nanosecond's.
    carried: u64,
}

/// A packet's work at a constant rate: whole nanoseconds, and what is left after them.
#[derive(Debug, Clone, Copy)]
struct Work {
    time: Duration,
    rest: u64,
}

impl Constant {
    fn new(rate: Rate) -> Self {
        let nothing = (
            0,
            Work {
                time: Duration::ZERO,
                rest: 0,
            },
        );
        Self {
            rate: rate.as_bits_per_sec(),
            known: [nothing; 2],
            carried: 0,
        }
    }

    #[inline(always)]
    fn time_for(&mut self, size: u32, idle: bool) -> Duration {
        let [first, second] = self.known;
        let work = if first.0 == size {
            first.1
        } else if second.0 == size {
            second.1
        } else {
            let work = self.work(size);
            self.known = [(size, work), first];
            work
        };
        if idle {
            self.carried = 0;
        }
        // carried + rest against the rate, without the overflow at rates above 2^63.
        if work.rest != 0 && self.carried >= self.rate - work.rest {
            self.carried -= self.rate - work.rest;
            work.time.saturating_add(Duration::from_nanos(1))
        } else {
            self.carried += work.rest;
            work.time
        }
    }

    fn work(&self, size: u32) -> Work {
        if self.rate == 0 {
            return Work {
                time: Duration::MAX,
                rest: 0,
            };
        }
        // 2^32 bytes x 2^33 does not fit 64 bits.
        let work = u128::from(size) * u128::from(WORK_PER_BYTE);
        let rate = u128::from(self.rate);
        Work {
            time: Duration::from_nanos(u64::try_from(work / rate).unwrap_or(u64::MAX)),
            rest: u64::try_from(work % rate).unwrap_or(0),
        }
    }
}

/// A rate in steps.
#[derive(Debug, Clone)]
struct Steps {
    rate: Cursor<Rate>,
    /// As in [`Constant`].
    carried: u128,
}

impl Steps {
    /// Bit by bit at the rate in force, across steps. A rate of zero waits for the next step.
    fn serve(&mut self, begins: Time, size: u32, idle: bool) -> Time {
        let mut now = begins;
        let mut left = u128::from(size) * u128::from(WORK_PER_BYTE);
        if !idle {
            left += self.carried;
        }
        self.carried = 0;
        loop {
            let rate = u128::from(self.rate.at(now).as_bits_per_sec());
            if let Some(end) = self.rate.until() {
                let room = u128::from(end.since(now).as_nanos()) * rate;
                if room < left || rate == 0 {
                    left -= room;
                    now = end;
                    continue;
                }
            } else if rate == 0 {
                return Time::MAX;
            }
            self.carried = left % rate;
            let ns = u64::try_from(left / rate).unwrap_or(u64::MAX);
            return now + Duration::from_nanos(ns);
        }
    }
}
