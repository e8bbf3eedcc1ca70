//! Figures as SVG pictures: the same data that the page draws, for `--plot`, `--picture` and the
//! documentation.
//!
//! One file draws one kind of plot. They share what they draw on ([`canvas`]), axes and numbers
//! ([`scale`]), and how series look ([`looks`], from [`style`](crate::style)). The background is
//! white, and dashes and marks tell protocols apart without colours.

mod beside;
mod canvas;
mod confusion;
mod heat;
mod legend;
mod looks;
mod multiples;
mod panels;
mod scale;
#[cfg(test)]
mod tests;

use crate::figure::{Figure, Plot};
use canvas::{Anchor, Canvas, Font, wrapped};
use looks::Looks;

/// Width of a picture and its margins, pixels.
const WIDTH: f64 = 960.0;
const MARGIN: f64 = 20.0;
const TITLE: f64 = 17.0;
const CAPTION: f64 = 11.0;
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
    let (canvas, height) = drawn(figures, WIDTH, MARGIN, true);
    canvas.finish(WIDTH, height, canvas::FONT, None)
}

/// Draws figures below each other for paper. Returns the SVG document.
pub fn svg_for_print(figures: &[Figure], print: &Print) -> String {
    let mm = print.font_pt * POINT / TEXT;
    let width = print.width_mm / mm;
    let (canvas, height) = drawn(figures, width, THIN_MARGIN, print.titles);
    let font = format!("'{}', {}", print.font.replace('\'', ""), canvas::FONT);
    canvas.finish(width, height, &font, Some(mm))
}

/// Draws figures below each other; returns the height.
fn drawn(figures: &[Figure], width: f64, margin: f64, titles: bool) -> (Canvas, f64) {
    let looks = Looks::new(figures);
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
        for line in text(&figure.title, TITLE) {
            canvas.text(&line, [margin, y + TITLE / 2.0], Font::new(TITLE).bold());
            y += 1.4 * TITLE;
        }
        let area = Area {
            left: margin,
            top: y + 6.0,
            width: inner,
        };
        y = area.top + plot(&mut canvas, &looks, area, &figure.plot);
        for line in text(&figure.caption, CAPTION) {
            y += 1.4 * CAPTION;
            canvas.text(&line, [margin, y], Font::soft(CAPTION, Anchor::Start));
        }
    }
    (canvas, y + margin)
}

/// Draws a plot; returns its height.
fn plot(canvas: &mut Canvas, looks: &Looks, area: Area, plot: &Plot) -> f64 {
    match plot {
        Plot::Panels { x, panels } => panels::draw(canvas, looks, area, x, panels),
        Plot::Heat { x, y, value, maps } => heat::draw(canvas, looks, area, (x, y), value, maps),
        Plot::Confusion { matrices } => confusion::draw(canvas, looks, area, matrices),
        Plot::Beside { value, rows } => beside::draw(canvas, looks, area, value, rows),
    }
}
