//! Capacity traces in mahimahi's format: each line is a time in milliseconds at which the link may
//! deliver 1504 bytes, an opportunity. The trace repeats from its last line's time on, so that a
//! line `0` coincides with the last line of the previous round.
//!
//! R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015. Where the
//! paper leaves details open, this follows mahimahi's `link_queue.cc`:
//! - an opportunity serves packets that wait when it comes; a packet that arrives at the same time
//!   is late
//! - small packets share an opportunity, a large packet takes several
//! - the rest of an opportunity is lost if the queue is empty
//! - a packet waits in the queue until the first opportunity that takes any part of it
//!
//! It departs from that file in one point: empty lines are skipped.
//!
//! [`csv`] reads a recorded rate instead, and [`statistics`] says what a trace is like.

mod csv;
mod statistics;

pub use statistics::{STALL, TraceStatistics, WINDOW};

use crate::served::Served;
use std::sync::Arc;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Bytes that one opportunity delivers.
pub(crate) const OPPORTUNITY: u32 = 1504;
/// The maximum number of lines of a trace: an hour at 10 Gbit/s takes 3 billion, a recorded path a
/// few million.
const MAX_LINES: usize = 50_000_000;
/// The maximum length of a trace: its statistics take memory for each tenth of a second.
const MAX_PERIOD: Duration = Duration::from_secs(7 * 24 * 3600);

/// A capacity trace.
#[derive(Debug, PartialEq, Eq)]
pub struct Trace {
    /// Times of the opportunities in one period, nanoseconds, in order.
    opportunities: Vec<u64>,
    /// Length of a period, nanoseconds; at least the last opportunity's time, and not zero.
    period: u64,
}

/// Why a trace cannot be read. Its text is meant for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct TraceError {
    /// Line of the file, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// How a recorded rate is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// A time in milliseconds for each 1504 bytes.
    Mahimahi,
    /// A time in seconds and a rate in Mbit/s on each line.
    Csv,
}

impl TraceFormat {
    /// The format of a text: CSV has a comma in its first line that is not a comment.
    pub fn of(text: &str) -> Self {
        let says = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let first = text.lines().map(str::trim).find(says);
        match first.is_some_and(|line| line.contains(',')) {
            true => Self::Csv,
            false => Self::Mahimahi,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mahimahi => "mahimahi",
            Self::Csv => "csv",
        }
    }
}

impl Trace {
    /// Reads a trace in its [format](TraceFormat::of).
    ///
    /// # Errors
    /// If a line is not a whole number of milliseconds (or not two numbers, in CSV) or is earlier
    /// than the line before it (the error names the line), or if the trace is empty, spans no time,
    /// or spans more than a week.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let trace = match TraceFormat::of(text) {
            TraceFormat::Csv => csv::parse(text)?,
            TraceFormat::Mahimahi => Self::parse_mahimahi(text)?,
        };
        if trace.period() > MAX_PERIOD {
            return Err(TraceError {
                line: text.lines().count(),
                why: format!("the trace spans {}, more than {MAX_PERIOD}", trace.period()),
            });
        }
        Ok(trace)
    }

    /// A trace with these opportunities, nanoseconds in order, which repeats after `period`.
    /// `None` if the period is zero or an opportunity comes after it.
    pub(crate) fn of_opportunities(opportunities: Vec<u64>, period: Duration) -> Option<Self> {
        let period = period.as_nanos();
        let sound = opportunities.is_sorted() && opportunities.last()? <= &period;
        (sound && period > 0).then_some(Self {
            opportunities,
            period,
        })
    }

    fn parse_mahimahi(text: &str) -> Result<Self, TraceError> {
        let mut opportunities = Vec::new();
        let mut last = 0;
        let mut lines = 0;
        for (i, line) in text.lines().enumerate() {
            lines = i + 1;
            let fail = |why: String| TraceError { line: lines, why };
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            // 2^40 ms are 34 years: leaves room for nanoseconds in 64 bits.
            let ms: u64 = line
                .parse()
                .ok()
                .filter(|ms| *ms < 1 << 40)
                .ok_or_else(|| fail(format!("`{line}` is not a whole number of milliseconds")))?;
            if ms < last {
                return Err(fail(format!(
                    "{ms} ms comes after {last} ms: the times of a recorded rate must not go back"
                )));
            }
            if opportunities.len() == MAX_LINES {
                return Err(fail(format!("a trace may have at most {MAX_LINES} lines")));
            }
            last = ms;
            opportunities.push(ms * 1_000_000);
        }
        let fail = |why: &str| TraceError {
            line: lines.max(1),
            why: why.to_owned(),
        };
        if opportunities.is_empty() {
            return Err(fail(
                "the trace is empty: it needs one time in milliseconds per line",
            ));
        }
        if last == 0 {
            return Err(fail("the trace ends at 0 ms: it must span some time"));
        }
        Ok(Self {
            opportunities,
            period: last * 1_000_000,
        })
    }

    /// The mean rate over one period.
    pub fn mean_rate(&self) -> Rate {
        let bytes = self.opportunities.len() as u64 * u64::from(OPPORTUNITY);
        Rate::over(Bytes::new(bytes), self.period())
    }

    /// The length after which the trace repeats.
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period)
    }

    /// What it may deliver from time zero to `until`, inclusive.
    pub fn capacity(&self, until: Time) -> Bytes {
        let rounds = until.as_nanos() / self.period;
        let within = until.as_nanos() % self.period;
        let all = self.opportunities.len() as u64;
        let some = self.opportunities.partition_point(|t| *t <= within) as u64;
        Bytes::new(u64::from(OPPORTUNITY)).times(rounds.saturating_mul(all).saturating_add(some))
    }

    pub(crate) fn reader(this: Arc<Self>) -> Reader {
        Reader {
            trace: this,
            round: 0,
            next: 0,
            left: 0,
            left_at: Time::ZERO,
        }
    }
}

/// Serves packets by a trace's opportunities. Times never go back.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    trace: Arc<Trace>,
    /// Number of complete periods.
    round: u64,
    /// The next opportunity of this period.
    next: usize,
    /// Bytes left of the opportunity at `left_at`.
    left: u32,
    left_at: Time,
}

impl Reader {
    /// The opportunity that takes the first bytes of a packet that arrives now, after all packets
    /// before it.
    pub fn begin(&mut self, now: Time) -> Time {
        if self.left_at <= now || self.left == 0 {
            self.left = OPPORTUNITY;
            self.left_at = self.advance(now);
        }
        self.left_at
    }

    /// Serves a packet that arrives now, after all packets before it.
    pub fn serve(&mut self, now: Time, size: u32) -> Served {
        let begins = self.begin(now);
        let mut need = size;
        while self.left < need {
            need -= self.left;
            self.left = OPPORTUNITY;
            self.left_at = self.advance(now);
        }
        self.left -= need;
        Served {
            begins,
            ends: self.left_at,
        }
    }

    /// Takes the first unused opportunity after `now`; `Time::MAX` at the end of all time.
    fn advance(&mut self, now: Time) -> Time {
        let now = now.as_nanos();
        // All opportunities of earlier rounds are at or before the start of this one.
        let round = now / self.trace.period;
        if round > self.round {
            self.round = round;
            self.next = 0;
        }
        if let Some(at) = self.take(now) {
            return at;
        }
        // The rest of this round has no opportunity: a rate as CSV may end with zero.
        self.round += 1;
        self.next = 0;
        self.take(now).unwrap_or(Time::MAX)
    }

    /// Takes the first unused opportunity of this round after `now`, if there is one.
    fn take(&mut self, now: u64) -> Option<Time> {
        let Trace {
            opportunities,
            period,
        } = &*self.trace;
        let base = self.round.checked_mul(*period)?;
        let ahead = &opportunities[self.next..];
        let skip = match ahead.first() {
            // Busy: the next one is the answer.
            Some(first) if base.saturating_add(*first) > now => 0,
            // Idle for long: skip by bisection.
            _ => ahead.partition_point(|t| base.saturating_add(*t) <= now),
        };
        let at = base.saturating_add(*ahead.get(skip)?);
        self.next += skip + 1;
        Some(Time::from_nanos(at))
    }
}
