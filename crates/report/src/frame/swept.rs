//! Swept keys as columns.
//!
//! A key is a column under its own name (`link.L.loss`), with the values as they were written: numbers where all are numbers,
//! else text. Where all are written with a unit of one kind, a second column has them as numbers in the base unit, and its name
//! ends in that: `link.L.loss_ratio` has 0.01 for `1 %`.

use super::{Cell, Column, Kind};
use whimbrel_sim::scenario::{Parameter, ParameterValue};
use whimbrel_sim::sweep::Run;
use whimbrel_units::{Bytes, Decibels, Distance, Duration, Frequency, Power, Probability, Rate};

/// A kind of quantity: how the name of its column ends, and how it is read.
type Unit = (&'static str, fn(&str) -> Option<f64>);

const UNITS: [Unit; 10] = [
    ("s", |text| {
        text.parse().ok().map(|v: Duration| v.as_secs_f64())
    }),
    ("bps", |text| {
        text.parse().ok().map(|v: Rate| v.as_bits_per_sec() as f64)
    }),
    ("bytes", |text| {
        text.parse().ok().map(|v: Bytes| v.get() as f64)
    }),
    ("ratio", |text| text.parse().ok().map(Probability::get)),
    ("m", |text| text.parse().ok().map(Distance::metres)),
    ("hz", |text| text.parse().ok().map(Frequency::hertz)),
    ("dbm", |text| text.parse().ok().map(Power::dbm)),
    ("db", |text| text.parse().ok().map(Decibels::get)),
    ("packets", |text| before(text, "packets")),
    ("bdp", |text| before(text, "bdp")),
];

/// The number before a word.
fn before(text: &str, word: &str) -> Option<f64> {
    let number: f64 = text.trim().strip_suffix(word)?.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

/// A swept key.
#[derive(Debug)]
pub(super) struct Swept {
    key: String,
    kind: Kind,
    unit: Option<Unit>,
}

/// The keys that any of the runs has, in the order in which they first come.
pub(super) fn swept(runs: &[Run<'_>]) -> Vec<Swept> {
    let mut all: Vec<(&str, Vec<&ParameterValue>)> = Vec::new();
    // Runs of a point stand together.
    for runs in runs.chunk_by(|a, b| std::ptr::eq(a.point, b.point)) {
        for Parameter { key, value } in runs[0].point.parameters() {
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

/// The one unit that all of them have: `0` alone could be of any.
fn unit(values: &[&ParameterValue]) -> Option<Unit> {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    let fits = |unit: &&Unit| texts.iter().all(|text| unit.1(text).is_some());
    let mut fitting = UNITS.iter().filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some(unit), None) => Some(*unit),
        _ => None,
    }
}

impl Swept {
    pub(super) fn columns(&self) -> impl Iterator<Item = Column> {
        let key = &self.key;
        let written = Column::new(key, self.kind, "a swept key, as written");
        let number = self.unit.map(|(suffix, _)| {
            let name = format!("{key}_{suffix}");
            Column::new(&name, Kind::Float, "the same as a number in the base unit")
        });
        std::iter::once(written).chain(number)
    }

    /// What stands in its columns in rows of this run.
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
        if let Some((suffix, read)) = self.unit
            && let Some(number) = read(&value.to_string())
        {
            cells.push((format!("{}_{suffix}", self.key), Cell::Float(number)));
        }
        cells
    }
}
