//! Prints a point as a file, which reads as the same point.

use crate::point::{Aim, MatrixPoint};
use std::fmt;
use whimbrel_sim::scenario::Section;
use whimbrel_sim::scenario::document::Value;
use whimbrel_units::{Duration, Probability, Rate};

/// The table `[point]`, and the scenario.
impl fmt::Display for MatrixPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut keys = vec![
            ("class", Value::from(self.class.letter())),
            ("claim", self.claim.clone().into()),
            ("flows", self.flows.clone().into()),
            ("score", self.aim.name().into()),
            ("rtt", self.rtt.into()),
        ];
        keys.extend(keys_of(self.aim));
        write!(f, "{}{}", Section::new("point", keys), self.spec)
    }
}

/// The keys of what should be achieved; those that say nothing are left out.
fn keys_of(aim: Aim) -> Vec<(&'static str, Value)> {
    let fraction = |key, value: f64| {
        let value = Probability::new(value).unwrap_or_default();
        (!value.is_zero()).then(|| (key, value.into()))
    };
    let mut keys = Vec::new();
    match aim {
        Aim::Fill {
            goal,
            queue,
            lost,
            taken,
            overflow,
        } => {
            keys.extend([("goal", goal.into()), ("queue", queue.into())]);
            keys.extend(fraction("lost", lost));
            let taken = Rate::from_bits_per_sec(taken as u64);
            keys.extend((taken != Rate::ZERO).then(|| ("taken", taken.into())));
            // Zero is a goal here: no packet may be lost to queues.
            let overflow = overflow.map(|part| Probability::new(part).unwrap_or_default());
            keys.extend(overflow.map(|part| ("overflow", part.into())));
        }
        Aim::Share { goal } | Aim::Completion { goal } => keys.push(("goal", goal.into())),
        Aim::Own {
            goal,
            queue,
            lost,
            settled,
        } => {
            keys.extend([("goal", goal.into()), ("queue", queue.into())]);
            keys.extend(fraction("lost", lost));
            let settled = settled.map(Duration::from_secs_f64);
            keys.extend(settled.map(|time| ("settled", time.into())));
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Library, Version};
    use std::path::Path;
    use whimbrel_sim::scenario::document::Document;

    #[test]
    fn a_printed_point_reads_as_the_same_point() {
        let library = Library::matrix(Version::Two).expect("the matrix");
        for point in &library.points {
            let text = point.to_string();
            let document = Document::parse(&text, Path::new("p.toml")).expect(&text);
            let read = MatrixPoint::read(&point.id, &text, document);
            let read = read.unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(read.to_string(), text);
            let facts = |point: &MatrixPoint| {
                let scenario = point.scenario("cubic", 1).expect("a scenario");
                let network = scenario.points()[0].network(1);
                let (class, claim, aim, rtt) = (point.class, &point.claim, point.aim, point.rtt);
                let flows = (&point.flows, &point.neighbour);
                format!("{class} {claim} {aim:?} {rtt} {flows:?} {network:?}")
            };
            assert_eq!(facts(&read), facts(point), "{text}");
        }
    }
}
