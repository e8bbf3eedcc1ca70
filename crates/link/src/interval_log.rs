//! Throughput, queue, delay and losses of each direction over time, as CSV.

use crate::log_file::LogFile;
use crate::{LossCause, Observer};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Mutex, PoisonError};
use whimbrel_net::{Counters, Side};
use whimbrel_units::{Duration, Time};

/// The first line of the file.
const HEADER: &str = "time_s,direction,offered_packets,delivered_bps,queue_packets,mean_wait_ms,\
                      dropped_queue,dropped_early,lost_random,lost_outage,lost_contention,marked\n";

/// Writes a line for each interval and direction to a file.
#[derive(Debug)]
pub struct IntervalLog {
    length: Duration,
    out: Mutex<Out>,
}

#[derive(Debug)]
struct Out {
    file: LogFile<BufWriter<File>>,
    /// Of each direction, when its last line was written, and its counters then.
    last: [(Time, Counters); 2],
    /// The newest report of each direction, if it has no line yet.
    newest: [Option<(Time, Counters, usize)>; 2],
}

impl Out {
    /// Writes a line for what a direction has done since its last one.
    fn line(&mut self, side: Side) {
        let Some((at, counters, waiting)) = self.newest[side as usize].take() else {
            return;
        };
        let (since, before) = std::mem::replace(&mut self.last[side as usize], (at, counters));
        let line = line(at, side, at.since(since), &before, &counters, waiting);
        self.file.write(|file| file.write_all(line.as_bytes()));
    }
}

impl IntervalLog {
    /// Writes to this file, which is empty, a line each `length`: at least 100 ms, the time between
    /// two reports of a path.
    pub fn new(file: File, length: Duration) -> Self {
        let mut out = Out {
            file: LogFile::new(BufWriter::new(file)),
            last: [(Time::ZERO, Counters::default()); 2],
            newest: [None; 2],
        };
        out.file.write(|file| file.write_all(HEADER.as_bytes()));
        let out = Mutex::new(out);
        Self { length, out }
    }

    /// Completes the file. The last line of a direction is for the rest of an interval.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn finish(&self) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        for side in [Side::Forward, Side::Reverse] {
            let (_, before) = out.last[side as usize];
            let newest = out.newest[side as usize];
            // An interval without packets needs no line.
            if newest.is_some_and(|(_, counters, _)| counters != before) {
                out.line(side);
            }
        }
        out.file.finish(Write::flush)
    }
}

impl Observer for IntervalLog {
    fn lost(&self, _: Time, _: Side, _: &[u8], _: LossCause) {}

    fn progress(&self, at: Time, side: Side, counters: &Counters, waiting: usize) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        out.newest[side as usize] = Some((at, *counters, waiting));
        let (since, _) = out.last[side as usize];
        // Reports come a little late, not early.
        if at.since(since) >= self.length {
            out.line(side);
        }
    }
}

fn line(
    at: Time,
    side: Side,
    took: Duration,
    before: &Counters,
    now: &Counters,
    waiting: usize,
) -> String {
    let direction = match side {
        Side::Forward => "forward",
        Side::Reverse => "backward",
    };
    let bits = (now.delivered_bytes.get() - before.delivered_bytes.get()) as f64 * 8.0;
    let served = left_the_queue(now) - left_the_queue(before);
    let waited = (now.waited - before.waited).as_secs_f64() * 1e3;
    format!(
        "{:.3},{direction},{},{:.0},{waiting},{:.3},{},{},{},{},{},{}\n",
        at.since(Time::ZERO).as_secs_f64(),
        now.offered - before.offered,
        bits / took.as_secs_f64().max(1e-9),
        waited / served.max(1) as f64,
        now.queue_overflow - before.queue_overflow,
        now.early - before.early,
        now.random - before.random,
        now.outage - before.outage,
        now.contention - before.contention,
        now.marked - before.marked,
    )
}

/// Packets that were served. A managed queue drops packets that it had admitted in an earlier
/// interval, so those that it admitted may become fewer.
fn left_the_queue(counters: &Counters) -> u64 {
    counters.delivered + counters.random + counters.outage + counters.contention
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_units::Bytes;

    #[test]
    fn a_line_has_what_an_interval_added() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let log = IntervalLog::new(file.reopen().expect("open"), Duration::from_millis(200));
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let counters = |n: u64| Counters {
            offered: 10 * n,
            delivered: 8 * n,
            random: n,
            delivered_bytes: Bytes::new(1000 * n),
            waited: Duration::from_millis(45 * n),
            queue_overflow: n,
            ..Counters::default()
        };
        for (ms, n) in [(100, 1), (200, 2), (300, 3), (400, 4)] {
            log.progress(at(ms), Side::Forward, &counters(n), 7);
        }
        log.progress(at(250), Side::Reverse, &counters(1), 0);
        log.progress(at(300), Side::Reverse, &counters(1), 0);
        // The path ends before another interval is over.
        log.progress(at(450), Side::Forward, &counters(5), 0);
        log.finish().expect("written");
        let text = std::fs::read_to_string(file.path()).expect("read");
        let mut lines = text.lines();
        let columns = lines.next().expect("a header").split(',').count();
        let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
        assert!(rows.iter().all(|row| row.len() == columns), "{text}");
        // 2000 bytes in 200 ms; 18 packets waited 90 ms in all; two were dropped.
        assert_eq!(
            rows[0][..7],
            ["0.200", "forward", "20", "80000", "7", "5.000", "2"]
        );
        assert_eq!(
            rows[1][..7],
            ["0.400", "forward", "20", "80000", "7", "5.000", "2"]
        );
        assert_eq!(rows[2][..4], ["0.250", "backward", "10", "32000"]);
        assert_eq!(rows[3][..4], ["0.450", "forward", "10", "160000"]);
        assert_eq!(rows.len(), 4);
    }

    #[test]
    fn an_interval_in_which_a_queue_only_drops_has_a_line() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let length = Duration::from_millis(200);
        let before = Counters {
            offered: 10,
            delivered: 2,
            ..Counters::default()
        };
        // CoDel drops three of the eight that wait, and one that waited 600 ms leaves.
        let now = Counters {
            early: 3,
            delivered: 3,
            waited: Duration::from_millis(600),
            ..before
        };
        let line = line(at(400), Side::Forward, length, &before, &now, 4);
        assert_eq!(line, "0.400,forward,0,0,4,600.000,0,3,0,0,0,0\n");
    }
}
