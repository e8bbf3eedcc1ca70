//! The figures of an experiment: those that its file defines, the paper's numbers beside the
//! measured ones, its measures over its sweep, and the figures of any runs.

use crate::claim::{AssessedRow, expected};
use crate::drawing::{Drawing, Kind, Of, Quantity};
use crate::experiment::{Experiment, RowSpec};
use crate::measure::{Measure, Period};
use whimbrel_cc::Spec;
use whimbrel_report::figure::{Axis, BesideRow, Figure, Plot};
use whimbrel_report::figures::{self, Measured, Setting, Swept, is_called, is_controller};
use whimbrel_sim::sweep::Run;

/// Maximum number of settings that one figure of an experiment file shows.
const SETTINGS: usize = 4;
/// Maximum number of measures, and of keys for each, that get a figure by default.
const MEASURES: usize = 3;
const KEYS: usize = 3;

impl Experiment {
    /// Its figures, from the rows of its [assessment](Self::assess), the runs, and `sampled`: some
    /// of the runs with samples over time. The figures that its file defines come first.
    pub fn figures(
        &self,
        rows: &[AssessedRow],
        runs: &[Run<'_>],
        sampled: &[Run<'_>],
    ) -> Vec<Figure> {
        let all: Vec<&Run<'_>> = runs.iter().collect();
        let over_time: Vec<&Run<'_>> = sampled.iter().collect();
        let mut found: Vec<Figure> = Vec::new();
        for drawing in &self.drawings {
            found.extend(drawn(drawing, &all, &over_time));
        }
        found.extend(self.beside(rows));
        found.extend(self.over_sweep(&all));
        for figure in figures::unnumbered(runs, sampled) {
            let same = |other: &Figure| other.plot == figure.plot;
            if !found.iter().any(same) {
                found.push(figure);
            }
        }
        figures::number(&mut found);
        for figure in &mut found {
            figure.id = format!("{}/{}", self.id, figure.id);
        }
        found
    }

    /// The rows with a number of the paper: a figure for each unit.
    fn beside(&self, rows: &[AssessedRow]) -> Vec<Figure> {
        // The assessment has the rows in the same order.
        let all: Vec<(&RowSpec, &AssessedRow)> = self.rows.iter().zip(rows).collect();
        let with_number = || all.iter().filter(|(_, row)| row.paper.is_some());
        let mut units: Vec<&str> = Vec::new();
        for (_, row) in with_number() {
            let unit = row.unit.as_str();
            if !units.contains(&unit) {
                units.push(unit);
            }
        }
        let of_unit = |unit: &&str| {
            let mine = || with_number().filter(|(_, row)| row.unit == *unit);
            let mut names: Vec<&str> = mine()
                .map(|(spec, _)| match spec.over {
                    Some(_) => "gain",
                    None => spec.measure.name(),
                })
                .collect();
            names.dedup();
            let label = match names.as_slice() {
                [one] => one,
                _ => "",
            };
            Figure {
                id: "beside".to_owned(),
                title: "The paper's numbers and the measured ones".to_owned(),
                caption: format!(
                    "{}. Bands: what counts as right; \u{2713} right, \u{2717} wrong, ? more seeds \
                     must decide. Bars: standard deviation over the seeds.",
                    self.place
                ),
                plot: Plot::Beside {
                    value: Axis::new(label, *unit),
                    rows: mine()
                        .map(|(spec, row)| BesideRow {
                            label: row.label.clone(),
                            protocol: protocol(spec),
                            paper: row.paper,
                            measured: row.measured,
                            spread: row.measured_stddev,
                            expected: expected(spec),
                            right: row.right,
                        })
                        .collect(),
                },
            }
        };
        units.iter().map(of_unit).collect()
    }

    /// The measures of its rows over the keys of its sweep.
    fn over_sweep(&self, runs: &[&Run<'_>]) -> Vec<Figure> {
        let keys = Swept::of(runs);
        let mut measures: Vec<(Measure, Option<Period>)> = Vec::new();
        for row in &self.rows {
            if !measures.contains(&(row.measure, row.period)) {
                measures.push((row.measure, row.period));
            }
        }
        let mut all = Vec::new();
        for (measure, period) in measures.into_iter().take(MEASURES) {
            let mut flows: Vec<&str> = Vec::new();
            let rows = self.rows.iter();
            for row in rows.filter(|row| row.measure == measure && row.period == period) {
                if let Some(name) = row.flows.as_deref().filter(|name| !flows.contains(name)) {
                    flows.push(name);
                }
            }
            let lines = |run: &Run<'_>| {
                if flows.is_empty() {
                    vec![(together(run), alone(run), measure.of(run, None, period))]
                } else {
                    let of = |name: &&str| {
                        let controller = controller_of(run, name);
                        let label = label_of(name, controller.as_deref(), flows.len() > 1);
                        (label, controller, measure.of(run, Some(name), period))
                    };
                    flows.iter().map(of).collect()
                }
            };
            let Some(measured) = Measured::new(axis(measure), runs, lines) else {
                continue;
            };
            for key in keys.iter().take(KEYS) {
                all.extend(figures::lines(key, &keys, &[&measured]));
            }
        }
        all
    }
}

/// A figure that the experiment file defines, for each setting.
fn drawn(drawing: &Drawing, runs: &[&Run<'_>], sampled: &[&Run<'_>]) -> Vec<Figure> {
    let takes = |run: &&&Run<'_>| drawing.at.takes(run.point.parameters());
    let runs: Vec<&Run<'_>> = runs.iter().filter(takes).copied().collect();
    let sampled: Vec<&Run<'_>> = sampled.iter().filter(takes).copied().collect();
    let mut settings = figures::evenly(figures::settings(&sampled), SETTINGS);
    if let Kind::Time(_, flows) | Kind::Cdf(_, flows) | Kind::Sequence(flows) = &drawing.kind {
        settings.iter_mut().for_each(|s| s.flows.clone_from(flows));
    }
    let each = |of: &dyn Fn(&Setting<'_>) -> Vec<Figure>| settings.iter().flat_map(of).collect();
    let keys = Swept::of(&runs);
    let mut all: Vec<Figure> = match &drawing.kind {
        Kind::Lines { x, y } => {
            let measured = measured(y, &runs, is_controller(x));
            let keys = without_series(&keys, y);
            let x = Swept::one(x, &runs);
            let lines = |(x, m): (Swept, Measured)| figures::lines(&x, &keys, &[&m]);
            x.zip(measured).map(lines).unwrap_or_default()
        }
        Kind::Heat { x, rows, y } => {
            let keys = without_series(&keys, y);
            let axes = Swept::one(x, &runs).zip(Swept::one(rows, &runs));
            let map = axes
                .zip(measured(y, &runs, is_controller(x) || is_controller(rows)))
                .and_then(|((x, rows), m)| figures::heat(&x, &rows, &keys, &m));
            map.into_iter().collect()
        }
        Kind::Time(looks, _) => each(&|s| figures::over_time(s, looks).into_iter().collect()),
        Kind::Tradeoff => figures::tradeoff(&runs),
        Kind::Cdf(Of::Delays(of), _) => each(&|s| figures::delays(s, *of).into_iter().collect()),
        Kind::Cdf(Of::Flows, _) => figures::of_flows(&runs),
        Kind::Sequence(_) => each(&|s| figures::sequence(s).into_iter().collect()),
        Kind::Shares => each(&figures::shares),
        Kind::Confusion => figures::confusion(&runs).into_iter().collect(),
    };
    let several = all.len() > 1;
    for figure in &mut all {
        figure.title = match several {
            true => format!("{}: {}", drawing.title, figure.title),
            false => drawing.title.clone(),
        };
    }
    all
}

/// The keys of the sweep without the key whose values are the series: it is not held constant.
fn without_series(keys: &[Swept], y: &Quantity) -> Vec<Swept> {
    let mut keys = keys.to_vec();
    keys.retain(|key| y.series.as_ref() != Some(&key.key));
    keys
}

/// The values of a figure. If a key of its axes is the controller, the labels of the lines have no
/// parameters.
fn measured(y: &Quantity, runs: &[&Run<'_>], over_controllers: bool) -> Option<Measured> {
    let plain = |name: String| match over_controllers {
        true => name.split('?').next().unwrap_or_default().to_owned(),
        false => name,
    };
    let series = y.series.as_ref().and_then(|key| Swept::one(key, runs));
    let mut all: Vec<String> = runs.iter().map(|run| together(run)).collect();
    all.sort_unstable();
    all.dedup();
    let several = all.len() > 1;
    Measured::new(axis(y.measure), runs, |run| {
        let whose = plain(y.flows.clone().unwrap_or_else(|| together(run)));
        let value = y.measure.of(run, y.flows.as_deref(), y.period);
        let label = match &series {
            Some(key) => {
                let value = key.value(run.point.parameters()).unwrap_or_default();
                let named = format!("{} {value}", key.name);
                if several {
                    format!("{whose}, {named}")
                } else {
                    named
                }
            }
            None => whose,
        };
        let protocol = match &y.flows {
            Some(name) => controller_of(run, name),
            None => alone(run),
        };
        vec![(label, protocol.map(plain), value)]
    })
}

fn axis(measure: Measure) -> Axis {
    Axis::new(measure.name(), measure.unit())
}

/// The label of the flows with this name or controller: their controller, which may be swept.
fn label_of(name: &str, controller: Option<&str>, beside_others: bool) -> String {
    match controller {
        Some(controller) if controller != name && beside_others => format!("{controller}, {name}"),
        Some(controller) => controller.to_owned(),
        None => name.to_owned(),
    }
}

/// All controllers of a run, as a label.
fn together(run: &Run<'_>) -> String {
    run.point.controllers().join(" and ")
}

/// The controller of a run that has only one.
fn alone(run: &Run<'_>) -> Option<String> {
    let [one] = <[String; 1]>::try_from(run.point.controllers()).ok()?;
    Some(one)
}

/// The controller of the flows with this name or controller.
fn controller_of(run: &Run<'_>, name: &str) -> Option<String> {
    let flows = run.outcome.flows.iter();
    let mut named = flows.filter(|flow| is_called(flow, name));
    named.find_map(|flow| flow.controller.clone())
}

/// The controller that a row measures: of its flows, or of its points. `None` if there are several.
fn protocol(row: &RowSpec) -> Option<String> {
    let is_one = |name: &&str| name.parse::<Spec>().is_ok();
    let flows = row.flows.as_deref().filter(is_one);
    flows.or(row.at.only("flow.controller")).map(str::to_owned)
}
