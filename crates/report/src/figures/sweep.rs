//! Measures over the keys of a sweep: a line for each controller, or a map over two keys.

use super::over_time::series;
use super::setting::evenly;
use super::shown::beside;
use super::swept::Swept;
use crate::figure::{Axis, Categories, Figure, Form, Heat, Panel, Plot, Series};
use crate::stat::Stat;
use crate::thin::shorten;
use whimbrel_sim::FlowOutcome;
use whimbrel_sim::scenario::Parameter;
use whimbrel_sim::sweep::Run;

/// Maximum number of figures of one key, with other keys held.
const FIGURES: usize = 3;
/// Maximum number of maps of a figure.
const MAPS: usize = 16;

/// A measure at each point of a sweep.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Its name and unit.
    pub what: Axis,
    /// All numbers.
    pub cells: Vec<Cell>,
}

/// One number with its standard deviation over the seeds.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The point.
    pub parameters: Vec<Parameter>,
    /// Its name; numbers with the same name are on one line.
    pub label: String,
    /// Its protocol, if it belongs to one.
    pub protocol: Option<String>,
    /// The number.
    pub stat: Stat,
}

impl Measured {
    /// A measure of runs in the order of [`jobs`](whimbrel_sim::sweep::jobs). `of` returns label,
    /// protocol and number of each item of a run. An item is left out at points where a seed has no
    /// number. `None` if there are no numbers.
    pub fn new(
        what: Axis,
        runs: &[&Run<'_>],
        of: impl Fn(&Run<'_>) -> Vec<(String, Option<String>, Option<f64>)>,
    ) -> Option<Self> {
        let mut cells = Vec::new();
        for runs in runs.chunk_by(|a, b| std::ptr::eq(a.point, b.point)) {
            let all: Vec<_> = runs.iter().map(|run| of(run)).collect();
            let Some(first) = all.first() else { continue };
            for (label, protocol, _) in first {
                let own = |seed: &Vec<(String, Option<String>, Option<f64>)>| {
                    let mine = seed.iter().find(|(l, ..)| l == label);
                    mine.and_then(|(.., value)| *value)
                };
                let values: Option<Vec<f64>> = all.iter().map(own).collect();
                let values = values.filter(|all| all.iter().all(|x| x.is_finite()));
                let stat = values.and_then(|values| Stat::of(&values));
                cells.extend(stat.map(|stat| Cell {
                    parameters: runs[0].point.parameters().to_vec(),
                    label: label.clone(),
                    protocol: protocol.clone(),
                    stat,
                }));
            }
        }
        (!cells.is_empty()).then_some(Self { what, cells })
    }

    /// A measure of the flows of each controller together.
    pub(super) fn of_flows(
        what: Axis,
        runs: &[&Run<'_>],
        of: impl Fn(&Run<'_>, &[&FlowOutcome]) -> Option<f64>,
    ) -> Option<Self> {
        Self::new(what, runs, |run| {
            let told = |(protocol, flows): (String, Vec<&FlowOutcome>)| {
                (beside(run, &protocol), Some(protocol), of(run, &flows))
            };
            by_controller(run).into_iter().map(told).collect()
        })
    }

    /// The labels with their protocols, each once, in the order of their first appearance.
    fn labels(&self) -> Vec<(&str, Option<&str>)> {
        let mut all: Vec<(&str, Option<&str>)> = Vec::new();
        for cell in &self.cells {
            if !all.iter().any(|(label, _)| *label == cell.label) {
                all.push((&cell.label, cell.protocol.as_deref()));
            }
        }
        all
    }
}

/// The flows of each controller, in the order of their first appearance.
pub(super) fn by_controller<'a>(run: &'a Run<'_>) -> Vec<(String, Vec<&'a FlowOutcome>)> {
    let mut all: Vec<(String, Vec<&FlowOutcome>)> = Vec::new();
    for flow in &run.outcome.flows {
        let Some(controller) = &flow.controller else {
            continue;
        };
        match all.iter_mut().find(|(name, _)| name == controller) {
            Some((_, flows)) => flows.push(flow),
            None => all.push((controller.clone(), vec![flow])),
        }
    }
    all
}

/// Values at which the other keys of a sweep are held: the middle of numbers, each of other values.
fn held<'a>(shown: &[&Swept], keys: &'a [Swept]) -> Vec<Vec<(&'a Swept, &'a str)>> {
    let mut all: Vec<Vec<(&Swept, &str)>> = vec![Vec::new()];
    for key in keys {
        if shown.iter().any(|s| s.key == key.key) {
            continue;
        }
        let values: Vec<&str> = match key.numbers {
            Some(_) => key.middle().into_iter().collect(),
            None => key.values.iter().map(String::as_str).collect(),
        };
        let one = |value: &&'a str, place: &Vec<(&'a Swept, &'a str)>| {
            let mut place = place.clone();
            place.push((key, *value));
            place
        };
        all = all
            .iter()
            .flat_map(|place| values.iter().map(move |value| one(value, place)))
            .collect();
    }
    evenly(all, FIGURES)
}

fn takes(held: &[(&Swept, &str)], parameters: &[Parameter]) -> bool {
    held.iter()
        .all(|(key, value)| key.value(parameters).as_deref() == Some(*value))
}

/// `, delay 50 ms`.
fn said(held: &[(&Swept, &str)]) -> String {
    let each = held
        .iter()
        .map(|(key, value)| format!(", {} {value}", key.name));
    each.collect()
}

/// The reason for these values, for a caption.
fn why(held: &[(&Swept, &str)]) -> String {
    let middle: Vec<&str> = held
        .iter()
        .filter(|(key, _)| key.numbers.is_some())
        .map(|(key, _)| key.name.as_str())
        .collect();
    if middle.is_empty() {
        String::new()
    } else {
        format!(" Held at the middle of its values: {}.", middle.join(", "))
    }
}

/// Measures over a key: if its values are numbers, a panel for each measure with a line for each
/// label; otherwise a map of labels over the key. `keys` are all keys of the sweep; the others are
/// held.
pub fn lines(key: &Swept, keys: &[Swept], measured: &[&Measured]) -> Vec<Figure> {
    let Some(x) = key.axis() else {
        let maps = measured.iter();
        return maps.flat_map(|m| of_labels(key, keys, m)).collect();
    };
    let one = |held: &Vec<(&Swept, &str)>| {
        let panel = |m: &&Measured| {
            let lines: Vec<Series> = m
                .labels()
                .into_iter()
                .filter_map(|of| line(key, m, held, of))
                .collect();
            (!lines.is_empty()).then(|| Panel {
                y: m.what.clone(),
                series: lines,
            })
        };
        let panels: Vec<Panel> = measured.iter().filter_map(panel).collect();
        let spread = panels
            .iter()
            .any(|p| p.series.iter().any(|s| !s.spread.is_empty()));
        let bars = if spread {
            "Means over the seeds; bars are standard deviations."
        } else {
            "One seed."
        };
        let what: Vec<&str> = panels.iter().map(|p| p.y.label.as_str()).collect();
        let over = format!("over {}", key.name);
        let (id, title) = match what.as_slice() {
            [one] => (format!("{one} {over}"), format!("{} {over}", capital(one))),
            _ => (over.clone(), capital(&over)),
        };
        (!panels.is_empty()).then(|| {
            shorten(Figure {
                id: slug(&id),
                title: title + &said(held),
                caption: format!("{bars}{}", why(held)),
                plot: Plot::Panels {
                    x: x.clone(),
                    panels,
                },
            })
        })
    };
    held(&[key], keys).iter().filter_map(one).collect()
}

/// The line of a label; `None` if it has a single point.
fn line(
    key: &Swept,
    measured: &Measured,
    held: &[(&Swept, &str)],
    (label, protocol): (&str, Option<&str>),
) -> Option<Series> {
    let mut places: Vec<(f64, Stat)> = measured
        .cells
        .iter()
        .filter(|cell| cell.label == label && takes(held, &cell.parameters))
        .filter_map(|cell| {
            let x = key.number(&key.value(&cell.parameters)?)?;
            Some((x, cell.stat))
        })
        .collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let spread: Option<Vec<f64>> = places.iter().map(|(_, stat)| stat.sd).collect();
    let points = places.iter().map(|(x, stat)| [*x, stat.mean]).collect();
    (places.len() > 1).then(|| Series {
        spread: spread.unwrap_or_default(),
        ..series(protocol, label, Form::MarkedLine, points)
    })
}

/// A measure over two keys, with a map for each label; other keys are held. `None` if there are no
/// numbers.
pub fn heat(x: &Swept, y: &Swept, keys: &[Swept], measured: &Measured) -> Option<Figure> {
    let places = held(&[x, y], keys);
    let held = super::setting::middle(&places)?;
    let map = |(label, protocol): (&str, Option<&str>)| {
        let cell = |row: &String, column: &String| {
            let here = |cell: &&Cell| {
                cell.label == label
                    && takes(held, &cell.parameters)
                    && x.value(&cell.parameters).as_ref() == Some(column)
                    && y.value(&cell.parameters).as_ref() == Some(row)
            };
            measured.cells.iter().find(here).map(|cell| cell.stat.mean)
        };
        let rows = y.values.iter();
        let cells: Vec<Option<f64>> = rows
            .flat_map(|row| x.values.iter().map(move |column| cell(row, column)))
            .collect();
        let any = cells.iter().any(Option::is_some);
        any.then(|| Heat {
            protocol: protocol.map(str::to_owned),
            label: label.to_owned(),
            cells,
        })
    };
    let mut maps: Vec<Heat> = measured.labels().into_iter().filter_map(map).collect();
    let more = match maps.len().saturating_sub(MAPS) {
        0 => String::new(),
        more => format!(" {more} more are not shown."),
    };
    maps.truncate(MAPS);
    let (what, x_name, y_name) = (&measured.what.label, &x.name, &y.name);
    (!maps.is_empty()).then(|| {
        shorten(Figure {
            id: format!("map-{}-{}-{}", slug(what), slug(x_name), slug(y_name)),
            title: format!("{} over {x_name} and {y_name}{}", capital(what), said(held)),
            caption: format!("Means over the seeds.{}{more}", why(held)),
            plot: Plot::Heat {
                x: categories(x),
                y: categories(y),
                value: measured.what.clone(),
                maps,
            },
        })
    })
}

/// A measure over a key whose values are not numbers: a map with a row for each label.
fn of_labels(key: &Swept, keys: &[Swept], measured: &Measured) -> Option<Figure> {
    let places = held(&[key], keys);
    let held = super::setting::middle(&places)?;
    // Rows go from bottom to top; the first label is at the top.
    let labels: Vec<&str> = measured
        .labels()
        .into_iter()
        .rev()
        .map(|(l, _)| l)
        .collect();
    let cell = |label: &str, value: &String| {
        let here = |cell: &&Cell| {
            cell.label == label
                && takes(held, &cell.parameters)
                && key.value(&cell.parameters).as_ref() == Some(value)
        };
        measured.cells.iter().find(here).map(|cell| cell.stat.mean)
    };
    let rows = labels.iter();
    let cells: Vec<Option<f64>> = rows
        .flat_map(|label| key.values.iter().map(move |value| cell(label, value)))
        .collect();
    let what = &measured.what.label;
    cells.iter().any(Option::is_some).then(|| {
        shorten(Figure {
            id: format!("map-{}-{}", slug(what), slug(&key.name)),
            title: format!("{} over {}{}", capital(what), key.name, said(held)),
            caption: format!("Means over the seeds.{}", why(held)),
            plot: Plot::Heat {
                x: categories(key),
                y: Categories {
                    label: "controller".to_owned(),
                    values: labels.iter().map(|l| (*l).to_owned()).collect(),
                },
                value: measured.what.clone(),
                maps: vec![Heat {
                    protocol: None,
                    label: String::new(),
                    cells,
                }],
            },
        })
    })
}

fn categories(key: &Swept) -> Categories {
    Categories {
        label: key.name.clone(),
        values: key.values.clone(),
    }
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
}

/// A text for an id.
pub(super) fn slug(text: &str) -> String {
    let one = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    text.chars().map(one).collect()
}
