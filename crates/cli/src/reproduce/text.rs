//! Results for people.

use super::told::{Told, ToldRow, by_paper};
use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use whimbrel_cc::Spec;
use whimbrel_experiment::Verdict;

/// How wide lines are that are cut.
const LINE: usize = 120;

/// Emphasised, where that can be seen; whoever prints it takes the style away where it cannot.
pub fn bold(text: &str) -> String {
    let style = Style::new().bold();
    format!("{style}{text}{style:#}")
}

fn dim(text: &str) -> String {
    let style = Style::new().dimmed();
    format!("{style}{text}{style:#}")
}

fn coloured(verdict: Verdict) -> String {
    let colour = match verdict {
        Verdict::Holds => AnsiColor::Green,
        Verdict::InPart => AnsiColor::Yellow,
        Verdict::DoesNotHold => AnsiColor::Red,
    };
    let style = colour.on_default().bold();
    format!("{style}{verdict}{style:#}")
}

/// A span: `40 s`, `6 min 10 s`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round();
    match whole {
        s if s < 10.0 => format!("{seconds:.1} s"),
        s if s < 60.0 => format!("{s:.0} s"),
        s => format!("{:.0} min {:.0} s", (s / 60.0).floor(), s % 60.0),
    }
}

/// When, by the clock on the wall: `2026-11-20 14:03`.
pub fn when(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M")
        .to_string()
}

/// One experiment.
pub fn experiment(told: &Told<'_>) -> String {
    let (heads, right, lines) = rows(&told.rows);
    let table = whimbrel_report::plain(&heads, &right, &lines);
    let note = told
        .note
        .map_or(String::new(), |note| format!("Read as: {note}\n"));
    let seconds = duration(told.seconds);
    let kept = told.kept.map_or(String::new(), |at| {
        format!(", kept from {}; --again runs it anew", when(at))
    });
    format!(
        "{}\n{}\n{}\nClaim: {}\n{note}{table}{}: {} {}\n\n",
        bold(told.id),
        told.paper,
        told.place,
        told.claim,
        coloured(told.verdict),
        told.reason,
        dim(&format!("({seconds}{kept})")),
    )
}

/// Its rows as a table: the heads, which of the columns are numbers, and the lines.
pub fn rows(rows: &[ToldRow]) -> (Vec<String>, Vec<bool>, Vec<Vec<String>>) {
    let heads = ["", "", "paper", "measured", "differs by", "right if", ""];
    let right = [false, false, true, true, true, true, false];
    let lines = rows.iter().map(line).collect();
    (heads.map(str::to_owned).to_vec(), right.to_vec(), lines)
}

fn line(told: &ToldRow) -> Vec<String> {
    let row = &told.row;
    let decimals = row.measured.map_or(0, decimals);
    let measured = match (row.measured, row.measured_stddev) {
        (Some(mean), Some(sd)) => format!("{mean:.decimals$} ± {sd:.decimals$}"),
        (Some(mean), None) => format!("{mean:.decimals$}"),
        (None, _) => "-".to_owned(),
    };
    let right = match row.right {
        Some(true) => "right",
        Some(false) => "wrong",
        None => "",
    };
    vec![
        row.label.clone(),
        row.unit.clone(),
        row.paper.map_or(String::new(), |paper| paper.to_string()),
        measured,
        row.difference().map_or(String::new(), |d| d.to_string()),
        row.asked.clone(),
        right.to_owned(),
    ]
}

/// Of a mean that stands beside others of other sizes.
fn decimals(mean: f64) -> usize {
    match mean.abs() {
        x if x > 0.0 && x < 0.1 => 4,
        0.0 => 1,
        x => whimbrel_report::decimals(x).max(1),
    }
}

/// What stands below all: of one where to look next, of several what came of them.
pub fn end(all: &[Told<'_>]) -> String {
    match all {
        [] => String::new(),
        [one] => next(one),
        all => summary(all),
    }
}

fn next(told: &Told<'_>) -> String {
    let id = told.id;
    let controllers = told.experiment.controllers();
    // What the paper is about has its folder's name; others may have parameters.
    let is_it = |name: &&String| {
        let spec: Option<Spec> = name.parse().ok();
        spec.is_some_and(|spec| spec.entry().name == told.folder())
    };
    let about = controllers.iter().find(is_it).or(controllers.first());
    let code = about.map_or(String::new(), |name| {
        format!("; its code: whimbrel controllers '{name}' --code")
    });
    dim(&format!(
        "Its files: whimbrel reproduce {id} --print-scenario{code}\nA page with figures: whimbrel reproduce {id} --report DIR\n"
    ))
}

fn summary(all: &[Told<'_>]) -> String {
    let heads = [
        "",
        "paper",
        "experiments",
        "hold",
        "in part",
        "do not hold",
        "seconds",
    ];
    let right = [false, false, true, true, true, true, true];
    let groups = by_paper(all, |told| told.id, |told| told.paper);
    let mut lines: Vec<Vec<String>> = groups
        .iter()
        .map(|group| counts(group[0].folder(), group[0].paper, group))
        .collect();
    if groups.len() > 1 {
        lines.push(counts("all", "", &all.iter().collect::<Vec<_>>()));
    }
    let counts = whimbrel_report::wrapped(&heads.map(str::to_owned), &right, &lines);
    let width = all.iter().map(|told| told.id.len()).max().unwrap_or(0);
    let one = |told: &Told<'_>| {
        // As wide as the longest of the three, and coloured after it is padded.
        let verdict = told.verdict;
        let space = " ".repeat("does not hold".len() - verdict.to_string().len());
        let (id, verdict) = (told.id, coloured(verdict));
        let room = LINE.saturating_sub(width + "does not hold".len() + 4);
        format!(
            "{id:width$}  {verdict}{space}  {}\n",
            cut(&told.reason, room)
        )
    };
    let each: String = all.iter().map(one).collect();
    format!("{}\n{counts}\n{each}", bold("Summary"))
}

/// How many there are, how many of each verdict, and what their scenarios took.
fn counts(folder: &str, paper: &str, group: &[&Told<'_>]) -> Vec<String> {
    let count = |verdict| {
        let same = group.iter().filter(|told| told.verdict == verdict);
        same.count().to_string()
    };
    vec![
        folder.to_owned(),
        paper.to_owned(),
        group.len().to_string(),
        count(Verdict::Holds),
        count(Verdict::InPart),
        count(Verdict::DoesNotHold),
        format!("{:.1}", seconds(group)),
    ]
}

/// What their scenarios took, each once.
fn seconds(group: &[&Told<'_>]) -> f64 {
    let mut counted = Vec::new();
    let mut sum = 0.0;
    for told in group {
        if !counted.contains(&told.scenario) {
            counted.push(told.scenario);
            sum += told.seconds;
        }
    }
    sum
}

/// The beginning of a text, in one line of so many characters.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_at_a_glance() {
        assert_eq!(
            [0.31, 9.96, 59.4, 59.6, 371.0].map(duration),
            ["0.3 s", "10 s", "59 s", "1 min 0 s", "6 min 11 s"]
        );
    }

    #[test]
    fn a_long_reason_is_cut_where_the_line_ends() {
        assert_eq!(cut("3 of 4 right", 12), "3 of 4 right");
        assert_eq!(cut("3 of 4 right; wrong: é", 14), "3 of 4 right;…");
    }

    #[test]
    fn a_small_number_is_not_shown_as_none() {
        let shown = |mean: f64| format!("{mean:.*}", decimals(mean));
        assert_eq!(
            [0.0023, 0.5, 2.346, 41.26, 12_345.6].map(shown),
            ["0.0023", "0.500", "2.35", "41.3", "12345.6"]
        );
    }
}
