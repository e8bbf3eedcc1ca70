//! Which controllers are judged in which flows of a scenario, and the runs for it.

use super::effect::ORACLES;
use super::result::Judged;
use whimbrel_cc::Spec;
use whimbrel_cc::registry::{self};
use whimbrel_sim::Oracle;
use whimbrel_sim::scenario::document::{Document, Node, Position, Table, Value};
use whimbrel_sim::scenario::fields::{Fields, unknown};
use whimbrel_sim::scenario::{Parameter, Point, Scenario, ScenarioError, Setting};
use whimbrel_sim::sweep::{Job, Run};

/// The place of the named controllers in errors.
const CONTROLLERS: &str = "controllers";

/// Why nothing can be judged.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The scenario has a mistake.
    #[error(transparent)]
    Scenario(ScenarioError),
    /// There are no controllers to judge, or a named one cannot be judged.
    #[error("{0}")]
    Controllers(String),
    /// The chosen flow does not exist, or one of several must be chosen.
    #[error("{0}")]
    Flow(String),
}

impl From<ScenarioError> for PlanError {
    fn from(error: ScenarioError) -> Self {
        match error.place() {
            CONTROLLERS => Self::Controllers(format!("{}: {}", error.key(), error.why())),
            _ => Self::Scenario(error),
        }
    }
}

/// The controller that a loss classifier is combined with by default.
const PLAIN: &str = "newreno";

/// The runs that judge some controllers.
#[derive(Debug, Clone)]
pub struct Plan {
    controllers: Vec<ControllerPlan>,
}

#[derive(Debug, Clone)]
struct ControllerPlan {
    spec: Spec,
    cells: Vec<CellPlan>,
}

#[derive(Debug, Clone)]
struct CellPlan {
    parameters: Vec<Parameter>,
    /// The same path with each of [`ORACLES`]; only the first for a controller that cannot use an
    /// oracle.
    points: Vec<Point>,
}

/// All controllers that distinguish random loss from congestion: those of the table that do, and
/// NewReno with each loss classifier of the table. A classifier with the name of such a controller
/// is left out: the controller already contains it.
pub fn classifying() -> Vec<Spec> {
    let spec = |text: &str| text.parse::<Spec>().ok();
    let controllers = registry::CONTROLLERS
        .iter()
        .filter_map(|entry| spec(entry.name));
    let mut all: Vec<Spec> = controllers.filter(Spec::classifies_losses).collect();
    for entry in registry::CLASSIFIERS {
        if all.iter().all(|known| known.entry().name != entry.name) {
            all.extend(spec(&format!("{PLAIN}+{}", entry.name)));
        }
    }
    all
}

impl Plan {
    /// Judges the controllers of a scenario's flows at all points of its sweep. If `controllers` is
    /// not empty, the judged flows run each of these in turn instead of their own. The judged flow
    /// is the `[[flow]]` that `flow` names or numbers; else the flows whose controller, as written,
    /// distinguishes random loss from congestion; else the only flow with a controller.
    ///
    /// # Errors
    /// If the scenario has a mistake, a controller does not distinguish random loss from
    /// congestion, or the judged flow is ambiguous.
    pub fn new(
        document: &Document,
        settings: &[Setting],
        controllers: &[Spec],
        flow: Option<&str>,
    ) -> Result<Self, PlanError> {
        let root = Fields::new(&document.root, "")?;
        if let Some(sweep) = root.get("sweep") {
            let sweep = sweep.fields()?;
            let mut keys = sweep.all();
            if let Some((_, field)) = keys.find(|(key, _)| key.ends_with(".oracle")) {
                let why = "every oracle is run anyway: remove this key";
                return Err(field.fail(why).into());
            }
        }
        if let Some(spec) = controllers.iter().find(|spec| !spec.classifies_losses()) {
            return Err(PlanError::Controllers(format!(
                "`{spec}` does not distinguish random loss from congestion, so it makes no decisions \
                 to judge; `{}` does",
                classifying()
                    .first()
                    .map(Spec::to_string)
                    .unwrap_or_default()
            )));
        }
        let scenario = Scenario::from_document(document.clone(), settings)?;
        let mut plan = Self {
            controllers: Vec::new(),
        };
        if controllers.is_empty() && flow.is_none() {
            for point in scenario.points() {
                let specs = point.controllers().into_iter();
                let specs = specs.filter_map(|text| text.parse::<Spec>().ok());
                for spec in specs.filter(Spec::classifies_losses) {
                    plan.add(&spec, point);
                }
            }
            if plan.controllers.is_empty() {
                return Err(PlanError::Controllers(
                    "no flow has a controller that distinguishes random loss from congestion, so there \
                     are no decisions to judge; name such controllers, e.g. `cerl,cubic+cerl`"
                        .to_owned(),
                ));
            }
            return Ok(plan);
        }
        let all = classifying();
        let controllers = if controllers.is_empty() {
            &all
        } else {
            controllers
        };
        let judged = Flows::find(&scenario, flow)?;
        for spec in controllers {
            let with = Scenario::from_document(judged.with(document, spec), settings)?;
            for point in with.points() {
                judged.check(spec, point)?;
                plan.add(spec, point);
            }
        }
        Ok(plan)
    }

    fn add(&mut self, spec: &Spec, point: &Point) {
        let oracles: &[Oracle] = match spec.entry().is_fed_bursts() {
            false => &ORACLES,
            true => &ORACLES[..1],
        };
        let text = spec.to_string();
        let cell = CellPlan {
            parameters: point.parameters().to_vec(),
            points: oracles
                .iter()
                .map(|o| point.with_oracle(&text, *o))
                .collect(),
        };
        match self.controllers.iter_mut().find(|plan| plan.spec == *spec) {
            Some(plan) => plan.cells.push(cell),
            None => self.controllers.push(ControllerPlan {
                spec: spec.clone(),
                cells: vec![cell],
            }),
        }
    }

    /// Its runs, in order.
    pub fn jobs(&self) -> Vec<Job<'_>> {
        let cells = self.controllers.iter().flat_map(|plan| &plan.cells);
        cells
            .flat_map(|cell| whimbrel_sim::sweep::jobs(&cell.points))
            .collect()
    }

    /// The results, given the finished [`Self::jobs`].
    pub fn judge(&self, runs: &[Run<'_>]) -> Vec<Judged> {
        let mut rest = runs;
        let mut of_point = |point: &Point| {
            let (runs, others) = rest.split_at(point.seeds().len().min(rest.len()));
            rest = others;
            runs
        };
        let mut of_cell = |cell: &CellPlan| {
            let by_oracle = cell.points.iter().map(&mut of_point).collect();
            (cell.parameters.clone(), by_oracle)
        };
        let mut judged = Vec::new();
        for plan in &self.controllers {
            let cells = plan.cells.iter().map(&mut of_cell).collect();
            judged.push(Judged::of(&plan.spec.to_string(), cells));
        }
        judged
    }
}

/// The `[[flow]]`s that are judged.
struct Flows {
    /// The keys of their controllers: `flow.0.controller`.
    keys: Vec<String>,
    /// Other keys of the sweep that only set their controllers.
    others: Vec<String>,
}

impl Flows {
    fn find(scenario: &Scenario, flow: Option<&str>) -> Result<Self, PlanError> {
        let points = scenario.points();
        let flows = points.first().map(Point::flows).unwrap_or_default();
        let has_controller = |i: &usize| flows[*i].controller.is_some();
        let all: Vec<usize> = (0..flows.len()).filter(has_controller).collect();
        let name = |i: &usize| flows[*i].name.map_or(i.to_string(), str::to_owned);
        let known: Vec<String> = all.iter().map(name).collect();
        let classifies = |i: &usize| {
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
                    PlanError::Flow(unknown("flow with a controller", flow, known))
                })?]
            }
            None => {
                let found: Vec<usize> = all.iter().copied().filter(classifies).collect();
                if found.is_empty() { all.clone() } else { found }
            }
        };
        let several = flow.is_none() && judged.len() > 1 && !judged.iter().all(classifies);
        if several || judged.is_empty() {
            let why = match known.as_slice() {
                [] => "no flow has a controller".to_owned(),
                several => format!("choose the flow to judge: {}", several.join(", ")),
            };
            return Err(PlanError::Flow(why));
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

    /// Checks that no other flow has the judged controller. Flows are identified by their
    /// controller, so the decisions and the goodput of such a flow would count as those of the
    /// judged ones, and it would also learn the true causes.
    fn check(&self, spec: &Spec, point: &Point) -> Result<(), PlanError> {
        let text = spec.to_string();
        let flows = point.flows().into_iter().enumerate();
        let mut same = flows.filter(|(i, flow)| {
            let key = format!("flow.{i}.controller");
            flow.controller.as_ref() == Some(&text) && !self.keys.contains(&key)
        });
        same.next().map_or(Ok(()), |(i, flow)| {
            let name = flow.name.map_or(i.to_string(), str::to_owned);
            Err(PlanError::Flow(format!(
                "the flow `{name}`, which is not judged, has `{text}`, too, so their decisions would \
                 be counted together; give it another controller, or leave `{text}` out of the \
                 controllers"
            )))
        })
    }

    /// The same scenario with this controller for the judged flows, whatever the file sets or
    /// sweeps.
    fn with(&self, document: &Document, spec: &Spec) -> Document {
        let mut document = document.clone();
        let place = Position::named(CONTROLLERS);
        let node = |value| Node {
            place: place.clone(),
            value,
        };
        if let Value::Table(root) = &mut document.root.value {
            if root.get("sweep").is_none() {
                root.set("sweep", &place, node(Value::Table(Table::default())));
            }
            if let Some(Value::Table(sweep)) = root.get_mut("sweep").map(|node| &mut node.value) {
                let sets_judged =
                    |key: &String| self.keys.contains(key) || self.others.contains(key);
                sweep.entries.retain(|entry| !sets_judged(&entry.key));
                // The last key of a sweep overrides those before it.
                for key in &self.keys {
                    let one = vec![node(Value::Text(spec.to_string()))];
                    sweep.set(key, &place, node(Value::List(one)));
                }
            }
        }
        document
    }
}
