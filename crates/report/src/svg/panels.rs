//! Series over a common axis, panels above each other.

use super::canvas::{
    Anchor, Canvas, Fill, Font, GRID, LINE, PAGE, Place, SHADE, SHADE_EDGE, Stroke, fitted,
    text_width,
};
use super::looks::{Drawn, Looks};
use super::scale::Range;
use super::{Area, legend, multiples};
use crate::figure::{Axis, Form, Panel, Series};

/// Room for the ticks at the left and for half of the last one at the right, pixels.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 22.0;
/// Above a panel, for the name of its axis, and below the last one, for its ticks and their name.
const ABOVE: f64 = 30.0;
const BELOW: f64 = 46.0;
/// Between panels.
const BETWEEN: f64 = 44.0;
/// Marks along a line, which tell lines apart without colours.
const SIGNS: usize = 7;
pub(super) const LABEL: f64 = 12.0;
/// More lines than this have no names at their ends: each has a small panel of its own.
pub(super) const NAMED: usize = 8;
/// Names at line ends are cut to this part of the width.
const WIDEST_NAME: f64 = 0.2;
/// Between two names, from middle to middle.
const LINE_HEIGHT: f64 = 13.0;

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
    let names = Names::new(&drawn, area.width);
    let right = names.as_ref().map_or(RIGHT, |names| names.width + 10.0);
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
        frame.axes(canvas, area.left, !lines, i + 1 == panels.len());
        frame.series(canvas, drawn);
        if let Some(names) = &names {
            frame.names(canvas, drawn, names.width);
        }
        bottom = frame.top + height;
    }
    bottom + BELOW - area.top
}

/// Names at the ends of lines, which save the way to the legend.
struct Names {
    width: f64,
}

impl Names {
    /// `None` if there are too many lines, or a single one.
    fn new(panels: &[Vec<Drawn<'_>>], width: f64) -> Option<Self> {
        let most = panels.iter().map(|drawn| named(drawn).count()).max()?;
        let widest = panels
            .iter()
            .flat_map(|drawn| named(drawn))
            .map(|d| text_width(&d.series.label, LABEL))
            .fold(0.0, f64::max);
        (2..=NAMED).contains(&most).then(|| Self {
            width: widest.min(WIDEST_NAME * width),
        })
    }
}

/// The lines that have names: those of protocols.
pub(super) fn named<'a, 'b>(drawn: &'b [Drawn<'a>]) -> impl Iterator<Item = &'b Drawn<'a>> {
    drawn.iter().filter(|d| {
        let line = matches!(d.series.form, Form::Line | Form::Steps | Form::MarkedLine);
        line && d.companion.is_none() && d.series.protocol.is_some() && d.series.points.len() > 1
    })
}

/// The range of a panel's vertical axis.
pub(super) fn vertical(panel: &Panel) -> Range {
    let spreads = |series: &'_ Series| -> Vec<f64> {
        let spread = |i: usize| series.spread.get(i).copied().unwrap_or(0.0);
        let ends = |(i, [_, y]): (usize, &[f64; 2])| [y - spread(i), *y, y + spread(i)];
        series.points.iter().enumerate().flat_map(ends).collect()
    };
    let values = panel.series.iter().flat_map(spreads);
    let stacked: Vec<&Series> = of_form(panel.series.iter(), Form::Stack).collect();
    let tops = bands(&stacked)
        .into_iter()
        .flatten()
        .map(|[_, _, high]| high);
    Range::new(&panel.y, values.chain(tops), true, true)
}

fn of_form<'a>(
    series: impl Iterator<Item = &'a Series>,
    form: Form,
) -> impl Iterator<Item = &'a Series> {
    series.filter(move |series| series.form == form)
}

/// Where each of these series lies on top of those before it: place, lower and upper edge.
fn bands(stacked: &[&Series]) -> Vec<Vec<[f64; 3]>> {
    let mut places: Vec<f64> = stacked
        .iter()
        .flat_map(|series| series.points.iter().map(|[x, _]| *x))
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut below = vec![0.0; places.len()];
    let band = |series: &&Series| {
        let edges = places.iter().zip(&mut below).map(|(x, below)| {
            let low = *below;
            *below += value_at(&series.points, *x);
            [*x, low, *below]
        });
        edges.collect()
    };
    stacked.iter().map(band).collect()
}

/// A line's height at `x`, 0 where it has none.
fn value_at(points: &[[f64; 2]], x: f64) -> f64 {
    let next = points.partition_point(|[at, _]| *at < x);
    match (
        next.checked_sub(1).and_then(|i| points.get(i)),
        points.get(next),
    ) {
        (_, Some([at, y])) if *at == x => *y,
        (Some([x0, y0]), Some([x1, y1])) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        _ => 0.0,
    }
}

/// A panel's place and axes.
pub(super) struct Frame<'a> {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub x: &'a Range,
    pub y: Range,
}

impl Frame<'_> {
    pub fn at_x(&self, x: f64) -> f64 {
        self.left + self.width * self.x.part(x)
    }

    pub fn at_y(&self, y: f64) -> f64 {
        self.top + self.height * (1.0 - self.y.part(y))
    }

    /// The places of those points that both axes have.
    pub fn places(&self, points: impl IntoIterator<Item = [f64; 2]>) -> Vec<Place> {
        let usable = points
            .into_iter()
            .filter(|[x, y]| self.x.has(*x) && self.y.has(*y));
        usable.map(|[x, y]| [self.at_x(x), self.at_y(y)]).collect()
    }

    /// Draws both axes with their ticks and names. `names`: where the vertical axis's name begins.
    fn axes(&self, canvas: &mut Canvas, names: f64, vertical_grid: bool, last: bool) {
        let (right, bottom) = (self.left + self.width, self.top + self.height);
        let thin = |colour| Stroke::solid(colour, 1.0);
        let rows = if self.height > 170.0 { 6 } else { 4 };
        for tick in self.y.ticks(rows) {
            let y = self.at_y(tick);
            canvas.line(&[[self.left, y], [right, y]], thin(GRID));
            canvas.line(&[[self.left - 5.0, y], [self.left, y]], thin(LINE));
            let text = self.y.scale.number(tick, 5);
            canvas.text(&text, [self.left - 8.0, y], Font::soft(LABEL, Anchor::End));
        }
        let columns = ((self.width / 80.0) as usize).clamp(3, 10);
        for tick in self.x.ticks(columns) {
            let x = self.at_x(tick);
            if vertical_grid {
                canvas.line(&[[x, self.top], [x, bottom]], thin(GRID));
            }
            canvas.line(&[[x, bottom], [x, bottom + 5.0]], thin(LINE));
            if last {
                let text = self.x.scale.number(tick, 5);
                canvas.text(&text, [x, bottom + 15.0], Font::soft(LABEL, Anchor::Middle));
            }
        }
        canvas.line(
            &[[self.left, self.top], [self.left, bottom], [right, bottom]],
            thin(LINE),
        );
        canvas.text(
            &self.y.scale.name,
            [names, self.top - 14.0],
            Font::new(LABEL),
        );
        if last {
            let middle = [self.left + self.width / 2.0, bottom + 35.0];
            let font = Font::new(LABEL).anchored(Anchor::Middle);
            canvas.text(&self.x.scale.name, middle, font);
        }
    }

    /// Draws areas first, then lines, then marks.
    pub fn series(&self, canvas: &mut Canvas, drawn: &[Drawn<'_>]) {
        let order = |form: Form| match form {
            Form::Shade => 0,
            Form::Stack | Form::Outline => 1,
            Form::Dashed => 2,
            Form::Line | Form::Steps => 3,
            Form::MarkedLine => 4,
            Form::Marks => 5,
        };
        let stacked: Vec<&Series> = of_form(drawn.iter().map(|d| d.series), Form::Stack).collect();
        let bands = bands(&stacked);
        let mut drawn: Vec<&Drawn<'_>> = drawn.iter().collect();
        drawn.sort_by_key(|d| order(d.series.form));
        let mut bands = bands.iter();
        for d in drawn {
            match d.series.form {
                Form::Stack => {
                    if let Some(band) = bands.next() {
                        self.band(canvas, d, band);
                    }
                }
                _ => self.one(canvas, d),
            }
            self.whiskers(canvas, d);
        }
    }

    /// Writes the name of each line at its end, in its colour, at a distance from the others.
    fn names(&self, canvas: &mut Canvas, drawn: &[Drawn<'_>], width: f64) {
        let end = |d: &Drawn<'_>| {
            let last = self.places(d.series.points.iter().copied()).pop()?;
            Some((last, fitted(&d.series.label, width, LABEL), d.look.colour))
        };
        let mut names: Vec<_> = named(drawn).filter_map(end).collect();
        names.sort_by(|a, b| a.0[1].total_cmp(&b.0[1]));
        let bottom = self.top + self.height;
        let count = names.len() as f64;
        let mut free = self.top;
        for (i, (place, text, colour)) in names.into_iter().enumerate() {
            // Below the one before, and above the place that those after it need.
            let lowest = bottom - (count - 1.0 - i as f64) * LINE_HEIGHT;
            let y = place[1].min(lowest).max(free);
            free = y + LINE_HEIGHT;
            let font = Font {
                colour,
                ..Font::new(LABEL)
            };
            canvas.text(&text, [place[0] + 6.0, y], font);
        }
    }

    fn one(&self, canvas: &mut Canvas, drawn: &Drawn<'_>) {
        let Drawn { series, look, .. } = drawn;
        let points = series.points.iter().copied();
        let places = match series.form {
            Form::Steps | Form::Shade => self.places(stairs(points)),
            _ => self.places(points),
        };
        match series.form {
            Form::Line | Form::Steps | Form::Dashed => {
                let width = if series.form == Form::Dashed {
                    1.4
                } else {
                    1.8
                };
                canvas.line(&places, look.stroke(series.form, width));
                if series.form != Form::Dashed || places.len() == 1 {
                    for place in evenly(&places) {
                        canvas.mark(look.marker, place, 7.0, look.colour, false);
                    }
                }
            }
            Form::MarkedLine => {
                canvas.line(&places, look.stroke(series.form, 1.8));
                for place in places {
                    canvas.mark(look.marker, place, 8.0, look.colour, false);
                }
            }
            Form::Marks => {
                let size = match places.len() {
                    n if n > 1500 => 4.0,
                    n if n > 200 => 6.0,
                    _ => 9.0,
                };
                for place in places {
                    canvas.mark(look.marker, place, size, look.colour, false);
                }
            }
            Form::Shade => {
                let bottom = self.top + self.height;
                if let (Some([first, _]), Some([last, _])) = (places.first(), places.last()) {
                    let ends = [[*last, bottom], [*first, bottom]];
                    let around: Vec<Place> = places.iter().copied().chain(ends).collect();
                    canvas.polygon(&around, SHADE.into(), Stroke::solid(SHADE, 0.0));
                    canvas.line(&places, Stroke::solid(SHADE_EDGE, 1.0));
                }
            }
            Form::Outline => {
                let fill = Fill {
                    colour: look.colour,
                    opacity: 0.13,
                };
                canvas.polygon(&places, fill, Stroke::solid(look.colour, 1.3));
            }
            Form::Stack => {}
        }
    }

    fn band(&self, canvas: &mut Canvas, drawn: &Drawn<'_>, band: &[[f64; 3]]) {
        // A logarithmic axis has no zero to begin from.
        let edge = |value: f64| if self.y.has(value) { value } else { self.y.low };
        let upper = band.iter().map(|[x, _, high]| [*x, edge(*high)]);
        let lower = band.iter().rev().map(|[x, low, _]| [*x, edge(*low)]);
        let fill = Fill {
            colour: drawn.look.colour,
            opacity: 0.75,
        };
        canvas.polygon(
            &self.places(upper.chain(lower)),
            fill,
            Stroke::solid(PAGE, 0.8),
        );
    }

    /// Error bars.
    fn whiskers(&self, canvas: &mut Canvas, drawn: &Drawn<'_>) {
        let stroke = Stroke::solid(drawn.look.colour, 1.2);
        let series = drawn.series;
        for ([x, y], spread) in series.points.iter().zip(&series.spread) {
            if *spread <= 0.0 || !self.x.has(*x) || !self.y.has(*y) {
                continue;
            }
            let (x, high, low) = (self.at_x(*x), self.at_y(y + spread), self.at_y(y - spread));
            canvas.line(&[[x, low], [x, high]], stroke);
            for end in [low, high] {
                canvas.line(&[[x - 3.0, end], [x + 3.0, end]], stroke);
            }
        }
    }
}

/// Level until the next point.
fn stairs(points: impl Iterator<Item = [f64; 2]>) -> Vec<[f64; 2]> {
    let mut line: Vec<[f64; 2]> = Vec::new();
    for [x, y] in points {
        let before = line.last().map(|[_, y]| [x, *y]);
        line.extend(before);
        line.push([x, y]);
    }
    line
}

/// A few places, evenly along the line.
fn evenly(places: &[Place]) -> Vec<Place> {
    if places.len() <= SIGNS {
        return places.to_vec();
    }
    let at = |i: usize| (2 * i + 1) * places.len() / (2 * SIGNS);
    (0..SIGNS).map(|i| places[at(i)]).collect()
}
