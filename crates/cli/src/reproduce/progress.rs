//! How far it is, and how long it will take: over all that is to be run.

use super::group::Group;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Work that takes less is over before a bar could be read.
const PATIENCE: Duration = Duration::from_secs(1);
/// What a scenario is taken to last that nobody has timed, when none was.
const UNKNOWN: f64 = 5.0;
/// The message says what runs, and how long all will take.
const TEMPLATE: &str = "{wide_bar} {msg}";
/// How much of all must be done until the time it took counts as much as what was expected.
const TRUST: f64 = 0.05;

/// A bar on stderr, if the work lasts and somebody looks; it goes when this does.
pub struct Progress {
    bar: ProgressBar,
    begin: Instant,
    /// What each scenario is taken to last in seconds; those that have nothing to run are not in it.
    expected: BTreeMap<String, f64>,
    work: Mutex<Work>,
}

/// How far it is, in seconds as they were expected.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Work {
    /// Of all scenarios.
    all: f64,
    /// Of those that are done.
    done: f64,
    /// Of the one that runs.
    running: f64,
    /// Its runs that are done, and all its runs.
    runs: (usize, usize),
}

impl Progress {
    /// Of what is to be run of these, which took so many seconds before, as far as is known.
    pub fn new(groups: &[Group<'_>], known: &BTreeMap<String, f64>) -> Self {
        let to_run = groups.iter().filter(|group| group.running().is_some());
        let ids = to_run.map(|group| group.scenario_id());
        let expected = expected(ids, known);
        let all: f64 = expected.values().sum();
        let bar = ProgressBar::with_draw_target(Some(millis(all)), ProgressDrawTarget::hidden());
        // The template is ours and tested: if it were wrong, the bar would look plain.
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
        }
    }

    /// A group's scenario is run now, in so many runs.
    pub fn begin(&self, group: &Group<'_>, runs: usize) {
        let expected = self.expected.get(group.scenario_id());
        self.change(|work| {
            work.running = expected.copied().unwrap_or(0.0);
            work.runs = (0, runs);
        });
        self.bar
            .set_prefix(group.running().unwrap_or("").to_owned());
    }

    /// One of its runs is done.
    pub fn step(&self) {
        let work = self.change(|work| work.runs.0 += 1);
        self.show(&work);
    }

    /// All are.
    pub fn end(&self) {
        let work = self.change(|work| {
            work.done += work.running;
            work.running = 0.0;
            work.runs = (0, 0);
        });
        self.show(&work);
    }

    /// Prints while the bar is away.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    fn change(&self, change: impl FnOnce(&mut Work)) -> Work {
        let mut work = self
            .work
            .lock()
            .expect("nothing panics while it holds the lock");
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

    /// How many seconds are left after so many. This machine is as much slower than expected as it was so far; at first,
    /// when little is done, that says little.
    fn left(&self, elapsed: f64) -> f64 {
        let past = self.past();
        let trusted = TRUST * self.all;
        if past + trusted <= 0.0 {
            return 0.0;
        }
        (self.all - past).max(0.0) * (elapsed + trusted) / (past + trusted)
    }
}

/// Of each scenario: what is known, or else the middle of what is known of others.
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

/// A span as people say it: `40 s`, `4 min`.
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
    fn the_bar_has_the_look_that_it_was_given() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }

    #[test]
    fn before_anything_is_done_what_was_expected_is_left() {
        assert_eq!(work(0.0, 10.0, (0, 8)).left(0.0), 100.0);
    }

    #[test]
    fn on_a_machine_that_is_as_fast_time_left_and_time_past_are_what_was_expected() {
        // Half of the second scenario: 10 + 15 seconds.
        let left = work(10.0, 30.0, (4, 8)).left(25.0);
        assert!((left - 75.0).abs() < 1e-9, "{left}");
    }

    #[test]
    fn a_machine_of_half_the_speed_is_believed_more_and_more() {
        let early = work(0.0, 10.0, (1, 10)).left(2.0);
        let late = work(40.0, 60.0, (30, 60)).left(140.0);
        // One second's worth took two: with 5 to trust, 99 times 7/6.
        assert!((early - 115.5).abs() < 1e-9, "{early}");
        // 70 took 140: 30 times 145/75, and nearly 60.
        assert!((late - 58.0).abs() < 1e-9, "{late}");
    }

    #[test]
    fn all_done_is_nothing_left() {
        assert_eq!(work(100.0, 0.0, (0, 0)).left(321.0), 0.0);
        assert_eq!(work(0.0, 0.0, (0, 0)).past(), 0.0);
    }

    #[test]
    fn a_scenario_that_nobody_timed_is_taken_for_an_ordinary_one() {
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
    fn spans_are_told_in_seconds_or_minutes() {
        assert_eq!(
            [0.4, 89.0, 91.0, 400.0].map(words),
            ["0 s", "89 s", "2 min", "7 min"]
        );
    }
}
