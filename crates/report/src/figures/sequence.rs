//! Data that a flow sent and data delivered, over time. The slope is the rate; the difference is in
//! flight, lost or retransmitted.

use super::events::{self, Event};
use super::over_time::series;
use super::series::{Points, maximum};
use super::setting::Setting;
use super::shown::{Shown, shown};
use crate::figure::{Axis, Figure, Form, Panel, Plot, Series};
use crate::quantity::{BYTES, unit_of};
use crate::thin::{Point, shorten, thin};

/// Maximum number of points of a series.
const POINTS: usize = 150;

/// Data delivered and data sent over time, of a setting's flows with its first seed. `None` if
/// nothing was sampled.
pub fn sequence(setting: &Setting<'_>) -> Option<Figure> {
    let all = shown(setting)?;
    let curves: Vec<(Points, Points)> = all.shown.iter().map(grown).collect();
    let sent: Vec<Points> = curves.iter().map(|(_, sent)| sent.clone()).collect();
    let (size, unit) = unit_of(maximum(&sent), BYTES);
    let mut lines: Vec<Series> = Vec::new();
    for (s, (delivered, sent)) in all.shown.iter().zip(&curves) {
        let line = |form, points: &Points, label: String| {
            let places: Vec<Point> = points.iter().map(|(x, y)| [*x, y / size]).collect();
            series(Some(s.protocol), &label, form, thin(places, POINTS))
        };
        lines.push(line(Form::Line, delivered, s.label.clone()));
        lines.push(line(Form::Dashed, sent, format!("{}, sent", s.label)));
        lines.extend(marks(s, delivered, size, events::MOST / all.shown.len()));
    }
    let any = curves.iter().any(|(_, sent)| !sent.is_empty());
    any.then(|| {
        shorten(Figure {
            id: "sequence".to_owned(),
            title: setting.titled("Data over time"),
            caption: format!(
                "{} Lines: delivered to the application; dotted: sent, headers and \
                 retransmissions included. Marks are losses, where they are few.",
                all.chosen
            ),
            plot: Plot::Panels {
                x: Axis::new("time", "s"),
                panels: vec![Panel {
                    y: Axis::new("data", unit),
                    series: lines,
                }],
            },
        })
    })
}

/// Bytes delivered and sent until each sample. A sample's rate is the mean since the sample before
/// it.
fn grown(s: &Shown<'_>) -> (Points, Points) {
    let interval = s.run.point.sample().unwrap_or_default().as_secs_f64();
    let mut bytes = 0.0;
    let samples = s.samples().iter();
    samples
        .map(|f| {
            bytes += f.rate.as_bits_per_sec() as f64 / 8.0 * interval;
            let at = f.at.as_secs_f64();
            ((at, bytes), (at, f.sent.get() as f64))
        })
        .unzip()
}

/// Losses as marks on the line of delivered data; `None` if there are none, or more than `most`.
fn marks(s: &Shown<'_>, delivered: &Points, size: f64, most: usize) -> Option<Series> {
    let losses = events::all(s.samples(), s.episodes());
    let losses: Vec<Event<'_>> = losses.filter(|h| h.episode.is_some()).collect();
    if losses.is_empty() || losses.len() > most {
        return None;
    }
    let place = |h: &Event<'_>| {
        let at = h.at.as_secs_f64();
        let next = delivered.partition_point(|(x, _)| *x < at);
        let y = delivered
            .get(next)
            .or(delivered.last())
            .map_or(0.0, |(_, y)| *y);
        [at, y / size]
    };
    let places = losses.iter().map(place).collect();
    let label = format!("{}, losses", s.label);
    Some(Series {
        notes: losses.iter().map(|h| h.kind.label().to_owned()).collect(),
        ..series(Some(s.protocol), &label, Form::Marks, places)
    })
}
