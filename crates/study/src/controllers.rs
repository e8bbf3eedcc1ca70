//! Controllers that a user chooses by name, or all.

use std::str::FromStr;
use whimbrel_cc::Spec;

/// The name of all.
const EVERY: &str = "all";

/// One controller, or all that a request can use.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// All.
    Every,
    /// One.
    One(Box<Spec>),
}

impl FromStr for Choice {
    type Err = <Spec as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            EVERY => Ok(Self::Every),
            one => Ok(Self::One(Box::new(one.parse()?))),
        }
    }
}
