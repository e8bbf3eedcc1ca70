//! The runs of a request, on all cores: each algorithm's results are reported when its run is over,
//! and pictures as soon as there is something to draw.
//!
//! Runs are played in short steps, between which a newer request or the time limit can stop them.

use crate::words::{self, Numbers};
use crate::{FieldError, State, limits};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use whimbrel_report::Embedded;
use whimbrel_report::figure::Figure;
use whimbrel_report::figures::{self, Look, Setting};
use whimbrel_sim::Session;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::sweep::{Job, Run};
use whimbrel_study::compare::controller;
use whimbrel_study::runs::{first_seeds, sampled};
use whimbrel_units::Time;

/// At most this many algorithms share a figure over time; more are divided among several.
const TOGETHER: usize = 5;
/// A run is played in this many steps.
const STEPS: u64 = 200;
/// Pictures are drawn again after this time at the earliest, except the first and the last.
const REDRAW: Duration = Duration::from_millis(200);

/// What a request reports, in this order: one `Begin`; `Row`s and `Pictures`, which may take turns;
/// one `End` or `Stopped`.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Event {
    /// The request is right, and its runs begin.
    Begin {
        /// The path in words.
        title: String,
        /// The algorithms, in the order of the request; the neighbours' own may be the last.
        algorithms: Vec<String>,
        /// A small picture of each algorithm's line, as SVG.
        swatches: Vec<String>,
        /// What the link carries, bit/s; `None` if it is not limited.
        capacity: Option<f64>,
        /// Whether other flows are beside the algorithms.
        beside: bool,
    },
    /// One run is over.
    Row {
        /// The index of its algorithm.
        index: usize,
        /// What was measured.
        numbers: Numbers,
    },
    /// Pictures of the finished runs. They replace those with the same ids.
    Pictures {
        /// The figures.
        figures: Vec<Picture>,
        /// Colours of these pictures on the dark page: as the system wants it, and as the reader
        /// does.
        dark: [String; 2],
    },
    /// All runs are over.
    End {
        /// The results in words.
        summary: String,
        /// Real time since the request began, ms.
        took_ms: u64,
    },
    /// The runs took too long, or cannot begin. A newer request stops an older one without a
    /// report.
    Stopped {
        /// Why.
        why: String,
    },
}

/// A figure, drawn.
#[derive(Debug, Serialize)]
pub struct Picture {
    /// The figure's data, for the page's script.
    figure: Figure,
    /// Its pictures for wide and narrow windows.
    svg: String,
    /// The figure in words.
    words: String,
}

/// A request whose scenario is checked.
pub struct Request {
    title: String,
    scenario: Scenario,
    algorithms: Vec<String>,
    beside: bool,
}

impl Request {
    /// The request of this state.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn new(
        state: &State,
        recordings: &crate::recordings::Recordings,
    ) -> Result<Self, FieldError> {
        let spec = state.spec(recordings)?;
        let title = state.title();
        let scenario = sampled(&Scenario::new(&spec)?);
        let algorithms = scenario.points().iter().filter_map(controller).collect();
        Ok(Self {
            title,
            scenario,
            algorithms,
            beside: spec.flows.len() > 1,
        })
    }

    /// Plays all runs and reports what happens to `emit` until it returns false. `stop` stops it
    /// at once.
    pub fn run(&self, stop: &AtomicBool, mut emit: impl FnMut(Event) -> bool) {
        let began = Instant::now();
        let jobs = first_seeds(&self.scenario);
        let embedded = Embedded::new(self.protocols());
        let capacity = self.scenario.points().first().and_then(|p| p.capacity());
        let begin = Event::Begin {
            title: self.title.clone(),
            algorithms: self.algorithms.clone(),
            swatches: self.algorithms.iter().map(|a| embedded.swatch(a)).collect(),
            capacity: capacity.map(|rate| rate.as_bits_per_sec() as f64),
            beside: self.beside,
        };
        if !emit(begin) {
            return;
        }
        // Set if the runs take too long, too.
        let late = AtomicBool::new(false);
        let over = || stop.load(Ordering::Relaxed) || late.load(Ordering::Relaxed);
        let next = AtomicUsize::new(0);
        let (finished, results) = mpsc::channel::<(usize, Run<'_>)>();
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        std::thread::scope(|scope| {
            for _ in 0..threads.min(jobs.len()) {
                let (finished, next, jobs, over, late) =
                    (finished.clone(), &next, &jobs, &over, &late);
                scope.spawn(move || {
                    while let Some((index, job)) = take(next, jobs) {
                        let in_time = || {
                            if began.elapsed() > limits::WALL {
                                late.store(true, Ordering::Relaxed);
                            }
                            !over()
                        };
                        let Some(run) = play_one(job, in_time) else {
                            return;
                        };
                        if finished.send((index, run)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(finished);
            self.report(&results, &embedded, began, &late, stop, &mut emit);
        });
    }

    /// Reports runs as they finish.
    fn report(
        &self,
        results: &mpsc::Receiver<(usize, Run<'_>)>,
        embedded: &Embedded,
        began: Instant,
        late: &AtomicBool,
        stop: &AtomicBool,
        emit: &mut impl FnMut(Event) -> bool,
    ) {
        let mut pictures = Pictures {
            embedded,
            done: BTreeMap::new(),
            undrawn: Vec::new(),
            beside: self.beside,
        };
        let mut all: BTreeMap<usize, Numbers> = BTreeMap::new();
        let mut drawn: Option<Instant> = None;
        let cancel = || {
            stop.store(true, Ordering::Relaxed);
        };
        for (index, run) in results {
            let numbers = Numbers::of(&run, self.beside);
            all.insert(index, numbers.clone());
            if !emit(Event::Row { index, numbers }) {
                return cancel();
            }
            pictures.add(index, run);
            if drawn.is_none_or(|at| at.elapsed() > REDRAW) {
                if !emit(pictures.draw(false)) {
                    return cancel();
                }
                drawn = Some(Instant::now());
            }
        }
        if late.load(Ordering::Relaxed) {
            let why = format!(
                "The runs took more than {} s and were stopped: {} of {} are shown. Choose a \
                 lower rate, a shorter run or fewer algorithms, or save the scenario and run it \
                 with `whimbrel sim`.",
                limits::WALL.as_secs(),
                all.len(),
                self.algorithms.len()
            );
            emit(Event::Stopped { why });
            return;
        }
        if stop.load(Ordering::Relaxed) || !emit(pictures.draw(true)) {
            return;
        }
        let named = all.iter().filter_map(|(index, numbers)| {
            let name = self.algorithms.get(*index)?;
            Some((name.as_str(), numbers))
        });
        let capacity = self.scenario.points().first().and_then(|p| p.capacity());
        emit(Event::End {
            summary: words::summary(named, capacity, self.beside),
            took_ms: began.elapsed().as_millis() as u64,
        });
    }

    /// The names of all algorithms that figures show, neighbours included.
    fn protocols(&self) -> Vec<&str> {
        self.algorithms.iter().map(String::as_str).collect()
    }
}

/// The next job that nobody has taken.
fn take<'a, 'b>(next: &AtomicUsize, jobs: &'b [Job<'a>]) -> Option<(usize, &'b Job<'a>)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(index).map(|job| (index, job))
}

/// Plays a run, in steps; `None` if `go_on` returned false between them.
fn play_one<'a>(job: &Job<'a>, go_on: impl Fn() -> bool) -> Option<Run<'a>> {
    let began = Instant::now();
    let step = job.point.duration() / STEPS;
    let mut session = Session::new(job.point.network(job.seed));
    let mut now = Time::ZERO;
    for _ in 0..STEPS {
        if !go_on() {
            return None;
        }
        now += step;
        if session.advance(now) {
            break;
        }
    }
    Some(Run {
        point: job.point,
        seed: job.seed,
        wall: began.elapsed(),
        outcome: session.finish(),
    })
}

/// The figures of the runs that are finished.
struct Pictures<'a, 'r> {
    embedded: &'a Embedded,
    done: BTreeMap<usize, Run<'r>>,
    /// Runs that are in no picture yet.
    undrawn: Vec<usize>,
    beside: bool,
}

impl<'r> Pictures<'_, 'r> {
    fn add(&mut self, index: usize, run: Run<'r>) {
        self.done.insert(index, run);
        self.undrawn.push(index);
    }

    /// Draws what has changed; at the `end`, also the figures that need all runs.
    fn draw(&mut self, end: bool) -> Event {
        let mut groups: Vec<usize> = self.undrawn.drain(..).map(|i| i / TOGETHER).collect();
        groups.sort_unstable();
        groups.dedup();
        let mut figures: Vec<Figure> = groups.iter().filter_map(|g| self.over_time(*g)).collect();
        if end {
            figures.extend(self.at_the_end());
        }
        let figures: Vec<Picture> = figures
            .into_iter()
            .map(|figure| Picture {
                svg: self.embedded.picture(&figure),
                words: self.embedded.words(&figure),
                figure,
            })
            .collect();
        let dark = [":not([data-theme=light])", "[data-theme=dark]"].map(|theme| {
            let scope = format!(":root{theme} :is(.plot,.swatch)");
            let drawn = figures.iter().map(|picture| picture.svg.as_str());
            self.embedded.dark_rules(drawn, &scope)
        });
        Event::Pictures { figures, dark }
    }

    /// Windows, rates, round-trip times and queues of one group of algorithms.
    fn over_time(&self, group: usize) -> Option<Figure> {
        let members = group * TOGETHER..(group + 1) * TOGETHER;
        let runs: Vec<&Run<'r>> = self.done.range(members).map(|(_, run)| run).collect();
        let mut figure = figures::over_time(&setting(runs), &Look::USUAL)?;
        figure.id = format!("time-{group}");
        if group > 0 {
            figure.title += &format!(", part {}", group + 1);
        }
        Some(figure)
    }

    /// Shares, if several flows share the link, and throughput against delay.
    fn at_the_end(&self) -> Vec<Figure> {
        let runs: Vec<&Run<'r>> = self.done.values().collect();
        let mut all = Vec::new();
        let several = runs.iter().any(|run| run.outcome.flows.len() > 1);
        if self.beside || several {
            all.extend(figures::shares(&setting(runs.clone())));
        }
        all.extend(figures::tradeoff(&runs));
        figures::number(&mut all);
        all
    }
}

/// All these runs have the same setting: a request sweeps nothing but the algorithm.
fn setting<'a>(runs: Vec<&'a Run<'a>>) -> Setting<'a> {
    Setting {
        at: String::new(),
        runs,
        flows: None,
    }
}
