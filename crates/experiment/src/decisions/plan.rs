//! Which laws are judged in which flows of a scenario, and the runs that it takes.

use super::{Judged, ORACLES};
use whimbrel_cc::Spec;
use whimbrel_cc::registry::{self, Feed};
use whimbrel_sim::Oracle;
use whimbrel_sim::scenario::document::{Document, Node, Place, Table, Value};
use whimbrel_sim::scenario::fields::{Fields, unknown};
use whimbrel_sim::scenario::{Parameter, Point, Scenario, ScenarioError, Setting};
use whimbrel_sim::sweep::{Job, Run};

/// The law that a discriminator is put on where nobody says which.
const PLAIN_LAW: &str = "newreno";

/// What is run to judge some laws.
#[derive(Debug, Clone)]
pub struct Plan {
    laws: Vec<Law>,
}

#[derive(Debug, Clone)]
struct Law {
    spec: Spec,
    cells: Vec<CellPlan>,
}

#[derive(Debug, Clone)]
struct CellPlan {
    parameters: Vec<Parameter>,
    /// The same path, by [`ORACLES`]; of a law that cannot be told anything the first alone.
    points: Vec<Point>,
}

/// All that tell random loss from congestion: the laws of the table that do, and every discriminator of the table on
/// NewReno, but for those that have the name of such a law: they are what is in it.
pub fn discriminating() -> Vec<Spec> {
    let spec = |text: &str| text.parse::<Spec>().ok();
    let laws = registry::CONTROLLERS
        .iter()
        .filter_map(|entry| spec(entry.name));
    let mut all: Vec<Spec> = laws.filter(Spec::classifies_losses).collect();
    for entry in registry::CLASSIFIERS {
        if all.iter().all(|law| law.entry().name != entry.name) {
            all.extend(spec(&format!("{PLAIN_LAW}+{}", entry.name)));
        }
    }
    all
}

impl Plan {
    /// The laws that a scenario's flows have, at all points of its sweep; or, if `controllers` names some, these one after
    /// the other instead of what the judged flows have. Judged is the `[[flow]]` that `flow` names or numbers; else those
    /// whose controller discriminates as it is written; else the only one that has a controller.
    ///
    /// # Errors
    /// If the scenario is wrong, a controller does not discriminate, or it is not clear which flow is meant.
    pub fn new(
        document: &Document,
        settings: &[Setting],
        controllers: &[Spec],
        flow: Option<&str>,
    ) -> Result<Self, ScenarioError> {
        let root = Fields::new(&document.root, "")?;
        if let Some(sweep) = root.get("sweep") {
            let sweep = sweep.fields()?;
            let mut keys = sweep.all();
            if let Some((_, field)) = keys.find(|(key, _)| key.ends_with(".oracle")) {
                return Err(field.fail("what a law is told is turned here anyhow: leave it out"));
            }
        }
        if let Some(spec) = controllers.iter().find(|spec| !spec.classifies_losses()) {
            return Err(root.fail(format!(
                "`{spec}` does not tell random loss from congestion: there is nothing to judge; `{}` does",
                discriminating().first().map(Spec::to_string).unwrap_or_default()
            )));
        }
        let scenario = Scenario::from_document(document.clone(), settings)?;
        let mut plan = Self { laws: Vec::new() };
        if controllers.is_empty() && flow.is_none() {
            for point in scenario.points() {
                let specs = point.controllers().into_iter();
                let specs = specs.filter_map(|text| text.parse::<Spec>().ok());
                for spec in specs.filter(Spec::classifies_losses) {
                    plan.add(&spec, point);
                }
            }
            if plan.laws.is_empty() {
                return Err(root.fail(
                    "no flow's controller tells random loss from congestion: there is nothing to judge; \
                     name some that do, e.g. --controllers cerl,cubic+cerl",
                ));
            }
            return Ok(plan);
        }
        let usual = discriminating();
        let controllers = if controllers.is_empty() {
            &usual
        } else {
            controllers
        };
        let judged = Flows::find(&root, &scenario, flow)?;
        for spec in controllers {
            let with = Scenario::from_document(judged.with(document, spec), settings)?;
            for point in with.points() {
                plan.add(spec, point);
            }
        }
        Ok(plan)
    }

    fn add(&mut self, spec: &Spec, point: &Point) {
        let told: &[Oracle] = match spec.entry().feed {
            Feed::Acknowledgments => &ORACLES,
            Feed::Bursts => &ORACLES[..1],
        };
        let text = spec.to_string();
        let cell = CellPlan {
            parameters: point.parameters().to_vec(),
            points: told.iter().map(|o| point.with_oracle(&text, *o)).collect(),
        };
        match self.laws.iter_mut().find(|law| law.spec == *spec) {
            Some(law) => law.cells.push(cell),
            None => self.laws.push(Law {
                spec: spec.clone(),
                cells: vec![cell],
            }),
        }
    }

    /// The runs that it takes, in order.
    pub fn jobs(&self) -> Vec<Job<'_>> {
        let cells = self.laws.iter().flat_map(|law| &law.cells);
        cells
            .flat_map(|cell| whimbrel_sim::sweep::jobs(&cell.points))
            .collect()
    }

    /// What came of [`Self::jobs`].
    pub fn judge(&self, runs: &[Run<'_>]) -> Vec<Judged> {
        let mut rest = runs;
        let mut of_point = |point: &Point| {
            let (runs, others) = rest.split_at(point.seeds().len().min(rest.len()));
            rest = others;
            runs
        };
        let mut of_cell = |cell: &CellPlan| {
            let told = cell.points.iter().map(&mut of_point).collect();
            (cell.parameters.clone(), told)
        };
        let mut judged = Vec::new();
        for law in &self.laws {
            let cells = law.cells.iter().map(&mut of_cell).collect();
            judged.push(Judged::of(&law.spec.to_string(), cells));
        }
        judged
    }
}

/// Which `[[flow]]`s are judged.
struct Flows {
    /// The keys that say their controllers: `flow.0.controller`.
    keys: Vec<String>,
    /// Other keys of the sweep that say nothing but their controllers.
    others: Vec<String>,
}

impl Flows {
    fn find(
        root: &Fields<'_>,
        scenario: &Scenario,
        flow: Option<&str>,
    ) -> Result<Self, ScenarioError> {
        let points = scenario.points();
        let flows = points.first().map(Point::flows).unwrap_or_default();
        let have = |i: &usize| flows[*i].controller.is_some();
        let all: Vec<usize> = (0..flows.len()).filter(have).collect();
        let called = |i: &usize| flows[*i].name.map_or(i.to_string(), str::to_owned);
        let known: Vec<String> = all.iter().map(called).collect();
        let discriminates = |i: &usize| {
            let controller = |point: &Point| point.flows().get(*i)?.controller.clone();
            let specs = points.iter().filter_map(controller);
            specs
                .filter_map(|text| text.parse::<Spec>().ok())
                .any(|spec| spec.classifies_losses())
        };
        let judged: Vec<usize> = match flow {
            Some(flow) => {
                let named =
                    |i: &&usize| flows[**i].name == Some(flow) || flow.parse::<usize>() == Ok(**i);
                let found = all.iter().find(named).copied();
                vec![found.ok_or_else(|| {
                    let known = known.iter().map(String::as_str);
                    let why = unknown("flow with a controller", flow, known);
                    root.fail(format!("--flow: {why}"))
                })?]
            }
            None => {
                let found: Vec<usize> = all.iter().copied().filter(discriminates).collect();
                if found.is_empty() { all.clone() } else { found }
            }
        };
        let several = flow.is_none() && judged.len() > 1 && !judged.iter().all(discriminates);
        if several || judged.is_empty() {
            return Err(root.fail(format!(
                "which flow is to be judged? Say so with --flow: {}",
                known.join(", ")
            )));
        }
        let mut others: Vec<String> = judged
            .iter()
            .filter_map(|i| flows[*i].name)
            .map(|name| format!("flow.{name}.controller"))
            .collect();
        if judged.len() == all.len() {
            others.push("flow.controller".to_owned());
        }
        Ok(Self {
            keys: judged
                .iter()
                .map(|i| format!("flow.{i}.controller"))
                .collect(),
            others,
        })
    }

    /// The same scenario, but the judged flows have this controller, whatever it says or sweeps.
    fn with(&self, document: &Document, spec: &Spec) -> Document {
        let mut document = document.clone();
        let place = Place::named("--controllers");
        let node = |value| Node {
            place: place.clone(),
            value,
        };
        if let Value::Table(root) = &mut document.root.value {
            if root.get("sweep").is_none() {
                root.set("sweep", &place, node(Value::Table(Table::default())));
            }
            if let Some(Value::Table(sweep)) = root.get_mut("sweep").map(|node| &mut node.value) {
                let ours = |key: &String| self.keys.contains(key) || self.others.contains(key);
                sweep.entries.retain(|entry| !ours(&entry.key));
                // The last line of a sweep stands over those before it.
                for key in &self.keys {
                    let one = vec![node(Value::Text(spec.to_string()))];
                    sweep.set(key, &place, node(Value::List(one)));
                }
            }
        }
        document
    }
}
