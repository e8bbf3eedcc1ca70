//! Why a request failed.

use std::error::Error as Cause;
use std::fmt::Display;
use std::io;
use std::path::Path;
use whimbrel_sim::scenario::ScenarioError;
use whimbrel_sim::sweep::SweepError;

/// Wrong input; the text says how to correct it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadInput {
    argument: Option<&'static str>,
    why: String,
}

impl BadInput {
    /// An error with this text.
    pub fn new(why: impl Display) -> Self {
        Self {
            argument: None,
            why: why.to_string(),
        }
    }

    /// An error in an argument of the request, by the name of its field, e.g. `min_rto`.
    pub fn in_argument(argument: &'static str, why: impl Display) -> Self {
        Self {
            argument: Some(argument),
            why: why.to_string(),
        }
    }

    /// The argument that is wrong, if it is one.
    pub fn argument(&self) -> Option<&'static str> {
        self.argument
    }

    /// What is wrong, without the argument's name.
    pub fn why(&self) -> &str {
        &self.why
    }
}

impl Display for BadInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.argument {
            Some(argument) => write!(f, "{argument}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl Cause for BadInput {}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An argument is wrong, or arguments do not fit together.
    #[error(transparent)]
    Input(#[from] BadInput),
    /// A scenario is wrong: the error has file, line and key.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The observer stopped it.
    #[error("stopped")]
    Stopped,
    /// The input was right, and it failed.
    #[error("{what}")]
    Failed {
        /// What failed.
        what: String,
        /// Why.
        #[source]
        cause: Box<dyn Cause + Send + Sync>,
    },
}

impl Error {
    /// A failure that is not the input's.
    pub fn failed(what: impl Display, cause: impl Into<Box<dyn Cause + Send + Sync>>) -> Self {
        Self::Failed {
            what: what.to_string(),
            cause: cause.into(),
        }
    }

    /// What happened and, behind colons, its causes.
    pub fn text(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text += &format!(": {error}");
            cause = error.source();
        }
        text
    }

    /// Makes an error of the system one of writing this file.
    pub fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::failed(format!("cannot write {}", path.display()), error)
    }

    /// Whether the caller can correct it.
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Self::Input(_) | Self::Scenario(_))
    }

    /// The file of the scenario that is wrong, and behind a colon the line.
    pub fn place(&self) -> Option<&str> {
        match self {
            Self::Scenario(error) => Some(error.place()).filter(|place| !place.is_empty()),
            _ => None,
        }
    }

    /// The key of the scenario, or the argument of the request, that is wrong.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Scenario(error) => Some(error.key()).filter(|key| !key.is_empty()),
            Self::Input(error) => error.argument(),
            _ => None,
        }
    }
}

impl From<SweepError> for Error {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Stopped => Self::Stopped,
            SweepError::Threads(error) => Self::failed("cannot run", error),
        }
    }
}
