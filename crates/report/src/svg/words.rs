//! A figure as a sentence for a screen reader: each series with its range.

use super::scale::Scale;
use crate::figure::{Axis, BesideRow, Heat, Matrix, Plot, Series};

/// At most this many series are in the sentence, and as many characters of a name.
const MOST: usize = 24;
const NAME: usize = 50;

/// The plot in words.
pub(crate) fn in_words(plot: &Plot) -> String {
    let list: Vec<String> = match plot {
        Plot::Panels { panels, .. } => {
            let series = panels
                .iter()
                .flat_map(|p| p.series.iter().map(move |s| (&p.y, s)));
            let one = |(y, series): (&Axis, &Series)| {
                let values: Vec<f64> = series.points.iter().map(|[_, y]| *y).collect();
                format!(
                    "{}, {} {}",
                    short(&series.label),
                    short(&y.label),
                    range(y, &values)
                )
            };
            series.map(one).collect()
        }
        Plot::Heat { value, maps, .. } => {
            let one = |map: &Heat| {
                let cells: Vec<f64> = map.cells.iter().flatten().copied().collect();
                format!("{} {}", short(&map.label), range(value, &cells))
            };
            maps.iter().map(one).collect()
        }
        Plot::Confusion { matrices } => {
            let one = |m: &Matrix| {
                format!(
                    "{}: of {} losses to congestion {} classified as such, of {} random ones {}",
                    short(&m.label),
                    m.congestion_as_congestion + m.congestion_as_random,
                    m.congestion_as_congestion,
                    m.random_as_congestion + m.random_as_random,
                    m.random_as_random
                )
            };
            matrices.iter().map(one).collect()
        }
        Plot::Beside { value, rows } => {
            let one = |row: &BesideRow| {
                let text = |number: Option<f64>| match number {
                    Some(number) => range(value, &[number]),
                    None => "none".to_owned(),
                };
                let (paper, ours) = (text(row.paper), text(row.measured));
                format!("{}: paper {paper}, ours {ours}", short(&row.label))
            };
            rows.iter().map(one).collect()
        }
    };
    let more = match list.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let shown: Vec<String> = list.into_iter().take(MOST).collect();
    shown.join("; ") + &more
}

/// `10 to 20 Mbit/s` of these values.
fn range(axis: &Axis, values: &[f64]) -> String {
    let finite = values.iter().filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(*value), high.max(*value))
    });
    if low > high {
        return "nothing".to_owned();
    }
    let scale = Scale::new(axis, low.abs().max(high.abs()));
    if low == high {
        return scale.text(low, 4);
    }
    format!("{} to {}", scale.text(low, 4), scale.text(high, 4))
}

/// The text, cut to a name's length.
fn short(text: &str) -> String {
    match text.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
