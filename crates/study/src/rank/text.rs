//! The league table as text.

use super::{Ranking, measured};
use crate::count;
use crate::emphasis::bold;
use std::fmt::Write as _;
use whimbrel_rank::{Class, Library, Standing};
use whimbrel_report::{Interval, fill, plain};

/// The classes that have points.
fn classes(library: &Library) -> Vec<Class> {
    let has = |class: &Class| library.points.iter().any(|point| point.class == *class);
    Class::ALL.into_iter().filter(has).collect()
}

/// The league table: a line for each algorithm, best first, and below it the intervals. What an
/// earlier ranking has measured may be of another number of runs than `seeds`.
pub fn table(
    Ranking {
        library, league, ..
    }: &Ranking,
    seeds: u32,
) -> String {
    let classes = classes(library);
    let mut heads = vec!["algorithm".to_owned(), "all".to_owned()];
    heads.extend(classes.iter().map(Class::to_string));
    let right: Vec<bool> = (0..heads.len()).map(|column| column > 0).collect();
    let mut lines = Vec::new();
    let counts = || league.cells.iter().map(|cell| cell.scores.len());
    let wanted = seeds as usize;
    let (least, most) = (
        counts().min().unwrap_or(wanted),
        counts().max().unwrap_or(wanted),
    );
    for standing in &league.table {
        lines.push(line(&standing.controller, standing, &classes, score));
        if standing.all.half_width.is_some() {
            lines.push(line("", standing, &classes, margin));
        }
    }
    if let Some(oracle) = league.oracle().filter(|_| league.table.len() > 1) {
        lines.push(line("best at each", &oracle, &classes, score));
    }
    let points_of = |class: &Class| library.points.iter().filter(|p| p.class == *class).count();
    let subjects: Vec<String> = classes
        .iter()
        .map(|class| format!("{class} {} ({})", class.subject(), points_of(class)))
        .collect();
    let runs = match (least, most) {
        (least, most) if least == most => count(most as u64, "seed"),
        (least, most) => format!("{least} to {most} seeds"),
    };
    let points = count(library.points.len() as u64, "point");
    let mut text = format!("Scores from 0 to 1 (1: goal met), {points}, {runs}");
    if let Some(version) = library.version() {
        let _ = write!(text, ", matrix version {version}");
    }
    text.push('\n');
    // Two lines of at most 80 columns.
    let half = subjects.len().div_ceil(2).max(1);
    for few in subjects.chunks(half) {
        let _ = writeln!(text, "{}", few.join(", "));
    }
    text + "\n" + &plain(&heads, &right, &lines)
}

fn line(
    name: &str,
    standing: &Standing,
    classes: &[Class],
    show: fn(&Interval) -> String,
) -> Vec<String> {
    let mut line = vec![name.to_owned(), show(&standing.all)];
    let of = |class| standing.classes.get(class).map_or("-".to_owned(), show);
    line.extend(classes.iter().map(of));
    line
}

fn score(interval: &Interval) -> String {
    format!("{:.3}", interval.mean)
}

fn margin(interval: &Interval) -> String {
    interval
        .half_width
        .map_or(String::new(), |half| format!("±{half:.3}"))
}

/// Whether each algorithm is fair, in two sentences.
pub fn fairness(ranking: &Ranking) -> String {
    let sentences = ranking.fairness();
    let text: String = sentences.iter().map(|one| fill(one, " ") + "\n").collect();
    match text.is_empty() {
        true => text,
        false => text + "\n",
    }
}

/// What was measured at every point by the requested algorithms. The best algorithm of a point and
/// the names are left out where there is only one.
pub fn detail(ranking: &Ranking) -> String {
    let Ranking {
        library, league, ..
    } = ranking;
    let several = league.table.len() > 1;
    let heads = ["point", "algorithm", "score", "", "measured", "best"];
    let right = [false, false, true, true, false, false];
    let any_margin = league.cells.iter().any(|cell| cell.scores.len() > 1);
    let shown = [true, several, true, any_margin, true, several];
    let pick = |cells: Vec<String>| -> Vec<String> {
        let kept = cells.into_iter().zip(shown).filter(|(_, shown)| *shown);
        kept.map(|(cell, _)| cell).collect()
    };
    let right: Vec<bool> = right
        .into_iter()
        .zip(shown)
        .filter(|(_, shown)| *shown)
        .map(|(right, _)| right)
        .collect();
    let mut text = String::new();
    for class in classes(library) {
        let mut lines = Vec::new();
        for point in library.points.iter().filter(|point| point.class == class) {
            let of_point = || league.cells.iter().filter(|cell| cell.point == point.id);
            let best = of_point()
                .max_by(|a, b| a.interval().mean.total_cmp(&b.interval().mean))
                .map_or(String::new(), |best| {
                    format!("{} {:.3}", best.controller, best.interval().mean)
                });
            let asked = of_point().filter(|cell| ranking.requested.contains(&cell.controller));
            for (i, cell) in asked.enumerate() {
                let first = |text: &str| if i == 0 { text } else { "" }.to_owned();
                lines.push(pick(vec![
                    first(&point.id),
                    cell.controller.clone(),
                    score(&cell.interval()),
                    margin(&cell.interval()),
                    measured(cell, &point.aim),
                    first(&best),
                ]));
            }
        }
        let _ = writeln!(text, "{}", bold(&format!("{class}: {}", class.subject())));
        text += &plain(&pick(heads.map(str::to_owned).to_vec()), &right, &lines);
        text.push('\n');
    }
    text
}
