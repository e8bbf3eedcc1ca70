//! A paper's numbers and ours: a row each, with a hollow mark for the paper's number and a filled
//! one for ours.
//!
//! Rows of very different sizes share no linear axis. Where all numbers are above zero they share a
//! logarithmic one, on which the same distance is the same ratio. Otherwise neighbours of like size
//! and sign share an axis; if that would make many axes, each row has its own scale from zero.

use super::Area;
use super::canvas::{
    Anchor, Canvas, Font, GRID, INK, LINE, Part, SOFT, Stroke, fitted, of, text_width,
};
use super::looks::Looks;
use super::scale::{Scale, log_ticks, number, ticks};
use crate::figure::{Axis, BesideRow};
use crate::style::{Colour, Marker};

/// Numbers whose ratio is larger cannot be read off one linear axis.
const WIDE: f64 = 25.0;
/// With more axes, each row has its own scale.
const MOST_AXES: usize = 4;
/// Height of a row, and widths of the columns of numbers, pixels.
const ROW: f64 = 26.0;
const PAPER: f64 = 60.0;
const OURS: f64 = 98.0;
const RATIO: f64 = 64.0;
const SMALL: f64 = 11.0;
/// What is expected of our number, and whether it is.
const BAND: Colour = Colour([0xe3, 0xee, 0xe6]);
const RIGHT: Colour = Colour([0x1a, 0x7f, 0x4b]);
const WRONG: Colour = Colour([0xb3, 0x26, 0x1e]);
/// The same on the dark page.
pub(super) const DARK: [(Colour, Colour); 3] = [
    (BAND, Colour([0x1d, 0x32, 0x26])),
    (RIGHT, Colour([0x5f, 0xd1, 0x96])),
    (WRONG, Colour([0xff, 0x8a, 0x80])),
];
/// Width of the sign that says so.
const SIGN: f64 = 14.0;
/// A narrower picture has each label above its row, and neither ratios nor standard deviations as
/// numbers.
const NARROW: f64 = 560.0;
/// Height of a row there, and width of a column of numbers.
const TALL_ROW: f64 = 42.0;
const NUMBER: f64 = 70.0;

/// What the horizontal axis of a group of rows is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear,
    Log,
    /// Each row has its own scale.
    Own,
}

/// Draws the rows; returns the height.
pub(super) fn draw(
    canvas: &mut Canvas,
    looks: &Looks,
    area: Area,
    value: &Axis,
    rows: &[BesideRow],
) -> f64 {
    let rows: Vec<BesideRow> = rows.iter().map(drawable).collect();
    let rows = rows.as_slice();
    let columns = Columns::new(&area, rows);
    let maximum = rows.iter().map(size_of).fold(0.0, f64::max);
    let scale = Scale::new(value, maximum);
    let head = Font::soft(SMALL, Anchor::End);
    let top = area.top + 12.0;
    let key = Font::soft(SMALL, Anchor::Start);
    canvas.mark(Marker::Circle, [columns.left + 5.0, top], 9.0, INK, true);
    canvas.text("paper", [columns.left + 15.0, top], key);
    canvas.mark(Marker::Circle, [columns.left + 65.0, top], 9.0, INK, false);
    canvas.text("ours ± standard deviation", [columns.left + 75.0, top], key);
    canvas.text("paper", [columns.paper, top], head);
    canvas.text("ours", [columns.ours - SIGN, top], head);
    if let Some(ratio) = columns.ratio {
        canvas.text("ratio", [ratio, top], head);
    }
    let (kind, groups) = groups(value, rows);
    let mut y = area.top + 34.0;
    for group in groups {
        let axis = GroupAxis::new(value, kind, group);
        let bottom = y + group.len() as f64 * columns.row;
        let mut last = (f64::NEG_INFINITY, 0.0);
        for tick in &axis.ticks {
            let x = columns.at(axis.part(*tick, None));
            let colour = if *tick == 0.0 { LINE } else { GRID };
            // Grid lines leave out labels that are above their rows.
            let (rows, from) = match columns.narrow {
                true => (group.len(), columns.row - ROW + 4.0),
                false => (1, -4.0),
            };
            for i in 0..rows {
                let top = y + i as f64 * columns.row;
                let end = if columns.narrow {
                    top + columns.row - 2.0
                } else {
                    bottom
                };
                canvas.line(&[[x, top + from], [x, end]], Stroke::solid(colour, 1.0));
            }
            let text = scale.number(*tick, 5);
            let half = text_width(&text, 12.0) / 2.0;
            // Numbers do not touch.
            if (x - last.0).abs() > half + last.1 + 4.0 {
                last = (x, half);
                canvas.text(&text, [x, bottom + 14.0], Font::soft(12.0, Anchor::Middle));
            }
        }
        for (i, row) in group.iter().enumerate() {
            let top = y + i as f64 * columns.row;
            let end = area.left + area.width;
            if i > 0 {
                canvas.line(&[[area.left, top], [end, top]], Stroke::solid(GRID, 0.7));
            }
            canvas.part(Part::Item, &of(row.protocol.as_deref()), |canvas| {
                let tip = tip(row, value, &scale);
                let at = format!("{y}/{i}");
                canvas.part(Part::Cell, &[("tip", &tip), ("row", &at)], |canvas| {
                    if canvas.live {
                        canvas.rect([area.left, top], [area.width, columns.row], None, None);
                    }
                    let middle = top + columns.row - ROW / 2.0;
                    one(canvas, looks, &columns, &axis, row, &scale, middle);
                });
            });
        }
        y = bottom + if axis.ticks.is_empty() { 4.0 } else { 36.0 };
    }
    let note = match (kind, columns.narrow) {
        (Kind::Linear, _) => "",
        (Kind::Log, false) => "logarithmic: the same distance is the same ratio",
        (Kind::Log, true) => "logarithmic",
        (Kind::Own, _) => "each row on its own scale, from zero",
    };
    let under = [scale.name.as_str(), note];
    let under: Vec<&str> = under.into_iter().filter(|text| !text.is_empty()).collect();
    let (x, anchor) = match columns.narrow {
        true => (area.left, Anchor::Start),
        false => ((columns.left + columns.right) / 2.0, Anchor::Middle),
    };
    let font = Font::new(12.0).anchored(anchor);
    canvas.text(&under.join("; "), [x, y + 2.0], font);
    y + 16.0 - area.top
}

/// The row without numbers that have no place on any axis.
fn drawable(row: &BesideRow) -> BesideRow {
    let finite = |number: Option<f64>| number.filter(|number| number.abs() < 1e100);
    BesideRow {
        paper: finite(row.paper),
        measured: finite(row.measured),
        spread: finite(row.spread),
        expected: row.expected.map(finite),
        ..row.clone()
    }
}

/// Where the columns are, in pixels.
struct Columns {
    /// Where labels begin, and their width.
    label: f64,
    labels: f64,
    /// Labels are above their rows.
    narrow: bool,
    /// Height of a row.
    row: f64,
    /// Ends of the axis.
    left: f64,
    right: f64,
    /// Right ends of the numbers.
    paper: f64,
    ours: f64,
    /// `None` without room for it.
    ratio: Option<f64>,
}

impl Columns {
    fn new(area: &Area, rows: &[BesideRow]) -> Self {
        let end = area.left + area.width;
        if area.width < NARROW {
            return Self {
                label: area.left,
                labels: area.width,
                narrow: true,
                row: TALL_ROW,
                left: area.left + 14.0,
                right: end - 2.0 * NUMBER - 16.0,
                paper: end - NUMBER - 2.0,
                ours: end,
                ratio: None,
            };
        }
        let widths = rows.iter().map(|row| text_width(&row.label, 12.0) + 16.0);
        let labels = (16.0 + widths.fold(60.0, f64::max)).min(0.4 * area.width);
        Self {
            label: area.left + labels - 6.0,
            labels: labels - 6.0,
            narrow: false,
            row: ROW,
            left: area.left + labels + 14.0,
            right: end - PAPER - OURS - RATIO - 16.0,
            paper: end - RATIO - OURS - 8.0,
            ours: end - RATIO,
            ratio: Some(end),
        }
    }

    fn at(&self, part: f64) -> f64 {
        self.left + part.clamp(-0.03, 1.03) * (self.right - self.left)
    }
}

fn one(
    canvas: &mut Canvas,
    looks: &Looks,
    columns: &Columns,
    axis: &GroupAxis,
    row: &BesideRow,
    scale: &Scale,
    y: f64,
) {
    let (colour, marker) = match &row.protocol {
        None => (INK, Marker::Circle),
        protocol => {
            let look = looks.of(protocol.as_deref(), 0);
            (look.colour, look.marker)
        }
    };
    let label = fitted(&row.label, columns.labels, 12.0);
    let end = Font::new(12.0).anchored(Anchor::End);
    if columns.narrow {
        canvas.text(&label, [columns.label, y - 20.0], Font::new(12.0));
    } else {
        canvas.text(&label, [columns.label, y], end);
    }
    let at = |value: f64| columns.at(axis.part(value, Some(row)));
    if row.expects() && axis.kind != Kind::Own {
        // An open end extends to the edge, as does one that the axis does not have.
        let edges = if axis.inverse { [1.0, 0.0] } else { [0.0, 1.0] };
        let end = |i: usize| {
            let value = row.expected[i].filter(|v| axis.usable(*v));
            value.map_or(columns.at(edges[i]), at)
        };
        let (left, right) = (end(0).min(end(1)), end(0).max(end(1)));
        let place = [left, y - ROW / 2.0 + 3.0];
        let size = [(right - left).max(2.0), ROW - 6.0];
        canvas.rect(place, size, Some(BAND.into()), None);
    }
    if axis.kind == Kind::Own {
        let zero = at(0.0);
        canvas.line(
            &[[columns.left, y], [columns.right, y]],
            Stroke::solid(GRID, 1.0),
        );
        canvas.line(
            &[[zero, y - 6.0], [zero, y + 6.0]],
            Stroke::solid(SOFT, 1.0),
        );
    }
    let usable = |value: Option<f64>| value.filter(|v| axis.usable(*v));
    let (paper, ours) = (usable(row.paper).map(at), usable(row.measured).map(at));
    if let (Some(paper), Some(ours)) = (paper, ours) {
        canvas.line(&[[paper, y], [ours, y]], Stroke::solid(SOFT, 1.2));
    }
    let spread = row.spread.filter(|spread| *spread > 0.0);
    if let (Some(measured), Some(spread), Some(_)) = (row.measured, spread, ours) {
        let ends = [measured - spread, measured + spread];
        let ends = ends.map(|end| usable(Some(end)).map_or(columns.left, at));
        canvas.line(&[[ends[0], y], [ends[1], y]], Stroke::solid(colour, 1.8));
        for end in ends {
            canvas.line(
                &[[end, y - 4.0], [end, y + 4.0]],
                Stroke::solid(colour, 1.4),
            );
        }
    }
    if let Some(x) = ours {
        canvas.mark(marker, [x, y], 11.0, colour, false);
    }
    if let Some(x) = paper {
        canvas.mark(marker, [x, y], 11.0, colour, true);
    }
    let text = |value: Option<f64>| value.map_or("–".to_owned(), |v| scale.number(v, 3));
    let spread = spread.map_or(String::new(), |spread| {
        format!(" ± {}", scale.number(spread, 2))
    });
    canvas.text(&text(row.paper), [columns.paper, y], end);
    let ours = match columns.narrow {
        true => text(row.measured),
        false => fitted(
            &format!("{}{spread}", text(row.measured)),
            OURS - SIGN,
            12.0,
        ),
    };
    canvas.text(&ours, [columns.ours - SIGN, y], end);
    if row.expects() {
        let (sign, colour) = match row.right {
            Some(true) => ("\u{2713}", RIGHT),
            Some(false) => ("\u{2717}", WRONG),
            None => ("?", SOFT),
        };
        let font = Font {
            colour,
            ..Font::new(12.0).bold().anchored(Anchor::End)
        };
        canvas.text(sign, [columns.ours, y], font);
    }
    if let (Some(paper), Some(measured), Some(place)) = (row.paper, row.measured, columns.ratio)
        && paper > 0.0
        && measured > 0.0
    {
        let ratio = format!("×{}", number(measured / paper, 3));
        let font = Font::soft(12.0, Anchor::End);
        canvas.text(&ratio, [place, y], font);
    }
}

/// What the pointer finds at a row.
fn tip(row: &BesideRow, value: &Axis, scale: &Scale) -> String {
    let full = |value: Option<f64>| value.map_or("none".to_owned(), |v| scale.text(v, 5));
    let spread = row.spread.filter(|spread| *spread > 0.0);
    let spread = spread.map_or(String::new(), |s| format!(" ± {}", scale.number(s, 2)));
    let (paper, ours) = (full(row.paper), full(row.measured));
    let mut tip = format!(
        "{}\n{}\npaper\t{paper}\nours\t{ours}{spread}",
        row.label, value.label
    );
    if let (Some(paper), Some(measured)) = (row.paper, row.measured)
        && paper > 0.0
        && measured > 0.0
    {
        tip += &format!("\nours ÷ paper\t{}", number(measured / paper, 3));
    }
    let expected = match row.expected.map(|end| end.map(|end| scale.text(end, 4))) {
        [None, None] => return tip,
        [None, Some(most)] => format!("at most {most}"),
        [Some(least), None] => format!("at least {least}"),
        [Some(least), Some(most)] => format!("{least} to {most}"),
    };
    let verdict = match row.right {
        Some(true) => "right",
        Some(false) => "wrong",
        None => "more seeds must decide",
    };
    tip + &format!("\nexpected\t{expected}\nverdict\t{verdict}")
}

fn values(row: &BesideRow) -> impl Iterator<Item = f64> {
    [row.paper, row.measured]
        .into_iter()
        .flatten()
        .filter(|value| value.is_finite())
}

fn size_of(row: &BesideRow) -> f64 {
    values(row).map(f64::abs).fold(0.0, f64::max)
}

/// The values of a row and the ends of its error bar.
fn reach(row: &BesideRow) -> impl Iterator<Item = f64> {
    let spread = row.spread.unwrap_or(0.0);
    let bar = row
        .measured
        .into_iter()
        .flat_map(move |m| [m - spread, m + spread]);
    values(row).chain(bar)
}

/// The rows that have an axis together.
fn groups<'a>(value: &Axis, rows: &'a [BesideRow]) -> (Kind, Vec<&'a [BesideRow]>) {
    if !value.log && !wide(rows) {
        return (Kind::Linear, vec![rows]);
    }
    if rows.iter().flat_map(values).all(|value| value > 0.0) {
        return (Kind::Log, vec![rows]);
    }
    let negative = |rows: &[BesideRow]| rows.iter().flat_map(values).any(|value| value < 0.0);
    let mut groups: Vec<&[BesideRow]> = Vec::new();
    let mut first = 0;
    for i in 0..rows.len() {
        let with_next = rows.get(i + 1).is_some_and(|next| {
            negative(&rows[first..=i]) == negative(std::slice::from_ref(next))
                && !wide(&rows[first..=i + 1])
        });
        if !with_next {
            groups.push(&rows[first..=i]);
            first = i + 1;
        }
    }
    if groups.len() <= MOST_AXES {
        (Kind::Linear, groups)
    } else {
        (Kind::Own, vec![rows])
    }
}

/// Whether the numbers of these rows differ too much for one linear axis.
fn wide(rows: &[BesideRow]) -> bool {
    let sizes = rows.iter().map(size_of).filter(|size| *size > 0.0);
    let (low, high) = sizes.fold((f64::INFINITY, 0.0_f64), |(low, high), size| {
        (low.min(size), high.max(size))
    });
    high / low > WIDE
}

/// The axis of a group of rows.
struct GroupAxis {
    kind: Kind,
    low: f64,
    high: f64,
    inverse: bool,
    ticks: Vec<f64>,
}

impl GroupAxis {
    fn new(value: &Axis, kind: Kind, rows: &[BesideRow]) -> Self {
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
                (a.min(v), b.max(v))
            })
        };
        let (least, most) = ends(&mut rows.iter().flat_map(values));
        let (low, high, ticks) = match kind {
            _ if least > most => (0.0, 1.0, Vec::new()),
            Kind::Own => (0.0, 1.0, Vec::new()),
            Kind::Log => {
                let (low, high) = (least / 1.2, most * 1.2);
                (low, high, log_ticks(low, high))
            }
            Kind::Linear => {
                // From zero, unless all values lie in a small part far from it.
                let near = least > 0.85 * most && least > 0.0 && most > least;
                let (from, to) = ends(&mut rows.iter().flat_map(reach));
                let (from, to) = if near {
                    (from, to)
                } else {
                    (from.min(0.0), to.max(0.0))
                };
                let margin = if to > from { 0.04 * (to - from) } else { 1.0 };
                let low = if from == 0.0 { 0.0 } else { from - margin };
                let high = if to == 0.0 { 0.0 } else { to + margin };
                (low, high, ticks(low, high, 7))
            }
        };
        Self {
            kind,
            low,
            high,
            inverse: value.inverse,
            ticks,
        }
    }

    fn usable(&self, value: f64) -> bool {
        value.is_finite() && (self.kind != Kind::Log || value > 0.0)
    }

    /// Where a value lies between the ends, 0 to 1; of `row`, if each row has its own scale.
    fn part(&self, value: f64, row: Option<&BesideRow>) -> f64 {
        let (low, high) = match (self.kind, row) {
            (Kind::Own, Some(row)) => {
                reach(row).fold((0.0_f64, 0.0_f64), |(a, b), v| (a.min(v), b.max(v)))
            }
            _ => (self.low, self.high),
        };
        let part = match self.kind {
            Kind::Log => (value / low).ln() / (high / low).ln(),
            _ if low == high => 0.0,
            _ => (value - low) / (high - low),
        };
        if self.inverse { 1.0 - part } else { part }
    }
}
