//! The names that a shell completes: algorithms, loss classifiers, points, experiments.

use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use std::ffi::OsStr;
use std::path::Path;
use whimbrel_cc::registry;
use whimbrel_rank::Version;
use whimbrel_study::hunt::FAMILIES;

/// What a value names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Algorithms, `cubic`; behind a plus sign loss classifiers, `cubic+cerl`.
    Controllers,
    /// Points of the matrix.
    Points,
    /// Experiments.
    Experiments,
    /// Families of paths.
    Families,
}

impl Names {
    /// What the values of an argument name, by the command's and the argument's name.
    fn of(command: &str, argument: &str) -> Option<Self> {
        match (command, argument) {
            (_, "controller" | "controllers" | "neighbours" | "against") => Some(Self::Controllers),
            ("controllers" | "hunt", "name") => Some(Self::Controllers),
            ("rank", "only") => Some(Self::Points),
            ("reproduce", "ids") => Some(Self::Experiments),
            ("hunt", "families") => Some(Self::Families),
            _ => None,
        }
    }

    /// All names that begin with `begun`, each with an explanation.
    fn beginning(self, begun: &str) -> Vec<(String, String)> {
        let mut all = match self {
            Self::Controllers => controllers(begun),
            Self::Points => points(),
            Self::Experiments => experiments(),
            Self::Families => FAMILIES
                .iter()
                .map(|family| (family.name.to_owned(), String::new()))
                .collect(),
        };
        all.retain(|(name, _)| name.starts_with(begun));
        all
    }
}

fn controllers(begun: &str) -> Vec<(String, String)> {
    let entry = |name: &str, summary: &str| (name.to_owned(), summary.to_owned());
    if let Some((base, _)) = begun.split_once('+') {
        let classifiers = registry::CLASSIFIERS
            .iter()
            .map(|one| (one.name, one.summary));
        let layers = registry::LAYERS.iter().map(|one| (one.name, one.summary));
        return classifiers
            .chain(layers)
            .map(|(name, summary)| entry(&format!("{base}+{name}"), summary))
            .collect();
    }
    let all = registry::controllers();
    all.iter().map(|one| entry(one.name, one.summary)).collect()
}

fn points() -> Vec<(String, String)> {
    let matrix = whimbrel_rank::Library::matrix(Version::Two);
    let points = matrix.map(|matrix| matrix.points).unwrap_or_default();
    points.into_iter().map(|p| (p.id, p.claim)).collect()
}

/// Experiments, and before them the papers that they are from.
fn experiments() -> Vec<(String, String)> {
    let library = whimbrel_experiment::Library::nearest(Path::new("."));
    let all = library.experiments("").unwrap_or_default();
    let mut names: Vec<(String, String)> = Vec::new();
    for one in &all {
        let paper = one.id.split('/').next().unwrap_or_default();
        if names.iter().all(|(name, _)| name != paper) {
            names.push((paper.to_owned(), one.paper.clone()));
        }
    }
    names.extend(all.into_iter().map(|one| (one.id, one.place)));
    names
}

/// The command line with the names.
pub fn completed(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(
        |argument| match Names::of(&name, argument.get_id().as_str()) {
            Some(names) => argument.add(completer(names)),
            None => argument,
        },
    );
    command.mut_subcommands(completed)
}

fn completer(names: Names) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let begun = current.to_string_lossy();
        let all = names.beginning(&begun).into_iter();
        all.map(|(name, help)| CompletionCandidate::new(name).help(Some(help.into())))
            .collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::CommandFactory;
    use clap_complete::engine::complete;

    /// What is offered for the last of these words.
    fn offered(words: &[&str]) -> Vec<String> {
        let mut command = completed(Cli::command());
        let words: Vec<_> = ["whimbrel"].iter().chain(words).map(Into::into).collect();
        let last = words.len() - 1;
        let all = complete(&mut command, words, last, None).expect("candidates");
        let value = |one: &CompletionCandidate| one.get_value().to_string_lossy().into_owned();
        all.iter().map(value).collect()
    }

    #[test]
    fn algorithms_are_completed_wherever_one_is_named() {
        for command in [
            &["send", "--controller", "cu"][..],
            &["compare", "--controllers", "cu"],
            &["controllers", "cu"],
            &["hunt", "cu"],
            &["tcp", "--controller", "cu"],
            &["link", "--controller", "cu"],
            &["serve", "--controller", "cu"],
            &["advise", "--neighbours", "cu"],
        ] {
            assert_eq!(offered(command), ["cubic"], "{command:?}");
        }
    }

    #[test]
    fn lists_and_classifiers_are_completed_at_their_end() {
        let list = offered(&["compare", "--controllers", "bbr,cub"]);
        assert_eq!(list, ["bbr,cubic"]);
        let with = offered(&["rank", "--controllers", "reno,cubic+cerl"]);
        assert_eq!(with[..2], ["reno,cubic+cerl", "reno,cubic+cerl-plus"]);
    }

    #[test]
    fn points_experiments_and_families_are_completed() {
        assert_eq!(offered(&["rank", "--only", "a0"])[0], "a01");
        let cerl = offered(&["reproduce", "cerl"]);
        assert_eq!(cerl[0], "cerl");
        assert!(cerl.contains(&"cerl/fig-3.5".to_owned()), "{cerl:?}");
        let family = FAMILIES[0].name;
        assert_eq!(offered(&["hunt", "--families", family]), [family]);
    }
}
