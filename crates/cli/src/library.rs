//! What the commands print, as data: for Python, and for programs of one's own.
//!
//! Arguments are those of the command, so that values, defaults, checks and errors are the same:
//! `compare(&["--rate", "50 Mbit/s"])`.

pub use crate::runs::watched;
use crate::{advise, compare};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Command, FromArgMatches};
use serde_json::Value;
use std::error::Error as _;
use whimbrel_sim::scenario::{Scenario, ScenarioError};

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure {
    /// The whole of it, as the command prints it.
    pub text: String,
    /// The file and, behind a colon, the line.
    pub place: Option<String>,
    /// The key of the scenario, or the argument without its dashes.
    pub key: Option<String>,
    /// The input was wrong: the caller can correct it.
    pub bad_input: bool,
    /// The watcher stopped it.
    pub stopped: bool,
}

impl From<&ScenarioError> for Failure {
    fn from(error: &ScenarioError) -> Self {
        Self {
            text: error.to_string(),
            place: Some(error.place().to_owned()),
            key: Some(error.key().to_owned()).filter(|key| !key.is_empty()),
            bad_input: true,
            stopped: false,
        }
    }
}

impl From<whimbrel_study::Error> for Failure {
    fn from(error: whimbrel_study::Error) -> Self {
        Self {
            text: error.text(),
            place: error.place().map(str::to_owned),
            key: error.key().map(str::to_owned),
            bad_input: error.is_bad_input(),
            stopped: matches!(error, whimbrel_study::Error::Stopped),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let scenario = error
            .chain()
            .find_map(|cause| cause.downcast_ref::<ScenarioError>());
        let stopped = error.chain().any(|cause| {
            matches!(cause.downcast_ref(), Some(whimbrel_study::Error::Stopped))
                || cause.downcast_ref() == Some(&whimbrel_sim::sweep::SweepError::Stopped)
        });
        match scenario {
            Some(scenario) => scenario.into(),
            None => Self {
                text: format!("{error:#}"),
                bad_input: error
                    .chain()
                    .any(|cause| cause.is::<crate::failure::BadInput>()),
                stopped,
                ..Self::default()
            },
        }
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        let context = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            _ => None,
        };
        // `--rate <RATE>`
        let name = context(ContextKind::InvalidArg).map(|argument| {
            let first = argument.split([' ', '=']).next().unwrap_or_default();
            first.trim_start_matches('-').replace('-', "_")
        });
        let value = context(ContextKind::InvalidValue);
        let text = match (&name, value, error.source()) {
            (Some(name), Some(value), Some(why)) => format!("{name}: `{value}`: {why}"),
            _ if error.kind() == ErrorKind::MissingRequiredArgument => {
                "an argument is missing: rate and rtt are needed, or trace and rtt".to_owned()
            }
            _ => {
                let all = error.render().to_string();
                let first = all.lines().next().unwrap_or_default();
                first.trim_start_matches("error: ").to_owned()
            }
        };
        Self {
            text,
            key: name,
            bad_input: true,
            ..Self::default()
        }
    }
}

/// Parses the arguments of a command.
fn parse<A: Args + FromArgMatches>(name: &'static str, words: &[String]) -> Result<A, Failure> {
    let command = A::augment_args(Command::new(name).no_binary_name(true));
    let matches = command.try_get_matches_from(words)?;
    Ok(A::from_arg_matches(&matches)?)
}

/// The scenario that the flags of `whimbrel compare` stand for, and its text.
///
/// # Errors
/// If a flag is unknown or its value is wrong.
pub fn compare(words: &[String]) -> Result<(Scenario, String), Failure> {
    let args: compare::CompareArgs = parse("compare", words)?;
    Ok(compare::scenario_of(&args)?)
}

/// What `whimbrel advise --json` prints.
///
/// # Errors
/// As the command.
pub fn advise(words: &[String]) -> Result<Value, Failure> {
    let args: advise::AdviseArgs = parse("advise", words)?;
    Ok(advise::advice_json(&args)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[&str]) -> Vec<String> {
        text.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_comparison_is_the_scenario_of_the_command() {
        let (scenario, text) =
            compare(&words(&["--loss", "0%,1%", "--seeds", "2"])).expect("valid flags");
        // Six controllers by default, and two losses.
        assert_eq!(scenario.points().len(), 12);
        assert!(text.contains("seeds = 2"), "{text}");
    }

    #[test]
    fn a_failure_names_the_argument_and_the_nearest_word() {
        let failure = compare(&words(&["--controllers", "cubik"])).expect_err("unknown");
        assert_eq!(failure.key.as_deref(), Some("controllers"));
        assert!(
            failure.bad_input && failure.text.contains("did you mean `cubic`"),
            "{failure:?}"
        );
        let failure = compare(&words(&["--rat", "1 Mbit/s"])).expect_err("unknown flag");
        assert!(
            failure.bad_input && failure.text.contains("--rat"),
            "{failure:?}"
        );
    }
}
