//! A guided search for the path on which an algorithm does worst beside the best of others.
//!
//! | file | contents |
//! |---|---|
//! | `families` | the families, with the ranges of what varies |
//! | `space` | families, knobs and cases, and how a case becomes a point that can be ranked |
//! | `draft` | a path as the families write it |
//! | `draw` | paths drawn evenly from the ranges |
//! | `optimizer` | which paths are tried next: random ones, then CMA-ES |
//! | `search` | rounds over all families within a number of evaluations |
//! | `goal` | how an algorithm does on a path: the ranking's score, or decisions on losses |
//! | `shrink` | the simplest path that still shows it |
//! | `explain` | what was found, in two sentences |
//! | `page` | what was found, as a page with windows and queues over time |
//!
//! The search runs every path with the same few seeds. Of many paths, the one with the worst result
//! owes a part of it to luck, so what is found is run again with seeds that the search has never
//! used, and only that result is reported.

mod draft;
mod draw;
mod explain;
mod families;
mod goal;
mod optimizer;
mod page;
mod saved;
mod search;
mod shrink;
mod space;
#[cfg(test)]
mod tests;
pub mod text;

pub use draw::draw;
pub use explain::{lines, sentences};
pub use families::FAMILIES;
pub use goal::{Detail, Measured, Runner};
pub use saved::{check_save, save, save_set};
pub use space::{Case, Family, Knob, Scale};

use crate::{BadInput, Error, Observer};
use families::chosen;
use goal::measure;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use whimbrel_cc::Spec;
use whimbrel_rank::MatrixPoint;
use whimbrel_units::nearest;

/// The algorithms that the usual hunt compares with: those that most senders use.
pub const USUAL: &str = "bbr,cubic,copa";
/// The default number of evaluations.
pub const USUAL_EVALUATIONS: u32 = 600;
/// The default number of seeds of each evaluation.
pub const USUAL_SEEDS: u32 = 2;
/// The default number of fresh seeds.
pub const USUAL_FRESH: u32 = 5;
/// The first fresh seed: far from those of the search.
const FIRST_FRESH: u64 = 1001;
/// The first seed of the runs that decide about a simpler path: neither the search nor the
/// confirmation uses it.
const FIRST_OF_SHRINKING: u64 = 2001;
/// Seeds of those runs.
const SEEDS_OF_SHRINKING: u64 = 3;
/// What counts as a weakness after the confirmation: less than this part of the best.
pub const WEAK: f64 = 0.9;
/// The algorithm that a loss classifier is added to.
const PLAIN: &str = "newreno";

/// Whose weakness is hunted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The score of an algorithm, over the best of others.
    Algorithm {
        /// The algorithm.
        name: String,
        /// The others; not empty, without the algorithm.
        against: Vec<String>,
    },
    /// The decisions of a loss classifier.
    Classifier {
        /// Its name as the user gave it.
        name: String,
        /// The controller that has it.
        controller: String,
    },
}

impl Target {
    /// An algorithm against others, of which it is left out itself.
    ///
    /// # Errors
    /// If no other is left.
    pub fn algorithm(name: &Spec, against: &[Spec]) -> Result<Self, BadInput> {
        let name = name.to_string();
        let mut known = BTreeSet::from([name.clone()]);
        let against = against.iter().map(Spec::to_string);
        let against: Vec<String> = against
            .filter(|other| known.insert(other.clone()))
            .collect();
        match against.is_empty() {
            true => Err(BadInput::in_argument(
                "against",
                format!("name another algorithm than `{name}`"),
            )),
            false => Ok(Self::Algorithm { name, against }),
        }
    }

    /// A loss classifier: one of the table, which is added to NewReno, or an algorithm that has one.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn classifier(name: &str) -> Result<Self, BadInput> {
        let added = format!("{PLAIN}+{name}");
        let classifies = |text: &str| {
            let spec: Result<Spec, _> = text.parse();
            spec.is_ok_and(|spec| spec.classifies_losses())
        };
        let found = [name, &added].into_iter().find(|text| classifies(text));
        let controller = found.ok_or_else(|| {
            let known = whimbrel_experiment::judge::classifying();
            let known: Vec<String> = known.iter().map(Spec::to_string).collect();
            let own = |text: &String| text.trim_start_matches("newreno+").to_owned();
            let known: Vec<String> = known.iter().map(own).collect();
            let near = nearest(name, known.iter().map(String::as_str));
            let meant = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
            let all = known.join(", ");
            let why = format!("`{name}` classifies no losses{meant}; those that do: {all}");
            BadInput::in_argument("classifier", why)
        })?;
        Ok(Self::Classifier {
            name: name.to_owned(),
            controller: controller.to_owned(),
        })
    }

    /// The name that the user gave.
    pub fn name(&self) -> &str {
        match self {
            Self::Algorithm { name, .. } | Self::Classifier { name, .. } => name,
        }
    }
}

/// What is hunted for, where, and how long.
#[derive(Debug, Clone)]
pub struct Request {
    /// Whose weakness.
    pub target: Target,
    /// The families of paths, by their names; empty: all.
    pub families: Vec<String>,
    /// The number of paths that the search may try; a round of all families may exceed it.
    pub evaluations: u32,
    /// The search ends with the round in which this time has passed; then the result depends on the
    /// machine. `None`: only the evaluations limit it.
    pub time: Option<Duration>,
    /// Decides which paths are tried.
    pub seed: u64,
    /// Runs of each path in the search, with the seeds from 1.
    pub seeds: u32,
    /// Runs of each path that is confirmed, with seeds that the search does not use.
    pub fresh: u32,
    /// The number of families of which the worst path is made simpler and explained.
    pub finds: usize,
    /// Number of threads; `None`: one for each core. Does not change the results.
    pub threads: Option<NonZeroUsize>,
    /// What runs the target and those that it is compared with; `None`: the simulator, and they
    /// are its algorithms.
    pub runner: Option<Arc<dyn Runner>>,
}

impl Request {
    /// With the default limits.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            families: Vec::new(),
            evaluations: USUAL_EVALUATIONS,
            time: None,
            seed: 1,
            seeds: USUAL_SEEDS,
            fresh: USUAL_FRESH,
            finds: 1,
            threads: None,
            runner: None,
        }
    }

    /// The seeds of the search.
    fn search_seeds(&self) -> Vec<u64> {
        (1..=u64::from(self.seeds.max(1))).collect()
    }

    /// Seeds that the search does not use.
    fn fresh_seeds(&self) -> Vec<u64> {
        let count = u64::from(self.fresh.max(1));
        (FIRST_FRESH..FIRST_FRESH + count).collect()
    }
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Hunt {
    /// Whose weakness.
    pub target: Target,
    /// Paths that the search tried.
    pub evaluations: usize,
    /// Whether the time limit ended the search.
    pub out_of_time: bool,
    /// Every family, the one with the lowest confirmed ratio first.
    pub families: Vec<OfFamily>,
    /// The simplest paths, the one with the lowest ratio first; empty if no family has a weakness.
    pub finds: Vec<Find>,
}

/// The worst path of a family.
#[derive(Debug, Clone)]
pub struct OfFamily {
    /// The path.
    pub case: Case,
    /// Paths of the family that the search tried.
    pub evaluations: usize,
    /// The ratio in the search, partly luck.
    pub searched: f64,
    /// With fresh seeds.
    pub confirmed: Measured,
}

/// The simplest path that still shows a weakness.
#[derive(Debug, Clone)]
pub struct Find {
    /// The path.
    pub case: Case,
    /// The same as a point that can be ranked.
    pub point: MatrixPoint,
    /// What the search found before it was made simpler.
    pub from: Case,
    /// With fresh seeds.
    pub measured: Measured,
}

/// Searches, confirms, and makes the worst paths simpler.
///
/// # Errors
/// If the request is wrong, an algorithm cannot run on a path, the observer stops it, or threads
/// cannot be started.
pub fn hunt(request: &Request, observer: &dyn Observer) -> Result<Hunt, Error> {
    let families = chosen(&request.families)?;
    let searched = search::search(request, &families, observer)?;
    let fresh = request.fresh_seeds();
    let target = &request.target;
    let measure_all = |cases: &[&Case], seeds: &[u64]| {
        let points = cases.iter().enumerate();
        let points = points.map(|(i, case)| case.point(&format!("case-{i}")));
        let points: Vec<MatrixPoint> = points.collect::<Result<_, _>>()?;
        measure(request, &points, seeds, observer)
    };
    let cases: Vec<&Case> = searched.worst.iter().map(|worst| &worst.case).collect();
    observer.begin(cases.len() as f64, "confirming");
    let confirmed = measure_all(&cases, &fresh)?;
    let mut families: Vec<OfFamily> = searched
        .worst
        .iter()
        .zip(confirmed)
        .map(|(worst, confirmed)| OfFamily {
            case: worst.case.clone(),
            evaluations: worst.evaluations,
            searched: worst.ratio,
            confirmed,
        })
        .collect();
    families.sort_by(|a, b| a.confirmed.ratio().total_cmp(&b.confirmed.ratio()));
    let weak = families.iter().filter(|one| one.confirmed.ratio() < WEAK);
    let weak: Vec<&OfFamily> = weak.take(request.finds).collect();
    let seeds: Vec<u64> = (0..SEEDS_OF_SHRINKING)
        .map(|i| FIRST_OF_SHRINKING + i)
        .collect();
    let mut finds = Vec::new();
    for one in weak {
        let limit = shrink::limit(one.confirmed.ratio());
        let ratio = |case: &Case| -> Result<f64, Error> {
            let all = measure_all(&[case], &seeds)?;
            Ok(all.first().map_or(1.0, Measured::ratio))
        };
        let case = shrink::shrink(&one.case, limit, ratio, observer)?;
        let measured = measure_all(&[&case], &fresh)?.pop();
        let simpler = measured.filter(|measured| measured.ratio() <= limit);
        let (case, measured) = match simpler {
            Some(measured) => (case, measured),
            // What the seeds of shrinking agreed to, the fresh ones refuse.
            None => (one.case.clone(), one.confirmed.clone()),
        };
        let id = format!("{}-{}", target.name(), case.family.name);
        let id: String = id
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        finds.push(Find {
            point: case.point(&id)?,
            case,
            from: one.case.clone(),
            measured,
        });
    }
    finds.sort_by(|a, b| a.measured.ratio().total_cmp(&b.measured.ratio()));
    Ok(Hunt {
        target: target.clone(),
        evaluations: searched.evaluations,
        out_of_time: searched.out_of_time,
        families,
        finds,
    })
}

impl Hunt {
    /// All of it as JSON.
    pub fn json(&self) -> Value {
        let interval = |measured: &Measured| {
            let interval = measured.interval();
            json!({
                "ratio": interval.mean,
                "low": interval.ends().map(|(low, _)| low),
                "high": interval.ends().map(|(_, high)| high),
                "seed_count": measured.ratios.len(),
            })
        };
        let against = match &self.target {
            Target::Algorithm { against, .. } => against.clone(),
            Target::Classifier { .. } => Vec::new(),
        };
        let family = |one: &OfFamily| {
            let mut value = interval(&one.confirmed);
            value["family"] = one.case.family.name.into();
            value["path"] = one.case.words().into();
            value["evaluations"] = one.evaluations.into();
            value["searched"] = one.searched.into();
            value
        };
        let find = |one: &Find| {
            let mut value = interval(&one.measured);
            value["family"] = one.case.family.name.into();
            value["path"] = one.case.words().into();
            value["from"] = one.from.words().into();
            value["point"] = one.point.id.clone().into();
            value["sentences"] = sentences(&self.target, one).to_vec().into();
            value["scenario"] = one.point.text.clone().into();
            value
        };
        json!({
            "name": self.target.name(),
            "against": against,
            "evaluations": self.evaluations,
            "out_of_time": self.out_of_time,
            "families": self.families.iter().map(family).collect::<Vec<_>>(),
            "finds": self.finds.iter().map(find).collect::<Vec<_>>(),
        })
    }
}
