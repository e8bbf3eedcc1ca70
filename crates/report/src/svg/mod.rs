//! Figures as SVG pictures: for the page, for `--plot` and `--picture`, for paper and for the
//! documentation.
//!
//! One file draws one kind of plot. They share what they draw on ([`canvas`]), axes and numbers
//! ([`scale`]), and how series look ([`looks`], from [`style`](crate::style)). The background is
//! white, and dashes and marks tell protocols apart without colours.

mod beside;
mod canvas;
mod confusion;
mod frame;
mod heat;
mod legend;
mod looks;
mod multiples;
mod panels;
mod scale;
#[cfg(test)]
mod tests;
mod words;

use crate::figure::{Figure, Plot};
use crate::style::Colour;
use canvas::{Anchor, Canvas, Font, wrapped};
pub(crate) use looks::Looks;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
pub(crate) use words::in_words;

/// Width of a picture and its margins, pixels.
const WIDTH: f64 = 960.0;
const MARGIN: f64 = 20.0;
const TITLE: f64 = 17.0;
const CAPTION: f64 = 11.0;
/// Widths of pictures in a page, for wide and for narrow windows.
const WIDE: f64 = 880.0;
const NARROW: f64 = 358.0;
/// Between figures.
const GAP: f64 = 30.0;
/// Margins on paper, where the document has its own.
const THIN_MARGIN: f64 = 3.0;
/// The size of most text, pixels: on paper it has the size that is asked for.
const TEXT: f64 = 12.0;
/// Millimetres of a point.
const POINT: f64 = 25.4 / 72.0;

/// How a picture is drawn for paper.
#[derive(Debug, Clone, PartialEq)]
pub struct Print {
    /// Width of the picture, millimetres: 88 is a column of many journals. At least 40.
    pub width_mm: f64,
    /// The font's family, such as `Times New Roman`.
    pub font: String,
    /// Size of the text, points; from 4 to 24.
    pub font_pt: f64,
    /// Whether title and caption are part of the picture.
    pub titles: bool,
}

/// Where a plot is drawn; it takes the height that it needs.
#[derive(Debug, Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    width: f64,
}

/// Draws figures below each other, each with its title, legend and caption. Returns the SVG
/// document.
pub fn svg(figures: &[Figure]) -> String {
    let (canvas, height) = drawn(figures, &Looks::new(figures), WIDTH, MARGIN, true);
    canvas.finish(WIDTH, height, canvas::FONT, None)
}

/// Draws one figure of a page for paper. All figures of a page have the same style for a protocol.
/// Returns the SVG document.
pub fn svg_for_print(figure: &Figure, page: &[Figure], print: &Print) -> String {
    let mm = print.font_pt * POINT / TEXT;
    let width = print.width_mm / mm;
    let looks = Looks::new(page);
    let one = std::slice::from_ref(figure);
    let (canvas, height) = drawn(one, &looks, width, THIN_MARGIN, print.titles);
    let font = format!("'{}', {}", print.font.replace('\'', ""), canvas::FONT);
    canvas.finish(width, height, &font, Some(mm))
}

/// Draws a plot as an image within a page, without title and caption: once for wide and once for
/// narrow windows.
pub(crate) fn svg_in_page(plot: &Plot, looks: &Looks) -> String {
    let draw = |(class, width): (&str, f64)| {
        let mut canvas = Canvas::of_page();
        let area = Area {
            left: 0.0,
            top: 2.0,
            width,
        };
        let height = draw_plot(&mut canvas, looks, area, plot);
        canvas.inline(class, [width, height + 4.0])
    };
    [("plot wide", WIDE), ("plot narrow", NARROW)]
        .map(draw)
        .join("\n")
}

/// A protocol's line and mark as an image within a page.
pub(crate) fn swatch(looks: &Looks, protocol: &str) -> String {
    legend::swatch(looks.of(Some(protocol), 0))
}

/// Rules of CSS that give pictures in a page the colours of the dark page. `scope`: the selector of
/// the pictures; `used`: the colours in them.
pub(crate) fn dark_rules(looks: &Looks, scope: &str, used: &BTreeSet<&str>) -> String {
    let fixed = canvas::DARK.into_iter();
    let fixed = fixed.chain(looks::DARK_GREYS).chain(beside::DARK);
    let all: BTreeMap<String, Colour> = looks
        .pairs()
        .chain(fixed)
        .map(|(light, dark)| (light.to_string(), dark))
        .collect();
    let mut rules = String::new();
    for (light, dark) in all
        .iter()
        .filter(|(light, _)| used.contains(light.as_str()))
    {
        for paint in ["fill", "stroke"] {
            // Writing to a string cannot fail.
            let _ = writeln!(rules, "{scope} [{paint}=\"{light}\"]{{{paint}:{dark}}}");
        }
    }
    rules
}

/// The colours in pictures.
pub(crate) fn colours(svg: &str) -> impl Iterator<Item = &str> {
    svg.match_indices("\"#")
        .filter_map(|(at, _)| svg.get(at + 1..at + 8))
}

/// Draws figures below each other; returns the height.
fn drawn(
    figures: &[Figure],
    looks: &Looks,
    width: f64,
    margin: f64,
    titles: bool,
) -> (Canvas, f64) {
    let mut canvas = Canvas::default();
    let inner = width - 2.0 * margin;
    let mut y = margin;
    for (i, figure) in figures.iter().enumerate() {
        if i > 0 {
            y += GAP;
        }
        let text = |text: &'_ str, size| match titles {
            true => wrapped(text, inner, size),
            false => Vec::new(),
        };
        for line in text(&plain(&figure.title), TITLE) {
            canvas.text(&line, [margin, y + TITLE / 2.0], Font::new(TITLE).bold());
            y += 1.4 * TITLE;
        }
        let area = Area {
            left: margin,
            top: y + 6.0,
            width: inner,
        };
        y = area.top + draw_plot(&mut canvas, looks, area, &figure.plot);
        for line in text(&plain(&figure.caption), CAPTION) {
            y += 1.4 * CAPTION;
            canvas.text(&line, [margin, y], Font::soft(CAPTION, Anchor::Start));
        }
    }
    (canvas, y + margin)
}

/// A text without the marks of code.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// Draws a plot; returns its height.
fn draw_plot(canvas: &mut Canvas, looks: &Looks, area: Area, plot: &Plot) -> f64 {
    match plot {
        Plot::Panels { x, panels } => panels::draw(canvas, looks, area, x, panels),
        Plot::Heat { x, y, value, maps } => heat::draw(canvas, looks, area, (x, y), value, maps),
        Plot::Confusion { matrices } => confusion::draw(canvas, looks, area, matrices),
        Plot::Beside { value, rows } => beside::draw(canvas, looks, area, value, rows),
    }
}
