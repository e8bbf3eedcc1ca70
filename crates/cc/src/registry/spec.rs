//! A choice of algorithm, and its parser.
//!
//! People name an algorithm as `cubic`, or with parameters as `cubic?hystart=false&C=0.6`. A loss
//! classifier is put on any algorithm that has none of its own with a plus: `cubic+cerl`,
//! `cubic?C=0.6+cerl?A=0.7`. A layer is put on any algorithm with a window in the same way:
//! `vegas+ccafr`, `vegas+ccafr+cerl`. A plus has no other meaning; a name that once ended with one
//! (`westwood+`) is read as the present name (`westwood-plus`).

use crate::careful_resume::CarefulResume;
use crate::classifiers::wrap::WithClassifier;
use crate::interface::{BurstController, Controller, TransportFeatures};
use crate::registry::added::controllers;
use crate::registry::entry::{
    ChosenController, ClassifierEntry, Domain, Entry, Feed, LayerEntry, Parameter, Setup,
    TimeOfDay, Value, Values,
};
use crate::registry::table::{CLASSIFIERS, LAYERS};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use whimbrel_units::{Bytes, nearest, nearest_few};

/// An algorithm with its parameters, as a user chose it: `cerl?A=0.6`, `cubic+cerl`.
#[derive(Clone)]
pub struct Spec {
    entry: &'static Entry,
    set: Vec<(&'static str, Value)>,
    classifier: Option<ClassifierSpec>,
    layer: Option<LayerSpec>,
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

/// A layer with its parameters, as a user chose it.
#[derive(Clone)]
struct LayerSpec {
    entry: &'static LayerEntry,
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

    /// The layer that was put on it.
    pub fn layer(&self) -> Option<&'static LayerEntry> {
        self.layer.as_ref().map(|chosen| chosen.entry)
    }

    /// Whether it distinguishes random loss from congestion.
    pub fn classifies_losses(&self) -> bool {
        match self.build_for_bursts(&PROBE) {
            Some(controller) => controller.classifies_losses(),
            None => self.build(&PROBE).is_some_and(|c| c.classifies_losses()),
        }
    }

    /// The features that it requires of the transport.
    pub fn transport_features(&self) -> TransportFeatures {
        let controller = self.build(&PROBE);
        controller.map_or(TransportFeatures::NOTHING, |c| c.transport_features())
    }

    /// Builds a controller for a new connection; `None` if the algorithm is fed reports on bursts.
    /// It starts with [`CarefulResume`] where something was saved of the path.
    pub fn build(&self, setup: &Setup) -> Option<Box<dyn Controller>> {
        if let Some(saved) = setup.saved {
            if self.entry.is_fed_bursts() {
                return None;
            }
            let chosen = Arc::new(Window(self.clone()));
            return Some(Box::new(CarefulResume::new(chosen, setup, saved)));
        }
        let controller = match (&self.maker, self.entry.feed) {
            (Some(make), _) => make(setup),
            (None, Feed::Acknowledgments { build, .. }) => build(setup, &self.values()),
            (None, Feed::Bursts(_)) => return None,
        };
        let controller = match &self.layer {
            None => controller,
            Some(LayerSpec { entry, set }) => {
                let values = values(entry.name, entry.parameters, set);
                (entry.build)(setup, &values, controller)
            }
        };
        let Some(ClassifierSpec { entry, set }) = &self.classifier else {
            return Some(controller);
        };
        let classifier = (entry.build)(&values(entry.name, entry.parameters, set));
        Some(Box::new(WithClassifier::new(controller, classifier)))
    }

    /// Builds a controller for a new connection; `None` if the algorithm is fed acknowledgments.
    pub fn build_for_bursts(&self, setup: &Setup) -> Option<Box<dyn BurstController>> {
        match self.entry.feed {
            Feed::Bursts(build) => Some(build(setup, &self.values())),
            Feed::Acknowledgments { .. } => None,
        }
    }

    fn values(&self) -> Values<'_> {
        values(self.entry.name, self.entry.parameters, &self.set)
    }
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

/// A choice that is fed acknowledgments.
#[derive(Debug, Clone)]
struct Window(Spec);

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ChosenController for Window {
    fn build(&self, setup: &Setup) -> Box<dyn Controller> {
        let built = self.0.build(setup);
        built.expect("parse_controller refuses algorithms that are fed bursts")
    }
}

/// Parses a controller for an algorithm that switches between others.
pub(crate) fn parse_controller(text: &str) -> Result<Arc<dyn ChosenController>, String> {
    let spec: Spec = text.parse().map_err(|error: SpecError| error.to_string())?;
    if spec.entry.is_fed_bursts() {
        return Err(format!(
            "`{spec}` is fed reports on bursts; only controllers that are fed acknowledgments can \
             replace each other"
        ));
    }
    Ok(Arc::new(Window(spec)))
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        let same = match (&self.classifier, &other.classifier) {
            (None, None) => true,
            (Some(a), Some(b)) => std::ptr::eq(a.entry, b.entry) && a.set == b.set,
            _ => false,
        };
        let same_layer = match (&self.layer, &other.layer) {
            (None, None) => true,
            (Some(a), Some(b)) => std::ptr::eq(a.entry, b.entry) && a.set == b.set,
            _ => false,
        };
        let same = same && same_layer;
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
        if let Some(LayerSpec { entry, set }) = &self.layer {
            f.write_str("+")?;
            write_choice(f, entry.name, set)?;
        }
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
        let text = &*with_present_names(text.trim());
        let (controller, additions) = match text.split_once('+') {
            Some((controller, additions)) => (controller, Some(additions)),
            None => (text, None),
        };
        let (name, query) = split_query(controller);
        let all = controllers();
        let names = || all.iter().map(|entry| entry.name);
        let entry = all
            .iter()
            .find(|entry| entry.is_called(name))
            .ok_or_else(|| SpecError(unknown("controller", name, names())))?;
        let mut spec = Self {
            entry,
            set: read_parameters(text, entry.name, query, entry.parameters)?,
            classifier: None,
            layer: None,
            maker: None,
        };
        for part in additions.into_iter().flat_map(split_additions) {
            spec.put(text, part)?;
        }
        Ok(spec)
    }
}

impl Spec {
    /// Puts a loss classifier or a layer on it; `text` is the entire choice, for errors.
    fn put(&mut self, text: &str, part: &str) -> Result<(), SpecError> {
        let (name, query) = split_query(part);
        let called = |known: &str| known.eq_ignore_ascii_case(name);
        if let Some(entry) = LAYERS.iter().find(|e| called(e.name)) {
            if self.layer.is_some() || !self.has_window() {
                return Err(SpecError(format!(
                    "`{text}`: `{name}` raises a window, and `{self}` has none that can be raised; \
                     put it on an algorithm with a window, such as `vegas+{name}`",
                )));
            }
            let set = read_parameters(text, name, query, entry.parameters)?;
            self.layer = Some(LayerSpec { entry, set });
            return Ok(());
        }
        let names = CLASSIFIERS.iter().map(|e| e.name);
        let names = names.chain(LAYERS.iter().map(|e| e.name));
        let entry = CLASSIFIERS
            .iter()
            .find(|e| called(e.name))
            .ok_or_else(|| SpecError(unknown("loss classifier", name, names)))?;
        if self.entry.is_fed_bursts() || self.classifies_losses() {
            return Err(SpecError(format!(
                "`{text}`: `{}` responds to losses in its own way; put `{name}` on another \
                 algorithm, such as `cubic+{name}`",
                self.entry.name
            )));
        }
        self.classifier = Some(ClassifierSpec {
            entry,
            set: read_parameters(text, name, query, entry.parameters)?,
        });
        Ok(())
    }

    /// Whether its controllers have a window that a layer can raise.
    fn has_window(&self) -> bool {
        let Some(mut controller) = self.build(&PROBE) else {
            return false;
        };
        let more = Bytes::new(2 * controller.cwnd().get());
        controller.raise_window(more);
        controller.cwnd() >= more
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
    time_of_day: TimeOfDay::MIDNIGHT,
    saved: None,
};

/// The algorithm that a choice, or a label that begins with one, names: `cubic` of
/// `cubic?C=0.6+cerl, lte`.
pub fn named(label: &str) -> Option<&'static Entry> {
    let label = with_present_names(label);
    let name = label.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.'));
    let name = name.into_iter().next()?;
    controllers()
        .into_iter()
        .find(|entry| entry.is_called(name))
}

/// The text with present names instead of old ones that end with a plus, wherever such a name
/// stands for an algorithm: at the beginning, or among the values of a parameter. A plus before a
/// letter adds a classifier, as in `westwood+cerl`.
fn with_present_names(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if !text.contains('+') {
        return text;
    }
    for entry in controllers() {
        let Some(old) = entry.old_name else { continue };
        let mut from = 0;
        while let Some(at) = text
            .get(from..)
            .and_then(|rest| find_ignoring_case(rest, old))
        {
            let (begin, end) = (from + at, from + at + old.len());
            let whole = !text[..begin].ends_with(|c: char| c.is_alphanumeric() || c == '-');
            let adds = text[end..].trim_start().starts_with(char::is_alphabetic);
            if whole && !adds {
                text.to_mut().replace_range(begin..end, entry.name);
            }
            from = end;
        }
    }
    text
}

fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let mut windows = text.windows(wanted.len());
    windows.position(|window| window.eq_ignore_ascii_case(wanted))
}

/// The parts of `ccafr+cerl?A=0.7`. A plus that does not follow a name is part of what follows, so
/// that an error names it.
fn split_additions(text: &str) -> impl Iterator<Item = &str> {
    let at = text
        .match_indices('+')
        .map(|(at, _)| at)
        .find(|at| text[..*at].ends_with(|c: char| c.is_alphanumeric()));
    let (first, rest) = match at {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    std::iter::once(first).chain(rest)
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
        match &self.domain {
            Domain::Text(default) => default
                .with(text, parse_controller)
                .map(Value::Text)
                .map_err(|error| format!("`{}`: {error}", self.name)),
            Domain::Switch(_) => text
                .parse()
                .map(Value::Switch)
                .map_err(|_| format!("`{}` must be true or false, not `{text}`", self.name)),
            Domain::Number { range, .. } => match (text.parse::<f64>(), range) {
                (Ok(n), (min, max)) if (*min..=*max).contains(&n) => Ok(Value::Number(n)),
                (_, (min, max)) => Err(format!(
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
            "westwood-plus?alpha=0.8",
            "westwood+cerl",
            "westwood-plus+cerl?A=0.7",
            "rta?ranges=westwood-plus:5:8:cubic:9:10:newjersey-plus&boost=paper+cerl?A=0.7",
        ] {
            assert_eq!(text.parse::<Spec>().expect("valid").to_string(), text);
        }
    }

    #[test]
    fn a_classifier_can_be_put_on_an_algorithm_that_has_none() {
        let spec: Spec = "cubic+cerl".parse().expect("valid");
        assert!(spec.classifies_losses());
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
    fn an_old_name_with_a_plus_is_read_as_the_present_name() {
        for (text, shown) in [
            ("westwood+", "westwood-plus"),
            (" Westwood+ ", "westwood-plus"),
            ("westwood+?alpha=0.8", "westwood-plus?alpha=0.8"),
            ("westwood++cerl", "westwood-plus+cerl"),
            ("westwood+ + cerl", "westwood-plus+cerl"),
            (
                "westwood+?alpha=0.8+cerl?A=0.7",
                "westwood-plus?alpha=0.8+cerl?A=0.7",
            ),
            ("newjersey+", "newjersey-plus"),
            (
                "rta?ranges=newreno:500:800:westwood+",
                "rta?ranges=newreno:500:800:westwood-plus",
            ),
            (
                "rta?ranges=westwood+:5:8:newjersey++cerl",
                "rta?ranges=westwood-plus:5:8:newjersey-plus+cerl",
            ),
            // Before a letter, a plus adds a classifier.
            ("westwood+cerl", "westwood+cerl"),
            ("westwood + cerl", "westwood+cerl"),
            ("westwood?m=4+cerl", "westwood?m=4+cerl"),
        ] {
            let spec: Spec = text.parse().expect(text);
            assert_eq!(spec.to_string(), shown, "{text}");
        }
    }

    #[test]
    fn an_error_near_a_plus_names_the_part_that_is_wrong() {
        for (wrong, why) in [
            (
                "westwod+cerl",
                "unknown controller `westwod`, did you mean `westwood`?",
            ),
            ("cubic+", "unknown loss classifier ``"),
            (
                "cubik+",
                "unknown controller `cubik`, did you mean `cubic`?",
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
            (
                "westwood+?tau=1",
                "unknown parameter of `westwood-plus` `tau`",
            ),
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
                "`newjersey-plus` responds to losses in its own way",
            ),
            ("+", "unknown controller ``"),
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
            ("Westwood-Plus", "westwood-plus"),
            ("NewReno+CERL", "newreno+cerl"),
            ("Cerl?A=0.6", "cerl?A=0.6"),
        ] {
            assert_eq!(text.parse::<Spec>().expect(text).to_string(), name);
        }
    }

    #[test]
    fn a_label_names_the_algorithm_that_it_begins_with() {
        for (label, expected) in [
            ("cerl?A=0.6", Some("cerl")),
            ("cubic?C=0.6+cerl?A=0.7", Some("cubic")),
            ("westwood++cerl", Some("westwood-plus")),
            ("westwood+cerl", Some("westwood")),
            ("newreno, lte > core", Some("newreno")),
            ("cerl-plus-printed", Some("cerl-plus-printed")),
            ("bbr3", Some("bbr3")),
            ("cubical", None),
            ("", None),
        ] {
            assert_eq!(named(label).map(|entry| entry.name), expected, "{label}");
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
