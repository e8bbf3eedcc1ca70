//! Swept keys as columns.
//!
//! A key is a column of the same name (`link.L.loss`) with the values as written: numbers if all
//! are numbers, otherwise text. If all have a unit of one kind, a second column has the numbers in
//! the base unit, which ends its name: `link.L.loss_ratio` is 0.01 for `1 %`.

use super::{Cell, Column, Kind};
use crate::quantity::Quantity;
use whimbrel_sim::scenario::{Parameter, ParameterValue, Point};
use whimbrel_sim::sweep::Run;

/// A swept key.
#[derive(Debug)]
pub(super) struct Swept {
    key: String,
    kind: Kind,
    unit: Option<Quantity>,
}

/// The keys of all points, in the order of their first appearance.
pub(super) fn swept<'p>(points: impl Iterator<Item = &'p Point>) -> Vec<Swept> {
    let mut all: Vec<(&str, Vec<&ParameterValue>)> = Vec::new();
    let mut last: Option<&Point> = None;
    for point in points {
        // A point may come once for each of its runs.
        if last
            .replace(point)
            .is_some_and(|last| std::ptr::eq(last, point))
        {
            continue;
        }
        for Parameter { key, value } in point.parameters() {
            match all.iter_mut().find(|(known, _)| known == key) {
                Some((_, values)) => values.push(value),
                None => all.push((key, vec![value])),
            }
        }
    }
    let all = all.into_iter();
    all.map(|(key, values)| {
        let kind = kind(&values);
        Swept {
            key: key.to_owned(),
            kind,
            unit: (kind == Kind::Text).then(|| unit(&values)).flatten(),
        }
    })
    .collect()
}

fn kind(values: &[&ParameterValue]) -> Kind {
    use ParameterValue::{Float, Integer, Switch};
    let are = |of: fn(&ParameterValue) -> bool| values.iter().all(|value| of(value));
    if are(|value| matches!(value, Integer(_))) {
        Kind::Integer
    } else if are(|value| matches!(value, Integer(_) | Float(_))) {
        Kind::Float
    } else if are(|value| matches!(value, Switch(_))) {
        Kind::Switch
    } else {
        Kind::Text
    }
}

fn unit(values: &[&ParameterValue]) -> Option<Quantity> {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    Quantity::of(&texts)
}

impl Swept {
    pub(super) fn columns(&self) -> impl Iterator<Item = Column> {
        let key = &self.key;
        let written = Column::new(key, self.kind, "value of the swept key, as written");
        let number = self.unit.map(|unit| {
            let name = format!("{key}_{}", unit.base);
            Column::new(&name, Kind::Float, "the same in the base unit")
        });
        std::iter::once(written).chain(number)
    }

    /// The cells of its columns in rows of this run.
    pub(super) fn cells(&self, run: &Run<'_>) -> Vec<(String, Cell)> {
        let parameters = run.point.parameters().iter();
        let Some(parameter) = parameters.into_iter().find(|p| p.key == self.key) else {
            return Vec::new();
        };
        let value = &parameter.value;
        let written = match (self.kind, value) {
            (Kind::Integer, ParameterValue::Integer(n)) => Cell::Integer(*n),
            (Kind::Float, ParameterValue::Integer(n)) => Cell::Float(*n as f64),
            (Kind::Float, ParameterValue::Float(n)) if n.is_finite() => Cell::Float(*n),
            (Kind::Switch, ParameterValue::Switch(on)) => Cell::Switch(*on),
            (Kind::Text, value) => Cell::Text(value.to_string()),
            _ => Cell::Null,
        };
        let mut cells = vec![(self.key.clone(), written)];
        if let Some(unit) = self.unit
            && let Some(number) = (unit.read)(&value.to_string())
        {
            cells.push((format!("{}_{}", self.key, unit.base), Cell::Float(number)));
        }
        cells
    }
}
