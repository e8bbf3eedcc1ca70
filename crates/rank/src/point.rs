//! A point of the matrix, and the reader of its table `[point]`.
//!
//! ```toml
//! [point]
//! class = "A"                # A to M
//! claim = "1 % random loss over 100 ms costs nothing but the lost packets."
//! flows = ["t"]              # the flows under test, by their names
//! score = "fill"             # fill, share, own or completion
//! rtt = "100 ms"             # the base RTT, the unit of queueing delay
//! goal = 0.95                # of what an ideal sender delivers
//! ```
//!
//! Everything else in the file is a scenario. The flows under test take the algorithm that is
//! scored, whatever controller the file names.

use std::fmt;
use std::path::PathBuf;
use whimbrel_sim::scenario::document::Document;
use whimbrel_sim::scenario::fields::{Field, Fields, unknown};
use whimbrel_sim::scenario::{
    Flow, Point, Run, Scenario, ScenarioError, ScenarioSpec, Traces, Written,
};
use whimbrel_units::{Duration, Probability, Rate};

/// The algorithm that others are compared with where CUBIC is the measure.
pub const CUBIC: &str = "cubic";
/// The other one.
pub const BBR: &str = "bbr";

/// Keys of every point.
const KEYS: [&str; 6] = ["class", "claim", "flows", "score", "rtt", "goal"];
/// Further keys of each kind of score.
const FILL_KEYS: [&str; 4] = ["queue", "lost", "taken", "overflow"];
const OWN_KEYS: [&str; 3] = ["queue", "lost", "settled"];
const SHARE_KEYS: [&str; 0] = [];
const COMPLETION_KEYS: [&str; 0] = [];

/// Why a base RTT is refused.
const ZERO: &str = "must be greater than zero";
/// The largest queue that a goal can allow, in round trips.
const MAX_QUEUE: f64 = 100.0;

/// A class of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Random and bursty loss.
    A,
    /// Fades.
    B,
    /// Hand-overs, changes of capacity, low-orbit and cellular paths.
    C,
    /// Sharing with other traffic and with its own kind.
    D,
    /// Corruption.
    E,
    /// Noise of the path.
    F,
    /// Short transfers.
    G,
    /// Cellular paths, both ways.
    H,
    /// Several bottlenecks.
    I,
    /// Traffic on the way back.
    J,
    /// Churn of short transfers.
    K,
    /// Outages that flicker.
    L,
    /// Mixtures of three algorithms.
    M,
}

impl Class {
    /// All classes, in order. Version 1 of the matrix has those up to G.
    pub const ALL: [Self; 13] = [
        Self::A,
        Self::B,
        Self::C,
        Self::D,
        Self::E,
        Self::F,
        Self::G,
        Self::H,
        Self::I,
        Self::J,
        Self::K,
        Self::L,
        Self::M,
    ];

    /// Its letter.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::E => "E",
            Self::F => "F",
            Self::G => "G",
            Self::H => "H",
            Self::I => "I",
            Self::J => "J",
            Self::K => "K",
            Self::L => "L",
            Self::M => "M",
        }
    }

    /// Its subject, in a few words.
    pub const fn subject(self) -> &'static str {
        match self {
            Self::A => "random loss",
            Self::B => "fades",
            Self::C => "changing paths",
            Self::D => "sharing",
            Self::E => "corruption",
            Self::F => "noise",
            Self::G => "short transfers",
            Self::H => "cellular paths",
            Self::I => "several bottlenecks",
            Self::J => "busy way back",
            Self::K => "churn",
            Self::L => "flicker",
            Self::M => "mixtures",
        }
    }

    /// Whether the path's own delay changes, so that the delay that is scored is the mean wait in
    /// queues.
    pub const fn has_changing_delay(self) -> bool {
        matches!(self, Self::C | Self::H)
    }

    /// The class with this letter.
    pub fn of(letter: &str) -> Option<Self> {
        let letter = letter.trim();
        let mut all = Self::ALL.into_iter();
        all.find(|class| class.letter().eq_ignore_ascii_case(letter))
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.letter())
    }
}

/// What the flows under test should achieve, and how it is scored; the formulas are in
/// [`score`](crate::score).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aim {
    /// Fill the path with a short queue.
    Fill {
        /// The wanted fraction of what an ideal sender delivers.
        goal: f64,
        /// The wanted maximum of the queueing delay, in base RTTs.
        queue: f64,
        /// The fraction of the packets that the path itself loses, whoever sends.
        lost: f64,
        /// What other traffic takes of the path on average, bit/s with headers.
        taken: f64,
        /// The wanted maximum of the packets lost to queues, as a fraction; `None`: not scored.
        overflow: Option<f64>,
    },
    /// Share the path with other traffic, and harm it no more than CUBIC does.
    Share {
        /// The wanted utilization by all flows together.
        goal: f64,
    },
    /// Share the path among flows of its own kind.
    Own {
        /// The wanted fraction of what ideal senders deliver together.
        goal: f64,
        /// The wanted maximum of the queueing delay, in base RTTs.
        queue: f64,
        /// The fraction of the packets that the path itself loses.
        lost: f64,
        /// The wanted maximum of the time from the last start to fair shares, seconds; `None`: not
        /// scored.
        settled: Option<f64>,
    },
    /// Complete a transfer soon.
    Completion {
        /// The wanted maximum of its time, as a multiple of the better of CUBIC's and BBR's.
        goal: f64,
    },
}

impl Aim {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fill { .. } => "fill",
            Self::Share { .. } => "share",
            Self::Own { .. } => "own",
            Self::Completion { .. } => "completion",
        }
    }
}

/// A point of the matrix.
#[derive(Debug, Clone)]
pub struct MatrixPoint {
    /// Its name: that of its file.
    pub id: String,
    /// Its file; of a point without one, the name that the file would have.
    pub path: PathBuf,
    /// Its class.
    pub class: Class,
    /// What a good algorithm does here, in one sentence.
    pub claim: String,
    /// What is scored.
    pub aim: Aim,
    /// The base RTT, the unit of queueing delay.
    pub rtt: Duration,
    /// The names of the flows under test.
    pub flows: Vec<String>,
    /// The controller of the first flow that is not under test, if there is one.
    pub neighbour: Option<String>,
    /// The text of its file, or of the file that it would have.
    pub text: String,
    pub(crate) spec: ScenarioSpec,
}

impl MatrixPoint {
    /// Reads a point from its file.
    ///
    /// # Errors
    /// The first mistake, with file, line, key and the nearest right word.
    pub fn read(id: &str, text: &str, document: Document) -> Result<Self, ScenarioError> {
        let root = Fields::new(&document.root, "")?;
        let table = root.required("point", "{ class = \"A\", … }")?;
        let fields = table.fields()?;
        let scenario = Scenario::from_document(document.clone(), &[])?;
        let [only] = scenario.points() else {
            return Err(root.required("sweep", "")?.fail(
                "a point of the matrix is one path: leave out [sweep], and write a file for each",
            ));
        };
        let aim = aim(&fields)?;
        let class = {
            let field = fields.required("class", "\"A\"")?;
            let letter = field.text()?;
            Class::of(letter).ok_or_else(|| {
                let known = Class::ALL.into_iter().map(Class::letter);
                field.fail(unknown("class", letter, known))
            })?
        };
        let rtt = fields.required("rtt", "\"100 ms\"")?;
        let base: Duration = rtt.parse()?;
        if base.is_zero() {
            return Err(rtt.fail(ZERO));
        }
        let claim = fields.required("claim", "\"What a good algorithm does here.\"")?;
        let (flows, neighbour) = flows(&fields, only)?;
        if matches!(aim, Aim::Share { .. }) && neighbour.is_none() {
            return Err(fields.required("score", "\"share\"")?.fail(
                "`share` needs a flow with a controller that is not under test, beside those in \
                 `flows`",
            ));
        }
        Ok(Self {
            id: id.to_owned(),
            path: file_of(id),
            class,
            claim: claim.text()?.to_owned(),
            aim,
            rtt: base,
            flows,
            neighbour,
            text: text.to_owned(),
            spec: ScenarioSpec::read(&document)?,
        })
    }

    /// A point without a file: `flows` are the names of the flows under test. The neighbour is the
    /// first other flow with a controller.
    ///
    /// # Errors
    /// If the scenario has a mistake, or `rtt` is zero.
    pub fn new(
        id: &str,
        class: Class,
        claim: &str,
        aim: Aim,
        rtt: &Written<Duration>,
        flows: &[&str],
        spec: ScenarioSpec,
    ) -> Result<Self, ScenarioError> {
        Scenario::new(&spec)?;
        if rtt.value.is_zero() {
            return Err(rtt.fail(ZERO));
        }
        let tested = |flow: &&Flow| {
            flow.name
                .as_deref()
                .is_some_and(|name| flows.contains(&name))
        };
        let others = spec.flows.iter().filter(|flow| !tested(flow));
        let neighbour = others.filter_map(Flow::data).next();
        let mut point = Self {
            id: id.to_owned(),
            path: file_of(id),
            class,
            claim: claim.to_owned(),
            aim,
            rtt: rtt.value,
            flows: flows.iter().map(|name| (*name).to_owned()).collect(),
            neighbour: neighbour.map(|data| data.controller.value.to_string()),
            text: String::new(),
            spec,
        };
        point.text = point.to_string();
        Ok(point)
    }

    /// Its scenario with this controller for the flows under test, and the seeds 1 to `seeds`.
    ///
    /// # Errors
    /// If the controller is unknown or cannot run here.
    pub fn scenario(&self, controller: &str, seeds: u32) -> Result<Scenario, ScenarioError> {
        self.scenario_with(controller, Run::seeds(&Written::of("seeds", seeds))?)
    }

    /// The same with these seeds.
    ///
    /// # Errors
    /// As [`Self::scenario`].
    pub fn scenario_with(
        &self,
        controller: &str,
        seeds: Vec<u64>,
    ) -> Result<Scenario, ScenarioError> {
        let controller = Written::parse("controller", controller)?;
        let mut spec = self.spec.clone();
        for name in &self.flows {
            spec.set_controller(name, &controller);
        }
        spec.run.seeds = seeds;
        Scenario::new(&spec)
    }

    /// A hash of the recorded rates and delays that it names: with its text it determines every
    /// run. `None` if it names none.
    pub fn traces(&self) -> Option<u64> {
        let traces = self.spec.traces;
        (traces != Traces::default().digest()).then_some(traces)
    }

    /// The algorithms that scores at this point refer to.
    pub fn references(&self) -> Vec<&str> {
        match self.aim {
            Aim::Fill { .. } => Vec::new(),
            Aim::Own { .. } => vec![CUBIC],
            Aim::Completion { .. } => vec![CUBIC, BBR],
            Aim::Share { .. } => {
                let own = self.neighbour.as_deref().unwrap_or(CUBIC);
                let mut all = vec![own];
                all.extend((own != CUBIC).then_some(CUBIC));
                all
            }
        }
    }

    /// For each flow of a run, in order, whether it is under test.
    pub fn under_test(&self, point: &Point) -> Vec<bool> {
        let is_one = |name: Option<&str>| name.is_some_and(|n| self.flows.iter().any(|f| f == n));
        let flows = point.flows().into_iter();
        flows
            .flat_map(|flow| vec![is_one(flow.name); flow.count as usize])
            .collect()
    }
}

/// The name of the file of a point.
fn file_of(id: &str) -> PathBuf {
    format!("{id}.toml").into()
}

/// The flows under test, and the controller of the first other one.
fn flows(
    fields: &Fields<'_>,
    point: &Point,
) -> Result<(Vec<String>, Option<String>), ScenarioError> {
    let field = fields.required("flows", "[\"t\"]")?;
    let written = point.flows();
    let names: Vec<&str> = written.iter().filter_map(|flow| flow.name).collect();
    let mut flows = Vec::new();
    for item in field.list()? {
        let name = item.text()?;
        let flow = written.iter().find(|flow| flow.name == Some(name));
        let flow = flow.ok_or_else(|| item.fail(unknown("flow", name, names.iter().copied())))?;
        if flow.controller.is_none() {
            return Err(item.fail(format!(
                "`{name}` sends datagrams, which no algorithm controls; name a flow with a \
                 controller"
            )));
        }
        flows.push(name.to_owned());
    }
    if flows.is_empty() {
        return Err(field.fail("needs at least one flow"));
    }
    let other = |name: Option<&str>| !name.is_some_and(|n| flows.iter().any(|f| f == n));
    let mut others = written.iter().filter(|flow| other(flow.name));
    let neighbour = others.find_map(|flow| flow.controller.clone());
    Ok((flows, neighbour))
}

fn aim(fields: &Fields<'_>) -> Result<Aim, ScenarioError> {
    let field = fields.required("score", "\"fill\"")?;
    let only = |more: &[&str]| fields.only(&[&KEYS[..], more].concat());
    let goal = |default| number(fields, "goal", default, 0.01..=1.0);
    let queue = |default| number(fields, "queue", default, 0.001..=MAX_QUEUE);
    let fraction = |key: &str| -> Result<Option<f64>, ScenarioError> {
        let parse = |field: Field<'_>| Ok(field.parse::<Probability>()?.get());
        fields.get(key).map(parse).transpose()
    };
    match field.text()? {
        "fill" => {
            only(&FILL_KEYS)?;
            let taken = fields.get("taken").map(|field| field.parse::<Rate>());
            Ok(Aim::Fill {
                goal: goal(0.95)?,
                queue: queue(1.0)?,
                lost: fraction("lost")?.unwrap_or(0.0),
                taken: taken
                    .transpose()?
                    .map_or(0.0, |r| r.as_bits_per_sec() as f64),
                overflow: fraction("overflow")?,
            })
        }
        "share" => {
            only(&SHARE_KEYS)?;
            Ok(Aim::Share { goal: goal(0.95)? })
        }
        "own" => {
            only(&OWN_KEYS)?;
            let settled = fields.get("settled").map(|field| field.parse::<Duration>());
            Ok(Aim::Own {
                goal: goal(0.95)?,
                queue: queue(0.5)?,
                lost: fraction("lost")?.unwrap_or(0.0),
                settled: settled.transpose()?.map(Duration::as_secs_f64),
            })
        }
        "completion" => {
            only(&COMPLETION_KEYS)?;
            Ok(Aim::Completion {
                goal: number(fields, "goal", 1.05, 1.0..=10.0)?,
            })
        }
        other => {
            let known = ["fill", "share", "own", "completion"];
            Err(field.fail(unknown("score", other, known.into_iter())))
        }
    }
}

fn number(
    fields: &Fields<'_>,
    key: &str,
    default: f64,
    range: std::ops::RangeInclusive<f64>,
) -> Result<f64, ScenarioError> {
    let Some(field) = fields.get(key) else {
        return Ok(default);
    };
    let number = field.number()?;
    if range.contains(&number) {
        return Ok(number);
    }
    let (min, max) = (range.start(), range.end());
    Err(field.fail(format!("must be from {min} to {max}, not {number}")))
}
