//! What an algorithm declares about itself: name, citation, parameters with defaults, constructor.
//!
//! Defaults are written only here, in each algorithm's own [`Entry`].

pub use crate::registry::code::Code;
pub(crate) use crate::registry::code::code;

use crate::interface::{BurstController, Controller, LossClassifier};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use whimbrel_units::{Bytes, Duration};

/// The signal that a family of window algorithms responds to, and what it adds. Each family is a
/// folder of `algorithms/` and a block of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// Losses: the standards, and algorithms for long paths and large windows.
    Loss,
    /// Losses, with another algorithm for each kind of path: the window follows a change of path.
    Adaptive,
    /// Delays, alone or together with losses.
    Delay,
    /// Losses, after which the window becomes the measured bandwidth-delay product.
    Bandwidth,
    /// Losses, but not random ones.
    RandomLoss,
    /// A model of the path: its rate and its delay.
    Model,
}

impl Family {
    /// The name of its folder below `algorithms/`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Adaptive => "adaptive",
            Self::Delay => "delay",
            Self::Bandwidth => "bandwidth",
            Self::RandomLoss => "random_loss",
            Self::Model => "model",
        }
    }
}

/// What moves the window of an algorithm, and so the properties that it must have. Every entry is
/// tested for those of its own declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DrivenBy {
    /// Losses: the window grows with acknowledged data outside of recovery, shrinks only for
    /// losses, and is one segment after a timeout (RFC 5681).
    Losses,
    /// Losses and an estimate of the path's rate: as [`Losses`](Self::Losses), but a timeout may
    /// leave more than one segment, and a loss that leaves the window unchanged may set ssthresh.
    LossesAndRate,
    /// Losses and delays: as [`Losses`](Self::Losses), but an acknowledgment that indicates a queue
    /// may shrink the window.
    LossesAndDelays,
    /// A model of the path: the window follows it up and down with every acknowledgment.
    Path,
}

/// The constructor of a window algorithm.
pub type BuildWindow = fn(&Setup, &Values) -> Box<dyn Controller>;

/// The events that an algorithm is fed, which decide which transports can carry it, and its
/// constructor.
#[derive(Debug, Clone, Copy)]
pub enum Feed {
    /// Acknowledgments: the algorithm sets a window. TCP and QUIC carry it.
    Acknowledgments {
        /// Its family.
        family: Family,
        /// What moves its window.
        driven_by: DrivenBy,
        /// Builds a controller for a new connection.
        build: BuildWindow,
    },
    /// Reports on bursts: the algorithm sets the rate of the next burst. AATP and QUIC carry it.
    Bursts(
        /// Builds a controller for a new connection.
        fn(&Setup, &Values) -> Box<dyn BurstController>,
    ),
}

/// How an algorithm looks in figures and where it stands in lists, chosen by hand so that
/// algorithms that papers compare differ. An algorithm without a look gets one that is rare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Its place among all algorithms, from 0, those that are compared most often first. It
    /// determines dash and mark, so no two algorithms have the same.
    pub rank: usize,
    /// The index of its colour in the palette.
    pub colour: usize,
}

impl Look {
    /// The look of an entry.
    pub(crate) const fn of(rank: usize, colour: usize) -> Option<Self> {
        Some(Self { rank, colour })
    }
}

/// One algorithm of the table.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name, as people type it: letters, digits, `-`, `_` and `.`.
    pub name: &'static str,
    /// A name that it had, which is still read.
    pub old_name: Option<&'static str>,
    /// Its source code, the file with its equations first; not empty.
    pub code: &'static [Code],
    /// A description in one line.
    pub summary: &'static str,
    /// Its source.
    pub citation: &'static str,
    /// The parameters that can be set.
    pub parameters: &'static [Parameter],
    /// The events that it is fed, and its constructor.
    pub feed: Feed,
    /// The Linux kernel's name of it, if the kernel has it.
    pub kernel: Option<&'static str>,
    /// How it looks in figures, if that was chosen.
    pub look: Option<Look>,
    /// What it does on a connection whose receiver's clock it cannot read, in past tense for a
    /// report; `None` if it does not use that clock
    /// ([`receiver_times`](crate::TransportFeatures::receiver_times)).
    pub without_receiver_clock: Option<&'static str>,
}

impl Entry {
    /// The rest of an entry that has no fact but those it sets.
    pub(crate) const BLANK: Self = Self::new("", "", &[], |_, _| unreachable!());

    /// An algorithm outside this crate: without parameters, fed acknowledgments, driven by losses,
    /// and its own citation. Fields that differ can be set: `Entry { feed: ..., ..Entry::new(...)
    /// }`.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        code: &'static [Code],
        build: BuildWindow,
    ) -> Self {
        Self {
            name,
            old_name: None,
            code,
            summary,
            citation: "an algorithm of one's own",
            parameters: &[],
            feed: Feed::Acknowledgments {
                family: Family::Loss,
                driven_by: DrivenBy::Losses,
                build,
            },
            kernel: None,
            look: None,
            without_receiver_clock: None,
        }
    }

    /// Whether it is fed reports on bursts, which TCP does not carry.
    pub const fn is_fed_bursts(&self) -> bool {
        matches!(self.feed, Feed::Bursts(_))
    }

    /// What moves its window; `None` if it has none.
    pub const fn driven_by(&self) -> Option<DrivenBy> {
        match self.feed {
            Feed::Acknowledgments { driven_by, .. } => Some(driven_by),
            Feed::Bursts(_) => None,
        }
    }

    /// The name of its family: its folder below `algorithms/`, and its block of the table.
    pub const fn family(&self) -> &'static str {
        match self.feed {
            Feed::Acknowledgments { family, .. } => family.name(),
            Feed::Bursts(_) => "burst",
        }
    }

    /// Whether `name` is its name or its old name, in any case.
    pub fn is_called(&self, name: &str) -> bool {
        let mut names = [Some(self.name), self.old_name].into_iter().flatten();
        names.any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// One loss classifier of the table.
#[derive(Debug)]
pub struct ClassifierEntry {
    /// Its name, as people type it after a plus.
    pub name: &'static str,
    /// Its source code, the file with its equations first; not empty.
    pub code: &'static [Code],
    /// A description in one line.
    pub summary: &'static str,
    /// Its source.
    pub citation: &'static str,
    /// As [`Entry::without_receiver_clock`].
    pub without_receiver_clock: Option<&'static str>,
    /// The parameters that can be set.
    pub parameters: &'static [Parameter],
    /// Builds a classifier for a new connection.
    pub build: fn(&Values) -> Box<dyn LossClassifier>,
}

/// The constructor of a layer around a controller.
pub type BuildLayer = fn(&Setup, &Values, Box<dyn Controller>) -> Box<dyn Controller>;

/// A layer of the table: it acts on the window of any algorithm that has one.
#[derive(Debug)]
pub struct LayerEntry {
    /// Its name, as people type it after a plus.
    pub name: &'static str,
    /// Its source code, the file with its equations first; not empty.
    pub code: &'static [Code],
    /// A description in one line.
    pub summary: &'static str,
    /// Its source.
    pub citation: &'static str,
    /// The parameters that can be set.
    pub parameters: &'static [Parameter],
    /// Puts it on a controller of a new connection.
    pub build: BuildLayer,
}

/// What the transport knows when a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// Maximum payload of one packet.
    pub mss: Bytes,
    /// Initial window (RFC 6928: ten segments).
    pub initial_window: Bytes,
    /// The transport paces by itself: it spreads a window over a round trip (RFC 9002 section 7.7).
    /// Then growth causes no bursts, and the growth by one acknowledgment has no limit (L of RFC
    /// 3465 and RFC 9406).
    pub paced: bool,
    /// Initial slow start threshold, if the capacity of the path is known, because the connection
    /// used it before under another algorithm. `None`: slow start searches for it (RFC 5681 section
    /// 3.1).
    pub ssthresh: Option<Bytes>,
    /// What a window of Reno's family grows for.
    pub growth: Growth,
    /// Seed that differs between connections, for algorithms that must not synchronize (BBR's gain
    /// cycle). The same seed gives the same decisions.
    pub seed: u64,
    /// The time of day when this connection's clock shows
    /// [`Time::ZERO`](whimbrel_units::Time::ZERO). In the simulator the run's seed decides it, the
    /// same for all flows.
    pub time_of_day: TimeOfDay,
    /// What an earlier connection found on the path: the algorithm then starts with
    /// [`CarefulResume`](crate::CarefulResume). `None`: nothing is known.
    pub saved: Option<SavedPath>,
}

/// The time of day, as a host knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeOfDay {
    /// UTC, since 1970, by the host's clock.
    pub utc: Duration,
    /// Something keeps that clock right, NTP for example. A host that knows of nothing that does
    /// says false.
    pub synchronized: bool,
}

impl TimeOfDay {
    /// Midnight, by a clock that is kept right.
    pub const MIDNIGHT: Self = Self {
        utc: Duration::ZERO,
        synchronized: true,
    };

    /// The time of day so long before.
    #[must_use]
    pub fn before(self, ago: Duration) -> Self {
        let utc = self.utc - ago;
        Self { utc, ..self }
    }
}

impl Default for TimeOfDay {
    fn default() -> Self {
        Self::MIDNIGHT
    }
}

/// What was saved of a path, when a connection used it (RFC 9959).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedPath {
    /// The data that the path held: saved_cwnd.
    pub cwnd: Bytes,
    /// Its minimum round-trip time: saved_rtt.
    pub rtt: Duration,
}

impl SavedPath {
    /// What to save after a connection that found this, if `before` was saved before it. A short
    /// connection may have seen less of the path than an earlier one. `alone`: it has seen enough,
    /// and replaces a larger entry, too.
    #[must_use]
    pub fn replacing(self, before: Option<Self>, alone: bool) -> Self {
        let larger = before.filter(|before| !alone && before.cwnd > self.cwnd);
        larger.unwrap_or(self)
    }
}

/// What a window of Reno's family grows for. With an acknowledgment for each segment the two agree,
/// except for the acknowledgment that ends a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Growth {
    /// Each acknowledged segment (appropriate byte counting, RFC 3465).
    #[default]
    Segments,
    /// Each acknowledgment, as one segment, whatever it acknowledges (RFC 5681 section 3.1 allows
    /// it). Linux before version 3.8 (its Hybla still) grows so; with delayed acknowledgments
    /// growth takes twice as long.
    Acknowledgments,
    /// As [`Acknowledgments`](Self::Acknowledgments), and in congestion avoidance each one adds its
    /// fraction of a segment at once (RFC 5681 equation 3), where the others add a segment when a
    /// window is full. ns-2 grows so: a loss in the middle of a window does not take back what was
    /// counted. A transport that computes reductions from the window then counts its fraction of a
    /// segment too.
    Fractions,
}

/// One parameter of an algorithm.
#[derive(Debug)]
pub struct Parameter {
    /// Its name, as people type it: the paper's symbol, if it has one.
    pub name: &'static str,
    /// Its default, and the values that it accepts.
    pub domain: Domain,
    /// What it does, with its unit.
    pub meaning: &'static str,
}

/// The values that a parameter accepts, with its default.
#[derive(Debug)]
pub enum Domain {
    /// Numbers.
    Number {
        /// The value unless set.
        default: f64,
        /// Minimum and maximum.
        range: (f64, f64),
    },
    /// True or false; its value unless set.
    Switch(bool),
    /// A text with a grammar of its own; its value unless set, and the grammar.
    Text(Text),
}

impl Domain {
    /// The value of the parameter unless set.
    pub fn default(&self) -> Value {
        match self {
            Self::Number { default, .. } => Value::Number(*default),
            Self::Switch(default) => Value::Switch(*default),
            Self::Text(default) => Value::Text(default.clone()),
        }
    }
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// True or false.
    Switch(bool),
    /// A text with a grammar of its own.
    Text(Text),
}

/// Checks the text of a parameter; the error is shown to the user.
type CheckText = fn(&str, ParseController) -> Result<(), String>;

/// A text that its parameter has accepted.
#[derive(Debug, Clone)]
pub struct Text {
    text: Cow<'static, str>,
    check: CheckText,
}

impl Text {
    /// A default, and the check that every value of the parameter must pass. The check may parse
    /// names of other controllers.
    pub const fn new(default: &'static str, check: CheckText) -> Self {
        Self {
            text: Cow::Borrowed(default),
            check,
        }
    }

    /// Another value of the same parameter.
    ///
    /// # Errors
    /// If the parameter does not accept it: why, for the user.
    pub(crate) fn with(&self, text: &str, parse: ParseController) -> Result<Self, String> {
        (self.check)(text, parse)?;
        Ok(Self {
            text: Cow::Owned(text.to_owned()),
            check: self.check,
        })
    }

    /// The text as it was written.
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

/// Another controller that an algorithm switches to, chosen by the user: `cubic?C=0.6+cerl`. It
/// displays as it is written.
pub trait ChosenController: fmt::Debug + fmt::Display + Send + Sync {
    /// Builds one for a connection that begins, or continues, with `setup`.
    fn build(&self, setup: &Setup) -> Box<dyn Controller>;
}

/// Parses a controller that is fed acknowledgments. The registry passes its parser to the
/// algorithms that switch between others, so that no algorithm depends on the table. The error is
/// shown to the user.
pub type ParseController = fn(&str) -> Result<Arc<dyn ChosenController>, String>;

/// The values of an algorithm's parameters: the set ones, and defaults for the rest.
#[derive(Debug)]
pub struct Values<'a> {
    pub(crate) name: &'static str,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) set: &'a [(&'static str, Value)],
    pub(crate) parse: ParseController,
}

impl Values<'_> {
    /// The name of the algorithm, for a constructor that several entries share.
    pub fn algorithm(&self) -> &'static str {
        self.name
    }

    fn get(&self, name: &str) -> Value {
        let set = self.set.iter().find(|(n, _)| *n == name);
        let default = || {
            let declared = self.parameters.iter().find(|p| p.name == name);
            declared.map(|p| p.domain.default())
        };
        set.map(|(_, value)| value.clone())
            .or_else(default)
            .unwrap_or_else(|| panic!("{} declares no parameter {name}", self.name))
    }

    /// The value of a numeric parameter.
    ///
    /// # Panics
    /// If the entry declares no number of that name: a mistake in the algorithm's own file.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Number(n) => n,
            other => panic!("{}?{name} is not a number: {other}", self.name),
        }
    }

    /// The value of a switch.
    ///
    /// # Panics
    /// If the entry declares no switch of that name: a mistake in the algorithm's own file.
    pub fn switch(&self, name: &str) -> bool {
        match self.get(name) {
            Value::Switch(s) => s,
            other => panic!("{}?{name} is not a switch: {other}", self.name),
        }
    }

    /// The value of a text; it has passed its check.
    ///
    /// # Panics
    /// If the entry declares no text of that name: a mistake in the algorithm's own file.
    pub fn text(&self, name: &str) -> Cow<'static, str> {
        match self.get(name) {
            Value::Text(t) => t.text,
            other => panic!("{}?{name} is not a text: {other}", self.name),
        }
    }

    /// The parser of controllers, for texts that name some.
    pub fn parse_controller(&self) -> ParseController {
        self.parse
    }
}
