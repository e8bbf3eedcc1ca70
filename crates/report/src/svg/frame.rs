//! One panel: its axes, and the series in it.

use super::canvas::{
    Anchor, Canvas, Fill, Font, GRID, LINE, PAGE, Part, Point, SHADE, SHADE_EDGE, Stroke, of,
    text_width,
};
use super::looks::Drawn;
use super::scale::Range;
use crate::figure::{Form, Panel, Series};
use crate::style::Colour;
use serde::Serialize;

/// Marks along a line, which tell lines apart without colours.
const SIGNS: usize = 7;
pub(super) const LABEL: f64 = 12.0;
/// More lines than this have no names at their ends: each has a small panel of its own.
pub(super) const NAMED: usize = 8;
/// Between two names, from middle to middle.
const LINE_HEIGHT: f64 = 13.0;

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
    pub fn places(&self, points: impl IntoIterator<Item = [f64; 2]>) -> Vec<Point> {
        let usable = points
            .into_iter()
            .filter(|[x, y]| self.x.has(*x) && self.y.has(*y));
        usable.map(|[x, y]| [self.at_x(x), self.at_y(y)]).collect()
    }

    /// Draws both axes, and what is between them. `index`: the panel's place in the figure, and the
    /// series of it that this frame has, if not all.
    pub fn panel(
        &self,
        canvas: &mut Canvas,
        (index, only): (usize, Option<Vec<usize>>),
        ticks: &Ticks,
        draw: impl FnOnce(&mut Canvas),
    ) {
        let data = PanelData {
            panel: index,
            only,
            frame: [self.left, self.top, self.width, self.height],
            x: self.x,
            y: &self.y,
            counts: ticks.counts,
        };
        // It is written for the page only, and numbers and texts are always JSON.
        let data = match canvas.live {
            true => serde_json::to_string(&data).unwrap_or_default(),
            false => String::new(),
        };
        canvas.part(Part::Panel, &[("panel", &data)], |canvas| {
            self.ticks(canvas, ticks);
            draw(canvas);
        });
    }

    fn ticks(&self, canvas: &mut Canvas, ticks: &Ticks) {
        let thin = |colour| Stroke::solid(colour, 1.0);
        let [columns, rows] = ticks.counts;
        canvas.part(Part::YTicks, &[], |canvas| {
            for tick in self.y.ticks(rows) {
                canvas.tick([self.left, self.at_y(tick)], |canvas| {
                    canvas.line(&[[0.0, 0.0], [self.width, 0.0]], thin(GRID));
                    canvas.line(&[[-5.0, 0.0], [0.0, 0.0]], thin(LINE));
                    if ticks.numbers[1] {
                        let text = self.y.scale.number(tick, 5);
                        canvas.text(&text, [-8.0, 0.0], Font::soft(ticks.size, Anchor::End));
                    }
                });
            }
        });
        canvas.part(Part::XTicks, &[], |canvas| {
            let mut last = (f64::NEG_INFINITY, 0.0);
            for tick in self.x.ticks(columns) {
                let at = self.at_x(tick);
                canvas.tick([at, self.top + self.height], |canvas| {
                    if ticks.vertical_grid {
                        canvas.line(&[[0.0, -self.height], [0.0, 0.0]], thin(GRID));
                    }
                    canvas.line(&[[0.0, 0.0], [0.0, 5.0]], thin(LINE));
                    let text = self.x.scale.number(tick, 5);
                    let half = text_width(&text, ticks.size) / 2.0;
                    // Numbers do not touch.
                    if ticks.numbers[0] && (at - last.0).abs() > half + last.1 + 4.0 {
                        last = (at, half);
                        let font = Font::soft(ticks.size, Anchor::Middle);
                        canvas.text(&text, [0.0, ticks.size + 3.0], font);
                    }
                });
            }
        });
        let (right, bottom) = (self.left + self.width, self.top + self.height);
        let corner = [[self.left, self.top], [self.left, bottom], [right, bottom]];
        canvas.line(&corner, thin(LINE));
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
            let index = d.index.to_string();
            let mut data = of(d.series.protocol.as_deref());
            data.push(("s", &index));
            canvas.part(Part::Series, &data, |canvas| {
                match d.series.form {
                    Form::Stack => {
                        if let Some(band) = bands.next() {
                            self.band(canvas, d, band);
                        }
                    }
                    _ => self.one(canvas, d),
                }
                self.whiskers(canvas, d);
            });
        }
    }

    /// Writes the name of each line at its end, in its colour, at a distance from the others.
    pub fn names(&self, canvas: &mut Canvas, drawn: &[Drawn<'_>]) {
        let mut names: Vec<(Point, &Series, Colour)> = named(drawn)
            .filter_map(|d| {
                let last = self.places(d.series.points.iter().copied()).pop()?;
                Some((last, d.series, d.look.colour))
            })
            .collect();
        names.sort_by(|a, b| a.0[1].total_cmp(&b.0[1]));
        let wanted: Vec<f64> = names.iter().map(|([_, y], ..)| *y).collect();
        let heights = apart(&wanted, [self.top, self.top + self.height]);
        for (([x, end], series, colour), y) in names.into_iter().zip(heights) {
            canvas.part(Part::End, &of(series.protocol.as_deref()), |canvas| {
                if (y - end).abs() > LINE_HEIGHT / 2.0 {
                    let bend = [[x + 2.0, end], [x + 12.0, y]];
                    canvas.line(&bend, Stroke::solid(colour, 0.7));
                }
                let font = Font {
                    colour,
                    ..Font::new(LABEL)
                };
                canvas.text(&series.label, [x + 14.0, y], font);
            });
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
                    let around: Vec<Point> = places.iter().copied().chain(ends).collect();
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
                canvas.cap([x, end], drawn.look.colour);
            }
        }
    }
}

/// How the axes of a frame are drawn.
pub(super) struct Ticks {
    /// About how many ticks each axis has.
    pub counts: [usize; 2],
    /// Size of the numbers, pixels.
    pub size: f64,
    /// Whether the axes have numbers.
    pub numbers: [bool; 2],
    pub vertical_grid: bool,
}

/// What the page's script needs to know of a panel.
#[derive(Serialize)]
struct PanelData<'a> {
    /// Its place in the figure's data.
    panel: usize,
    /// Its series by their places in the data; all, if there is no list.
    #[serde(skip_serializing_if = "Option::is_none")]
    only: Option<Vec<usize>>,
    /// Left, top, width and height.
    frame: [f64; 4],
    x: &'a Range,
    y: &'a Range,
    counts: [usize; 2],
}

/// Heights of lines of text that do not overlap and are as near as possible to these heights, which
/// are in order: isotonic regression by pooling adjacent violators.
fn apart(wanted: &[f64], [top, bottom]: [f64; 2]) -> Vec<f64> {
    // The mean of a pool of texts that touch each other, as if each was at the height of the first.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (i, y) in wanted.iter().enumerate() {
        let mut pool = (y - i as f64 * LINE_HEIGHT, 1);
        while let Some((mean, n)) = pools.pop_if(|(mean, _)| *mean > pool.0) {
            let sum = mean * n as f64 + pool.0 * pool.1 as f64;
            pool = (sum / (n + pool.1) as f64, n + pool.1);
        }
        pools.push(pool);
    }
    let lowest = bottom - (wanted.len() as f64 - 1.0) * LINE_HEIGHT;
    let first = pools
        .into_iter()
        .flat_map(|(mean, n)| std::iter::repeat_n(mean.min(lowest).max(top), n));
    let height = |(i, first): (usize, f64)| first + i as f64 * LINE_HEIGHT;
    first.enumerate().map(height).collect()
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
fn evenly(places: &[Point]) -> Vec<Point> {
    if places.len() <= SIGNS {
        return places.to_vec();
    }
    let at = |i: usize| (2 * i + 1) * places.len() / (2 * SIGNS);
    (0..SIGNS).map(|i| places[at(i)]).collect()
}
