//! `whimbrel link --watch`: the path over time, on the terminal.
//!
//! The commands' output goes to a file meanwhile: its last lines are shown, and all of it is
//! printed at the end.

use crate::{Rates, Screen, View, until};
use anyhow::Context;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use whimbrel_link::{LossCause, Observer};
use whimbrel_net::{Counters, Side};
use whimbrel_report::text_table;
use whimbrel_units::Time;

/// Time between views.
const REFRESH: Duration = Duration::from_millis(500);
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
            let mut view = view(title);
            let mut rates = Rates::default();
            let update = |view: &mut View, now| {
                add(view, &mut rates, &latest.lock(), now);
                view.output = tail(&file);
                Ok::<_, io::Error>(())
            };
            // A terminal that is gone ends the view, not the commands.
            let _ = until(&stop, REFRESH, &mut screen, &mut view, update);
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
        self.stopped.store(true, Relaxed);
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

fn view(title: String) -> View {
    let curves = [
        "near to far, Mbit/s",
        "queue near to far, packets",
        "lost near to far, packets/s",
        "far to near, Mbit/s",
    ];
    View::new(title, &curves)
}

/// Adds what the directions last reported.
fn add(view: &mut View, rates: &mut Rates<3>, latest: &[(Counters, usize); 2], now: Instant) {
    let [(forward, waiting), (backward, _)] = latest;
    let mbit = |c: &Counters| c.delivered_bytes.get() as f64 * 8e-6;
    let totals = [mbit(forward), lost(forward) as f64, mbit(backward)];
    if let Some([there, lost, back]) = rates.at(now, totals) {
        view.push([there, *waiting as f64, lost, back]);
        view.table = losses([forward, backward]);
    }
}

fn lost(c: &Counters) -> u64 {
    c.queue_overflow + c.early + c.random + c.outage + c.contention
}

/// Losses by cause.
fn losses(directions: [&Counters; 2]) -> String {
    let causes = [
        "delivered",
        "queue full",
        "early",
        "random",
        "outage",
        "contention",
    ];
    let columns = [&[("", false)], &causes.map(|head| (head, true))[..]].concat();
    let row = |(name, c): (&str, &Counters)| {
        let all = [
            c.delivered,
            c.queue_overflow,
            c.early,
            c.random,
            c.outage,
            c.contention,
        ];
        let cells = all.iter().map(u64::to_string);
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    let names = ["near to far", "far to near"];
    let rows: Vec<Vec<String>> = names.into_iter().zip(directions).map(row).collect();
    text_table(&columns, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Curve;
    use std::io::Write;
    use whimbrel_units::Bytes;

    #[test]
    fn a_view_has_rates_and_losses_of_the_path() {
        let (mut view, mut rates) = (view("path of true".to_owned()), Rates::default());
        let start = Instant::now();
        let latest = Latest::default();
        let counters = |mb: u64, random| Counters {
            delivered_bytes: Bytes::new(mb * 1_000_000),
            random,
            ..Counters::default()
        };
        add(&mut view, &mut rates, &latest.lock(), start);
        latest.progress(Time::ZERO, Side::Forward, &counters(1, 3), 17);
        let later = start + Duration::from_millis(500);
        add(&mut view, &mut rates, &latest.lock(), later);
        let last: Vec<f64> = view.curves.iter().map(Curve::last).collect();
        // 1 MB in half a second; 17 packets wait; 3 losses.
        assert_eq!(last, [16.0, 17.0, 6.0, 0.0]);
        assert!(view.table.contains("near to far"), "{}", view.table);
    }

    #[test]
    fn each_loss_of_the_curve_is_in_the_table() {
        let counters = Counters {
            queue_overflow: 1,
            early: 20,
            random: 300,
            outage: 4000,
            contention: 50_000,
            ..Counters::default()
        };
        assert_eq!(lost(&counters), 54_321);
        let table = losses([&counters, &Counters::default()]);
        let row = table.lines().find(|line| line.contains("near to far"));
        let words = row
            .expect("a row")
            .split_whitespace()
            .map(str::parse::<u64>);
        assert_eq!(words.flatten().sum::<u64>(), 54_321, "{table}");
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
