//! The space of paths: knobs with ranges, and cases, which set them.

use super::draft::Draft;
use whimbrel_rank::MatrixPoint;
use whimbrel_sim::scenario::ScenarioError;

/// The part of a knob's range of the search that leaves an optional feature out.
const OFF: f64 = 0.35;

/// The values of a knob.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// From a minimum to a maximum; equal ratios are equal steps.
    Log(f64, f64),
    /// From a minimum to a maximum in equal steps.
    Linear(f64, f64),
    /// Whole numbers from a minimum to a maximum; equal ratios are equal steps.
    Count(f64, f64),
    /// One of these words; the value is its index.
    Word(&'static [&'static str]),
}

/// A quantity of a path that the search varies.
#[derive(Debug, Clone, Copy)]
pub struct Knob {
    /// What it is, in a few words.
    pub name: &'static str,
    /// Its unit, with the space before it; may be empty.
    pub unit: &'static str,
    /// Its values.
    pub scale: Scale,
    /// Whether a path may be without it.
    pub optional: bool,
    /// The plainest value: what a path has if the value does not matter.
    pub plain: f64,
}

impl Knob {
    /// The value at a place of the search, from 0 to 1. Numbers have three digits.
    fn at(&self, place: f64) -> Option<f64> {
        let place = place.clamp(0.0, 1.0);
        let place = match self.optional {
            true if place < OFF => return None,
            true => (place - OFF) / (1.0 - OFF),
            false => place,
        };
        Some(match self.scale {
            Scale::Log(min, max) => rounded(min * (max / min).powf(place), 3),
            Scale::Linear(min, max) => rounded(min + (max - min) * place, 3),
            Scale::Count(min, max) => (min * (max / min).powf(place)).round(),
            Scale::Word(words) => (place * words.len() as f64)
                .floor()
                .min(words.len() as f64 - 1.0),
        })
    }

    /// The same value with so many digits, within the range; `None` if that changes nothing.
    pub fn with_digits(&self, value: f64, digits: i32) -> Option<f64> {
        let rounded = match self.scale {
            Scale::Log(min, max) | Scale::Linear(min, max) => {
                rounded(value, digits).clamp(min, max)
            }
            Scale::Count(..) | Scale::Word(_) => return None,
        };
        (rounded != value).then_some(rounded)
    }

    /// A value in words: `RTT 50 ms`.
    pub fn words(&self, value: f64) -> String {
        match self.scale {
            Scale::Word(words) => format!("{} {}", self.name, word(words, value)),
            _ => format!("{} {value}{}", self.name, self.unit),
        }
    }

    /// Its range in words: `RTT 5 to 500 ms`.
    pub fn range(&self) -> String {
        let range = match self.scale {
            Scale::Log(min, max) | Scale::Linear(min, max) | Scale::Count(min, max) => {
                format!("{} {min} to {max}{}", self.name, self.unit)
            }
            Scale::Word(words) => format!("{} {}", self.name, words.join(", ")),
        };
        match self.optional {
            true => format!("[{range}]"),
            false => range,
        }
    }
}

/// The word with an index.
fn word(words: &'static [&'static str], index: f64) -> &'static str {
    words.get(index as usize).copied().unwrap_or_default()
}

/// A number with so many significant digits.
pub fn rounded(x: f64, digits: i32) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let power = digits - 1 - x.abs().log10().floor() as i32;
    // Dividing by a whole power of ten gives the number that its text reads as.
    match power >= 0 {
        true => (x * 10_f64.powi(power)).round() / 10_f64.powi(power),
        false => (x / 10_f64.powi(-power)).round() * 10_f64.powi(-power),
    }
}

/// A family of paths.
#[derive(Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What its paths are, in a few words.
    pub summary: &'static str,
    /// What varies.
    pub knobs: &'static [Knob],
    pub(super) draft: fn(&Case) -> Result<Draft, ScenarioError>,
}

/// One path: a family, and a value for each of its knobs. `None` leaves a feature out.
#[derive(Debug, Clone)]
pub struct Case {
    /// The family.
    pub family: &'static Family,
    /// In the order of the family's knobs.
    pub values: Vec<Option<f64>>,
}

impl Case {
    /// The case at a place of the search: a number from 0 to 1 for each knob.
    pub fn at(family: &'static Family, places: &[f64]) -> Self {
        let values = family.knobs.iter().zip(places);
        Self {
            family,
            values: values.map(|(knob, place)| knob.at(*place)).collect(),
        }
    }

    /// The value of the knob with this name; `None` if it is left out, or there is none.
    pub fn get(&self, name: &str) -> Option<f64> {
        let mut knobs = self.family.knobs.iter().zip(&self.values);
        let (_, value) = knobs.find(|(knob, _)| knob.name == name)?;
        *value
    }

    /// The value of a knob that is always set.
    pub fn of(&self, name: &str) -> f64 {
        self.get(name).unwrap_or_default()
    }

    /// The word of the knob with this name.
    pub fn word(&self, name: &str) -> Option<&'static str> {
        let mut knobs = self.family.knobs.iter().zip(&self.values);
        let (knob, value) = knobs.find(|(knob, _)| knob.name == name)?;
        match knob.scale {
            Scale::Word(words) => value.map(|value| word(words, value)),
            _ => None,
        }
    }

    /// Number of features that are set.
    pub fn features(&self) -> usize {
        self.values.iter().flatten().count()
    }

    /// What is set, in words: `rate 10 Mbit/s, RTT 50 ms`.
    pub fn words(&self) -> String {
        let knobs = self.family.knobs.iter().zip(&self.values);
        let set = knobs.filter_map(|(knob, value)| value.map(|value| knob.words(value)));
        set.collect::<Vec<_>>().join(", ")
    }

    /// The path as a point that can be ranked.
    ///
    /// # Errors
    /// If the scenario has a mistake, which a test excludes.
    pub fn point(&self, id: &str) -> Result<MatrixPoint, ScenarioError> {
        let claim = format!("{}: {}.", self.family.name, self.words());
        (self.family.draft)(self)?.point(id, &claim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hunt::families::FAMILIES;
    use std::path::Path;
    use whimbrel_sim::scenario::document::Document;

    #[test]
    fn numbers_have_so_many_digits() {
        let all = [(12.345, 3), (0.012_345, 2), (98_765.0, 1), (0.0, 2)];
        let all = all.map(|(x, digits)| rounded(x, digits));
        assert_eq!(all, [12.3, 0.012, 100_000.0, 0.0]);
    }

    #[test]
    fn a_place_below_the_threshold_leaves_an_optional_feature_out() {
        let knob = Knob {
            name: "loss",
            unit: " %",
            scale: Scale::Log(0.01, 1.0),
            optional: true,
            plain: 0.1,
        };
        assert_eq!(knob.at(0.2), None);
        assert_eq!(knob.at(OFF), Some(0.01));
        assert_eq!(knob.at(1.0), Some(1.0));
        assert_eq!(knob.range(), "[loss 0.01 to 1 %]");
    }

    /// What decides the results of a point.
    fn facts(point: &MatrixPoint) -> String {
        let scenario = point.scenario("bbr", 1).expect("a scenario");
        let network = scenario.points()[0].network(1);
        let (class, claim, aim, rtt) = (point.class, &point.claim, point.aim, point.rtt);
        let flows = (&point.flows, &point.neighbour);
        format!("{class} {claim} {aim:?} {rtt:?} {flows:?} {network:?}")
    }

    /// Corners and diagonals of every family are scenarios without a mistake, within the ranges,
    /// and what is saved reads as the same point.
    #[test]
    fn every_place_of_every_family_is_a_point_and_its_file_the_same() {
        for family in FAMILIES {
            let dims = family.knobs.len();
            let mut places = vec![vec![0.0; dims], vec![1.0; dims], vec![0.5; dims]];
            for one in 0..dims {
                for end in [0.0, 1.0] {
                    let mut place = vec![0.6; dims];
                    place[one] = end;
                    places.push(place);
                }
            }
            for place in places {
                let case = Case::at(family, &place);
                let point = case.point("p");
                let point = point.unwrap_or_else(|error| panic!("{error}: {}", case.words()));
                assert!(point.claim.starts_with(family.name));
                let document = Document::parse(&point.text, Path::new("p.toml")).expect("a file");
                let read = MatrixPoint::read("p", &point.text, document);
                let read = read.unwrap_or_else(|error| panic!("{error}\n{}", point.text));
                assert_eq!(facts(&read), facts(&point), "{}", point.text);
            }
        }
    }
}
