//! Heat maps side by side with one scale of colours.

use super::Area;
use super::canvas::{Anchor, Canvas, Fill, Font, LINE, Part, Stroke, fitted, of, text_width};
use super::looks::Looks;
use super::scale::Scale;
use crate::figure::{Axis, Categories, Heat};
use crate::style::Colour;

/// Viridis (S. van der Walt, N. Smith, 2015): even steps to the eye, for any kind of colour vision
/// and in grey.
const VIRIDIS: [[u8; 3]; 11] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x24, 0x75],
    [0x41, 0x44, 0x87],
    [0x35, 0x5f, 0x8d],
    [0x2a, 0x78, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x22, 0xa8, 0x84],
    [0x44, 0xbf, 0x70],
    [0x7a, 0xd1, 0x51],
    [0xbd, 0xdf, 0x26],
    [0xfd, 0xe7, 0x25],
];
const SMALL: f64 = 11.0;
/// Between maps.
const GAP: f64 = 24.0;
/// Height of a line of a map's title, and width of the mark in front of it.
const TITLE: f64 = 15.0;
const KEY: f64 = 16.0;
/// Text on light and on dark colours, whatever the page's background is.
const ON_LIGHT: Colour = Colour([0x10, 0x15, 0x1a]);
const ON_DARK: Colour = Colour([0xfe, 0xfe, 0xfe]);
/// Width of the scale of colours.
const BAR: f64 = 180.0;

/// The colour of a part, 0 to 1, of the scale.
fn viridis(part: f64) -> Colour {
    let at = part.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let low = (at.floor() as usize).min(VIRIDIS.len() - 2);
    let mix = |i: usize| {
        let (a, b) = (f64::from(VIRIDIS[low][i]), f64::from(VIRIDIS[low + 1][i]));
        // Between two bytes.
        (a + (b - a) * (at - low as f64)).round() as u8
    };
    Colour([mix(0), mix(1), mix(2)])
}

/// Draws the maps; returns the height.
pub(super) fn draw(
    canvas: &mut Canvas,
    looks: &Looks,
    area: Area,
    (x, y): (&Categories, &Categories),
    value: &Axis,
    maps: &[Heat],
) -> f64 {
    let usable = |cell: &f64| cell.is_finite() && (!value.log || *cell > 0.0);
    let cells = maps.iter().flat_map(|map| &map.cells).flatten().copied();
    let (mut low, mut high) = cells
        .filter(usable)
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), cell| {
            (a.min(cell), b.max(cell))
        });
    if low > high {
        (low, high) = (0.0, 1.0);
    }
    let scale = Scale::new(value, low.abs().max(high.abs()));
    let part = |cell: f64| match (low == high, value.log) {
        (true, _) => 0.5,
        (false, true) => (cell / low).ln() / (high / low).ln(),
        (false, false) => (cell - low) / (high - low),
    };
    let top = area.top + 6.0;
    let (first, last) = if value.inverse {
        (high, low)
    } else {
        (low, high)
    };
    for i in 0..60 {
        let at = f64::from(i) / 59.0;
        let colour = viridis(if value.inverse { 1.0 - at } else { at });
        let left = area.left + f64::from(i) * BAR / 60.0;
        canvas.rect(
            [left, top],
            [BAR / 60.0 + 0.5, 12.0],
            Some(colour.into()),
            None,
        );
    }
    for (end, left, anchor) in [(first, 0.0, Anchor::Start), (last, BAR, Anchor::End)] {
        let place = [area.left + left, top + 24.0];
        canvas.text(&scale.number(end, 3), place, Font::soft(12.0, anchor));
    }
    canvas.text(
        &scale.name,
        [area.left + BAR + 12.0, top + 6.0],
        Font::new(12.0),
    );
    let layout = Layout::new(area.width, x, y, maps);
    for (i, map) in maps.iter().enumerate() {
        let (column, row) = (i % layout.beside, i / layout.beside);
        let corner = [
            area.left + column as f64 * (layout.width() + GAP) + layout.labels,
            top + 48.0 + row as f64 * layout.block() + layout.head,
        ];
        canvas.part(Part::Item, &of(map.protocol.as_deref()), |canvas| {
            let mut title = corner[0] - layout.labels;
            if let Some(protocol) = &map.protocol {
                let look = looks.of(Some(protocol), 0);
                let place = [title + 5.0, corner[1] - layout.head + 10.0];
                canvas.mark(look.marker, place, 9.0, look.colour, false);
                title += KEY;
            }
            for (line, text) in layout.title(&map.label).into_iter().enumerate() {
                let place = [title, corner[1] - layout.head + 10.0 + line as f64 * TITLE];
                canvas.text(text, place, Font::new(12.0).bold());
            }
            layout.names(canvas, corner, x, y);
            for (index, place) in layout.cells(corner) {
                let cell = map.cells.get(index).copied().flatten();
                let at = [index % layout.columns, index / layout.columns];
                let name = |axis: &Categories, i: usize| -> String {
                    axis.values.get(i).cloned().unwrap_or_default()
                };
                let text = cell.map_or("not measured".to_owned(), |cell| scale.text(cell, 5));
                let tip = format!(
                    "{}\n{} {}, {} {}\n{}\t{text}",
                    map.label,
                    x.label,
                    name(x, at[0]),
                    y.label,
                    name(y, at[1]),
                    value.label,
                );
                // A page may have a section about a column, such as the curves of a point.
                let link = format!("point/{}", name(x, at[0]));
                let row = format!("{i}/{}", at[1]);
                let data = [("tip", tip.as_str()), ("row", &row), ("link", &link)];
                canvas.part(Part::Cell, &data, |canvas| {
                    let text = cell.map_or("–".to_owned(), |cell| scale.number(cell, 3));
                    layout.cell(canvas, place, cell.filter(usable).map(part), &text);
                });
            }
        });
    }
    48.0 + 6.0 + maps.len().div_ceil(layout.beside) as f64 * layout.block()
}

/// Sizes that all maps have in common.
struct Layout {
    columns: usize,
    rows: usize,
    /// Maps in a row.
    beside: usize,
    /// Room above a map for its title and the name of its rows.
    head: f64,
    /// Room left of a map for the names of its rows.
    labels: f64,
    /// Width and height of a cell.
    size: f64,
    tall: f64,
    /// The columns' names are turned.
    turned: bool,
    /// Room below a map for the columns' names.
    under: f64,
}

impl Layout {
    fn new(width: f64, x: &Categories, y: &Categories, maps: &[Heat]) -> Self {
        let (columns, rows) = (x.values.len().max(1), y.values.len());
        let widest = |names: &[String]| {
            let widths = names.iter().map(|name| text_width(name, SMALL));
            widths.fold(0.0, f64::max)
        };
        let side = widest(&y.values)
            .max(text_width(&y.label, SMALL))
            .min(108.0);
        let labels = 12.0 + side;
        // As many maps side by side as have room for cells that can be read.
        let fit = ((width + GAP) / (labels + GAP + columns as f64 * 34.0)) as usize;
        let beside = fit.min(maps.len()).max(1);
        let room = (width - GAP * (beside - 1) as f64) / beside as f64 - labels - 2.0;
        let widest = widest(&x.values);
        let wanted = (widest + 8.0).clamp(62.0, 96.0);
        let size = (room / columns as f64).min(wanted).max(6.0);
        let turned = widest > size - 4.0;
        let mut layout = Self {
            columns,
            rows,
            beside,
            head: 34.0,
            labels,
            size,
            tall: size.clamp(16.0, 32.0),
            turned,
            under: if turned {
                (0.72 * widest + 18.0).min(90.0)
            } else {
                20.0
            },
        };
        let lines = maps.iter().map(|map| layout.title(&map.label).len());
        layout.head += TITLE * lines.max().unwrap_or(1).saturating_sub(1) as f64;
        layout
    }

    /// The lines of a map's title, which are broken after commas.
    fn title<'a>(&self, label: &'a str) -> Vec<&'a str> {
        let room = self.width() + GAP - KEY;
        let (mut lines, mut rest) = (Vec::new(), label);
        while let Some(end) = line_end(rest, room) {
            lines.push(rest[..end].trim_end());
            rest = &rest[end..];
        }
        lines.push(rest);
        lines
    }

    /// Width and height of a map with its names.
    fn width(&self) -> f64 {
        self.labels + self.columns as f64 * self.size
    }

    fn block(&self) -> f64 {
        self.head + 6.0 + self.rows as f64 * self.tall + self.under + 26.0
    }

    /// The upper left corner of each cell, by its index; the first row is the lowest.
    fn cells(&self, [left, top]: [f64; 2]) -> impl Iterator<Item = (usize, [f64; 2])> {
        let place = move |row: usize, column: usize| {
            let x = left + column as f64 * self.size;
            let y = top + (self.rows - 1 - row) as f64 * self.tall;
            (row * self.columns + column, [x, y])
        };
        (0..self.rows).flat_map(move |row| (0..self.columns).map(move |column| place(row, column)))
    }

    /// Draws a cell with its number, and the colour of its part of the scale.
    fn cell(&self, canvas: &mut Canvas, [x, y]: [f64; 2], part: Option<f64>, text: &str) {
        let border = Stroke::solid(LINE, if part.is_some() { 0.0 } else { 0.6 });
        let size = [self.size - 1.0, self.tall - 1.0];
        let fill = part.map(|part| Fill::from(viridis(part)));
        canvas.rect([x + 0.5, y + 0.5], size, fill, Some(border));
        if text_width(text, SMALL) <= self.size - 2.0 {
            let soft = Font::soft(SMALL, Anchor::Middle);
            let font = match part {
                Some(part) => Font {
                    colour: if part <= 0.55 { ON_DARK } else { ON_LIGHT },
                    ..soft
                },
                None => soft,
            };
            canvas.text(text, [x + self.size / 2.0, y + self.tall / 2.0], font);
        }
    }

    /// Names of the axes, rows and columns.
    fn names(&self, canvas: &mut Canvas, [left, top]: [f64; 2], x: &Categories, y: &Categories) {
        let end = Font::soft(SMALL, Anchor::End);
        let middle = Font::soft(SMALL, Anchor::Middle);
        canvas.text(&y.label, [left - 6.0, top - 9.0], end);
        for (row, name) in y.values.iter().enumerate() {
            let height = top + ((self.rows - 1 - row) as f64 + 0.5) * self.tall;
            let name = fitted(name, self.labels - 6.0, SMALL);
            canvas.text(&name, [left - 6.0, height], end);
        }
        let bottom = top + self.rows as f64 * self.tall;
        let skip = (if self.turned { 14.0 } else { 1.0 } / self.size).ceil() as usize;
        for (column, name) in x.values.iter().enumerate().step_by(skip.max(1)) {
            let at = left + (column as f64 + 0.5) * self.size;
            let name = fitted(name, 124.0, SMALL);
            if self.turned {
                canvas.turned(&name, [at + 4.0, bottom + 10.0], end, -45.0);
            } else {
                canvas.text(&name, [at, bottom + 11.0], middle);
            }
        }
        let below = bottom + self.under + 10.0;
        let centre = left + self.columns as f64 * self.size / 2.0;
        canvas.text(&x.label, [centre, below], middle);
    }
}

/// The end of the first line of a title, if it is too wide for a single one.
fn line_end(title: &str, room: f64) -> Option<usize> {
    let ends = title
        .match_indices(", ")
        .map(|(at, comma)| at + comma.len());
    // Bold letters are wider than others.
    let fits = |end: &usize| text_width(&title[..*end], 13.0) <= room;
    let mut ends = ends.peekable();
    let first = ends.peek().copied()?;
    (!fits(&title.len())).then(|| ends.filter(fits).last().unwrap_or(first))
}
