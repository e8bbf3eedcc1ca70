//! What an algorithm does to its neighbours, measured: one flow of it beside one flow of another
//! algorithm, against two flows of the other.

use crate::runs::Progress;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path as FilePath;
use std::str::FromStr;
use std::sync::LazyLock;
use whimbrel_cc::Spec;
use whimbrel_rank::{League, Library, MatrixPoint, Measures, Runs, Task, play};
use whimbrel_sim::scenario::document::Document;
use whimbrel_units::Duration;

/// The path on which harm is measured where the user's path has losses of its own, which hide it.
pub static REFERENCE: LazyLock<Path> = LazyLock::new(|| Path {
    rate: "\"20 Mbit/s\"".to_owned(),
    rtt: Duration::from_millis(40),
    queue: "1 bdp".to_owned(),
    loss: "0 %".to_owned(),
    seconds: 20.0,
});
/// Of what it delivers beside its own kind, a neighbour must keep this much; else the algorithm
/// must not be let onto a network that others use.
pub const TOLERABLE: f64 = 0.25;

/// A path with two flows.
#[derive(Debug, Clone)]
pub struct Path {
    /// The rate as a value of a scenario, with its quotation marks.
    pub rate: String,
    /// The base RTT.
    pub rtt: Duration,
    /// The buffer.
    pub queue: String,
    /// Random loss.
    pub loss: String,
    /// Length of a run.
    pub seconds: f64,
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

/// Runs one flow of each controller beside the `neighbours`; in the order of the controllers.
///
/// # Errors
/// If the path or a controller is wrong, or threads cannot be started.
pub fn beside(
    path: &Path,
    neighbours: &Neighbours,
    controllers: &[String],
    seeds: u32,
    threads: Option<NonZeroUsize>,
) -> anyhow::Result<Vec<Beside>> {
    let Path {
        rate,
        rtt,
        queue,
        loss,
        seconds,
    } = path;
    let (rtt, delay) = (rtt.as_nanos(), rtt.as_nanos() / 2);
    let Neighbours { controller, count } = neighbours;
    let controller = controller.to_string();
    let text = format!(
        "[point]\nclass = \"D\"\nclaim = \"A fair share, without harm.\"\nflows = [\"t\"]\n\
         score = \"share\"\nrtt = \"{rtt} ns\"\n\
         [link.L]\nrate = {rate}\ndelay = \"{delay} ns\"\nqueue = {queue:?}\nloss = {loss:?}\n\
         [[flow]]\nname = \"t\"\nroute = [\"L\"]\nstart = \"0 s .. 1 s\"\n\
         [[flow]]\nname = \"other\"\ncontroller = {controller:?}\ncount = {count}\n\
         route = [\"L\"]\nstart = \"0 s .. 1 s\"\n[run]\nduration = \"{seconds} s\"\n"
    );
    let document = Document::parse(&text, FilePath::new("neighbours"))?;
    let point = MatrixPoint::read("neighbours", &text, document)?;
    let mut names: Vec<String> = controllers.to_vec();
    names.extend(point.references().into_iter().map(str::to_owned));
    names.sort();
    names.dedup();
    let tasks: Result<Vec<Task<'_>>, _> = names
        .iter()
        .map(|name| Task::new(&point, name, seeds))
        .collect();
    let tasks = tasks?;
    let progress = Progress::new(tasks.len(), "neighbours");
    let measured = play(&tasks, threads, |_, _| progress.done())?;
    let runs: Runs = tasks
        .iter()
        .zip(measured)
        .map(|(task, runs): (_, Vec<Measures>)| ((point.id.clone(), task.controller.clone()), runs))
        .collect();
    let library = Library {
        version: String::new(),
        points: vec![point.clone()],
    };
    let league = League::new(&library, controllers, &runs);
    let of = |name: &String| {
        let cell = league.cell(name, &point.id);
        cell.map_or(
            Beside {
                kept: 1.0,
                share: 0.0,
            },
            |cell| Beside {
                kept: cell.kept.unwrap_or(1.0),
                share: cell.mean.share,
            },
        )
    };
    Ok(controllers.iter().map(of).collect())
}
