//! The table of algorithms: `name -> what it is, citation, parameters with defaults, constructor`.
//!
//! People name one as `cubic`, or with parameters as `cubic?hystart=false&C=0.6`. A discriminator is put on any law that
//! has none of its own with a plus: `cubic+cerl`, `cubic?C=0.6+cerl?A=0.7`. A law's own name may have a plus in it
//! (`westwood+`, and with a discriminator `westwood++cerl`). Defaults stand only in an algorithm's own [`Entry`].

pub use crate::code::Code;
use crate::{
    Asks, Controller, Discriminate, LossDiscriminator, aatp, bbr, bbr3, bic, cerl, cerl_plus,
    cerl_plus_printed, compound, copa, cubic, dtcp, fast, highspeed, hybla, illinois, jitter, jtcp,
    lia, mveno, newjersey, newjersey_plus, newreno, reno, rta, scalable, sctp, tahoe, tcp_nack,
    vegas, veno, verus, westwood, westwood_plus, yeah,
};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use whimbrel_units::{Bytes, nearest};

/// All algorithms, in the order in which they are shown: the standards, then family by family. Within a family the oldest
/// is first, and what was made of it follows it.
pub static ALL: &[&Entry] = &[
    // Losses: the standards.
    &tahoe::ENTRY,
    &reno::ENTRY,
    &newreno::ENTRY,
    &sctp::ENTRY,
    &cubic::ENTRY,
    &lia::ENTRY,
    // Losses: for long paths and large windows.
    &highspeed::ENTRY,
    &scalable::ENTRY,
    &bic::ENTRY,
    &hybla::ENTRY,
    // Losses, by the law that fits the path at the time.
    &rta::NEWRENO,
    &rta::HYBLA,
    &rta::ENTRY,
    &rta::PLUS,
    // Delays, alone or beside losses.
    &vegas::ENTRY,
    &fast::ENTRY,
    &fast::MFAST,
    &fast::EMFAST,
    &compound::ENTRY,
    &yeah::ENTRY,
    &illinois::ENTRY,
    // Losses, after which the window is what the path was measured to carry.
    &westwood::ENTRY,
    &westwood_plus::ENTRY,
    &dtcp::ENTRY,
    // Losses, of which the random ones are told from congestion.
    &veno::ENTRY,
    &mveno::ENTRY,
    &jtcp::ENTRY,
    &newjersey::ENTRY,
    &newjersey_plus::ENTRY,
    &cerl::ENTRY,
    &cerl_plus::ENTRY,
    &cerl_plus_printed::ENTRY,
    // Losses of the path's queues only: the receiver tells which packets came corrupted.
    &tcp_nack::RENO,
    &tcp_nack::WESTWOOD,
    // A model of the path: its rate, its delay.
    &verus::ENTRY,
    &bbr::ENTRY,
    &bbr3::ENTRY,
    &copa::ENTRY,
    // Bursts.
    &aatp::ORIGINAL,
    &aatp::ENHANCED,
];

/// All discriminators that can be put on a law, in the order in which they are shown.
pub static DISCRIMINATORS: &[&DiscriminatorEntry] = &[
    &cerl::DISCRIMINATOR,
    &cerl_plus::DISCRIMINATOR,
    &jitter::LTD,
    &jitter::JITTER_OR_LEVEL,
];

/// What an algorithm is told of the path, and so which transports can carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feed {
    /// Acknowledgments: TCP, QUIC.
    Acknowledgments,
    /// Reports on bursts: AATP.
    Bursts,
}

/// One algorithm of the table.
#[derive(Debug)]
pub struct Entry {
    /// As people type it.
    pub name: &'static str,
    /// What it is in code, the file with its law first; not empty.
    pub code: &'static [Code],
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub citation: &'static str,
    /// What it lives on.
    pub feed: Feed,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// Makes one for a new connection.
    pub build: fn(&Setup, &Values) -> Box<dyn Controller>,
}

/// One discriminator of the table.
#[derive(Debug)]
pub struct DiscriminatorEntry {
    /// As people type it, after a plus.
    pub name: &'static str,
    /// What it is in code, the file with its test first; not empty.
    pub code: &'static [Code],
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub citation: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// Makes one for a new connection.
    pub build: fn(&Values) -> Box<dyn LossDiscriminator>,
}

/// What every connection tells its algorithm at birth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// Greatest payload of one packet.
    pub mss: Bytes,
    /// Window to begin with (RFC 6928: ten segments).
    pub initial_window: Bytes,
    /// The transport spreads what the window allows over the round trip by itself (RFC 9002 section 7.7). Then
    /// growth makes no bursts, and nothing limits how much of it one acknowledgment may bring (L of RFC 3465
    /// and RFC 9406).
    pub paced: bool,
    /// Slow start threshold to begin with, where something is known of the path: its capacity, because the connection
    /// has sent on it under another law. `None`: slow start looks for it (RFC 5681 section 3.1).
    pub ssthresh: Option<Bytes>,
    /// Differs between connections: for algorithms that must not march in step (BBR's gain cycle). The same seed gives
    /// the same decisions.
    pub seed: u64,
}

/// One parameter of an algorithm.
#[derive(Debug)]
pub struct Parameter {
    /// As people type it: the symbol of the paper where there is one.
    pub name: &'static str,
    /// Its value when nobody sets it.
    pub default: Value,
    /// Least and greatest value, for numbers.
    pub range: (f64, f64),
    /// What it does, with its unit.
    pub meaning: &'static str,
}

/// A parameter's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// On or off.
    Switch(bool),
    /// A text with a grammar of its own.
    Text(Text),
}

/// A text that is what its parameter asks for.
#[derive(Debug, Clone)]
pub struct Text {
    text: Cow<'static, str>,
    /// Says what is wrong with a text, in words for the person who wrote it.
    check: fn(&str) -> Result<(), String>,
}

impl Text {
    /// A default, and what every text that is set must pass.
    pub const fn new(default: &'static str, check: fn(&str) -> Result<(), String>) -> Self {
        Self {
            text: Cow::Borrowed(default),
            check,
        }
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => n.fmt(f),
            Self::Switch(s) => s.fmt(f),
            Self::Text(t) => t.as_str().fmt(f),
        }
    }
}

/// The values of an algorithm's parameters: those that were set over the defaults.
#[derive(Debug)]
pub struct Values<'a> {
    name: &'static str,
    parameters: &'static [Parameter],
    set: &'a [(&'static str, Value)],
}

impl Values<'_> {
    fn get(&self, name: &str) -> &Value {
        let set = self.set.iter().find(|(n, _)| *n == name).map(|(_, v)| v);
        let default = || {
            self.parameters
                .iter()
                .find(|p| p.name == name)
                .map(|p| &p.default)
        };
        set.or_else(default)
            .unwrap_or_else(|| panic!("{} declares no parameter {name}", self.name))
    }

    /// The value of a numeric parameter that the entry declares.
    ///
    /// # Panics
    /// If the entry declares no such number: a mistake in the algorithm's own file.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Number(n) => *n,
            other => panic!("{}?{name} is no number: {other}", self.name),
        }
    }

    /// The value of a switch that the entry declares.
    ///
    /// # Panics
    /// If the entry declares no such switch: a mistake in the algorithm's own file.
    pub fn switch(&self, name: &str) -> bool {
        match self.get(name) {
            Value::Switch(s) => *s,
            other => panic!("{}?{name} is no switch: {other}", self.name),
        }
    }

    /// The value of a text that the entry declares: it has passed its check.
    ///
    /// # Panics
    /// If the entry declares no such text: a mistake in the algorithm's own file.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Value::Text(t) => t.as_str(),
            other => panic!("{}?{name} is no text: {other}", self.name),
        }
    }
}

/// An algorithm with its parameters, as somebody chose it: `cerl?A=0.6`, `cubic+cerl`.
#[derive(Clone)]
pub struct Spec {
    entry: &'static Entry,
    set: Vec<(&'static str, Value)>,
    discriminator: Option<DiscriminatorSpec>,
}

/// A discriminator with its parameters, as somebody chose it.
#[derive(Clone)]
struct DiscriminatorSpec {
    entry: &'static DiscriminatorEntry,
    set: Vec<(&'static str, Value)>,
}

impl Spec {
    /// The algorithm of the table.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The discriminator that was put on it.
    pub fn discriminator(&self) -> Option<&'static DiscriminatorEntry> {
        self.discriminator.as_ref().map(|chosen| chosen.entry)
    }

    /// Whether it tells random loss from congestion.
    pub fn discriminates(&self) -> bool {
        self.build(&PROBE).discriminates()
    }

    /// What it asks of the transport that carries it.
    pub fn asks(&self) -> Asks {
        self.build(&PROBE).asks()
    }

    /// A controller for a new connection.
    pub fn build(&self, setup: &Setup) -> Box<dyn Controller> {
        let law = self.law(setup);
        let Some(DiscriminatorSpec { entry, set }) = &self.discriminator else {
            return law;
        };
        let discriminator = (entry.build)(&Values {
            name: entry.name,
            parameters: entry.parameters,
            set,
        });
        Box::new(Discriminate::new(law, discriminator))
    }

    fn law(&self, setup: &Setup) -> Box<dyn Controller> {
        (self.entry.build)(
            setup,
            &Values {
                name: self.entry.name,
                parameters: self.entry.parameters,
                set: &self.set,
            },
        )
    }
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        let same = match (&self.discriminator, &other.discriminator) {
            (None, None) => true,
            (Some(a), Some(b)) => std::ptr::eq(a.entry, b.entry) && a.set == b.set,
            _ => false,
        };
        same && std::ptr::eq(self.entry, other.entry) && self.set == other.set
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
        if let Some(DiscriminatorSpec { entry, set }) = &self.discriminator {
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

/// Why a choice of algorithm was not understood. Its text is meant to be shown to a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpecError(String);

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (entry, rest) = split_law(text.trim())?;
        let (query, discriminator) = split_discriminator(rest);
        let query = query.strip_prefix('?');
        let mut spec = Self {
            entry,
            set: read_parameters(text, entry.name, query, entry.parameters)?,
            discriminator: None,
        };
        let Some(discriminator) = discriminator else {
            return Ok(spec);
        };
        let (name, query) = split_query(discriminator);
        let names = || DISCRIMINATORS.iter().map(|e| e.name);
        let entry = DISCRIMINATORS
            .iter()
            .find(|e| e.name == name)
            .ok_or_else(|| SpecError(unknown("discriminator", name, names())))?;
        if spec.entry.feed != Feed::Acknowledgments || spec.discriminates() {
            return Err(SpecError(format!(
                "`{text}`: `{}` answers losses in its own way; put `{name}` on another law, such as `cubic+{name}`",
                spec.entry.name
            )));
        }
        spec.discriminator = Some(DiscriminatorSpec {
            entry,
            set: read_parameters(text, name, query, entry.parameters)?,
        });
        Ok(spec)
    }
}

/// A connection that is only asked what its law can do.
const PROBE: Setup = Setup {
    mss: Bytes::new(1448),
    initial_window: Bytes::new(14_480),
    paced: false,
    ssthresh: None,
    seed: 0,
};

/// The law that a choice begins with, and what follows its name: nothing, `?` and parameters, or `+` and a discriminator.
///
/// Names may have a plus in them themselves. The longest that fits is meant: `westwood+` is the law of that name,
/// `westwood++cerl` that law with a discriminator, and `westwood+cerl` the law `westwood` with one.
fn split_law(text: &str) -> Result<(&'static Entry, &str), SpecError> {
    let rest_after = |entry: &Entry| {
        let rest = text.strip_prefix(entry.name)?.trim_start();
        (rest.is_empty() || rest.starts_with(['?', '+'])).then_some(rest)
    };
    ALL.iter()
        .filter_map(|entry| Some((*entry, rest_after(entry)?)))
        .max_by_key(|(entry, _)| entry.name.len())
        .ok_or_else(|| {
            let names = ALL.iter().map(|e| e.name);
            SpecError(unknown("controller", supposed_name(text), names))
        })
}

/// What somebody may have meant for a law's name: all before the first `?` or `+`, and that plus too if no
/// discriminator follows it.
fn supposed_name(text: &str) -> &str {
    let end = text.find(['?', '+']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match rest.strip_prefix('+') {
        Some(after) if after.is_empty() || after.starts_with(['?', '+']) => &text[..end + 1],
        _ => name.trim_end(),
    }
}

/// The parameters and the discriminator of what follows a law's name. Among parameters a plus that no letter follows is
/// part of a value: `rta?ranges=newreno:500:800:westwood+`.
fn split_discriminator(rest: &str) -> (&str, Option<&str>) {
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

/// `A=0.6&once_per_window=false`; `text` is the whole choice, for errors.
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
        let (least, greatest) = self.range;
        match &self.default {
            Value::Text(Text { check, .. }) => {
                check(text).map_err(|error| format!("`{}`: {error}", self.name))?;
                Ok(Value::Text(Text {
                    text: Cow::Owned(text.to_owned()),
                    check: *check,
                }))
            }
            Value::Switch(_) => text
                .parse()
                .map(Value::Switch)
                .map_err(|_| format!("`{}` is a switch: true or false, not `{text}`", self.name)),
            Value::Number(_) => match text.parse::<f64>() {
                Ok(n) if (least..=greatest).contains(&n) => Ok(Value::Number(n)),
                _ => Err(format!(
                    "`{}` must be a number from {least} to {greatest}, not `{text}`",
                    self.name
                )),
            },
        }
    }
}

fn unknown<'a>(what: &str, word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = nearest(word, known.clone());
    let all = known.collect::<Vec<_>>().join(", ");
    match near {
        Some(near) => format!("unknown {what} `{word}`, did you mean `{near}`? Known: {all}"),
        None if all.is_empty() => format!("unknown {what} `{word}`: it has none"),
        None => format!("unknown {what} `{word}`. Known: {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_default_is_in_its_range_and_every_name_is_unique() {
        for (i, entry) in ALL.iter().enumerate() {
            assert!(
                ALL[..i].iter().all(|e| e.name != entry.name),
                "{}",
                entry.name
            );
            assert!(!entry.citation.is_empty() && !entry.summary.is_empty());
            for p in entry.parameters {
                if let Value::Number(n) = p.default {
                    assert!(
                        (p.range.0..=p.range.1).contains(&n),
                        "{}?{}",
                        entry.name,
                        p.name
                    );
                }
                if let Value::Text(text) = &p.default {
                    assert_eq!(
                        (text.check)(text.as_str()),
                        Ok(()),
                        "{}?{}",
                        entry.name,
                        p.name
                    );
                }
            }
            let setup = Setup {
                mss: Bytes::new(1460),
                initial_window: Bytes::new(14600),
                paced: false,
                ssthresh: None,
                seed: 1,
            };
            let spec: Spec = entry.name.parse().expect("in the table");
            assert_eq!(
                spec.build(&setup).cwnd(),
                Bytes::new(14600),
                "{}",
                entry.name
            );
        }
    }

    #[test]
    fn a_wrong_name_or_parameter_names_the_nearest_and_the_known() {
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
    fn a_choice_reads_back_as_written() {
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
    fn a_discriminator_is_put_on_a_law_that_has_none() {
        let spec: Spec = "cubic+cerl".parse().expect("valid");
        assert!(spec.build(&PROBE).discriminates());
        assert_ne!(spec, "cubic".parse().expect("valid"));
        for (wrong, why) in [
            ("cubic+", "unknown discriminator"),
            ("cubic+cerk", "did you mean `cerl`?"),
            ("cerl+cerl", "on another law"),
            ("cubic+cerl?A=7", "must be a number from 0 to 1"),
        ] {
            let error = wrong.parse::<Spec>().expect_err(wrong).to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_text_must_be_what_its_parameter_asks_for() {
        for (wrong, why) in [
            (
                "rta?boost=much",
                "`boost`: `measured` or `paper`, not `much`",
            ),
            (
                "rta?ranges=cubik",
                "`ranges`: unknown controller `cubik`, did you mean `cubic`?",
            ),
            ("rta?ranges=cubic:500:hybla", "LAW:DOWN:UP:LAW"),
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
    fn a_plus_at_the_end_of_a_name_is_not_taken_for_the_one_before_a_discriminator() {
        let read = |text: &str| {
            let spec: Spec = text.parse().expect(text);
            (
                spec.entry.name,
                spec.set.len(),
                spec.discriminator.map(|d| (d.entry.name, d.set.len())),
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
    fn what_is_wrong_with_a_name_with_a_plus_is_said_of_the_name_that_was_meant() {
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
            ("cubic+", "unknown discriminator ``"),
            (
                "cubik+",
                "unknown controller `cubik+`, did you mean `cubic`?",
            ),
            ("westwood++", "unknown discriminator ``"),
            (
                "westwood+cerk",
                "unknown discriminator `cerk`, did you mean `cerl`?",
            ),
            (
                "westwood+++cerl",
                "unknown discriminator `+cerl`, did you mean `cerl`?",
            ),
            ("westwood+?tau=1", "unknown parameter of `westwood+` `tau`"),
            (
                "westwood?alpha=0.8",
                "unknown parameter of `westwood` `alpha`",
            ),
            (
                "newjersey+cerl",
                "`newjersey` answers losses in its own way",
            ),
            (
                "newjersey++cerl",
                "`newjersey+` answers losses in its own way",
            ),
            ("+", "unknown controller `+`"),
            ("", "unknown controller ``"),
        ] {
            let error = wrong.parse::<Spec>().expect_err(wrong).to_string();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    proptest! {
        #[test]
        fn reading_a_choice_never_panics(text in ".*") {
            let _ = text.parse::<Spec>();
        }
    }
}
