//! The error of a scenario file: where it is, and what is wrong.

use super::document::Place;
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
    pub fn new(place: &Place, key: &str, why: impl Display) -> Self {
        Self {
            place: place.to_string(),
            key: key.to_owned(),
            why: why.to_string(),
        }
    }
}

impl ScenarioError {
    /// An error at the same place and key with another reason.
    pub(super) fn because(&self, why: impl Display) -> Self {
        Self {
            why: why.to_string(),
            ..self.clone()
        }
    }
}

impl ScenarioError {
    /// Its file and line: `scenario.toml:7`.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The key that it is about, e.g. `link.L.loss`; empty for the whole file.
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
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.why)
    }
}

impl std::error::Error for ScenarioError {}
