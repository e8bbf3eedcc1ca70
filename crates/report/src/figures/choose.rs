//! The points of a sweep that are run again with samples, for figures over time. All points would
//! be too many to run and to read.

use super::setting::{at, evenly, is_controller};
use super::swept::Swept;
use whimbrel_sim::scenario::{Point, Scenario};

/// Maximum number of points that are chosen by default, and of those that are wanted in addition.
const MOST: usize = 12;

/// The same scenario with few points: those where all keys but the controllers' have their middle
/// value, and those that are `wanted`. Of too many, those with the highest `rank` are chosen.
pub fn few(
    scenario: &Scenario,
    wanted: impl Fn(&Point) -> bool,
    rank: impl Fn(&Point) -> f64,
) -> Scenario {
    let points = scenario.points();
    let middle = middle(points);
    let place = |(i, point): (usize, &Point)| (at(point.parameters()) == middle).then_some(i);
    let mut chosen: Vec<usize> = points.iter().enumerate().filter_map(place).collect();
    // The first of equals stays in front.
    chosen.sort_by(|a, b| rank(&points[*b]).total_cmp(&rank(&points[*a])));
    chosen.truncate(MOST);
    let more = points.iter().enumerate();
    let more = more.filter(|(i, point)| !chosen.contains(i) && wanted(point));
    let more: Vec<usize> = more.map(|(i, _)| i).collect();
    chosen.extend(evenly(more, MOST));
    let mut few = scenario.clone();
    let mut index = 0;
    few.retain(|_| {
        index += 1;
        chosen.contains(&(index - 1))
    });
    few
}

/// The name of the setting in which each key has its middle value.
fn middle(points: &[Point]) -> String {
    let Some(first) = points.first() else {
        return String::new();
    };
    let mut middle = first.parameters().to_vec();
    for own in middle.iter_mut().filter(|p| !is_controller(&p.key)) {
        let mut values = Vec::new();
        for p in points.iter().flat_map(Point::parameters) {
            if p.key == own.key && !values.contains(&p.value) {
                values.push(p.value.clone());
            }
        }
        if let Some(index) = Swept::middle_value(&values) {
            own.value = values.swap_remove(index);
        }
    }
    at(&middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const SWEEP: &str = r#"
[link.L]
rate = "8 Mbit/s"
[[flow]]
route = ["L"]
[sweep]
"link.L.loss" = ["5 %", "0 %", "1 %"]
"link.L.delay" = ["10 ms", "50 ms", "100 ms", "200 ms"]
"flow.controller" = ["newreno", "cubic"]
"#;

    fn places(scenario: &Scenario) -> Vec<String> {
        let point = |p: &Point| {
            let values = p.parameters().iter().map(|p| p.value.to_string());
            values.collect::<Vec<_>>().join(" ")
        };
        scenario.points().iter().map(point).collect()
    }

    #[test]
    fn middle_points_of_each_controller_and_wanted_points_are_chosen() {
        let scenario = Scenario::parse(SWEEP, Path::new("a.toml")).expect("a scenario");
        let chosen = few(&scenario, |_| false, |_| 0.0);
        assert_eq!(places(&chosen), ["1 % 50 ms newreno", "1 % 50 ms cubic"]);
        let many: Vec<String> = (1..=20).map(|i| format!("\"cubic?C={i}\"")).collect();
        let many = SWEEP.replace("\"newreno\", \"cubic\"", &many.join(", "));
        let many = Scenario::parse(&many, Path::new("a.toml")).expect("a scenario");
        let last_is_best = |p: &Point| {
            let digits = p.controllers()[0].rsplit('=').next().map(str::parse::<f64>);
            digits.expect("a number").expect("digits")
        };
        let best = places(&few(&many, |_| false, last_is_best));
        assert_eq!(best.len(), 12);
        assert!(
            best[0].ends_with("=9") && best[11].ends_with("=20"),
            "{best:?}"
        );
        let wanted = |p: &Point| {
            let values: Vec<String> = p.parameters().iter().map(|p| p.value.to_string()).collect();
            values == ["5 %", "200 ms", "cubic"]
        };
        let chosen = few(&scenario, wanted, |_| 0.0);
        let expected = ["5 % 200 ms cubic", "1 % 50 ms newreno", "1 % 50 ms cubic"];
        assert_eq!(places(&chosen), expected);
        // If all are wanted, twelve of the other 22 are chosen.
        assert_eq!(few(&scenario, |_| true, |_| 0.0).points().len(), 14);
    }
}
