//! The printed league table, and its JSON.

use crate::reproduce::bold;
use serde_json::{Value, json};
use std::fmt::Write as _;
use whimbrel_rank::{Aim, Cell, Class, League, Library, Standing};
use whimbrel_report::{Interval, plain};

/// The objects of `--json`.
pub fn json(library: &Library, league: &League) -> Value {
    let points = library.points.iter().map(
        |point| json!({ "id": point.id, "class": point.class.letter(), "claim": point.claim }),
    );
    let table = league.table.iter().map(|standing| {
        let classes = standing.classes.iter();
        let classes = classes.map(|(class, score)| (class.letter().to_owned(), json!(score.mean)));
        json!({
            "algorithm": standing.controller,
            "all": standing.all.mean,
            "classes": classes.collect::<serde_json::Map<_, _>>(),
        })
    });
    let scores = league.cells.iter().map(|cell| {
        let interval = cell.interval();
        let range = cell.range();
        json!({
            "algorithm": cell.controller,
            "point": cell.point,
            "seed_count": cell.scores.len(),
            "score": interval.mean,
            "low": range.map(|(low, _)| low),
            "high": range.map(|(_, high)| high),
        })
    });
    json!({
        "version": library.version,
        "points": points.collect::<Vec<_>>(),
        "table": table.collect::<Vec<_>>(),
        "scores": scores.collect::<Vec<_>>(),
    })
}

/// The classes that have points.
fn classes(library: &Library) -> Vec<Class> {
    let has = |class: &Class| library.points.iter().any(|point| point.class == *class);
    Class::ALL.into_iter().filter(has).collect()
}

/// The league table: a line for each algorithm, best first, and below it the intervals.
pub fn table(library: &Library, league: &League, seeds: u32) -> String {
    let classes = classes(library);
    let mut heads = vec!["algorithm".to_owned(), "all".to_owned()];
    heads.extend(classes.iter().map(Class::to_string));
    let right: Vec<bool> = (0..heads.len()).map(|column| column > 0).collect();
    let mut lines = Vec::new();
    let several = seeds > 1;
    for standing in &league.table {
        lines.push(line(&standing.controller, standing, &classes, score));
        if several {
            lines.push(line("", standing, &classes, margin));
        }
    }
    if let Some(oracle) = league.oracle().filter(|_| league.table.len() > 1) {
        lines.push(line("best at each", &oracle, &classes, score));
    }
    let count = |class: &Class| library.points.iter().filter(|p| p.class == *class).count();
    let subjects: Vec<String> = classes
        .iter()
        .map(|class| format!("{class} {} ({})", class.subject(), count(class)))
        .collect();
    let runs = if several { "seeds" } else { "seed" };
    let mut text = format!(
        "Scores from 0 to 1 (1: goal met), {} points, {seeds} {runs}, matrix version {}\n",
        library.points.len(),
        library.version
    );
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

/// What was measured at every point by these algorithms. The best algorithm of a point and the
/// names are left out where there is only one.
pub fn detail(library: &Library, league: &League, controllers: &[String]) -> String {
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
            let asked = of_point().filter(|cell| controllers.contains(&cell.controller));
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

/// The measures that a score depends on, in a few words.
pub fn measured(cell: &Cell, aim: &Aim) -> String {
    let m = &cell.mean;
    let percent = |x: f64| format!("{:.1} %", x * 100.0);
    let delay = if cell.class == Class::C {
        m.wait
    } else {
        m.delay
    };
    match aim {
        Aim::Fill { overflow, .. } => {
            let lost =
                overflow.map_or(String::new(), |_| format!(", lost {}", percent(m.overflow)));
            format!(
                "of ideal {}, queue {delay:.2} RTT{lost}",
                percent(m.efficiency)
            )
        }
        Aim::Share { .. } => format!(
            "share {:.2}, they keep {:.2}, they lose {}, link {}",
            m.share,
            cell.kept.unwrap_or(1.0),
            percent(m.others_overflow),
            percent(m.utilization)
        ),
        Aim::Own { settled, .. } => {
            let fair = settled
                .and(m.settled)
                .map_or(String::new(), |t| format!(", fair {t:.1} s"));
            format!(
                "Jain {:.3}, ideal {}, queue {delay:.2} RTT, lost {}{fair}",
                m.jain_in_windows.unwrap_or(m.jain),
                percent(m.efficiency),
                percent(m.overflow)
            )
        }
        Aim::Completion { .. } => format!("{:.3} s", m.completion),
    }
}
