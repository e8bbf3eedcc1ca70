//! The printed results.

use super::result::{ExperimentResult, ResultRow, by_paper, paper_title};
use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use whimbrel_cc::Spec;
use whimbrel_experiment::{Asks, ClaimVerdict, Count, in_seeds};

/// Maximum width of lines that are cut.
const LINE: usize = 120;

/// Bold text. The output stream removes the style if it is not a terminal.
pub fn bold(text: &str) -> String {
    let style = Style::new().bold();
    format!("{style}{text}{style:#}")
}

fn dim(text: &str) -> String {
    let style = Style::new().dimmed();
    format!("{style}{text}{style:#}")
}

fn colored(verdict: ClaimVerdict) -> String {
    let colour = match verdict {
        ClaimVerdict::Holds => AnsiColor::Green,
        ClaimVerdict::InPart | ClaimVerdict::Undecided => AnsiColor::Yellow,
        ClaimVerdict::DoesNotHold | ClaimVerdict::ContradictsItself => AnsiColor::Red,
    };
    let style = colour.on_default().bold();
    format!("{style}{verdict}{style:#}")
}

/// A time: `40 s`, `6 min 10 s`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round();
    match whole {
        s if s < 10.0 => format!("{seconds:.1} s"),
        s if s < 60.0 => format!("{s:.0} s"),
        s => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

/// Local date and time: `2026-11-20 14:03`.
pub fn when(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
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

/// Its rows as a table: the heads, which columns are numbers, and the lines.
pub fn rows(rows: &[ResultRow]) -> (Vec<String>, Vec<bool>, Vec<Vec<String>>) {
    let heads = ["", "", "paper", "measured", "difference", "expected", ""];
    let right = [false, false, true, true, true, true, false];
    let lines = rows.iter().map(line).collect();
    (heads.map(str::to_owned).to_vec(), right.to_vec(), lines)
}

fn line(result: &ResultRow) -> Vec<String> {
    let row = &result.row;
    let decimals = row.measured.map_or(0, decimals);
    let measured = match (row.measured, row.measured_stddev) {
        (Some(mean), Some(sd)) => format!("{mean:.decimals$} ± {sd:.decimals$}"),
        (Some(mean), None) => format!("{mean:.decimals$}"),
        (None, _) => "-".to_owned(),
    };
    let right = match (row.right, row.seeds_to_decide) {
        (Some(true), _) => "right".to_owned(),
        (Some(false), _) => "wrong".to_owned(),
        (None, Some(seeds)) => format!("undecided ({})", in_seeds(seeds)),
        (None, None) => String::new(),
    };
    vec![
        row.label.clone(),
        row.unit.clone(),
        row.paper.map_or(String::new(), |paper| paper.to_string()),
        measured,
        row.difference().map_or(String::new(), |d| d.to_string()),
        row.expected.clone(),
        right,
    ]
}

/// Number of decimals of a mean in a column with numbers of different sizes.
fn decimals(mean: f64) -> usize {
    match mean.abs() {
        x if x > 0.0 && x < 0.1 => 4,
        0.0 => 1,
        x => whimbrel_report::decimals(x).max(1),
    }
}

/// The end of the output: for one experiment the next commands, for several a summary.
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
        "numbers",
        "orders",
        "seconds",
    ];
    let right = [false, false, true, true, true, true, true, true, true, true];
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
    vec![
        folder.to_owned(),
        paper.to_owned(),
        group.len().to_string(),
        count(ClaimVerdict::Holds),
        count(ClaimVerdict::InPart),
        count(ClaimVerdict::DoesNotHold),
        count(ClaimVerdict::ContradictsItself),
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
    fn times_are_rounded_for_the_reader() {
        assert_eq!(
            [0.31, 9.96, 59.4, 59.6, 371.0].map(duration),
            ["0.3 s", "10 s", "59 s", "1 min 0 s", "6 min 11 s"]
        );
    }

    #[test]
    fn a_long_reason_is_cut_at_the_end_of_the_line() {
        assert_eq!(cut("3 of 4 right", 12), "3 of 4 right");
        assert_eq!(cut("3 of 4 right; wrong: é", 14), "3 of 4 right;…");
    }

    #[test]
    fn a_small_number_is_not_shown_as_zero() {
        let shown = |mean: f64| format!("{mean:.*}", decimals(mean));
        assert_eq!(
            [0.0023, 0.5, 2.346, 41.26, 12_345.6].map(shown),
            ["0.0023", "0.500", "2.35", "41.3", "12345.6"]
        );
    }
}
