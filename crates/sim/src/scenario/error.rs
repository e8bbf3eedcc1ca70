//! What is wrong with a scenario, said to the person who wrote it.

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
    /// What is wrong with the value of `key` that was written at `place`.
    pub fn new(place: &Place, key: &str, why: impl Display) -> Self {
        Self {
            place: place.to_string(),
            key: key.to_owned(),
            why: why.to_string(),
        }
    }
}

impl ScenarioError {
    /// The same place and key, wrong for another reason.
    pub(super) fn because(&self, why: impl Display) -> Self {
        Self {
            why: why.to_string(),
            ..self.clone()
        }
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
