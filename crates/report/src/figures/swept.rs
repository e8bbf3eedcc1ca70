//! A key of a sweep and its values, as numbers if they are numbers.

use super::setting::is_controller;
use crate::figure::Axis;
use crate::quantity::Quantity;
use crate::short_names::short_names;
use std::cmp::Reverse;
use whimbrel_sim::scenario::{Parameter, ParameterValue};
use whimbrel_sim::sweep::Run;

/// If the ratio of the maximum to the minimum is larger, the axis is logarithmic.
const WIDE: f64 = 30.0;

/// A key with several values.
#[derive(Debug, Clone, PartialEq)]
pub struct Swept {
    /// The key as in `[sweep]`.
    pub key: String,
    /// Its short name: `loss`.
    pub name: String,
    /// The values as written, in their order.
    pub values: Vec<String>,
    /// The values as numbers with their unit, if all are numbers of one kind.
    pub numbers: Option<(Vec<f64>, &'static str)>,
}

impl Swept {
    /// The keys of these runs with several values, except controllers, the most important first:
    /// keys with numbers before others, and those with more values before those with fewer.
    pub fn of(runs: &[&Run<'_>]) -> Vec<Self> {
        let Some(first) = runs.first() else {
            return Vec::new();
        };
        let parameters = first.point.parameters();
        let keys: Vec<&str> = parameters.iter().map(|p| p.key.as_str()).collect();
        let named = keys.iter().zip(short_names(&keys));
        let others = named.filter(|(key, _)| !is_controller(key));
        let mut all: Vec<Self> = others
            .map(|(key, name)| Self::new(key, name, runs))
            .filter(|swept| swept.values.len() > 1)
            .collect();
        all.sort_by_key(|swept| (swept.numbers.is_none(), Reverse(swept.values.len())));
        all
    }

    /// One key of these runs; `None` if they do not have it.
    pub fn one(key: &str, runs: &[&Run<'_>]) -> Option<Self> {
        let parameters = runs.first()?.point.parameters();
        let keys: Vec<&str> = parameters.iter().map(|p| p.key.as_str()).collect();
        let at = keys.iter().position(|k| *k == key)?;
        Some(Self::new(key, short_names(&keys).swap_remove(at), runs))
    }

    fn new(key: &str, name: String, runs: &[&Run<'_>]) -> Self {
        let mut found: Vec<&ParameterValue> = Vec::new();
        for run in runs {
            for p in run.point.parameters().iter().filter(|p| p.key == key) {
                if !found.contains(&&p.value) {
                    found.push(&p.value);
                }
            }
        }
        let values: Vec<String> = found.iter().map(ToString::to_string).collect();
        match parameter(&values).filter(|_| is_controller(key)) {
            Some((parameter, numbers)) => Self {
                key: key.to_owned(),
                name: parameter,
                values,
                numbers: Some((numbers, "")),
            },
            None => Self {
                key: key.to_owned(),
                name,
                values,
                numbers: numbers(&found),
            },
        }
    }

    /// The value of a point, as written.
    pub fn value(&self, parameters: &[Parameter]) -> Option<String> {
        let mine = parameters.iter().find(|p| p.key == self.key);
        mine.map(|p| p.value.to_string())
    }

    /// The number of a value.
    pub(super) fn number(&self, value: &str) -> Option<f64> {
        let (numbers, _) = self.numbers.as_ref()?;
        let at = self.values.iter().position(|v| v == value)?;
        numbers.get(at).copied()
    }

    /// Its axis, if its values are numbers.
    pub(super) fn axis(&self) -> Option<Axis> {
        let (numbers, unit) = self.numbers.as_ref()?;
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let most = numbers.iter().copied().fold(0.0, f64::max);
        Some(Axis {
            log: least > 0.0 && most > WIDE * least,
            ..Axis::new(&self.name, *unit)
        })
    }

    /// The middle value: by size if the values are numbers, otherwise in their order.
    pub(super) fn middle(&self) -> Option<&str> {
        let numbers = self.numbers.as_ref().map(|(numbers, _)| numbers.as_slice());
        let at = middle_of(self.values.len(), numbers)?;
        self.values.get(at).map(String::as_str)
    }

    /// The index of the middle one of a key's distinct values.
    pub(super) fn middle_value(values: &[ParameterValue]) -> Option<usize> {
        let numbers = numbers(&values.iter().collect::<Vec<_>>());
        middle_of(
            values.len(),
            numbers.as_ref().map(|(numbers, _)| numbers.as_slice()),
        )
    }
}

/// The index in the middle of this many values, the lower one of two.
fn middle_of(count: usize, numbers: Option<&[f64]>) -> Option<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    if let Some(numbers) = numbers {
        order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    }
    order.get(count.saturating_sub(1) / 2).copied()
}

/// The name of a parameter and its numbers, if all are the same algorithm with different numbers
/// for that parameter (`cerl?A=0.5`, `cerl?A=0.6`).
fn parameter(values: &[String]) -> Option<(String, Vec<f64>)> {
    let (head, _) = values.first()?.rsplit_once('=')?;
    let number = |value: &String| {
        let (own, number) = value.rsplit_once('=')?;
        let number: f64 = number.parse().ok()?;
        (own == head && number.is_finite()).then_some(number)
    };
    let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
    let (_, name) = head.rsplit_once(['?', '&'])?;
    numbers.map(|numbers| (name.to_owned(), numbers))
}

/// All as numbers of one kind, in the unit that fits the maximum.
fn numbers(values: &[&ParameterValue]) -> Option<(Vec<f64>, &'static str)> {
    let plain = |value: &&ParameterValue| match value {
        ParameterValue::Integer(n) => Some(*n as f64),
        ParameterValue::Float(n) => Some(*n),
        ParameterValue::Text(_) | ParameterValue::Switch(_) => None,
    };
    if let Some(all) = values.iter().map(plain).collect() {
        return Some((all, ""));
    }
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    let kind = Quantity::of(&texts)?;
    let all: Option<Vec<f64>> = texts.iter().map(|text| (kind.read)(text)).collect();
    all.map(|all| kind.show(&all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Option<(Vec<f64>, &'static str)> {
        let values: Vec<_> = texts
            .iter()
            .map(|text| ParameterValue::Text((*text).to_owned()))
            .collect();
        numbers(&values.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_parameter_of_a_law_is_a_number_too() {
        let of = |values: &[&str]| {
            let values: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
            parameter(&values)
        };
        let found = of(&["fast?every=2&alpha=3", "fast?every=2&alpha=6"]);
        assert_eq!(found, Some(("alpha".to_owned(), vec![3.0, 6.0])));
        assert_eq!(of(&["fast?alpha=3", "mfast?alpha=6"]), None);
        assert_eq!(of(&["fast?alpha=3", "fast"]), None);
        assert_eq!(of(&["cubic", "cerl"]), None);
    }

    #[test]
    fn a_wide_axis_is_logarithmic_unless_it_has_a_zero() {
        let swept = |values: &[&str]| Swept {
            key: "link.L.loss".to_owned(),
            name: "loss".to_owned(),
            values: values.iter().map(|v| (*v).to_owned()).collect(),
            numbers: read(values),
        };
        let log = |values: &[&str]| swept(values).axis().expect("numbers").log;
        assert!(log(&["0.1 %", "1 %", "10 %"]) && !log(&["0 %", "1 %", "10 %"]));
        assert!(!log(&["10 ms", "100 ms"]));
        assert_eq!(swept(&["10 %", "1 %", "0 %", "5 %"]).middle(), Some("1 %"));
    }
}
