//! Small multiples: of a panel with many lines, a small panel for each line, in its colour, with
//! all others in grey behind.

use super::Area;
use super::canvas::{Anchor, Canvas, Font, LINE, Part, Stroke, fitted, of, text_width};
use super::frame::{Frame, LABEL, NAMED, Ticks, named, vertical};
use super::looks::Drawn;
use super::scale::Range;
use crate::figure::{Form, Panel, Series};
use crate::thin::thin;

/// Room for ticks at the left and right of a row, pixels.
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
/// The minimum width of a small panel.
const NARROW: f64 = 75.0;
/// At most so many small panels are beside each other.
const BESIDE: usize = 5;
/// Between two small panels, across and from one to the name of the next.
const GAP: f64 = 16.0;
const BETWEEN: f64 = 10.0;
/// The name above a small panel.
const HEAD: f64 = 20.0;
/// The name of the vertical axis above all of them, and the common axis below.
const ABOVE: f64 = 26.0;
const BELOW: f64 = 46.0;
const MARK: f64 = 14.0;
/// Points of a line behind another one.
const BEHIND: usize = 40;

/// Whether a panel has too many lines to tell them apart, and nothing but lines and what belongs to
/// them.
pub(super) fn suit(panels: &[Vec<Drawn<'_>>]) -> bool {
    let most = panels.iter().map(|drawn| named(drawn).count()).max();
    let all = || panels.iter().flatten();
    most.is_some_and(|most| most > NAMED)
        && all().all(|d| !matches!(d.series.form, Form::Stack | Form::Outline))
}

/// Draws a block of small panels for each panel; returns the height.
pub(super) fn draw(
    canvas: &mut Canvas,
    area: &Area,
    x: &Range,
    panels: &[Panel],
    drawn: &[Vec<Drawn<'_>>],
) -> f64 {
    let room = area.width - LEFT - RIGHT;
    let names = drawn.iter().flat_map(|drawn| named(drawn));
    let names = names.map(|d| MARK + text_width(&d.series.label, LABEL));
    let narrowest = names.fold(NARROW, f64::max);
    let columns = (((room + GAP) / (narrowest + GAP)) as usize).clamp(1, BESIDE);
    let width = ((room + GAP) / columns as f64 - GAP).max(20.0);
    let height = (0.6 * width).clamp(44.0, 80.0);
    let mut top = area.top;
    for (index, (panel, drawn)) in panels.iter().zip(drawn).enumerate() {
        let lines: Vec<&Drawn<'_>> = named(drawn).collect();
        let y = vertical(panel);
        canvas.text(&y.scale.name, [area.left, top + 12.0], Font::new(LABEL));
        top += ABOVE;
        for (i, line) in lines.iter().enumerate() {
            let (column, row) = (i % columns, i / columns);
            let frame = Frame {
                left: area.left + LEFT + column as f64 * (width + GAP),
                top: top + row as f64 * (HEAD + height + BETWEEN) + HEAD,
                width,
                height,
                x,
                y: y.clone(),
            };
            let own: Vec<Drawn<'_>> = drawn
                .iter()
                .filter(|d| belongs(d, line.series))
                .copied()
                .collect();
            let ticks = Ticks {
                counts: [3, 3],
                size: 11.0,
                numbers: [i + columns >= lines.len(), column == 0],
                vertical_grid: false,
            };
            let only = own.iter().map(|d| d.index).collect();
            canvas.part(Part::Item, &of(line.series.protocol.as_deref()), |canvas| {
                frame.panel(canvas, (index, Some(only)), &ticks, |canvas| {
                    canvas.part(Part::Data, &[], |canvas| {
                        frame.others(canvas, drawn, line.series);
                        frame.series(canvas, &own);
                    });
                    let place = [frame.left + 5.0, frame.top - 10.0];
                    canvas.mark(line.look.marker, place, 8.0, line.look.colour, false);
                    let name = fitted(&line.series.label, width - MARK, LABEL);
                    let font = Font {
                        colour: line.look.colour,
                        ..Font::new(LABEL)
                    };
                    canvas.text(&name, [place[0] - 5.0 + MARK, place[1]], font);
                });
            });
        }
        let rows = lines.len().div_ceil(columns);
        top += rows as f64 * (HEAD + height + BETWEEN) - BETWEEN;
        let middle = [area.left + LEFT + room / 2.0, top + 33.0];
        let font = Font::new(LABEL).anchored(Anchor::Middle);
        canvas.text(&x.scale.name, middle, font);
        top += BELOW;
    }
    top - area.top
}

/// Whether a series is this line, or belongs to it: `cubic, loss` to `cubic`.
fn belongs(drawn: &Drawn<'_>, line: &Series) -> bool {
    let series = drawn.series;
    let own = series.protocol == line.protocol;
    let rest = || series.label.strip_prefix(&line.label)?.strip_prefix(", ");
    own && match drawn.companion {
        None => series.label == line.label,
        Some(what) => rest() == Some(what),
    }
}

impl Frame<'_> {
    /// Everything that belongs to no line or to another one: shades, and the other lines in grey.
    fn others(&self, canvas: &mut Canvas, drawn: &[Drawn<'_>], line: &Series) {
        let shades: Vec<Drawn<'_>> = drawn
            .iter()
            .filter(|d| d.series.form == Form::Shade)
            .copied()
            .collect();
        self.series(canvas, &shades);
        for other in named(drawn).filter(|d| !std::ptr::eq(d.series, line)) {
            // Behind each line are all others: with all their points a picture would be very large.
            let places = thin(self.places(other.series.points.iter().copied()), BEHIND);
            canvas.part(
                Part::Series,
                &of(other.series.protocol.as_deref()),
                |canvas| {
                    canvas.line(&places, Stroke::solid(LINE, 0.7));
                },
            );
        }
    }
}
