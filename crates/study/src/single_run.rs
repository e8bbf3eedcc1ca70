//! Outputs of a single run (a trace, a file in iperf3's format) need a scenario with one
//! combination; the error names values that select one.

use crate::BadInput;
use whimbrel_sim::scenario::{Point, Scenario};
use whimbrel_sim::sweep::Job;

/// How the user selects a value of a swept key, e.g. of `link.L.loss` the value `1 %`: with
/// `--set link.L.loss='1 %'`.
pub type Selection = fn(key: &str, value: &str) -> String;

/// The only combination of a scenario, with its first seed. `output` is the argument that needs a
/// single run; errors name it.
///
/// # Errors
/// If it has several combinations; the message names values to select one.
pub fn only<'a>(
    scenario: &'a Scenario,
    selection: Selection,
    output: &'static str,
) -> Result<Job<'a>, BadInput> {
    let points = scenario.points();
    let [point] = points else {
        let why = format!(
            "needs one run, but the scenario has {} combinations; select one, e.g. {}",
            points.len(),
            choices(points, selection)
        );
        return Err(BadInput::in_argument(output, why));
    };
    match point.seeds().first() {
        Some(&seed) => Ok(Job { point, seed }),
        None => {
            let why = "needs one run, but the scenario has no seeds";
            Err(BadInput::in_argument(output, why))
        }
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
    let choice = |(key, values): &(&str, Vec<String>)| selection(key, &values[0]);
    let choices: Vec<String> = choices.iter().map(choice).collect();
    choices.join(" ")
}
