//! A choice of algorithm, and its parser.
//!
//! People name an algorithm as `cubic`, or with parameters as `cubic?hystart=false&C=0.6`. A loss
//! classifier is put on any algorithm that has none of its own with a plus: `cubic+cerl`,
//! `cubic?C=0.6+cerl?A=0.7`. A name may itself end with a plus (`westwood+`, and with a classifier
//! `westwood++cerl`).

use crate::classifiers::wrap::WithClassifier;
use crate::interface::{Controller, TransportFeatures};
use crate::registry::added::controllers;
use crate::registry::entry::{
    ChosenController, ClassifierEntry, Entry, Feed, Parameter, Setup, Value, Values,
};
use crate::registry::table::CLASSIFIERS;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use whimbrel_units::{Bytes, Duration, nearest, nearest_few};

/// An algorithm with its parameters, as a user chose it: `cerl?A=0.6`, `cubic+cerl`.
#[derive(Clone)]
pub struct Spec {
    entry: &'static Entry,
    set: Vec<(&'static str, Value)>,
    classifier: Option<ClassifierSpec>,
    /// Builds the controller instead of the entry.
    maker: Option<Maker>,
}

/// Makes a controller for a new connection, in place of an entry's own constructor.
pub type Maker = Arc<dyn Fn(&Setup) -> Box<dyn Controller> + Send + Sync>;

/// A loss classifier with its parameters, as a user chose it.
#[derive(Clone)]
struct ClassifierSpec {
    entry: &'static ClassifierEntry,
    set: Vec<(&'static str, Value)>,
}

impl Spec {
    /// The same choice, with controllers that the program makes itself: of one connection, with a
    /// state that the program keeps in its hands.
    #[must_use]
    pub fn made_by(mut self, maker: Maker) -> Self {
        self.maker = Some(maker);
        self
    }

    /// The same choice with the parameter `name` at `value`, unless it is set already; `None` if
    /// the algorithm has no such parameter or does not take the value.
    #[must_use]
    pub fn with_default(mut self, name: &str, value: &str) -> Option<Self> {
        let parameter = self.entry.parameters.iter().find(|p| p.name == name)?;
        if self.set.iter().all(|(set, _)| *set != parameter.name) {
            self.set.push((parameter.name, parameter.read(value).ok()?));
        }
        Some(self)
    }

    /// Its entry in the table.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The loss classifier that was put on it.
    pub fn classifier(&self) -> Option<&'static ClassifierEntry> {
        self.classifier.as_ref().map(|chosen| chosen.entry)
    }

    /// Whether it distinguishes random loss from congestion.
    pub fn classifies_losses(&self) -> bool {
        self.build(&PROBE).classifies_losses()
    }

    /// The features that it requires of the transport.
    pub fn transport_features(&self) -> TransportFeatures {
        self.build(&PROBE).transport_features()
    }

    /// Builds a controller for a new connection.
    pub fn build(&self, setup: &Setup) -> Box<dyn Controller> {
        let entry = self.entry;
        let values = values(entry.name, entry.parameters, &self.set);
        let controller = match &self.maker {
            Some(make) => make(setup),
            None => (entry.build)(setup, &values),
        };
        let Some(ClassifierSpec { entry, set }) = &self.classifier else {
            return controller;
        };
        let classifier = (entry.build)(&values_of(entry, set));
        Box::new(WithClassifier::new(controller, classifier))
    }
}

fn values_of<'a>(entry: &ClassifierEntry, set: &'a [(&'static str, Value)]) -> Values<'a> {
    values(entry.name, entry.parameters, set)
}

fn values<'a>(
    name: &'static str,
    parameters: &'static [Parameter],
    set: &'a [(&'static str, Value)],
) -> Values<'a> {
    Values {
        name,
        parameters,
        set,
        parse: parse_controller,
    }
}

impl ChosenController for Spec {
    fn feed(&self) -> Feed {
        self.entry.feed
    }

    fn build(&self, setup: &Setup) -> Box<dyn Controller> {
        Self::build(self, setup)
    }
}

/// Parses a controller for an algorithm that switches between others.
pub(crate) fn parse_controller(text: &str) -> Result<Arc<dyn ChosenController>, String> {
    match text.parse::<Spec>() {
        Ok(spec) => Ok(Arc::new(spec)),
        Err(error) => Err(error.to_string()),
    }
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        let same = match (&self.classifier, &other.classifier) {
            (None, None) => true,
            (Some(a), Some(b)) => std::ptr::eq(a.entry, b.entry) && a.set == b.set,
            _ => false,
        };
        let same_maker = match (&self.maker, &other.maker) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        same && same_maker && std::ptr::eq(self.entry, other.entry) && self.set == other.set
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spec({self})")
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_choice(f, self.entry.name, &self.set)?;
        if let Some(ClassifierSpec { entry, set }) = &self.classifier {
            f.write_str("+")?;
            write_choice(f, entry.name, set)?;
        }
        Ok(())
    }
}

fn write_choice(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    set: &[(&'static str, Value)],
) -> fmt::Result {
    f.write_str(name)?;
    for (i, (name, value)) in set.iter().enumerate() {
        write!(f, "{}{name}={value}", if i == 0 { '?' } else { '&' })?;
    }
    Ok(())
}

/// Why a choice of algorithm is not valid, for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpecError(String);

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (entry, rest) = split_controller(text.trim())?;
        let (query, classifier) = split_classifier(rest);
        let query = query.strip_prefix('?');
        let mut spec = Self {
            entry,
            set: read_parameters(text, entry.name, query, entry.parameters)?,
            classifier: None,
            maker: None,
        };
        let Some(classifier) = classifier else {
            return Ok(spec);
        };
        let (name, query) = split_query(classifier);
        let names = || CLASSIFIERS.iter().map(|e| e.name);
        let entry = CLASSIFIERS
            .iter()
            .find(|e| e.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| SpecError(unknown("loss classifier", name, names())))?;
        if spec.entry.feed != Feed::Acknowledgments || spec.classifies_losses() {
            return Err(SpecError(format!(
                "`{text}`: `{}` responds to losses in its own way; put `{name}` on another \
                 algorithm, such as `cubic+{name}`",
                spec.entry.name
            )));
        }
        spec.classifier = Some(ClassifierSpec {
            entry,
            set: read_parameters(text, name, query, entry.parameters)?,
        });
        Ok(spec)
    }
}

/// A connection that exists only to query the properties of an algorithm.
const PROBE: Setup = Setup {
    mss: Bytes::new(1448),
    initial_window: Bytes::new(14_480),
    paced: false,
    ssthresh: None,
    growth: crate::registry::Growth::Segments,
    seed: 0,
    utc: Duration::ZERO,
};

/// Splits a choice into the algorithm that it begins with and what follows the name: nothing, `?`
/// and parameters, or `+` and a loss classifier.
///
/// A name may itself end with a plus. The longest name that fits wins: `westwood+` is the algorithm
/// of that name, `westwood++cerl` is it with a classifier, and `westwood+cerl` is `westwood` with
/// one.
fn split_controller(text: &str) -> Result<(&'static Entry, &str), SpecError> {
    let rest_after = |entry: &Entry| {
        let (name, rest) = text.split_at_checked(entry.name.len())?;
        let rest = name
            .eq_ignore_ascii_case(entry.name)
            .then_some(rest)?
            .trim_start();
        (rest.is_empty() || rest.starts_with(['?', '+'])).then_some(rest)
    };
    let all = controllers();
    all.iter()
        .filter_map(|entry| Some((*entry, rest_after(entry)?)))
        .max_by_key(|(entry, _)| entry.name.len())
        .ok_or_else(|| {
            let names = all.iter().map(|e| e.name);
            SpecError(unknown("controller", intended_name(text), names))
        })
}

/// The part of an invalid choice that was probably meant as an algorithm's name: the text before
/// the first `?` or `+`, with that plus if no loss classifier follows it.
fn intended_name(text: &str) -> &str {
    let end = text.find(['?', '+']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match rest.strip_prefix('+') {
        Some(after) if after.is_empty() || after.starts_with(['?', '+']) => &text[..end + 1],
        _ => name.trim_end(),
    }
}

/// Splits the text after an algorithm's name into its parameters and the loss classifier. Among
/// parameters, a plus that no letter follows is part of a value:
/// `rta?ranges=newreno:500:800:westwood+`.
fn split_classifier(rest: &str) -> (&str, Option<&str>) {
    let parameters = rest.starts_with('?');
    let named = |after: &str| after.trim_start().starts_with(char::is_alphabetic);
    rest.match_indices('+')
        .map(|(at, plus)| (&rest[..at], &rest[at + plus.len()..]))
        .find(|(_, after)| !parameters || named(after))
        .map_or((rest, None), |(query, after)| (query, Some(after)))
}

fn split_query(text: &str) -> (&str, Option<&str>) {
    match text.split_once('?') {
        Some((name, query)) => (name.trim(), Some(query)),
        None => (text.trim(), None),
    }
}

/// Reads `A=0.6&once_per_window=false`; `text` is the entire choice, for errors.
fn read_parameters(
    text: &str,
    name: &str,
    query: Option<&str>,
    parameters: &'static [Parameter],
) -> Result<Vec<(&'static str, Value)>, SpecError> {
    let mut set: Vec<(&'static str, Value)> = Vec::new();
    for pair in query.into_iter().flat_map(|q| q.split('&')) {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            SpecError(format!(
                "`{text}`: `{pair}` must be written parameter=value"
            ))
        })?;
        let known = || parameters.iter().map(|p| p.name);
        let parameter = parameters
            .iter()
            .find(|p| p.name == key)
            .ok_or_else(|| SpecError(unknown(&format!("parameter of `{name}`"), key, known())))?;
        if set.iter().any(|(n, _)| *n == key) {
            return Err(SpecError(format!("`{text}`: `{key}` is set twice")));
        }
        let value = parameter.read(value);
        set.push((
            parameter.name,
            value.map_err(|e| SpecError(format!("`{text}`: {e}")))?,
        ));
    }
    Ok(set)
}

impl Parameter {
    fn read(&self, text: &str) -> Result<Value, String> {
        let (min, max) = self.range;
        match &self.default {
            Value::Text(default) => default
                .with(text, parse_controller)
                .map(Value::Text)
                .map_err(|error| format!("`{}`: {error}", self.name)),
            Value::Switch(_) => text
                .parse()
                .map(Value::Switch)
                .map_err(|_| format!("`{}` must be true or false, not `{text}`", self.name)),
            Value::Number(_) => match text.parse::<f64>() {
                Ok(n) if (min..=max).contains(&n) => Ok(Value::Number(n)),
                _ => Err(format!(
                    "`{}` must be a number from {min} to {max}, not `{text}`",
                    self.name
                )),
            },
        }
    }
}

/// Of more names than this, an error shows only the nearest ones.
const MANY: usize = 12;
/// How many it shows.
const FEW: usize = 3;

fn unknown<'a>(what: &str, word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = nearest(word, known.clone());
    let all: Vec<&str> = known.collect();
    let (many, others) = if all.len() > MANY {
        let others = nearest_few(word, all.iter().copied(), FEW);
        let others: Vec<&str> = others
            .into_iter()
            .filter(|name| Some(*name) != near)
            .collect();
        ("Near are", others)
    } else {
        ("Known:", all)
    };
    let others = format!("{many} {}", others.join(", "));
    match near {
        Some(near) => format!("unknown {what} `{word}`, did you mean `{near}`? {others}"),
        None if others == "Known: " => format!("unknown {what} `{word}`: it has no parameters"),
        None => format!("unknown {what} `{word}`. {others}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_error_suggests_the_nearest_name_and_lists_the_known_ones() {
        let error = "cubik".parse::<Spec>().expect_err("unknown").to_string();
        assert!(error.contains("did you mean `cubic`?"), "{error}");
        let error = "cerl?B=0.6"
            .parse::<Spec>()
            .expect_err("unknown")
            .to_string();
        assert!(error.contains("Known: A"), "{error}");
        assert!("cerl?A=7".parse::<Spec>().is_err());
        assert!("cerl?A".parse::<Spec>().is_err());
        assert!("cerl?A=0.5&A=0.6".parse::<Spec>().is_err());
        assert!("cubic?hystart=maybe".parse::<Spec>().is_err());
    }

    #[test]
    fn a_choice_is_displayed_as_it_was_written() {
        for text in [
            "cerl?A=0.6",
            "cubic",
            "cubic?hystart=false",
            "cubic?C=0.6+cerl?A=0.7",
            "westwood+?alpha=0.8",
            "westwood+cerl",
            "westwood++cerl?A=0.7",
            "westwood+?alpha=0.8+cerl?A=0.7",
            "rta?ranges=westwood+:5:8:cubic:9:10:newjersey+&boost=paper+cerl?A=0.7",
            "rta?ranges=newreno:500:800:westwood+",
        ] {
            assert_eq!(text.parse::<Spec>().expect("valid").to_string(), text);
        }
    }

    #[test]
    fn a_classifier_can_be_put_on_an_algorithm_that_has_none() {
        let spec: Spec = "cubic+cerl".parse().expect("valid");
        assert!(spec.build(&PROBE).classifies_losses());
        assert_ne!(spec, "cubic".parse().expect("valid"));
        for (wrong, why) in [
            ("cubic+", "unknown loss classifier"),
            ("cubic+cerk", "did you mean `cerl`?"),
            ("cerl+cerl", "on another algorithm"),
            ("cubic+cerl?A=7", "must be a number from 0 to 1"),
        ] {
            let error = wrong.parse::<Spec>().expect_err(wrong).to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_text_parameter_is_checked() {
        for (wrong, why) in [
            (
                "rta?boost=much",
                "`boost`: `measured` or `paper`, not `much`",
            ),
            (
                "rta?ranges=cubik",
                "`ranges`: unknown controller `cubik`, did you mean `cubic`?",
            ),
            (
                "rta?ranges=cubic:500:hybla",
                "CONTROLLER:DOWN:UP:CONTROLLER",
            ),
            ("rta?ranges=", "unknown controller ``"),
        ] {
            let error = wrong.parse::<Spec>().expect_err(wrong).to_string();
            assert!(error.contains(why), "{wrong}: {error}");
        }
        let (one, other): (Spec, Spec) = (
            "rta?boost=paper".parse().expect("valid"),
            "rta?boost=measured".parse().expect("valid"),
        );
        assert_ne!(one, other);
    }

    #[test]
    fn a_plus_that_ends_a_name_does_not_begin_a_classifier() {
        let read = |text: &str| {
            let spec: Spec = text.parse().expect(text);
            (
                spec.entry.name,
                spec.set.len(),
                spec.classifier.map(|c| (c.entry.name, c.set.len())),
            )
        };
        for (text, expected) in [
            ("westwood", ("westwood", 0, None)),
            ("westwood+", ("westwood+", 0, None)),
            (" westwood+ ", ("westwood+", 0, None)),
            ("westwood+?alpha=0.8", ("westwood+", 1, None)),
            ("westwood?tau=0.5", ("westwood", 1, None)),
            ("westwood+cerl", ("westwood", 0, Some(("cerl", 0)))),
            ("westwood + cerl", ("westwood", 0, Some(("cerl", 0)))),
            ("westwood++cerl", ("westwood+", 0, Some(("cerl", 0)))),
            ("westwood+ + cerl", ("westwood+", 0, Some(("cerl", 0)))),
            ("westwood?m=4+cerl", ("westwood", 1, Some(("cerl", 0)))),
            (
                "westwood+?alpha=0.8+cerl?A=0.7",
                ("westwood+", 1, Some(("cerl", 1))),
            ),
            ("newjersey", ("newjersey", 0, None)),
            ("newjersey+", ("newjersey+", 0, None)),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn an_error_in_a_name_with_a_plus_quotes_the_intended_name() {
        for (wrong, why) in [
            (
                "westwod+",
                "unknown controller `westwod+`, did you mean `westwood+`?",
            ),
            ("westwod+?alpha=0.8", "did you mean `westwood+`?"),
            (
                "westwod+cerl",
                "unknown controller `westwod`, did you mean `westwood`?",
            ),
            ("westwod++cerl", "did you mean `westwood+`?"),
            ("cubic+", "unknown loss classifier ``"),
            (
                "cubik+",
                "unknown controller `cubik+`, did you mean `cubic`?",
            ),
            ("westwood++", "unknown loss classifier ``"),
            (
                "westwood+cerk",
                "unknown loss classifier `cerk`, did you mean `cerl`?",
            ),
            (
                "westwood+++cerl",
                "unknown loss classifier `+cerl`, did you mean `cerl`?",
            ),
            ("westwood+?tau=1", "unknown parameter of `westwood+` `tau`"),
            (
                "westwood?alpha=0.8",
                "unknown parameter of `westwood` `alpha`",
            ),
            (
                "newjersey+cerl",
                "`newjersey` responds to losses in its own way",
            ),
            (
                "newjersey++cerl",
                "`newjersey+` responds to losses in its own way",
            ),
            ("+", "unknown controller `+`"),
            ("", "unknown controller ``"),
        ] {
            let error = wrong.parse::<Spec>().expect_err(wrong).to_string();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        for (text, name) in [
            ("CUBIC", "cubic"),
            ("Westwood+", "westwood+"),
            ("NewReno+CERL", "newreno+cerl"),
            ("Cerl?A=0.6", "cerl?A=0.6"),
        ] {
            assert_eq!(text.parse::<Spec>().expect(text).to_string(), name);
        }
    }

    #[test]
    fn a_typo_shows_the_three_nearest_of_many_names() {
        let error = "cubik".parse::<Spec>().expect_err("unknown").to_string();
        assert!(error.contains("did you mean `cubic`? Near are "), "{error}");
        assert!(!error.contains("verus") && error.len() < 100, "{error}");
        let error = "qqq".parse::<Spec>().expect_err("unknown").to_string();
        assert_eq!(error.matches(", ").count(), 2, "{error}");
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in ".*") {
            let _ = text.parse::<Spec>();
        }
    }
}
