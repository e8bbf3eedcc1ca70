//! Errors that belong to a field of the page.

use std::fmt;
use whimbrel_study::Error;

/// What is wrong with a state, and in which field of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The field's key, e.g. `rate`; empty if it is none in particular.
    pub field: String,
    /// What is wrong, and how to correct it.
    pub why: String,
}

impl FieldError {
    /// An error in this field.
    pub fn new(field: &str, why: impl fmt::Display) -> Self {
        Self {
            field: field.to_owned(),
            why: why.to_string(),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => f.write_str(&self.why),
            field => write!(f, "{field}: {}", self.why),
        }
    }
}

impl std::error::Error for FieldError {}

/// Errors of requests name the fields that they were made of.
impl From<Error> for FieldError {
    fn from(error: Error) -> Self {
        let field = error.key().unwrap_or_default().to_owned();
        let why = match &error {
            Error::Scenario(error) => error.why().to_owned(),
            Error::Input(error) => error.why().to_owned(),
            _ => error.text(),
        };
        Self { field, why }
    }
}

impl From<whimbrel_sim::scenario::ScenarioError> for FieldError {
    fn from(error: whimbrel_sim::scenario::ScenarioError) -> Self {
        Self::from(Error::from(error))
    }
}
