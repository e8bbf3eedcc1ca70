//! Lines on an output, written by a thread of their own.
//!
//! Who reads the output may be slow, hang or be gone; a server neither waits nor stops for that.
//! Lines that do not fit a queue are dropped, and their number stands where they are missing. If
//! nobody reads any more, the caller is told once.

use crate::lock::lock;
use serde_json::json;
use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Lines that wait to be written, at most.
const WAITING: usize = 10_000;
/// How long the end of the server waits for lines that are not written yet.
const END: Duration = Duration::from_secs(1);

/// Lines that were dropped since the last that was queued.
#[derive(Debug)]
struct Missing {
    count: Mutex<u64>,
    as_json: bool,
}

impl Missing {
    fn lock(&self) -> MutexGuard<'_, u64> {
        lock(&self.count)
    }

    /// The line that stands for them.
    fn line(&self, count: u64) -> String {
        if self.as_json {
            json!({ "event": "dropped", "lines": count }).to_string()
        } else {
            format!("{count} lines are missing here: the output was not read in time")
        }
    }
}

/// The output of the server. When it is dropped, what waits is written.
#[derive(Debug)]
pub struct Output {
    /// `None` only while it is dropped.
    lines: Option<SyncSender<String>>,
    missing: Arc<Missing>,
    /// Hears when all is written.
    written: Mutex<Receiver<()>>,
}

impl Output {
    /// Output to `out`; `as_json`: lines are JSON objects. `gone` is called if nobody reads it any
    /// more.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn new(
        out: impl Write + Send + 'static,
        as_json: bool,
        gone: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (lines, waiting) = mpsc::sync_channel(WAITING);
        let (done, written) = mpsc::channel();
        let missing = Arc::new(Missing {
            count: Mutex::new(0),
            as_json,
        });
        let at_end = Arc::clone(&missing);
        let write = move || {
            if write_all(out, &waiting, &at_end).is_err() {
                gone();
            }
            done.send(()).ok();
        };
        thread::Builder::new()
            .name("output".to_owned())
            .spawn(write)?;
        Ok(Self {
            lines: Some(lines),
            missing,
            written: Mutex::new(written),
        })
    }

    /// Prints a line, at once or soon. Never waits.
    pub fn print(&self, line: &str) {
        let Some(lines) = &self.lines else { return };
        let mut missing = self.missing.lock();
        if *missing > 0 && lines.try_send(self.missing.line(*missing)).is_ok() {
            *missing = 0;
        }
        if *missing > 0 || lines.try_send(line.to_owned()).is_err() {
            *missing += 1;
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.lines.take();
        let written = self
            .written
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        written.recv_timeout(END).ok();
    }
}

/// Writes lines until there are no more, or nobody reads them.
fn write_all(mut out: impl Write, lines: &Receiver<String>, missing: &Missing) -> io::Result<()> {
    for line in lines {
        writeln!(out, "{line}")?;
    }
    let count = *missing.lock();
    if count > 0 {
        writeln!(out, "{}", missing.line(count))?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Condvar, Mutex};

    /// Takes nothing before it is opened.
    #[derive(Clone, Default)]
    struct Gate(Arc<(Mutex<Taken>, Condvar)>);

    /// Whether it is open, and what it took.
    type Taken = (bool, Vec<u8>);

    impl Gate {
        fn open(&self) {
            self.0.0.lock().expect("no panic").0 = true;
            self.0.1.notify_all();
        }

        fn text(&self) -> String {
            String::from_utf8(self.0.0.lock().expect("no panic").1.clone()).expect("UTF-8")
        }
    }

    impl Write for Gate {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            let state = self.0.0.lock().expect("no panic");
            let mut state = self.0.1.wait_while(state, |s| !s.0).expect("no panic");
            state.1.extend_from_slice(data);
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_hangs_stops_nothing_and_learns_what_it_missed() {
        let gate = Gate::default();
        let output = Output::new(gate.clone(), true, || {}).expect("a thread");
        // Returns although nothing can be written. One line may be in the writer's hands.
        for n in 0..WAITING + 10 {
            output.print(&n.to_string());
        }
        gate.open();
        drop(output);
        // The writer may take its line at any time, also after the first lines are dropped. So
        // there may be two gaps; each must have the right number where it stands.
        let text = gate.text();
        let (mut next, mut missing) = (0, 0);
        for line in text.lines() {
            let read: serde_json::Value = serde_json::from_str(line).expect("JSON");
            if let Some(n) = read.as_u64() {
                assert_eq!(n, next, "{line}");
                next += 1;
            } else {
                assert_eq!(read["event"], "dropped", "{line}");
                let lines = read["lines"].as_u64().expect("a number");
                next += lines;
                missing += lines;
            }
        }
        assert_eq!(next, WAITING as u64 + 10, "every line is written or missed");
        assert!(matches!(missing, 9 | 10), "{missing}");
    }

    #[test]
    fn everything_is_written_in_order_before_the_end() {
        let gate = Gate::default();
        gate.open();
        let output = Output::new(gate.clone(), false, || {}).expect("a thread");
        output.print("a");
        output.print("b");
        drop(output);
        assert_eq!(gate.text(), "a\nb\n");
    }
}
