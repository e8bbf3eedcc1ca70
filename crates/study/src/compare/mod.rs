//! Algorithms on one path: alone, beside others of their kind, or beside neighbours.

mod shown;
pub mod text;

pub use shown::Shown;

use crate::controllers::{Choice, chosen};
use crate::neighbours::{Neighbours, Repeats, SharedPath, TOLERABLE, beside, first_second};
use crate::path::Bottleneck;
use crate::runs::{first_seeds, run_more};
use crate::transport::Transport;
use crate::under_test::{TESTED, Tested, goodput};
use crate::{Error, Observer};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use whimbrel_cc::Spec;
use whimbrel_cc::registry;
use whimbrel_report::Interval;
use whimbrel_report::figures::is_controller;
use whimbrel_sim::scenario::{
    Axis, Data, Flow, Point, Run as RunSpec, Scenario, ScenarioSpec, Written,
};
use whimbrel_sim::sweep::{Job, Run};
use whimbrel_sim::{Messages, Recovery};
use whimbrel_units::Duration;

/// The default algorithms: the textbook's, the most used ones, one of each kind made for lossy
/// paths, and this project's own. A picture has colors for eight.
pub const USUAL: &str = "newreno,cubic,bbr,cerl,enhanced-aatp,whimbrel";
/// The same without AATP, which has neither streams nor messages.
pub const USUAL_OF_TCP: &str = "newreno,cubic,bbr,cerl,whimbrel";

/// The relative half-width of a confidence interval that needs no further runs.
const SURE: f64 = 0.02;
/// Seeds of the runs beside a neighbour.
const SEEDS_BESIDE: u32 = 2;

/// What is compared, and where.
#[derive(Debug, Clone)]
pub struct Request {
    /// The path.
    pub path: Bottleneck,
    /// The algorithms, each in runs of its own.
    pub controllers: Vec<Written<Choice>>,
    /// Number of concurrent flows of the algorithm.
    pub flows: Written<u32>,
    /// Flows of other algorithms beside them.
    pub neighbours: Vec<Neighbours>,
    /// Length of a run.
    pub duration: Written<Duration>,
    /// Numbers of streams of a flow; empty: the algorithm's own.
    pub streams: Vec<Written<u32>>,
    /// Messages instead of endless data; empty: none.
    pub messages: Vec<Written<Messages>>,
    /// Number of runs of each combination, with the seeds from 1.
    pub seeds: Written<u32>,
    /// How senders detect lost data.
    pub recovery: Recovery,
    /// The transport that senders behave like.
    pub transport: Transport,
}

impl Request {
    /// The scenario, with senders that behave like the wanted transport.
    ///
    /// # Errors
    /// The first value that is wrong, by its flag or argument.
    pub fn scenario(&self) -> Result<ScenarioSpec, Error> {
        self.scenario_over(self.transport)
    }

    /// The scenario, with senders that behave like this transport.
    ///
    /// # Errors
    /// As [`Self::scenario`].
    pub fn scenario_over(&self, transport: Transport) -> Result<ScenarioSpec, Error> {
        let mut spec = self.path.scenario()?;
        let controllers = self.all_controllers()?;
        let Some(first) = controllers.first() else {
            return Err(self.flows.fail("no algorithm is named").into());
        };
        let mut tested = Flow::new(first.clone());
        tested.count = self.flows.clone();
        let beside = !self.neighbours.is_empty();
        tested.name = beside.then(|| TESTED.to_owned());
        if beside || self.flows.value != 1 {
            tested.start = Some(first_second());
        }
        if let Some(data) = tested.data_mut() {
            data.streams = self.streams.first().cloned();
            data.messages = self.messages.first().cloned();
        }
        spec.flows.push(tested);
        for Neighbours { controller, count } in &self.neighbours {
            let text = controller.to_string();
            let mut flow = Flow::new(Written::new("neighbours", controller.clone(), text));
            flow.count = Written::of("neighbours", *count);
            flow.start = Some(first_second());
            spec.flows.push(flow);
        }
        let mut settings = transport.settings();
        settings.tcp.recovery = self.recovery;
        spec.run = RunSpec {
            duration: self.duration.clone(),
            seeds: RunSpec::seeds(&self.seeds)?,
            settings,
            ..RunSpec::default()
        };
        // What is swept of the flows under test, not of their neighbours.
        let own = if beside { "flow.tested" } else { "flow" };
        sweep(&mut spec, own, "controller", &controllers, |data, spec| {
            data.controller = spec
        });
        if let [_, _, ..] = self.streams.as_slice() {
            sweep(&mut spec, own, "streams", &self.streams, |data, n| {
                data.streams = Some(n)
            });
        }
        if let [_, _, ..] = self.messages.as_slice() {
            sweep(&mut spec, own, "messages", &self.messages, |data, m| {
                data.messages = Some(m)
            });
        }
        Ok(spec)
    }

    /// The algorithms, and the neighbours' own if they have one in common.
    fn all_controllers(&self) -> Result<Vec<Written<Spec>>, Error> {
        // Bursts have neither streams nor messages.
        let tcp = !self.streams.is_empty() || !self.messages.is_empty();
        let every = registry::controllers().into_iter();
        let every = every.filter(|entry| !tcp || !entry.is_fed_bursts());
        let mut all = chosen(&self.controllers, every.map(|entry| entry.name))?;
        if let Some(reference) = self.tested().and_then(|tested| tested.reference) {
            let own: Written<Spec> = Written::parse("neighbours", &reference)?;
            if all.iter().all(|known| known.value != own.value) {
                all.push(own);
            }
        }
        Ok(all)
    }

    /// Which flows the results are about; `None`: all, because there are no neighbours.
    pub fn tested(&self) -> Option<Tested> {
        let first = self.neighbours.first()?;
        let same = |other: &Neighbours| other.controller == first.controller;
        let common = self.neighbours.iter().all(same);
        Some(Tested {
            reference: common.then(|| first.controller.to_string()),
        })
    }

    /// What all runs have in common of the path and the data, in words.
    pub fn title(&self) -> String {
        let mut fixed = self.path.words();
        if let [one] = self.messages.as_slice() {
            fixed.push(one.text());
        }
        if let [one] = self.streams.as_slice() {
            fixed.push(format!("{} streams", one.value));
        }
        fixed.join(", ")
    }
}

/// Sweeps what the flows under test have.
fn sweep<T: Clone + Send + Sync + 'static>(
    spec: &mut ScenarioSpec,
    own: &str,
    key: &str,
    values: &[Written<T>],
    set: fn(&mut Data, Written<T>),
) {
    let axis = Axis::new(&format!("{own}.{key}"), values, move |spec, value| {
        if let Some(data) = spec.flows.first_mut().and_then(Flow::data_mut) {
            set(data, value);
        }
    });
    spec.sweep.push(axis);
}

/// What a comparison measures besides its runs.
#[derive(Debug, Clone)]
pub struct Comparison {
    tested: bool,
    threads: Option<NonZeroUsize>,
    /// The controllers that leave a CUBIC flow less than [`TOLERABLE`] of what it has beside its
    /// own kind, and what they leave.
    pub harmful: BTreeMap<String, f64>,
}

impl Comparison {
    /// Measures what each controller of the scenario does to a neighbour.
    ///
    /// # Errors
    /// If the observer stops it, or threads cannot be started.
    pub fn new(
        request: &Request,
        scenario: &Scenario,
        threads: Option<NonZeroUsize>,
        observer: &dyn Observer,
    ) -> Result<Self, Error> {
        let names: BTreeSet<String> = scenario.points().iter().filter_map(controller).collect();
        let names: Vec<String> = names.into_iter().collect();
        let cubic = Neighbours {
            controller: Written::parse("neighbours", "cubic")?.value,
            count: 1,
        };
        let path = SharedPath::reference();
        let seeds = Repeats::Fixed(SEEDS_BESIDE);
        let all = beside(&path, &cubic, &names, seeds, threads, observer)?;
        let left = names
            .into_iter()
            .zip(all)
            .map(|(name, all)| (name, all.kept));
        Ok(Self {
            tested: request.tested().is_some(),
            threads,
            harmful: left.filter(|(_, kept)| *kept < TOLERABLE).collect(),
        })
    }

    /// Runs the points until the goodput of each is known well enough: a harmful algorithm runs
    /// once.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn run<'a>(
        &self,
        scenario: &'a Scenario,
        observer: &dyn Observer,
    ) -> Result<Vec<Run<'a>>, Error> {
        let points = scenario.points();
        let mut done: Vec<Vec<Run<'_>>> = points.iter().map(|_| Vec::new()).collect();
        let most = points.iter().map(|point| point.seeds().len()).max();
        let most = most.unwrap_or(0);
        observer.begin((points.len() * most) as f64, "runs");
        for round in 0..most {
            let unsure = points.iter().enumerate();
            let unsure = unsure.filter(|(i, point)| !self.is_done(point, &done[*i]));
            let next: Vec<(usize, Job<'_>)> = unsure
                .filter_map(|(i, point)| {
                    let seed = *point.seeds().get(round)?;
                    Some((i, Job { point, seed }))
                })
                .collect();
            let jobs: Vec<Job<'_>> = next.iter().map(|(_, job)| *job).collect();
            let runs = run_more(&jobs, self.threads, 1.0, observer)?;
            for ((point, _), run) in next.iter().zip(runs) {
                done[*point].push(run);
            }
        }
        Ok(done.into_iter().flatten().collect())
    }

    /// What each controller delivers over the other transport with the first seed, and over this
    /// one in `runs`, bit/s. Empty if other values are swept than the controller.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn over_the_other_transport(
        &self,
        request: &Request,
        runs: &[Run<'_>],
        observer: &dyn Observer,
    ) -> Result<BTreeMap<String, [f64; 2]>, Error> {
        let mut first: BTreeMap<String, f64> = BTreeMap::new();
        for run in runs.iter().filter(|run| run.seed == 1) {
            let Some(name) = controller(run.point) else {
                return Ok(BTreeMap::new());
            };
            if first.insert(name, self.goodput(run)).is_some() {
                return Ok(BTreeMap::new());
            }
        }
        first.retain(|name, _| !self.harmful.contains_key(name));
        let mut other = Scenario::new(&request.scenario_over(request.transport.other())?)?;
        other.retain(|point| controller(point).is_some_and(|name| first.contains_key(&name)));
        let jobs = first_seeds(&other);
        observer.begin(jobs.len() as f64, "runs");
        let runs = run_more(&jobs, self.threads, 1.0, observer)?;
        let both = runs.iter().filter_map(|run| {
            let name = controller(run.point)?;
            let here = *first.get(&name)?;
            Some((name, [self.goodput(run), here]))
        });
        Ok(both.collect())
    }

    /// Whether a point needs no further runs.
    fn is_done(&self, point: &Point, runs: &[Run<'_>]) -> bool {
        let harms = |name: String| self.harmful.contains_key(&name);
        self.is_sure(runs) || !runs.is_empty() && controller(point).is_some_and(harms)
    }

    /// Whether further runs would hardly change the mean of the goodput.
    fn is_sure(&self, runs: &[Run<'_>]) -> bool {
        let values: Vec<f64> = runs.iter().map(|run| self.goodput(run)).collect();
        let interval = Interval::of(&values);
        let half = interval.and_then(|interval| Some((interval.mean, interval.half_width?)));
        half.is_some_and(|(mean, half)| half <= SURE * mean)
    }

    fn goodput(&self, run: &Run<'_>) -> f64 {
        goodput(self.tested, run)
    }
}

/// The controller of the flows under test: of a comparison it is always swept.
pub fn controller(point: &Point) -> Option<String> {
    let own = point.parameters().iter().find(|p| is_controller(&p.key));
    own.map(|own| own.value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn runs_end_when_more_of_them_would_hardly_change_the_mean() {
        let text = "[link.L]\nrate = \"100 kbit/s\"\n[[flow]]\nroute = [\"L\"]\n\
                    [run]\nduration = \"1 s\"\n";
        let scenario = Scenario::parse(text, Path::new("a.toml")).expect("a scenario");
        let comparison = Comparison {
            tested: false,
            threads: None,
            harmful: BTreeMap::new(),
        };
        let is_sure = |bytes: &[u64]| {
            let mut runs =
                run_more(&first_seeds(&scenario), None, 1.0, &crate::Unobserved).expect("threads");
            let run = runs.pop().expect("a run");
            let with = |bytes: &u64| {
                let mut outcome = run.outcome.clone();
                outcome.flows[0].delivered = whimbrel_units::Bytes::new(*bytes);
                Run { outcome, ..run }
            };
            comparison.is_sure(&bytes.iter().map(with).collect::<Vec<_>>())
        };
        // Of one run nothing is known; t of one degree of freedom is 12.7.
        assert!(!is_sure(&[]) && !is_sure(&[1000]));
        assert!(is_sure(&[1_000_000, 1_000_000]) && !is_sure(&[1_000_000, 1_010_000]));
        // The standard deviation is 1 %, and 4.30 x 1 % / sqrt(3) = 2.5 %.
        assert!(!is_sure(&[990_000, 1_000_000, 1_010_000]));
        // 3.18 x 0.82 % / 2 = 1.3 %.
        assert!(is_sure(&[990_000, 1_000_000, 1_000_000, 1_010_000]));
    }
}
