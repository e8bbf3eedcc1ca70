//! Service of packets, first in, first out. No packet overtakes another, so a packet's departure is
//! known when it arrives: one event per hop.
//!
//! Times are whole nanoseconds, service times are not: at 100 Gbit/s a 66-byte packet takes 5.28
//! ns. The remainder of a rounded service time is carried over to the next packet, so that a busy
//! link has exactly its rate for packets of any size.

use crate::schedule::Cursor;
use crate::served::{OnAir, Served};
use crate::spec::ServiceSpec;
use crate::trace::{self, Trace};
use crate::wireless::Radio;
use std::sync::Arc;
use whimbrel_units::{Duration, Rate, Time};

/// The unit of work is a bit divided by 10^9: a link does its rate in bits per second as units of
/// work per nanosecond, without rounding.
pub(crate) const WORK_PER_BYTE: u64 = 8_000_000_000;

/// The server of one link. The order in memory is that of [`Link`](crate::Link).
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Server {
    /// When the last packet so far leaves the link.
    free_at: Time,
    /// At a constant rate: nanoseconds for each byte if they are whole, else 0. At most rates that
    /// are in use they are, and a multiplication gives the service time. At most a second, so that
    /// the service time of any packet fits in 64 bits.
    pub per_byte: u64,
    kind: Kind,
}

/// Boxed but for the common kinds: a run with many links is fast if they fit the cache.
#[derive(Debug, Clone)]
enum Kind {
    Unlimited,
    Constant(Constant),
    Steps(Box<Steps>),
    Trace(Box<trace::Reader>),
    Wireless(Box<Radio>),
}

impl Server {
    /// `seed` decides the random events on a radio.
    pub fn new(spec: &ServiceSpec, seed: u64) -> Self {
        let kind = match spec {
            ServiceSpec::Unlimited => Kind::Unlimited,
            ServiceSpec::Rate(schedule) if schedule.is_constant() => {
                Kind::Constant(Constant::new(schedule.all()[0].1))
            }
            ServiceSpec::Rate(schedule) => Kind::Steps(Box::new(Steps {
                rate: Cursor::new(schedule.clone()),
                carried: 0,
            })),
            ServiceSpec::Trace(trace) => Kind::Trace(Box::new(Trace::reader(Arc::clone(trace)))),
            ServiceSpec::Wireless(link) => {
                Kind::Wireless(Box::new(Radio::new(Arc::clone(link), seed)))
            }
        };
        let per_byte = match &kind {
            Kind::Constant(constant) => whole_per_byte(constant.rate),
            _ => 0,
        };
        Self {
            kind,
            free_at: Time::ZERO,
            per_byte,
        }
    }

    /// When the packets before are served.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// When the service of the next packet begins, which arrived at `arrived`.
    pub fn begin(&mut self, arrived: Time) -> Time {
        match &mut self.kind {
            Kind::Unlimited => arrived,
            Kind::Constant(_) | Kind::Steps(_) | Kind::Wireless(_) => self.free_at.max(arrived),
            Kind::Trace(reader) => reader.begin(arrived),
        }
    }

    /// Serves a packet that arrives at `now`, after all packets before it.
    #[inline(always)]
    pub fn serve(&mut self, now: Time, size: u32) -> Served {
        if self.is_constant() {
            return self.serve_constant(now, size);
        }
        let begins = self.free_at.max(now);
        let served = self.serve_otherwise(now, begins, size);
        self.free_at = served.ends;
        served
    }

    /// Whether the rate is constant, or unlimited.
    #[inline]
    pub fn is_constant(&self) -> bool {
        matches!(self.kind, Kind::Constant(_) | Kind::Unlimited)
    }

    /// [`Self::serve`] for a server that [is constant](Self::is_constant).
    #[inline(always)]
    pub fn serve_constant(&mut self, now: Time, size: u32) -> Served {
        let idle = self.free_at < now;
        let begins = if idle { now } else { self.free_at };
        let ends = if self.per_byte != 0 {
            begins + Duration::from_nanos(u64::from(size) * self.per_byte)
        } else {
            match &mut self.kind {
                Kind::Constant(constant) => begins + constant.time_for(size, idle),
                _ => now,
            }
        };
        self.free_at = ends;
        Served { begins, ends }
    }

    /// Serves a packet unless the rate [is constant](Self::is_constant).
    #[inline(never)]
    fn serve_otherwise(&mut self, now: Time, begins: Time, size: u32) -> Served {
        let idle = self.free_at < now;
        let ends = match &mut self.kind {
            Kind::Unlimited | Kind::Constant(_) => return self.serve_constant(now, size),
            Kind::Steps(steps) => steps.serve(begins, size, idle),
            Kind::Trace(reader) => return reader.serve(now, size),
            Kind::Wireless(radio) => return radio.serve(begins, size),
        };
        Served { begins, ends }
    }

    /// The transmission of the last packet if the link is a radio.
    #[inline]
    pub fn on_air(&self) -> Option<OnAir> {
        match &self.kind {
            Kind::Wireless(radio) => Some(radio.on_air()),
            _ => None,
        }
    }
}

/// Nanoseconds for each byte at a rate in bits per second if they are whole, else 0.
fn whole_per_byte(rate: u64) -> u64 {
    let whole = rate >= 8 && WORK_PER_BYTE.is_multiple_of(rate);
    if whole { WORK_PER_BYTE / rate } else { 0 }
}

/// A constant rate at which a byte does not take whole nanoseconds. The service time is cached for
/// two sizes, which nearly all packets have (data, ACK): a division costs more than the rest of a
/// hop.
#[derive(Debug, Clone)]
struct Constant {
    rate: u64,
    /// The sizes of the last two, and their work.
    sizes: [u32; 2],
    works: [Work; 2],
    /// Work carried over within this busy period, less than a nanosecond's.
    carried: u64,
}

/// A packet's work at a constant rate: whole nanoseconds and a remainder.
#[derive(Debug, Clone, Copy)]
struct Work {
    time: Duration,
    rest: u64,
}

impl Constant {
    fn new(rate: Rate) -> Self {
        let nothing = Work {
            time: Duration::ZERO,
            rest: 0,
        };
        Self {
            rate: rate.as_bits_per_sec(),
            sizes: [0; 2],
            works: [nothing; 2],
            carried: 0,
        }
    }

    #[inline(always)]
    fn time_for(&mut self, size: u32, idle: bool) -> Duration {
        let work = if self.sizes[0] == size {
            self.works[0]
        } else if self.sizes[1] == size {
            self.works[1]
        } else {
            self.learn(size)
        };
        if idle {
            self.carried = 0;
        }
        // Compares carried + rest with the rate, without overflow at rates above 2^63.
        if work.rest != 0 && self.carried >= self.rate - work.rest {
            self.carried -= self.rate - work.rest;
            work.time.saturating_add(Duration::from_nanos(1))
        } else {
            self.carried += work.rest;
            work.time
        }
    }

    /// The work of a packet of another size, which is kept.
    #[inline(never)]
    fn learn(&mut self, size: u32) -> Work {
        let work = self.work(size);
        self.sizes = [size, self.sizes[0]];
        self.works = [work, self.works[0]];
        work
    }

    fn work(&self, size: u32) -> Work {
        if self.rate == 0 {
            return Work {
                time: Duration::MAX,
                rest: 0,
            };
        }
        // Up to two gigabytes fit in 64 bits, whose division is much faster.
        if let Some(work) = u64::from(size).checked_mul(WORK_PER_BYTE) {
            return Work {
                time: Duration::from_nanos(work / self.rate),
                rest: work % self.rate,
            };
        }
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
    /// Work carried over, as in [`Constant`].
    carried: u128,
}

impl Steps {
    /// Serves a packet bit by bit at the rate in force, across steps. At a rate of zero it waits
    /// for the next step.
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
