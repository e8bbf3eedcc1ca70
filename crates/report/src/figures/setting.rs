//! Runs that differ only in their controllers and seeds.

use crate::short_names::short_names;
use whimbrel_sim::FlowOutcome;
use whimbrel_sim::scenario::Parameter;
use whimbrel_sim::sweep::Run;

/// All runs with the same swept values, except those of controllers.
#[derive(Debug, Clone)]
pub struct Setting<'a> {
    /// The values as text: `loss 1 %, delay 50 ms`; empty if nothing else is swept.
    pub at: String,
    /// The runs, in their order.
    pub runs: Vec<&'a Run<'a>>,
    /// The [name](is_called) of the flows that are shown over time; `None` for all flows.
    pub flows: Option<String>,
}

impl<'a> Setting<'a> {
    /// The first run of each point.
    pub(super) fn firsts(&self) -> impl Iterator<Item = &'a Run<'a>> {
        let points = self.runs.chunk_by(|a, b| std::ptr::eq(a.point, b.point));
        points.filter_map(|runs| runs.first().copied())
    }

    /// `title` with the swept values.
    pub(super) fn titled(&self, title: &str) -> String {
        if self.at.is_empty() {
            title.to_owned()
        } else {
            format!("{title}, {}", self.at)
        }
    }
}

/// Whether a flow has this controller or this name in the scenario.
pub fn is_called(flow: &FlowOutcome, name: &str) -> bool {
    flow.name.name == name || flow.controller.as_deref() == Some(name)
}

/// Whether a key of a sweep is a controller.
pub fn is_controller(key: &str) -> bool {
    key.starts_with("flow.") && key.ends_with(".controller")
}

/// All settings, in the order of their first runs.
pub fn settings<'a>(runs: &[&'a Run<'a>]) -> Vec<Setting<'a>> {
    let mut all: Vec<Setting<'a>> = Vec::new();
    for run in runs {
        let at = at(run.point.parameters());
        match all.iter_mut().find(|setting| setting.at == at) {
            Some(setting) => setting.runs.push(run),
            None => all.push(Setting {
                at,
                runs: vec![run],
                flows: None,
            }),
        }
    }
    all
}

/// The values of a point as text, except those of controllers.
pub(super) fn at(parameters: &[Parameter]) -> String {
    let keys: Vec<&str> = parameters.iter().map(|p| p.key.as_str()).collect();
    let named = short_names(&keys).into_iter().zip(parameters);
    let others = named.filter(|(_, p)| !is_controller(&p.key));
    let values = others.map(|(name, p)| format!("{name} {}", p.value));
    values.collect::<Vec<_>>().join(", ")
}

/// At most `most` items: the first, the last, and others evenly between them.
pub fn evenly<T>(all: Vec<T>, most: usize) -> Vec<T> {
    let n = all.len();
    if n <= most {
        return all;
    }
    let chosen = |i: usize| match most {
        0 => false,
        1 => i == n / 2,
        most => (0..most).any(|k| k * (n - 1) / (most - 1) == i),
    };
    let all = all.into_iter().enumerate();
    all.filter(|(i, _)| chosen(*i)).map(|(_, x)| x).collect()
}

/// The item in the middle.
pub(super) fn middle<T>(all: &[T]) -> Option<&T> {
    all.get(all.len().saturating_sub(1) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_chosen_evenly() {
        let of = |n: usize, most| evenly((0..n).collect(), most);
        assert_eq!(of(3, 4), [0, 1, 2]);
        assert_eq!(of(10, 4), [0, 3, 6, 9]);
        assert_eq!(of(10, 1), [5]);
        assert_eq!(of(10, 0), [0_usize; 0]);
        assert_eq!(middle(&of(5, 9)), Some(&2));
        assert_eq!(middle::<u8>(&[]), None);
    }
}
