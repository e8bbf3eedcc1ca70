//! What an algorithm does to its neighbours: one flow of it beside flows of another algorithm,
//! against flows of the other algorithm alone.

use crate::{Error, Observer};
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;
use whimbrel_cc::Spec;
use whimbrel_net::{Queue, Schedule, ServiceSpec};
use whimbrel_rank::{Aim, Class, League, Library, MatrixPoint, Measures, Runs, Task, run_tasks};
use whimbrel_sim::scenario::{
    Direction, DrawnTime, Flow, Link, Run, ScenarioSpec, Written, half_of,
};
use whimbrel_units::{Duration, Rate};

/// The flow under test.
const TESTED: &str = "t";
/// Of what a neighbour delivers beside its own kind it must keep this much; else the algorithm must
/// not be used on a network that others share.
pub const TOLERABLE: f64 = 0.25;

/// A path on which flows are measured beside each other.
#[derive(Debug, Clone)]
pub struct SharedPath {
    /// The bottleneck.
    pub link: Link,
    /// Its base RTT.
    pub rtt: Written<Duration>,
    /// Length of a run.
    pub duration: Duration,
}

impl SharedPath {
    /// The rate of the reference path.
    pub const RATE: Rate = Rate::from_bits_per_sec(20_000_000);
    /// The base RTT of the reference path.
    pub const RTT: Duration = Duration::from_millis(40);

    /// The path on which harm is measured where random loss of the user's path would hide it: 1 BDP
    /// of buffer, and no random loss.
    pub fn reference() -> Self {
        let mut link = Link::new("L");
        let rtt = Written::of("rtt", Self::RTT);
        let rate = ServiceSpec::Rate(Schedule::constant(Self::RATE));
        link.forward = Direction {
            rate: Some(Written::of("rate", Self::RATE).with(rate)),
            delay: Some(half_of(&rtt)),
            queue: Some(Written::new("queue", Queue::Bdp(1.0), "1 bdp")),
            ..Direction::default()
        };
        Self {
            link,
            rtt,
            duration: Duration::from_secs(20),
        }
    }
}

/// Flows of one algorithm that share a path: `cubic`, `cubic:2`.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    /// Their algorithm.
    pub controller: Spec,
    /// Their number, from 1 to [`Neighbours::MOST`].
    pub count: u32,
}

impl Neighbours {
    /// The maximum number: more would only be slow.
    pub const MOST: u32 = 1000;
}

impl FromStr for Neighbours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (controller, count) = match text.rsplit_once(':') {
            Some((controller, count)) => {
                let count = count.trim().parse().ok();
                let count = count.filter(|count| (1..=Self::MOST).contains(count));
                (controller, count.ok_or_else(wrong_count)?)
            }
            None => (text, 1),
        };
        Ok(Self {
            controller: controller
                .trim()
                .parse()
                .map_err(|error: <Spec as FromStr>::Err| error.to_string())?,
            count,
        })
    }
}

fn wrong_count() -> String {
    format!(
        "behind the colon is the number of flows, from 1 to {}; write e.g. `cubic:2`",
        Neighbours::MOST
    )
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "one {} flow", self.controller),
            count => write!(f, "{count} {} flows", self.controller),
        }
    }
}

/// What an algorithm does beside its neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beside {
    /// What the neighbours deliver, over what they deliver beside their own kind.
    pub kept: f64,
    /// What the algorithm delivers, over a fair share.
    pub share: f64,
}

/// How often flows run beside each other.
#[derive(Debug, Clone, Copy)]
pub enum Repeats {
    /// With so many seeds.
    Fixed(u32),
    /// First with `first` seeds, then with as many as their spread requires: where the neighbours
    /// deliver little, as CUBIC on a path with random loss, a run says little of what they keep.
    Until {
        /// The least number of seeds, at least 2.
        first: u32,
        /// The standard error of [`Beside::kept`] that is permitted.
        error: f64,
        /// Packets that all runs may deliver together, about.
        packets: u64,
    },
}

/// A start within the first second, so that flows are not in step.
pub(crate) fn first_second() -> Written<DrawnTime> {
    Written::of("start", DrawnTime::within(Duration::from_secs(1)))
}

/// Runs one flow of each controller beside the `neighbours`; in the order of the controllers.
///
/// # Errors
/// If the path or a controller is wrong, the observer stops it, or threads cannot be started.
pub fn beside(
    path: &SharedPath,
    neighbours: &Neighbours,
    controllers: &[String],
    repeats: Repeats,
    threads: Option<NonZeroUsize>,
    observer: &dyn Observer,
) -> Result<Vec<Beside>, Error> {
    let other = &neighbours.controller;
    let other = Written::new("neighbours", other.clone(), other.to_string());
    let mut tested = Flow::new(Written::parse("controller", "cubic")?);
    tested.name = Some(TESTED.to_owned());
    let mut others = Flow::new(other);
    others.name = Some("other".to_owned());
    others.count = Written::of("neighbours", neighbours.count);
    let mut flows = vec![tested, others];
    for flow in &mut flows {
        flow.start = Some(first_second());
    }
    let run = Run {
        duration: Written::of("duration", path.duration),
        ..Run::default()
    };
    let point = MatrixPoint::new(
        "neighbours",
        Class::D,
        "A fair share, without harm.",
        Aim::Share { goal: 0.95 },
        &path.rtt,
        &[TESTED],
        ScenarioSpec::on(path.link.clone(), flows, run),
    )?;
    let play = |seeds, what| runs(&point, controllers, seeds, threads, observer, what);
    let runs = match repeats {
        Repeats::Fixed(seeds) => play(seeds, "neighbours")?,
        Repeats::Until {
            first,
            error,
            packets,
        } => {
            let runs = play(first, "neighbours")?;
            let delivered: u64 = runs.values().flatten().map(|run| run.packets).sum();
            let most = packets.saturating_mul(first.into()) / delivered.max(1);
            let seeds = seeds_for(&runs, error).min(most.try_into().unwrap_or(u32::MAX));
            match seeds > first {
                true => play(seeds, "more seeds")?,
                false => runs,
            }
        }
    };
    let league = league(&point, controllers, &runs);
    let of = |name: &String| {
        let cell = league.cell(name, &point.id);
        let none = Beside {
            kept: 1.0,
            share: 0.0,
        };
        cell.map_or(none, |cell| Beside {
            kept: cell.kept.unwrap_or(1.0),
            share: cell.mean.share,
        })
    };
    Ok(controllers.iter().map(of).collect())
}

/// The number of seeds with which the standard error of what the neighbours keep is `error`: the
/// runs beside the algorithm and those beside their own kind both vary. `runs` has at least two of
/// each.
fn seeds_for(runs: &Runs, error: f64) -> u32 {
    let spreads = runs.values().map(|of_one| {
        let count = of_one.len() as f64;
        let mean = of_one.iter().map(|run| run.others).sum::<f64>() / count;
        let squares = of_one.iter().map(|run| (run.others - mean).powi(2));
        squares.sum::<f64>() / (count - 1.0) / mean.powi(2).max(1.0)
    });
    // What is kept is about 1 where it matters: then its variance is the sum of the two.
    let most = spreads.fold(0.0, f64::max);
    (2.0 * most / error.powi(2)).ceil() as u32
}

/// Runs the controllers, and those that their scores refer to, at one point; `what` names the
/// progress.
pub(crate) fn runs(
    point: &MatrixPoint,
    controllers: &[String],
    seeds: u32,
    threads: Option<NonZeroUsize>,
    observer: &dyn Observer,
    what: &str,
) -> Result<Runs, Error> {
    let mut names: Vec<String> = controllers.to_vec();
    names.extend(point.references().into_iter().map(str::to_owned));
    names.sort();
    names.dedup();
    let tasks = names.iter().map(|name| Task::new(point, name, seeds));
    let tasks: Vec<Task<'_>> = tasks.collect::<Result<_, _>>()?;
    observer.begin(tasks.len() as f64, what);
    let measured = run_tasks(&tasks, threads, |_, _| observer.done(1.0).is_continue())?;
    let runs = tasks.iter().zip(measured);
    Ok(runs
        .map(|(task, runs): (_, Vec<Measures>)| ((point.id.clone(), task.controller.clone()), runs))
        .collect())
}

/// The scores of these runs.
pub(crate) fn league(point: &MatrixPoint, controllers: &[String], runs: &Runs) -> League {
    let library = Library {
        version: String::new(),
        points: vec![point.clone()],
    };
    League::new(&library, controllers, runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neighbours with these goodputs, bit/s.
    fn runs(others: &[f64]) -> Runs {
        let run = |others: &f64| Measures {
            others: *others,
            ..Measures::default()
        };
        let key = ("neighbours".to_owned(), "cubic".to_owned());
        Runs::from([(key, others.iter().map(run).collect())])
    }

    #[test]
    fn the_spread_of_the_neighbours_decides_how_often_they_run() {
        assert_eq!(seeds_for(&runs(&[1e6, 1e6, 1e6]), 0.03), 0);
        // A standard deviation of 10 % in both runs: 14 % for their ratio, (0.14 / 0.03)^2 seeds.
        assert_eq!(seeds_for(&runs(&[0.9e6, 1.0e6, 1.1e6]), 0.03), 23);
        // Neighbours that deliver nothing.
        assert_eq!(seeds_for(&runs(&[0.0, 0.0]), 0.03), 0);
    }
}
