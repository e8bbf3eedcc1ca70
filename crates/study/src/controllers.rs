//! Controllers that a user chooses by name, or all.

use crate::Error;
use std::str::FromStr;
use whimbrel_cc::Spec;
use whimbrel_sim::scenario::Written;

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

/// The chosen controllers, each once, in order; `every` are all. A scenario names them without
/// spaces and in lower case.
///
/// # Errors
/// If the name of one of `every` is unknown.
pub fn chosen<'a>(
    choices: &[Written<Choice>],
    every: impl Iterator<Item = &'a str> + Clone,
) -> Result<Vec<Written<Spec>>, Error> {
    let mut all: Vec<Written<Spec>> = Vec::new();
    let mut add = |choice: &Written<Choice>, spec: Spec| {
        if all.iter().all(|known| known.value != spec) {
            let text = spec.to_string();
            all.push(choice.with_source(spec, text));
        }
    };
    for choice in choices {
        match &choice.value {
            Choice::One(spec) => add(choice, (**spec).clone()),
            Choice::Every => {
                for name in every.clone() {
                    add(choice, name.parse().map_err(|why| choice.fail(why))?);
                }
            }
        }
    }
    Ok(all)
}
