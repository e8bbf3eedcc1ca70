//! Windows, goodput and queue over time as an SVG picture.

use crate::legend::{self, Area, Entry, FONT};
use plotters::prelude::*;
use std::error::Error;
use whimbrel_sim::scenario::Parameter;
use whimbrel_sim::sweep::Run;
use whimbrel_sim::{FlowOutcome, FlowSample, LinkSample};

/// M. Okabe and K. Ito's palette, which people with any kind of colour vision can tell apart; its yellow,
/// hardly seen on white, comes last.
pub(crate) const PALETTE: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(0, 0, 0),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(240, 228, 66),
];
const SIZE: (u32, u32) = (960, 780);
const HEAD: u32 = 84;
/// Goodput is shown as the mean over so many spans: sample by sample it is a cloud.
const SPANS: usize = 60;

/// What a picture shows.
#[derive(Debug, Clone)]
pub struct Curves<'a> {
    /// The curves.
    pub all: Vec<Curve<'a>>,
    /// The swept values that all curves have in common: `loss 1 %`. Empty if none.
    pub at: String,
}

/// What is drawn in one colour: one flow, and the queue it met.
#[derive(Debug, Clone)]
pub struct Curve<'a> {
    /// What the legend calls it.
    pub label: String,
    /// The flow over time.
    pub flow: &'a [FlowSample],
    /// The queue over time.
    pub queue: &'a [LinkSample],
}

/// Why there is no picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// Nothing to draw.
    #[error("nothing was sampled: a picture needs `sample = \"100 ms\"` under [run]")]
    NoSamples,
    /// More curves than colours.
    #[error("a picture shows at most 8 curves, not {0}: choose fewer controllers or points")]
    TooMany(usize),
    /// The drawing library failed.
    #[error("the picture could not be drawn: {0}")]
    Drawing(String),
}

/// What a picture of these runs shows, of sampled runs with their first seed: the first flow of each
/// controller, at the first point where it is; if all have the same controller, the first flow of each point.
/// The queue is the one of the run in which packets waited longest.
pub fn curves<'a>(runs: &'a [Run<'_>]) -> Curves<'a> {
    let mut by_controller: Vec<Curve<'a>> = Vec::new();
    let mut by_point = Vec::new();
    let firsts = || {
        let points = runs.chunk_by(|a, b| std::ptr::eq(a.point, b.point));
        points.filter_map(|runs| runs.first())
    };
    for run in firsts() {
        let links = run
            .outcome
            .links
            .iter()
            .filter(|link| !link.samples.is_empty());
        let queue = links
            .max_by_key(|link| link.mean_wait)
            .map_or(&[][..], |link| &link.samples);
        let sampled = |flow: &&FlowOutcome| flow.controller.is_some() && !flow.samples.is_empty();
        let mut flows = run.outcome.flows.iter().filter(sampled);
        for flow in flows.clone() {
            let label = flow.controller.clone().unwrap_or_default();
            if by_controller.iter().all(|curve| curve.label != label) {
                by_controller.push(Curve {
                    label,
                    flow: &flow.samples,
                    queue,
                });
            }
        }
        if let Some(flow) = flows.next() {
            by_point.push(Curve {
                label: values(run),
                flow: &flow.samples,
                queue,
            });
        }
    }
    if by_controller.len() == 1 && by_point.len() > 1 {
        return Curves {
            all: by_point,
            at: String::new(),
        };
    }
    let at = firsts().next().map(|run| values(run)).unwrap_or_default();
    Curves {
        all: by_controller,
        at,
    }
}

/// The swept values of a run: `loss 1 %, delay 50 ms`; its controller has the legend.
fn values(run: &Run<'_>) -> String {
    let swept = run
        .point
        .parameters()
        .iter()
        .filter(|p| p.key != "flow.controller");
    let value =
        |p: &Parameter| format!("{} {}", p.key.rsplit('.').next().unwrap_or(&p.key), p.value);
    swept.map(value).collect::<Vec<_>>().join(", ")
}

/// Draws windows, goodput and queue over time, one above the other. Gives SVG.
///
/// # Errors
/// If there is nothing to draw, or more curves than colours.
pub fn picture(title: &str, curves: &[Curve<'_>]) -> Result<String, PictureError> {
    let ends = curves
        .iter()
        .filter_map(|curve| curve.flow.last())
        .map(|s| s.at.as_secs_f64());
    let end = ends
        .reduce(f64::max)
        .filter(|end| *end > 0.0)
        .ok_or(PictureError::NoSamples)?;
    if curves.len() > PALETTE.len() {
        return Err(PictureError::TooMany(curves.len()));
    }
    let mut svg = String::new();
    draw(&mut svg, title, curves, end).map_err(|error| PictureError::Drawing(error.to_string()))?;
    Ok(svg)
}

type Points = Vec<(f64, f64)>;

fn draw(
    svg: &mut String,
    title: &str,
    curves: &[Curve<'_>],
    end: f64,
) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (head, panels) = area.split_vertically(HEAD);
    let entries = curves.iter().zip(PALETTE).map(|(curve, colour)| Entry {
        label: curve.label.clone(),
        style: colour.stroke_width(4),
        dashed: false,
    });
    legend::head(&head, title, entries)?;
    let panels = panels.split_evenly((3, 1));
    let windows = curves.iter().map(|c| {
        c.flow
            .iter()
            .map(|s| (s.at.as_secs_f64(), s.cwnd.get() as f64))
            .collect()
    });
    let queues = curves.iter().map(|c| {
        c.queue
            .iter()
            .map(|s| (s.at.as_secs_f64(), f64::from(s.queue)))
            .collect()
    });
    let (windows, unit) = scaled(
        windows.collect(),
        &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")],
    );
    draw_panel(
        &panels[0],
        &format!("congestion window ({unit})"),
        "",
        &windows,
        end,
    )?;
    let goodputs = curves.iter().map(|c| goodput(c.flow, end)).collect();
    let rates = [
        (1e9, "Gbit/s"),
        (1e6, "Mbit/s"),
        (1e3, "kbit/s"),
        (1.0, "bit/s"),
    ];
    let (goodputs, unit) = scaled(goodputs, &rates);
    draw_panel(&panels[1], &format!("goodput ({unit})"), "", &goodputs, end)?;
    draw_panel(
        &panels[2],
        "queue (packets)",
        "time (s)",
        &queues.collect::<Vec<_>>(),
        end,
    )?;
    area.present()?;
    Ok(())
}

fn draw_panel(
    area: &Area<'_>,
    y_label: &str,
    x_label: &str,
    curves: &[Points],
    end: f64,
) -> Result<(), Box<dyn Error>> {
    let top = curves.iter().flatten().map(|(_, y)| *y).fold(0.0, f64::max);
    let top = if top > 0.0 { top * 1.05 } else { 1.0 };
    let mut chart = ChartBuilder::on(area)
        .margin_left(10)
        .margin_right(24)
        .margin_bottom(if x_label.is_empty() { 2 } else { 6 })
        .x_label_area_size(if x_label.is_empty() { 22 } else { 44 })
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .axis_style(BLACK.mix(0.5))
        .label_style((FONT, 15))
        .axis_desc_style((FONT, 16))
        .y_desc(y_label)
        .x_labels(10)
        .y_labels(5)
        .x_label_formatter(&|x| number(*x))
        .y_label_formatter(&|y| number(*y));
    if !x_label.is_empty() {
        mesh.x_desc(x_label);
    }
    mesh.draw()?;
    for (i, (points, colour)) in curves.iter().zip(PALETTE).enumerate() {
        // Where curves coincide, the wider ones below show at the edges.
        let width = 2 + (curves.len() - 1 - i).min(2);
        let style = colour.stroke_width(u32::try_from(width).unwrap_or(2));
        chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
    }
    Ok(())
}

/// At most two decimals, and none that say nothing.
pub(crate) fn number(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Mean goodput over spans of the run's `SPANS`th part.
fn goodput(samples: &[FlowSample], end: f64) -> Points {
    let span = end / SPANS as f64;
    let mut sums = vec![(0.0, 0_u32); SPANS];
    for sample in samples {
        let at = ((sample.at.as_secs_f64() / span) as usize).min(SPANS - 1);
        sums[at].0 += sample.rate.as_bits_per_sec() as f64;
        sums[at].1 += 1;
    }
    let point = |(i, (sum, n)): (usize, (f64, u32))| {
        (n > 0).then(|| ((i as f64 + 0.5) * span, sum / f64::from(n)))
    };
    sums.into_iter().enumerate().filter_map(point).collect()
}

/// Divides all by the greatest unit that leaves the greatest value above one.
fn scaled(mut curves: Vec<Points>, units: &[(f64, &'static str)]) -> (Vec<Points>, &'static str) {
    let top = curves.iter().flatten().map(|(_, y)| *y).fold(0.0, f64::max);
    let fits = units
        .iter()
        .find(|(size, _)| top >= 2.0 * size)
        .or(units.last());
    let (size, unit) = fits.copied().unwrap_or((1.0, ""));
    for (_, y) in curves.iter_mut().flatten() {
        *y /= size;
    }
    (curves, unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    fn sawtooth(step: u64) -> Vec<FlowSample> {
        let sample = |i: u64| FlowSample {
            at: Time::from_nanos(i * 10_000_000),
            cwnd: Bytes::new(1500 * (20 + i * step % 60)),
            ssthresh: None,
            in_flight: Bytes::ZERO,
            srtt: Duration::from_millis(100),
            rate: Rate::from_bits_per_sec(1_000_000 * (1 + i % 7)),
            phase: "",
        };
        (0..1000).map(sample).collect()
    }

    #[test]
    fn a_picture_names_its_curves_axes_and_units() {
        let (a, b) = (sawtooth(1), sawtooth(2));
        let curve = |label: &str, flow| Curve {
            label: label.to_owned(),
            flow,
            queue: &[],
        };
        let svg = picture("A title", &[curve("cubic", &a), curve("cerl", &b)]).expect("a picture");
        for text in [
            "A title",
            "cubic",
            "cerl",
            "congestion window (kB)",
            "goodput (Mbit/s)",
            "queue (packets)",
            "time (s)",
            "#0072B2",
            "#D55E00",
        ] {
            assert!(svg.contains(text), "no {text}");
        }
    }

    #[test]
    fn nothing_and_too_much_are_errors() {
        assert_eq!(picture("", &[]), Err(PictureError::NoSamples));
        let flow = sawtooth(1);
        let curves = vec![
            Curve {
                label: String::new(),
                flow: &flow,
                queue: &[]
            };
            9
        ];
        assert_eq!(picture("", &curves), Err(PictureError::TooMany(9)));
    }
}
