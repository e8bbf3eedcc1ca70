//! What the sending application writes, and when.

use whimbrel_units::{Bytes, Duration, Rate, Time};

/// An application's behaviour. The default writes as much as the stack takes, all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Application {
    /// It writes at this rate instead of as much as the stack takes.
    pub rate: Option<Rate>,
    /// It writes for a while and then pauses, over and over.
    pub pauses: Option<Pauses>,
}

/// Times of writing, and pauses between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pauses {
    /// Length of a time of writing.
    pub on: Duration,
    /// Length of a pause; longer than zero.
    pub off: Duration,
}

/// A paced application wakes up this often.
const TICK: Duration = Duration::from_millis(5);

/// An application in progress.
#[derive(Debug)]
pub(crate) struct Writer {
    application: Application,
    /// Bytes to write in all; endless if `None`.
    size: Option<u64>,
    written: u64,
    start: Time,
    stopped: bool,
}

impl Writer {
    /// An application that starts at `start` and writes `size` bytes.
    pub fn new(application: Application, size: Option<Bytes>, start: Time) -> Self {
        Self {
            application,
            size: size.map(Bytes::get),
            written: 0,
            start,
            stopped: false,
        }
    }

    /// It writes nothing from now on.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Whether it has written everything.
    pub fn is_done(&self) -> bool {
        self.stopped || self.size.is_some_and(|size| self.written >= size)
    }

    /// Bytes that it would write now.
    pub fn wants(&self, now: Time) -> u64 {
        if self.is_done() || !self.is_on(now) {
            return 0;
        }
        let left = self.size.map_or(u64::MAX, |size| size - self.written);
        let due = self.application.rate.map_or(u64::MAX, |rate| {
            // Not at each call: a stack that calls often would get a few bytes at a time, and send
            // them in packets of their own.
            let woken = self.start + TICK * (now.since(self.start).as_nanos() / TICK.as_nanos());
            let bits = rate.as_bits_per_sec() as f64 * self.time_on(woken).as_secs_f64();
            ((bits / 8.0) as u64).saturating_sub(self.written)
        });
        left.min(due)
    }

    /// The stack took so many bytes.
    pub fn wrote(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// When it acts next by itself.
    pub fn deadline(&self, now: Time) -> Option<Time> {
        if self.is_done() {
            return None;
        }
        let begins = self.application.pauses.and_then(|pauses| {
            let period = pauses.on + pauses.off;
            let into = now.since(self.start).as_nanos() % period.as_nanos().max(1);
            let on = into < pauses.on.as_nanos();
            (!on).then(|| now + Duration::from_nanos(period.as_nanos() - into))
        });
        begins.or_else(|| {
            self.application.rate.map(|_| {
                let ticks = now.since(self.start).as_nanos() / TICK.as_nanos() + 1;
                self.start + Duration::from_nanos(ticks * TICK.as_nanos())
            })
        })
    }

    fn is_on(&self, now: Time) -> bool {
        self.application.pauses.is_none_or(|pauses| {
            let period = (pauses.on + pauses.off).as_nanos().max(1);
            now.since(self.start).as_nanos() % period < pauses.on.as_nanos()
        })
    }

    /// For how long it has been writing.
    fn time_on(&self, now: Time) -> Duration {
        let since = now.since(self.start).as_nanos();
        let Some(pauses) = self.application.pauses else {
            return Duration::from_nanos(since);
        };
        let (on, period) = (
            pauses.on.as_nanos(),
            (pauses.on + pauses.off).as_nanos().max(1),
        );
        Duration::from_nanos(since / period * on + (since % period).min(on))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_bulk_application_wants_all_that_is_left() {
        let mut writer = Writer::new(Application::default(), Some(Bytes::new(1000)), Time::ZERO);
        assert_eq!(writer.wants(Time::ZERO), 1000);
        writer.wrote(400);
        assert_eq!(writer.wants(Time::ZERO + ms(1)), 600);
        assert_eq!(writer.deadline(Time::ZERO), None);
        writer.wrote(600);
        assert!(writer.is_done());
    }

    #[test]
    fn a_pausing_application_wakes_up_after_the_pause() {
        let pauses = Pauses {
            on: ms(100),
            off: ms(900),
        };
        let application = Application {
            rate: Some(Rate::from_bits_per_sec(8_000_000)),
            pauses: Some(pauses),
        };
        let writer = Writer::new(application, None, Time::ZERO);
        let at = |t| Time::ZERO + ms(t);
        assert_eq!(writer.wants(at(50)), 50_000);
        assert_eq!(writer.wants(at(500)), 0);
        assert_eq!(writer.deadline(at(500)), Some(at(1000)));
        // Only the times of writing count.
        assert_eq!(writer.wants(at(1050)), 150_000);
        // Between two ticks it writes nothing more.
        assert_eq!(writer.wants(at(1054)), 150_000);
        assert_eq!(writer.deadline(at(1051)), Some(at(1055)));
    }
}
