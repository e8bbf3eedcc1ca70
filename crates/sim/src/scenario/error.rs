//! The error of a scenario file: where it is, and what is wrong.

use super::position::Position;
use std::fmt::{self, Display};

/// What is wrong with a scenario. Shown as `scenario.toml:7: link.L: unknown key ...`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    place: String,
    key: String,
    why: String,
}

impl ScenarioError {
    /// An error about `key`, whose value was written at `place`.
    pub fn new(place: &Position, key: &str, why: impl Display) -> Self {
        Self::at(Some(place), key, why)
    }

    /// An error about `key`, which is a flag or an argument without a `place`.
    pub(super) fn at(place: Option<&Position>, key: &str, why: impl Display) -> Self {
        Self {
            place: place.map(Position::to_string).unwrap_or_default(),
            key: key.to_owned(),
            why: why.to_string(),
        }
    }

    /// Its file and line: `scenario.toml:7`; empty if it was not read from a file.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The key, flag or argument that it is about, e.g. `link.L.loss` or `--loss`; empty for the
    /// whole file.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is wrong.
    pub fn why(&self) -> &str {
        &self.why
    }
}

impl Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.place, &self.key] {
            if !part.is_empty() {
                write!(f, "{part}: ")?;
            }
        }
        f.write_str(&self.why)
    }
}

impl std::error::Error for ScenarioError {}
