//! What an algorithm does to its neighbours: one flow of it beside flows of another algorithm,
//! against flows of the other algorithm alone.

use crate::{Error, Observer};
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;
use whimbrel_cc::Spec;
use whimbrel_net::{Queue, Schedule, ServiceSpec};
use whimbrel_rank::{Aim, Class, League, Library, MatrixPoint, Measures, Runs, Task, play};
use whimbrel_sim::scenario::{
    Direction, DrawnTime, Flow, Link, Run, ScenarioSpec, Written, half_of,
};
use whimbrel_units::{Duration, Rate, Time};

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

/// A start within the first second, so that flows are not in step.
pub(crate) fn first_second() -> Written<DrawnTime> {
    let drawn = DrawnTime {
        from: Time::ZERO,
        to: Time::ZERO + Duration::from_secs(1),
    };
    Written::new("start", drawn, "0 s .. 1 s")
}

/// Runs one flow of each controller beside the `neighbours`; in the order of the controllers.
///
/// # Errors
/// If the path or a controller is wrong, the observer stops it, or threads cannot be started.
pub fn beside(
    path: &SharedPath,
    neighbours: &Neighbours,
    controllers: &[String],
    seeds: u32,
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
    let league = measure(&point, controllers, seeds, threads, observer, "neighbours")?;
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

/// Runs the controllers, and those that their scores refer to, at one point; `what` names the
/// progress.
pub(crate) fn measure(
    point: &MatrixPoint,
    controllers: &[String],
    seeds: u32,
    threads: Option<NonZeroUsize>,
    observer: &dyn Observer,
    what: &str,
) -> Result<League, Error> {
    let mut names: Vec<String> = controllers.to_vec();
    names.extend(point.references().into_iter().map(str::to_owned));
    names.sort();
    names.dedup();
    let tasks = names.iter().map(|name| Task::new(point, name, seeds));
    let tasks: Vec<Task<'_>> = tasks.collect::<Result<_, _>>()?;
    observer.begin(tasks.len() as f64, what);
    let measured = play(&tasks, threads, |_, _| observer.done(1.0).is_continue())?;
    let runs: Runs = tasks
        .iter()
        .zip(measured)
        .map(|(task, runs): (_, Vec<Measures>)| ((point.id.clone(), task.controller.clone()), runs))
        .collect();
    let library = Library {
        version: String::new(),
        points: vec![point.clone()],
    };
    Ok(League::new(&library, controllers, &runs))
}
