//! When each part of the data was sent for the first time, as nearly as the events show it.

use super::before;
use std::collections::VecDeque;

/// What had been sent at one time.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// The sequence number behind the last data.
    next: u32,
    /// Microseconds of `CLOCK_MONOTONIC`.
    time: u64,
}

/// A record of how far the connection had sent at each event, since the first unacknowledged byte.
///
/// An event reports the state before it allows more data to be sent. So data between the marks of
/// two events were sent between their times.
#[derive(Debug)]
pub(super) struct SendLog {
    marks: VecDeque<Mark>,
}

/// The first transmission of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstSent {
    /// Not sent before this time, microseconds.
    pub earliest: u64,
    /// Not sent after this time, microseconds; `None`: after the last event.
    pub latest: Option<u64>,
    /// The nearest known beginning of a segment at or before it.
    pub boundary: u32,
}

impl SendLog {
    /// Maximum number of marks.
    pub const MOST: usize = 1024;

    /// Begins with nothing sent before sequence number `next`.
    pub fn new(next: u32, time: u64) -> Self {
        Self {
            marks: VecDeque::from([Mark { next, time }]),
        }
    }

    /// Records an event. `spacing`: marks closer than this are joined.
    pub fn record(&mut self, next: u32, time: u64, spacing: u64) {
        let Some(&last) = self.marks.back() else {
            return;
        };
        if !before(last.next, next) {
            // Nothing was sent since: the next data are not older than this. The first mark of a
            // number also says that data below it were sent by then, so two are kept.
            let confirms = self.marks.len() >= 2
                && self.marks[self.marks.len() - 2].next == next
                && last.next == next;
            match self.marks.back_mut() {
                Some(mark) if confirms && time > mark.time => mark.time = time,
                _ if time > last.time && last.next == next => self.push(Mark { next, time }),
                _ => {}
            }
            return;
        }
        let len = self.marks.len();
        if len >= 2 && last.time.saturating_sub(self.marks[len - 2].time) < spacing {
            self.marks.pop_back();
        }
        self.push(Mark {
            next,
            time: time.max(last.time),
        });
    }

    fn push(&mut self, mark: Mark) {
        if self.marks.len() >= Self::MOST {
            self.marks.pop_front();
        }
        self.marks.push_back(mark);
    }

    /// Forgets what was acknowledged.
    pub fn acknowledge(&mut self, una: u32) {
        while self.marks.len() >= 2 && !before(una, self.marks[1].next) {
            self.marks.pop_front();
        }
    }

    /// When the byte `seq` was first sent; `None` if the record does not reach back so far.
    pub fn first_sent(&self, seq: u32) -> Option<FirstSent> {
        // The marks ascend, so those at or before `seq` come first.
        let at = self.marks.partition_point(|mark| !before(seq, mark.next));
        let from = self.marks.get(at.checked_sub(1)?)?;
        Some(FirstSent {
            earliest: from.time,
            latest: self.marks.get(at).map(|mark| mark.time),
            boundary: from.next,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_were_sent_between_the_events_around_them() {
        let mut log = SendLog::new(1000, 10);
        log.record(3000, 20, 0);
        log.record(5000, 30, 0);
        let sent = |earliest, latest, boundary| {
            Some(FirstSent {
                earliest,
                latest,
                boundary,
            })
        };
        assert_eq!(log.first_sent(999), None);
        assert_eq!(log.first_sent(1000), sent(10, Some(20), 1000));
        assert_eq!(log.first_sent(3000), sent(20, Some(30), 3000));
        assert_eq!(log.first_sent(5000), sent(30, None, 5000));
        log.acknowledge(4000);
        assert_eq!(log.first_sent(2999), None);
        assert_eq!(log.first_sent(3500), sent(20, Some(30), 3000));
    }

    #[test]
    fn after_a_pause_data_are_not_dated_to_its_beginning() {
        let mut log = SendLog::new(0, 10);
        log.record(100, 20, 0);
        log.record(100, 500, 0);
        log.record(100, 900, 0);
        log.record(200, 910, 0);
        assert_eq!(log.first_sent(50).map(|sent| sent.latest), Some(Some(20)));
        assert_eq!(log.first_sent(100).map(|sent| sent.earliest), Some(900));
    }

    #[test]
    fn the_record_is_bounded_and_survives_wrapping_numbers() {
        let mut log = SendLog::new(u32::MAX - 500, 0);
        for i in 1..10_000_u32 {
            log.record((u32::MAX - 500).wrapping_add(i), u64::from(i), 0);
        }
        assert!(log.marks.len() <= SendLog::MOST);
        assert_eq!(log.first_sent(9_000).map(|sent| sent.earliest), Some(9_501));
        let mut joined = SendLog::new(0, 0);
        for i in 1..10_000_u32 {
            joined.record(i, u64::from(i), 100);
        }
        assert!(joined.marks.len() <= 110);
    }
}
