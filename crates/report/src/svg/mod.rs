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
    let looks = Looks::new(figures);
    let mut canvas = Canvas::default();
    let width = WIDTH - 2.0 * MARGIN;
    let mut y = MARGIN;
    for (i, figure) in figures.iter().enumerate() {
        if i > 0 {
            y += GAP;
        }
        for line in wrapped(&figure.title, width, TITLE) {
            canvas.text(&line, [MARGIN, y + TITLE / 2.0], Font::new(TITLE).bold());
            y += 1.4 * TITLE;
        }
        let area = Area {
            left: MARGIN,
            top: y + 6.0,
            width,
        };
        y = area.top + plot(&mut canvas, &looks, area, &figure.plot);
        for line in wrapped(&figure.caption, width, CAPTION) {
            y += 1.4 * CAPTION;
            canvas.text(&line, [MARGIN, y], Font::soft(CAPTION, Anchor::Start));
        }
    }
    canvas.finish(WIDTH, y + MARGIN)
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
