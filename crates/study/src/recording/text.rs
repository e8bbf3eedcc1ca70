//! Recordings as tables, and each over time in a line of marks.

use super::{Content, Recording, changes, thinned};
use std::fmt::Write as _;
use whimbrel_net::{Quantiles, TraceStatistics};
use whimbrel_report::{cell, text_table};

/// Columns of a curve, and of the name before it.
const CURVE: usize = 56;
const NAME: usize = 22;
/// Columns of a name in a table, whose format is behind it.
const ROW_NAME: usize = 19;
/// Marks of a curve, from nothing to its maximum.
const MARKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The tables, and each file over time; `generated`: the statistics of generated paths, by name.
pub fn text(recordings: &[Recording], generated: &[(&str, Vec<TraceStatistics>)]) -> String {
    let rates = recordings.iter().filter_map(|one| match &one.content {
        Content::Rate { statistics, .. } => {
            let name = format!(
                "{} ({})",
                short(&one.name(), ROW_NAME),
                one.content.format()
            );
            Some((name, std::slice::from_ref(statistics)))
        }
        Content::Delay { .. } => None,
    });
    let generated = generated.iter();
    let generated = generated.map(|(name, all)| ((*name).to_owned(), all.as_slice()));
    let rates: Vec<(String, &[TraceStatistics])> = rates.chain(generated).collect();
    let delays: Vec<Vec<String>> = recordings.iter().filter_map(delay_row).collect();
    let mut text = String::new();
    if !rates.is_empty() {
        let rows = |row: fn(&str, &[TraceStatistics]) -> Vec<String>| -> Vec<Vec<String>> {
            rates.iter().map(|(name, all)| row(name, all)).collect()
        };
        let heads = ["s", "Mbit/s", "p5", "p50", "p95", "fading", "1 s"];
        text += &of_heads("rate", &heads, &rows(rate_row));
        let heads = ["p50 ms", "p95 ms", "stall every", "longest", "stalled"];
        text += &format!("\n{}", of_heads("gaps", &heads, &rows(gap_row)));
    }
    if !delays.is_empty() {
        let gap = if rates.is_empty() { "" } else { "\n" };
        let heads = ["s", "mean ms", "p5", "p50", "p95", "max", "change"];
        text += &format!("{gap}{}", of_heads("delay", &heads, &delays));
    }
    for recording in recordings {
        let (step, samples) = recording.content.course();
        let curve = curve(&thinned(step, samples, CURVE));
        // Writing to a text cannot fail.
        let _ = write!(text, "\n{:<NAME$} {curve}", short(&recording.name(), NAME));
    }
    if !recordings.is_empty() {
        text.push('\n');
    }
    text
}

fn of_heads(first: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    let mut columns = vec![(first, false)];
    columns.extend(heads.iter().map(|head| (*head, true)));
    text_table(&columns, rows)
}

/// A name of at most so many characters.
fn short(name: &str, columns: usize) -> String {
    match name.char_indices().nth(columns) {
        None => name.to_owned(),
        Some(_) => name.chars().take(columns - 1).chain(['…']).collect(),
    }
}

/// The mean of a value over these statistics.
fn mean(all: &[TraceStatistics], value: fn(&TraceStatistics) -> f64) -> f64 {
    all.iter().map(value).sum::<f64>() / all.len().max(1) as f64
}

fn rate_row(name: &str, all: &[TraceStatistics]) -> Vec<String> {
    let mean = |value| mean(all, value);
    vec![
        name.to_owned(),
        format!("{:.0}", mean(|s| s.length.as_secs_f64())),
        number(mean(|s| s.mean.as_bits_per_sec() as f64 / 1e6)),
        number(mean(|s| s.rate.p5)),
        number(mean(|s| s.rate.median)),
        number(mean(|s| s.rate.p95)),
        format!("{:.2}", mean(|s| s.fading)),
        format!("{:.2}", mean(|s| s.persistence)),
    ]
}

fn gap_row(name: &str, all: &[TraceStatistics]) -> Vec<String> {
    let mean = |value| mean(all, value);
    let stalls = mean(|s| s.stall.count as f64);
    let every = mean(|s| s.length.as_secs_f64()) / stalls.max(f64::MIN_POSITIVE);
    let every = (stalls > 0.0).then(|| format!("{} s", number(every)));
    let longest = (stalls > 0.0).then(|| format!("{:.0} ms", mean(|s| s.stall.max)));
    vec![
        name.to_owned(),
        number(mean(|s| s.gap.median)),
        number(mean(|s| s.gap.p95)),
        cell(every),
        cell(longest),
        format!("{:.1} %", mean(|s| s.stalled * 100.0)),
    ]
}

fn delay_row(recording: &Recording) -> Option<Vec<String>> {
    let Content::Delay { every, values } = &recording.content else {
        return None;
    };
    let of = Quantiles::of(values.clone());
    let change = Quantiles::of(changes(values)).mean;
    Some(vec![
        short(&recording.name(), NAME),
        format!("{:.0}", every.as_secs_f64() * values.len() as f64),
        number(of.mean),
        number(of.p5),
        number(of.median),
        number(of.p95),
        number(of.max),
        format!("{change:.2}"),
    ])
}

/// Three digits.
fn number(x: f64) -> String {
    let digits = match x.abs() {
        x if x >= 99.95 => 0,
        x if x >= 9.995 => 1,
        _ => 2,
    };
    format!("{x:.digits$}")
}

/// One line of marks; the highest is the maximum.
fn curve(points: &[[f64; 2]]) -> String {
    let most = points.iter().map(|[_, y]| *y).fold(0.0, f64::max);
    let levels = (MARKS.len() - 1) as f64;
    let mark = |y: f64| match most > 0.0 {
        true => MARKS[((y / most * levels).ceil().max(0.0) as usize).min(MARKS.len() - 1)],
        false => MARKS[0],
    };
    let curve: String = points.iter().map(|[_, y]| mark(*y)).collect();
    curve.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_its_maximum_on_top_and_nothing_where_nothing_passes() {
        let points = [[0.0, 8.0], [1.0, 0.0], [2.0, 0.1], [3.0, 4.0]];
        assert_eq!(curve(&points), "█ ▁▄");
        assert_eq!(curve(&[[0.0, 0.0]]), "");
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [0.0, 1.234, 12.34, 99.96, 1234.5].map(number),
            ["0.00", "1.23", "12.3", "100", "1234"]
        );
    }
}
