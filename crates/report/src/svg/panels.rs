//! Series over a common axis, panels above each other.

use super::canvas::{Anchor, Canvas, Font, Part, text_width};
use super::frame::{Frame, LABEL, NAMED, Ticks, named, vertical};
use super::looks::{Drawn, Looks};
use super::scale::Range;
use super::{Area, legend, multiples};
use crate::figure::{Axis, Form, Panel};

/// Room for the ticks at the left and for half of the last one at the right, pixels.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 22.0;
/// Above a panel, for the name of its axis, and below the last one, for its ticks and their name.
const ABOVE: f64 = 30.0;
const BELOW: f64 = 46.0;
/// Between panels.
const BETWEEN: f64 = 44.0;
/// Names at line ends have at most this part of the width; wider ones are in the legend only, and
/// so are all names of a figure that is narrower than this, in pixels.
const WIDEST_NAME: f64 = 0.3;
const NARROW: f64 = 560.0;

/// Draws the panels and their legend; returns the height.
pub(super) fn draw(
    canvas: &mut Canvas,
    looks: &Looks,
    area: Area,
    x: &Axis,
    panels: &[Panel],
) -> f64 {
    let drawn = looks.series(panels);
    if multiples::suit(&drawn) {
        let xs = panels.iter().flat_map(|panel| &panel.series);
        let xs = xs.flat_map(|series| &series.points).map(|[x, _]| *x);
        let x = Range::new(x, xs, true, false);
        return multiples::draw(canvas, &area, &x, panels, &drawn);
    }
    let top = area.top
        + legend::draw(
            canvas,
            &legend::entries(&drawn),
            [area.left, area.top],
            area.width,
        );
    let all = || panels.iter().flat_map(|panel| &panel.series);
    // Lines have a common axis from edge to edge; marks have room around them.
    let lines = all().any(|series| !matches!(series.form, Form::Marks | Form::Outline));
    let marked = all().all(|s| matches!(s.form, Form::Marks | Form::MarkedLine | Form::Outline));
    let xs = all().flat_map(|series| &series.points).map(|[x, _]| *x);
    let x = Range::new(x, xs, lines, marked);
    let (most, part) = match panels.len() {
        1 => (300.0, 0.6),
        2 => (180.0, 0.4),
        _ => (140.0, 0.33),
    };
    let height = (part * area.width).clamp(60.0, most);
    let names = names_width(&drawn, area.width);
    let right = names.map_or(RIGHT, |width| width + 18.0);
    let mut bottom = top;
    for (i, (panel, drawn)) in panels.iter().zip(&drawn).enumerate() {
        let frame = Frame {
            left: area.left + LEFT,
            top: top + ABOVE + i as f64 * (height + BETWEEN),
            width: area.width - LEFT - right,
            height,
            x: &x,
            y: vertical(panel),
        };
        let last = i + 1 == panels.len();
        let ticks = Ticks {
            counts: [
                ((frame.width / 80.0) as usize).clamp(3, 10),
                if height > 170.0 { 6 } else { 4 },
            ],
            size: LABEL,
            numbers: [last, true],
            vertical_grid: !lines,
        };
        frame.panel(canvas, (i, None), &ticks, |canvas| {
            let place = [area.left, frame.top - 14.0];
            canvas.text(&frame.y.scale.name, place, Font::new(LABEL));
            canvas.part(Part::Data, &[], |canvas| frame.series(canvas, drawn));
            if names.is_some() {
                frame.names(canvas, drawn);
            }
        });
        bottom = frame.top + height;
    }
    let middle = [
        area.left + LEFT + (area.width - LEFT - right) / 2.0,
        bottom + 35.0,
    ];
    let font = Font::new(LABEL).anchored(Anchor::Middle);
    canvas.text(&x.scale.name, middle, font);
    bottom + BELOW - area.top
}

/// The width of the names at the ends of lines, which save the way to the legend. `None` if there
/// are too many lines, or a single one, or no room.
fn names_width(panels: &[Vec<Drawn<'_>>], width: f64) -> Option<f64> {
    let most = panels.iter().map(|drawn| named(drawn).count()).max()?;
    let widest = panels
        .iter()
        .flat_map(|drawn| named(drawn))
        .map(|d| text_width(&d.series.label, LABEL))
        .fold(0.0, f64::max);
    let fits = width >= NARROW && widest <= WIDEST_NAME * width;
    ((2..=NAMED).contains(&most) && fits).then_some(widest)
}
