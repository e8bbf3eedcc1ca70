//! The points of a sweep: the values of each, and all combinations.

use super::document::Value;
use std::fmt;

/// Maximum number of points of a sweep.
const MAX_POINTS: usize = 100_000;

/// One swept value of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// As written in `[sweep]`: `link.L.loss`.
    pub key: String,
    /// Its value at this point.
    pub value: ParameterValue,
}

/// A swept value. Shown as written.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterValue {
    /// A string, or a list or table as TOML text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
    /// A Boolean.
    Switch(bool),
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.pad(text),
            Self::Integer(n) => n.fmt(f),
            Self::Float(n) => n.fmt(f),
            Self::Switch(on) => on.fmt(f),
        }
    }
}

impl From<&Value> for ParameterValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::Integer(n) => Self::Integer(*n),
            Value::Float(n) => Self::Float(*n),
            Value::Switch(on) => Self::Switch(*on),
            other => Self::Text(other.to_string()),
        }
    }
}

/// All combinations of one index below each length; the last one varies fastest.
pub(super) fn choices(lengths: Vec<usize>) -> impl Iterator<Item = Vec<usize>> {
    let total: usize = lengths.iter().product();
    (0..total).map(move |index| {
        let mut rest = total;
        let choose = |length: &usize| {
            rest /= length;
            index / rest % length
        };
        lengths.iter().map(choose).collect()
    })
}

/// The error of a sweep with too many points, if it has.
pub(super) fn too_many(points: usize) -> Option<String> {
    (points > MAX_POINTS).then(|| format!("the sweep has more than {MAX_POINTS} points"))
}
