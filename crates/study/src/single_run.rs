//! Outputs of a single run (a trace, a file in iperf3's format) need a scenario with one
//! combination; the error names values that select one.

use crate::BadInput;
use whimbrel_sim::scenario::{Point, Scenario};
use whimbrel_sim::sweep::Job;

/// How the user selects one run of a sweep.
#[derive(Clone, Copy)]
pub enum Selection {
    /// By a key of the scenario: `--set link.L.loss='1 %'`.
    Set,
    /// By the command's own flags: pairs of key and flag.
    Flags(&'static [(&'static str, &'static str)]),
}

/// The only combination of a scenario, with its first seed, for the output `what`.
///
/// # Errors
/// If it has several combinations; the message names values to select one.
pub fn only<'a>(
    scenario: &'a Scenario,
    selection: Selection,
    what: &str,
) -> Result<Job<'a>, BadInput> {
    let points = scenario.points();
    let [point] = points else {
        return Err(BadInput::new(format!(
            "{what} needs one run, but the scenario has {} combinations; select one, e.g. {}",
            points.len(),
            choices(points, selection)
        )));
    };
    match point.seeds().first() {
        Some(&seed) => Ok(Job { point, seed }),
        None => Err(BadInput::new(format!(
            "{what} needs one run, but the scenario has no seeds"
        ))),
    }
}

/// The first value of each key that has several values, as the user writes it.
fn choices(points: &[Point], selection: Selection) -> String {
    let mut choices: Vec<(&str, Vec<String>)> = Vec::new();
    for parameter in points.iter().flat_map(Point::parameters) {
        let value = parameter.value.to_string();
        match choices.iter_mut().find(|(key, _)| *key == parameter.key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => choices.push((&parameter.key, vec![value])),
        }
    }
    choices.retain(|(_, values)| values.len() > 1);
    let choice = |(key, values): &(&str, Vec<String>)| {
        let value = &values[0];
        match selection {
            Selection::Set => format!("--set {key}='{value}'"),
            Selection::Flags(flags) => match flags.iter().find(|(of, _)| of == key) {
                // The flag takes the round-trip time, the key the delay of each direction.
                Some((_, "--rtt")) => "--rtt with one value".to_owned(),
                Some((_, flag)) => format!("{flag} '{value}'"),
                None => format!("one value of {key}"),
            },
        }
    };
    let choices: Vec<String> = choices.iter().map(choice).collect();
    choices.join(" ")
}
