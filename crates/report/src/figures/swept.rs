//! A key of a sweep: its values, and if they are numbers, which.

use super::setting::is_controller;
use crate::figure::Axis;
use crate::series::unit_of;
use crate::table::short_names;
use std::str::FromStr;
use whimbrel_sim::scenario::{Parameter, ParameterValue};
use whimbrel_sim::sweep::Run;
use whimbrel_units::{Bytes, Duration, Probability, Rate};
use whimbrel_units::{Decibels, Distance, Frequency, Power};

/// Values over so many times the least are shown on a logarithmic axis.
const WIDE: f64 = 30.0;

/// A key that has several values.
#[derive(Debug, Clone, PartialEq)]
pub struct Swept {
    /// As written in `[sweep]`.
    pub key: String,
    /// As people are shown it: `loss`.
    pub name: String,
    /// As written, in their order.
    pub values: Vec<String>,
    /// The same as numbers, if all are numbers of one kind, and their unit.
    pub numbers: Option<(Vec<f64>, &'static str)>,
}

impl Swept {
    /// Those keys of these runs that have several values, those of controllers left out.
    pub fn of(runs: &[&Run<'_>]) -> Vec<Self> {
        let Some(first) = runs.first() else {
            return Vec::new();
        };
        let parameters = first.point.parameters();
        let keys: Vec<&str> = parameters.iter().map(|p| p.key.as_str()).collect();
        let named = keys.iter().zip(short_names(&keys));
        let others = named.filter(|(key, _)| !is_controller(key));
        others
            .map(|(key, name)| Self::new(key, name, runs))
            .filter(|swept| swept.values.len() > 1)
            .collect()
    }

    /// One key of these runs, whatever it says; `None` if they have none.
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

    /// What a point has of it, as written.
    pub fn value(&self, parameters: &[Parameter]) -> Option<String> {
        let mine = parameters.iter().find(|p| p.key == self.key);
        mine.map(|p| p.value.to_string())
    }

    /// The number that is written so.
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

    /// The value in the middle: of numbers by their size, of others as they stand.
    pub(super) fn middle(&self) -> Option<&str> {
        let numbers = self.numbers.as_ref().map(|(numbers, _)| numbers.as_slice());
        let at = middle_of(self.values.len(), numbers)?;
        self.values.get(at).map(String::as_str)
    }

    /// Which of a key's values, each written once, is in the middle.
    pub(super) fn middle_value(values: &[ParameterValue]) -> Option<usize> {
        let numbers = numbers(&values.iter().collect::<Vec<_>>());
        middle_of(
            values.len(),
            numbers.as_ref().map(|(numbers, _)| numbers.as_slice()),
        )
    }
}

/// Of so many values, the one in the middle: the lower one of two.
fn middle_of(count: usize, numbers: Option<&[f64]>) -> Option<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    if let Some(numbers) = numbers {
        order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    }
    order.get(count.saturating_sub(1) / 2).copied()
}

/// If all are one law with another number for the same parameter (`cerl?A=0.5`, `cerl?A=0.6`): its name, and the numbers.
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

/// All as numbers of one kind, in the unit that fits the greatest.
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
    let time = [(60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let rate = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    let bytes = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
    let way = [(1e3, "km"), (1.0, "m")];
    let hertz = [(1e9, "GHz"), (1e6, "MHz")];
    all_of(&texts, |p: Probability| p.get(), &[(0.01, "%")])
        .or_else(|| all_of(&texts, |d: Duration| d.as_secs_f64(), &time))
        .or_else(|| all_of(&texts, |r: Rate| r.as_bits_per_sec() as f64, &rate))
        .or_else(|| all_of(&texts, |b: Bytes| b.get() as f64, &bytes))
        .or_else(|| all_of(&texts, |d: Distance| d.metres(), &way))
        .or_else(|| all_of(&texts, |f: Frequency| f.hertz(), &hertz))
        .or_else(|| counted(&texts, "dB", |text| text.parse::<Decibels>().is_ok()))
        .or_else(|| counted(&texts, "dBm", |text| text.parse::<Power>().is_ok()))
        .or_else(|| counted(&texts, "packets", |_| true))
        .or_else(|| counted(&texts, "bdp", |_| true))
}

/// If all can be read as a `T`.
fn all_of<T: FromStr>(
    texts: &[String],
    number: impl Fn(T) -> f64,
    units: &[(f64, &'static str)],
) -> Option<(Vec<f64>, &'static str)> {
    let read = |text: &String| text.parse::<T>().ok().map(&number);
    let all: Vec<f64> = texts.iter().map(read).collect::<Option<_>>()?;
    let places: Vec<(f64, f64)> = all.iter().map(|x| (0.0, *x)).collect();
    let (size, unit) = unit_of(&[places], units);
    Some((all.iter().map(|x| x / size).collect(), unit))
}

/// If all are a number and this unit.
fn counted(
    texts: &[String],
    unit: &'static str,
    right: impl Fn(&str) -> bool,
) -> Option<(Vec<f64>, &'static str)> {
    let read = |text: &String| {
        let number = text.trim().strip_suffix(unit)?.trim().parse::<f64>().ok()?;
        (number.is_finite() && right(text)).then_some(number)
    };
    let all: Option<Vec<f64>> = texts.iter().map(read).collect();
    all.map(|all| (all, unit))
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
    fn what_people_write_is_a_number_with_a_unit() {
        let near = |texts: &[&str], expected: &[f64], unit| {
            let (found, of) = read(texts).expect("numbers");
            assert_eq!(of, unit);
            for (a, b) in found.iter().zip(expected) {
                assert!((a - b).abs() < 1e-9, "{texts:?}: {found:?}");
            }
        };
        near(&["0 %", "0.1 %", "5 %"], &[0.0, 0.1, 5.0], "%");
        near(&["10 ms", "1500 us"], &[10.0, 1.5], "ms");
        near(&["500 ms", "10 s"], &[0.5, 10.0], "s");
        near(&["8 Mbit/s", "500 kbit/s"], &[8.0, 0.5], "Mbit/s");
        near(&["64 kB", "1 MB"], &[64.0, 1000.0], "kB");
        near(&["50 packets", "100 packets"], &[50.0, 100.0], "packets");
        near(&["0.5 bdp", "4 bdp"], &[0.5, 4.0], "bdp");
        near(&["150 m", "900 m"], &[150.0, 900.0], "m");
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
    fn what_is_of_several_kinds_or_of_none_is_no_number() {
        assert_eq!(read(&["50 packets", "1 bdp"]), None);
        assert_eq!(read(&["rack", "newreno"]), None);
        assert_eq!(read(&["0 s .. 5 s", "1 s"]), None);
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
