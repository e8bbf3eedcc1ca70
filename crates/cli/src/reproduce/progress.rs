//! The progress bar over all scenarios to run, with the expected time left.

use crate::runs::{PATIENCE, Watch, watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Expected run time of a scenario in seconds if no run time is known.
const UNKNOWN: f64 = 5.0;
/// The message is the running experiment and the expected time left.
const TEMPLATE: &str = "{wide_bar} {msg}";
/// The fraction of all work after which the measured speed counts as much as the expected speed.
const TRUST: f64 = 0.05;

/// A progress bar on stderr, if stderr is a terminal and the work takes longer than [`PATIENCE`];
/// dropping it removes it.
pub struct Progress {
    bar: ProgressBar,
    begin: Instant,
    /// Expected run time of each scenario to run, in seconds.
    expected: BTreeMap<String, f64>,
    work: Mutex<Work>,
    watch: Option<Arc<dyn Watch>>,
}

/// The state of the work, in expected seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Work {
    /// All scenarios.
    all: f64,
    /// The finished scenarios.
    done: f64,
    /// The running scenario.
    running: f64,
    /// Its finished runs, and all its runs.
    runs: (usize, usize),
}

impl Progress {
    /// For the scenarios with these ids; `known` are known run times in seconds.
    pub fn new<'a>(ids: impl Iterator<Item = &'a str>, known: &BTreeMap<String, f64>) -> Self {
        let expected = expected(ids, known);
        let all: f64 = expected.values().sum();
        let bar = ProgressBar::with_draw_target(Some(millis(all)), ProgressDrawTarget::hidden());
        // The template is constant and tested; without it the bar has the default style.
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        Self {
            bar,
            begin: Instant::now(),
            expected,
            work: Mutex::new(Work {
                all,
                done: 0.0,
                running: 0.0,
                runs: (0, 0),
            }),
            watch: watch(),
        }
    }

    /// A scenario starts, with this many runs; `name` is the experiment to show.
    pub fn begin(&self, scenario_id: &str, name: &str, runs: usize) {
        let expected = self.expected.get(scenario_id);
        self.change(|work| {
            work.running = expected.copied().unwrap_or(0.0);
            work.runs = (0, runs);
        });
        self.bar.set_prefix(name.to_owned());
        if let Some(watch) = &self.watch {
            watch.begin(runs as f64, name);
        }
    }

    /// One of its runs is done. Returns whether to go on.
    pub fn step(&self) -> bool {
        if let Some(watch) = &self.watch {
            return watch.done(1.0);
        }
        let work = self.change(|work| work.runs.0 += 1);
        self.show(&work);
        true
    }

    /// All its runs are done.
    pub fn end(&self) {
        let work = self.change(|work| {
            work.done += work.running;
            work.running = 0.0;
            work.runs = (0, 0);
        });
        self.show(&work);
    }

    /// Prints while the bar is hidden.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    fn change(&self, change: impl FnOnce(&mut Work)) -> Work {
        let mut work = self
            .work
            .lock()
            .expect("no thread panics while it holds the lock");
        change(&mut work);
        *work
    }

    fn show(&self, work: &Work) {
        let elapsed = self.begin.elapsed();
        if self.bar.is_hidden() {
            if elapsed < PATIENCE || !io::stderr().is_terminal() {
                return;
            }
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(millis(work.past()));
        let left = words(work.left(elapsed.as_secs_f64()));
        self.bar
            .set_message(format!("{}, {left} left", self.bar.prefix()));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Work {
    fn past(&self) -> f64 {
        let share = match self.runs {
            (_, 0) => 0.0,
            (done, all) => done as f64 / all as f64,
        };
        self.done + self.running * share
    }

    /// Expected seconds left after `elapsed` seconds. The remaining work is expected to be as much
    /// slower than expected as the finished work was; at first, when little is finished, the
    /// expectation counts more.
    fn left(&self, elapsed: f64) -> f64 {
        let past = self.past();
        let trusted = TRUST * self.all;
        if past + trusted <= 0.0 {
            return 0.0;
        }
        (self.all - past).max(0.0) * (elapsed + trusted) / (past + trusted)
    }
}

/// The expected run time of each scenario: the known one, or else the median of all known ones.
fn expected<'a>(
    ids: impl Iterator<Item = &'a str>,
    known: &BTreeMap<String, f64>,
) -> BTreeMap<String, f64> {
    let mut all: Vec<f64> = known.values().copied().collect();
    all.sort_by(f64::total_cmp);
    let middle = all.get(all.len() / 2).copied().unwrap_or(UNKNOWN);
    ids.map(|id| (id.to_owned(), known.get(id).copied().unwrap_or(middle)))
        .collect()
}

fn millis(seconds: f64) -> u64 {
    (seconds * 1000.0) as u64
}

/// A time for the reader: `40 s`, `4 min`.
fn words(seconds: f64) -> String {
    if seconds < 90.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.0} min", seconds / 60.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three scenarios, of 10, 30 and 60 seconds: 100 in all.
    fn work(done: f64, running: f64, runs: (usize, usize)) -> Work {
        Work {
            all: 100.0,
            done,
            running,
            runs,
        }
    }

    #[test]
    fn the_template_is_valid() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }

    #[test]
    fn at_the_beginning_the_expected_time_is_left() {
        assert_eq!(work(0.0, 10.0, (0, 8)).left(0.0), 100.0);
    }

    #[test]
    fn at_the_expected_speed_the_expected_time_is_left() {
        // Half of the second scenario: 10 + 15 seconds.
        let left = work(10.0, 30.0, (4, 8)).left(25.0);
        assert!((left - 75.0).abs() < 1e-9, "{left}");
    }

    #[test]
    fn a_slow_machine_gains_weight_with_finished_work() {
        let early = work(0.0, 10.0, (1, 10)).left(2.0);
        let late = work(40.0, 60.0, (30, 60)).left(140.0);
        // One expected second took two: with 5 s of trust, 99 times 7/6.
        assert!((early - 115.5).abs() < 1e-9, "{early}");
        // 70 expected seconds took 140: 30 times 145/75, nearly 60.
        assert!((late - 58.0).abs() < 1e-9, "{late}");
    }

    #[test]
    fn nothing_is_left_when_all_is_done() {
        assert_eq!(work(100.0, 0.0, (0, 0)).left(321.0), 0.0);
        assert_eq!(work(0.0, 0.0, (0, 0)).past(), 0.0);
    }

    #[test]
    fn a_scenario_without_known_run_time_takes_the_median() {
        let known = [("a", 1.0), ("b", 4.0), ("c", 90.0)];
        let known = known.map(|(id, seconds)| (id.to_owned(), seconds)).into();
        let found = expected(["new", "c"].into_iter(), &known);
        assert_eq!((found["new"], found["c"]), (4.0, 90.0));
        assert_eq!(
            expected(["new"].into_iter(), &BTreeMap::new())["new"],
            UNKNOWN
        );
    }

    #[test]
    fn times_are_shown_in_seconds_or_minutes() {
        assert_eq!(
            [0.4, 89.0, 91.0, 400.0].map(words),
            ["0 s", "89 s", "2 min", "7 min"]
        );
    }
}
