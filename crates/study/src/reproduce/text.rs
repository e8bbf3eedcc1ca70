//! The results as text.

use super::{ExperimentResult, Found, by_paper, duration, paper_title, rows, when};
use crate::emphasis::{self, bold, dim};
use crate::{Error, presets};
use anstyle::AnsiColor;
use whimbrel_cc::Spec;
use whimbrel_experiment::{Asks, ClaimVerdict, Count};

/// Maximum width of lines that are cut.
const LINE: usize = 120;

fn colored(verdict: ClaimVerdict) -> String {
    let colour = match verdict {
        ClaimVerdict::Holds => AnsiColor::Green,
        ClaimVerdict::InPart | ClaimVerdict::Undecided | ClaimVerdict::CannotBeDecided => {
            AnsiColor::Yellow
        }
        ClaimVerdict::DoesNotHold | ClaimVerdict::ContradictsItself => AnsiColor::Red,
    };
    emphasis::colored(&verdict.to_string(), colour)
}

/// The result of one experiment.
pub fn experiment(result: &ExperimentResult<'_>) -> String {
    let (heads, right, lines) = rows(&result.rows);
    let table = whimbrel_report::plain(&heads, &right, &lines);
    let note = result
        .note
        .map_or(String::new(), |note| format!("Interpretation: {note}\n"));
    let seconds = duration(result.seconds);
    let cached = result.cached.map_or(String::new(), |at| {
        format!(", stored result of {}; --again runs it again", when(at))
    });
    format!(
        "{}\n{}\n{}\nClaim: {}\n{note}{table}{}: {} {}\n\n",
        bold(result.id),
        paper_title(result.paper, result.beyond),
        result.place,
        result.claim,
        colored(result.verdict),
        result.reason,
        dim(&format!("({seconds}{cached})")),
    )
}

/// The files of experiments, each once and with its path. Traces are long, so only their lengths
/// are there.
///
/// # Errors
/// If a file cannot be read.
pub fn files(found: &Found) -> Result<String, Error> {
    let (mut text, mut shown) = (String::new(), Vec::new());
    for experiment in &found.experiments {
        for file in found.library.files(experiment)? {
            if shown.contains(&file.path) {
                continue;
            }
            let path = file.path.display();
            if file.path.extension().is_some_and(|e| e == "toml") {
                text += &format!("# {path}\n{}\n{}", file.text, presets::explain(&file.text)?);
            } else {
                let lines = file.text.lines().count();
                text += &format!("# The trace {path} has {lines} lines\n");
            }
            shown.push(file.path);
        }
    }
    Ok(text)
}

/// What follows the results: for one experiment the next commands, for several a summary.
pub fn end(all: &[ExperimentResult<'_>]) -> String {
    match all {
        [] => String::new(),
        [one] => next(one),
        all => summary(all),
    }
}

fn next(result: &ExperimentResult<'_>) -> String {
    let id = result.id;
    let controllers = result.experiment.controllers();
    // The paper's algorithm has the name of its folder; it may have parameters.
    let is_it = |name: &&String| {
        let spec: Option<Spec> = name.parse().ok();
        spec.is_some_and(|spec| spec.entry().name == result.folder())
    };
    let about = controllers.iter().find(is_it).or(controllers.first());
    let code = about.map_or(String::new(), |name| {
        format!("\nCode: whimbrel controllers '{name}' --code")
    });
    dim(&format!(
        "Files: whimbrel reproduce {id} --print-scenario{code}\n\
         Page with figures: whimbrel reproduce {id} --report DIR\n"
    ))
}

fn summary(all: &[ExperimentResult<'_>]) -> String {
    let heads = [
        "",
        "paper",
        "experiments",
        "hold",
        "in part",
        "do not hold",
        "contradict",
        "undecided",
        "numbers",
        "orders",
        "seconds",
    ];
    let right = [
        false, false, true, true, true, true, true, true, true, true, true,
    ];
    let groups = by_paper(all, |one| (one.id, one.paper, one.beyond));
    let mut lines: Vec<Vec<String>> = groups
        .iter()
        .map(|group| {
            let first = group[0];
            let paper = paper_title(first.paper, first.beyond);
            counts(first.folder(), &paper, group)
        })
        .collect();
    if groups.len() > 1 {
        lines.push(counts("all", "", &all.iter().collect::<Vec<_>>()));
    }
    let counts = whimbrel_report::wrapped(&heads.map(str::to_owned), &right, &lines);
    let words = all.iter().map(|one| one.verdict.to_string().len());
    let longest = words.max().unwrap_or(0);
    let width = all.iter().map(|one| one.id.len()).max().unwrap_or(0);
    let one = |result: &ExperimentResult<'_>| {
        // Padded to the longest verdict before it is colored.
        let verdict = result.verdict;
        let space = " ".repeat(longest - verdict.to_string().len());
        let (id, verdict) = (result.id, colored(verdict));
        let room = LINE.saturating_sub(width + longest + 4);
        format!(
            "{id:width$}  {verdict}{space}  {}\n",
            cut(&result.reason, room)
        )
    };
    let each: String = all.iter().map(one).collect();
    format!("{}\n{counts}\n{each}", bold("Summary"))
}

/// The number of experiments, of each verdict, and the run time.
fn counts(folder: &str, paper: &str, group: &[&ExperimentResult<'_>]) -> Vec<String> {
    let count = |verdict| {
        let same = group.iter().filter(|one| one.verdict == verdict);
        same.count().to_string()
    };
    let open = [ClaimVerdict::Undecided, ClaimVerdict::CannotBeDecided];
    let undecided = group.iter().filter(|one| open.contains(&one.verdict));
    let undecided = undecided.count().to_string();
    vec![
        folder.to_owned(),
        paper.to_owned(),
        group.len().to_string(),
        count(ClaimVerdict::Holds),
        count(ClaimVerdict::InPart),
        count(ClaimVerdict::DoesNotHold),
        count(ClaimVerdict::ContradictsItself),
        undecided,
        right_of(group, Asks::Number),
        right_of(group, Asks::Order),
        format!("{:.1}", seconds(group)),
    ]
}

/// How many decided rows of this kind are right: `17 of 43`.
fn right_of(group: &[&ExperimentResult<'_>], asks: Asks) -> String {
    let rows = group.iter().flat_map(|one| &one.rows).map(|row| &row.row);
    Count::of(rows, asks).to_string()
}

/// Total run time; a shared scenario counts once.
fn seconds(group: &[&ExperimentResult<'_>]) -> f64 {
    let mut counted = Vec::new();
    let mut sum = 0.0;
    for result in group {
        if !counted.contains(&result.scenario) {
            counted.push(result.scenario);
            sum += result.seconds;
        }
    }
    sum
}

/// The beginning of a text, with at most `max` characters.
fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_at_the_end_of_the_line() {
        assert_eq!(cut("3 of 4 right", 12), "3 of 4 right");
        assert_eq!(cut("3 of 4 right; wrong: é", 14), "3 of 4 right;…");
    }
}
