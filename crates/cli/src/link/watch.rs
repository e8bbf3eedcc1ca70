//! `whimbrel link --watch`: the path over time, on the terminal.
//!
//! The commands' output goes to a file meanwhile: its last lines are shown, and all of it is printed
//! at the end.

use crate::watch::{Curve, Screen, View};
use anyhow::Context;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use whimbrel_link::{LossCause, Observer};
use whimbrel_net::{Counters, Side};
use whimbrel_units::Time;

/// Time between views.
const REFRESH: Duration = Duration::from_millis(500);
/// Time between looks for the end.
const POLL: Duration = Duration::from_millis(50);
/// Bytes of output whose lines are shown.
const TAIL: u64 = 8 << 10;

/// The title of a view.
pub fn title(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    format!("path of {}", words.join(" "))
}

/// What the directions last reported: near to far, far to near.
#[derive(Debug, Default)]
struct Latest(Mutex<[(Counters, usize); 2]>);

impl Latest {
    fn lock(&self) -> MutexGuard<'_, [(Counters, usize); 2]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Latest {
    fn lost(&self, _: Time, _: Side, _: &[u8], _: LossCause) {}

    fn progress(&self, _: Time, side: Side, counters: &Counters, waiting: usize) {
        let place = match side {
            Side::Forward => 0,
            Side::Reverse => 1,
        };
        self.lock()[place] = (*counters, waiting);
    }
}

/// A view before the path exists.
pub struct Live {
    screen: Screen,
    output: Output,
    title: String,
    latest: Arc<Latest>,
}

impl Live {
    /// Takes the terminal, and sends what is printed from here on to a file. Starts no thread.
    ///
    /// # Errors
    /// If standard error is not a terminal.
    pub fn open(title: String) -> anyhow::Result<Self> {
        Ok(Self {
            screen: Screen::open()?,
            output: Output::redirect().context("cannot collect the output of the command")?,
            title,
            latest: Arc::default(),
        })
    }

    /// What learns of the path.
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::clone(&self.latest) as _
    }

    /// Shows the path from here on.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(self) -> io::Result<Running> {
        let Self {
            mut screen,
            output,
            title,
            latest,
        } = self;
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        let file = output.file.try_clone()?;
        let work = move || {
            let mut over_time = OverTime::new(title);
            while !stop.load(Ordering::Relaxed) {
                let now = Instant::now();
                over_time.add(&latest.lock(), now);
                over_time.view.output = tail(&file);
                if screen.show(&over_time.view).is_err() {
                    break;
                }
                while now.elapsed() < REFRESH && !stop.load(Ordering::Relaxed) {
                    thread::sleep(POLL);
                }
            }
        };
        let thread = thread::Builder::new().name("view".to_owned()).spawn(work)?;
        Ok(Running {
            thread,
            stopped,
            output,
        })
    }
}

/// A view that is shown.
pub struct Running {
    thread: JoinHandle<()>,
    stopped: Arc<AtomicBool>,
    output: Output,
}

impl Running {
    /// Gives the terminal back, and prints what the commands have printed.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn finish(self) -> io::Result<()> {
        self.stopped.store(true, Ordering::Relaxed);
        // A view that failed has nothing to add.
        let _ = self.thread.join();
        let file = self.output.file.try_clone()?;
        drop(self.output);
        let mut out = io::stdout().lock();
        let (mut at, mut block) = (0, vec![0; 1 << 16]);
        loop {
            match file.read_at(&mut block, at)? {
                0 => return out.flush(),
                count => {
                    out.write_all(&block[..count])?;
                    at += count as u64;
                }
            }
        }
    }
}

/// A file in the place of standard output and error, and nothing in that of standard input.
/// Dropping it restores them.
struct Output {
    file: File,
    before: [OwnedFd; 3],
}

impl Output {
    fn redirect() -> io::Result<Self> {
        let before = [
            io::stdin().as_fd().try_clone_to_owned()?,
            io::stdout().as_fd().try_clone_to_owned()?,
            io::stderr().as_fd().try_clone_to_owned()?,
        ];
        let file = tempfile::tempfile()?;
        let nothing = File::open("/dev/null")?;
        let output = Self { file, before };
        dup2_stdin(&nothing)?;
        dup2_stdout(&output.file)?;
        dup2_stderr(&output.file)?;
        Ok(output)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let [stdin, stdout, stderr] = &self.before;
        let _ = io::stdout().flush();
        let _ = dup2_stdin(stdin);
        let _ = dup2_stdout(stdout);
        let _ = dup2_stderr(stderr);
    }
}

/// The last lines of a file. A line that is drawn over itself has its last state.
fn tail(file: &File) -> Vec<String> {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = vec![0; usize::try_from(length.min(TAIL)).unwrap_or(0)];
    let count = file
        .read_at(&mut bytes, length.saturating_sub(TAIL))
        .unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..count]);
    let newest = |line: &str| line.trim_end().rsplit('\r').next().unwrap_or("").to_owned();
    text.lines().map(newest).collect()
}

/// The view and what its rates need.
struct OverTime {
    view: View,
    before: Option<(Instant, [Counters; 2])>,
}

impl OverTime {
    fn new(title: String) -> Self {
        let names = [
            "near to far, Mbit/s",
            "queue near to far, packets",
            "lost near to far, packets/s",
            "far to near, Mbit/s",
        ];
        Self {
            view: View {
                title,
                curves: names.map(Curve::new).to_vec(),
                ..View::default()
            },
            before: None,
        }
    }

    fn add(&mut self, latest: &[(Counters, usize); 2], now: Instant) {
        let counters = [latest[0].0, latest[1].0];
        let before = self.before.replace((now, counters));
        let Some((then, before)) = before else {
            return;
        };
        let seconds = now.saturating_duration_since(then).as_secs_f64();
        if seconds <= 0.0 {
            return;
        }
        let rate = |side: usize| {
            let bytes = counters[side].delivered_bytes - before[side].delivered_bytes;
            bytes.get() as f64 * 8e-6 / seconds
        };
        let losses = lost(&counters[0]).saturating_sub(lost(&before[0]));
        let values = [
            rate(0),
            latest[0].1 as f64,
            losses as f64 / seconds,
            rate(1),
        ];
        for (curve, value) in self.view.curves.iter_mut().zip(values) {
            curve.push(value);
        }
        self.view.table = table(&counters);
    }
}

fn lost(c: &Counters) -> u64 {
    c.queue_overflow + c.early + c.random + c.outage + c.contention
}

/// Losses by cause.
fn table(counters: &[Counters; 2]) -> String {
    let heads = ["", "delivered", "queue full", "early", "random", "outage"].map(str::to_owned);
    let right = [false, true, true, true, true, true];
    let row = |(name, c): (&str, &Counters)| {
        let all = [c.delivered, c.queue_overflow, c.early, c.random, c.outage];
        let cells = all.iter().map(u64::to_string);
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = ["near to far", "far to near"]
        .into_iter()
        .zip(counters)
        .map(row)
        .collect();
    whimbrel_report::plain(&heads, &right, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use whimbrel_units::Bytes;

    #[test]
    fn rates_are_of_the_time_between_two_views() {
        let mut over_time = OverTime::new("path of true".to_owned());
        let start = Instant::now();
        let latest = Latest::default();
        let counters = |mb: u64, random| Counters {
            delivered_bytes: Bytes::new(mb * 1_000_000),
            random,
            ..Counters::default()
        };
        over_time.add(&latest.lock(), start);
        latest.progress(Time::ZERO, Side::Forward, &counters(1, 3), 17);
        over_time.add(&latest.lock(), start + Duration::from_millis(500));
        let last: Vec<f64> = over_time.view.curves.iter().map(Curve::last).collect();
        // 1 MB in half a second; 17 packets wait; 3 losses.
        assert_eq!(last, [16.0, 17.0, 6.0, 0.0]);
        assert!(
            over_time.view.table.contains("near to far"),
            "{}",
            over_time.view.table
        );
        // Nothing has passed since.
        over_time.add(&latest.lock(), start + Duration::from_secs(1));
        assert_eq!(over_time.view.curves[0].last(), 0.0);
    }

    #[test]
    fn the_last_lines_of_output_are_found() {
        let mut file = tempfile::tempfile().expect("a file");
        write!(file, "{}first\n 10 %\r 20 %\nlast", "x\n".repeat(9000)).expect("written");
        let lines = tail(&file);
        assert_eq!(lines[lines.len() - 3..], ["first", " 20 %", "last"]);
        assert!(lines.len() < 5000);
    }
}
