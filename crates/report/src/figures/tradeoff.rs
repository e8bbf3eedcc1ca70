//! Throughput against delay, as in Pantheon's reports (F. Y. Yan et al., "Pantheon: the training
//! ground for Internet congestion-control research", USENIX ATC 2018): each run is a mark, with its
//! 95th-percentile one-way delay on a logarithmic axis from right to left, so up and right is
//! better.
//!
//! An outline is one standard deviation around the mean of a protocol's runs: the ellipse of the
//! covariance with the logarithm of the delay, because the axis is logarithmic.

use super::over_time::series;
use super::setting::{at, evenly, settings};
use super::shown::beside;
use super::sweep::by_controller;
use super::{mean_delay_p95, together};
use crate::figure::{Axis, Figure, Form, Panel, Plot, Series};
use crate::thin::{Point, shorten};
use whimbrel_sim::sweep::Run;

/// Maximum number of settings with a figure.
const FIGURES: usize = 3;
/// Minimum number of runs of a covariance.
const LEAST_RUNS: usize = 3;
/// Number of points of an outline.
const CORNERS: u32 = 48;

/// The marks of one label.
struct Marks {
    label: String,
    protocol: String,
    places: Vec<Point>,
    notes: Vec<String>,
}

/// A figure for some settings; if all runs have the same controllers, one for all of them.
pub fn tradeoff(runs: &[&Run<'_>]) -> Vec<Figure> {
    let all = settings(runs);
    let several = |runs: &[&Run<'_>]| marks(runs, false).len() > 1;
    if all.iter().any(|setting| several(&setting.runs)) {
        let one = |setting: super::Setting<'_>| {
            figure(
                &marks(&setting.runs, false),
                &setting.titled("Throughput against delay"),
            )
        };
        evenly(all, FIGURES).into_iter().filter_map(one).collect()
    } else {
        let one = figure(&marks(runs, true), "Throughput against delay");
        one.into_iter().collect()
    }
}

fn figure(all: &[Marks], title: &str) -> Option<Figure> {
    let count: usize = all.iter().map(|m| m.places.len()).sum();
    let outlines = all.iter().filter_map(|m| {
        let places = outline(&m.places)?;
        Some(series(Some(&m.protocol), &m.label, Form::Outline, places))
    });
    let mut lines: Vec<Series> = outlines.collect();
    let outlined = if lines.is_empty() {
        ""
    } else {
        " Outlines: one standard deviation around the mean of a protocol's runs."
    };
    lines.extend(all.iter().map(|m| Series {
        notes: m.notes.clone(),
        ..series(Some(&m.protocol), &m.label, Form::Marks, m.places.clone())
    }));
    (count > 1).then(|| {
        shorten(Figure {
            id: "tradeoff".to_owned(),
            title: title.to_owned(),
            caption: format!(
                "Up and to the right is better. A mark is a run: the total goodput of a protocol's \
                 flows, and the 95th percentile of their packets' one-way delay, mean over the \
                 flows.{outlined}"
            ),
            plot: Plot::Panels {
                x: Axis {
                    log: true,
                    inverse: true,
                    ..Axis::new("95th percentile of the one-way delay", "ms")
                },
                panels: vec![Panel {
                    y: Axis::new("goodput", "Mbit/s"),
                    series: lines,
                }],
            },
        })
    })
}

/// A mark for each run and label, with the swept values in its note if they differ.
fn marks(runs: &[&Run<'_>], with_values: bool) -> Vec<Marks> {
    let mut all: Vec<Marks> = Vec::new();
    for run in runs {
        for (protocol, flows) in by_controller(run) {
            let Some(delay) = mean_delay_p95(&flows).filter(|delay| *delay > 0.0) else {
                continue;
            };
            let place = [delay, together(run, &flows)];
            let values = at(run.point.parameters());
            let note = if with_values && !values.is_empty() {
                format!("{values}, seed {}", run.seed)
            } else {
                format!("seed {}", run.seed)
            };
            let label = beside(run, &protocol);
            match all.iter_mut().find(|m| m.label == label) {
                Some(marks) => {
                    marks.places.push(place);
                    marks.notes.push(note);
                }
                None => all.push(Marks {
                    label,
                    protocol,
                    places: vec![place],
                    notes: vec![note],
                }),
            }
        }
    }
    all
}

/// One standard deviation around the mean of (log x, y). `None` for few points, or if all are
/// equal.
fn outline(places: &[Point]) -> Option<Vec<Point>> {
    let n = places.len() as f64;
    if places.len() < LEAST_RUNS {
        return None;
    }
    let logs: Vec<Point> = places.iter().map(|[x, y]| [x.ln(), *y]).collect();
    let mean = |i: usize| logs.iter().map(|p| p[i]).sum::<f64>() / n;
    let (mx, my) = (mean(0), mean(1));
    let covariance = |i: usize, j: usize, mi: f64, mj: f64| {
        logs.iter().map(|p| (p[i] - mi) * (p[j] - mj)).sum::<f64>() / (n - 1.0)
    };
    let (xx, yy, xy) = (
        covariance(0, 0, mx, mx),
        covariance(1, 1, my, my),
        covariance(0, 1, mx, my),
    );
    if !(xx + yy).is_finite() || xx <= 0.0 && yy <= 0.0 {
        return None;
    }
    // The unit circle times the Cholesky factor of the covariance; a vertical line if x does not
    // vary.
    let a = xx.max(0.0).sqrt();
    let b = if a > 0.0 { xy / a } else { 0.0 };
    let c = (yy - b * b).max(0.0).sqrt();
    let corner = |i: u32| {
        let (sin, cos) = (f64::from(i) / f64::from(CORNERS) * std::f64::consts::TAU).sin_cos();
        [(mx + a * cos).exp(), (my + b * cos + c * sin).max(0.0)]
    };
    Some((0..=CORNERS).map(corner).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_is_a_standard_deviation_wide() {
        // Delays of e^1, e^2, e^3 ms and 10 Mbit/s each: log 2 ± 1, no height.
        let e = std::f64::consts::E;
        let level = outline(&[[e, 10.0], [e * e, 10.0], [e * e * e, 10.0]]).expect("three");
        let (least, most) = level
            .iter()
            .fold((f64::MAX, 0.0_f64), |(a, b), p| (a.min(p[0]), b.max(p[0])));
        assert!(
            (least - e).abs() < 1e-6 && (most - e.powi(3)).abs() < 1e-6,
            "{least} {most}"
        );
        assert!(level.iter().all(|p| (p[1] - 10.0).abs() < 1e-9));
        assert_eq!(level.first(), level.last(), "closed");
        // Rates of 8, 10 and 12 at one delay: 10 ± 2.
        let upright = outline(&[[5.0, 8.0], [5.0, 10.0], [5.0, 12.0]]).expect("three");
        let top = upright.iter().map(|p| p[1]).fold(0.0, f64::max);
        assert!((top - 12.0).abs() < 1e-9, "{top}");
        assert!(upright.iter().all(|p| (p[0] - 5.0).abs() < 1e-9));
    }

    #[test]
    fn an_outline_leans_as_its_runs_do() {
        // On a line, with more delay for more rate, every corner is on the line.
        let places: Vec<Point> = (1..=4)
            .map(|i| [f64::from(i).exp(), 3.0 * f64::from(i)])
            .collect();
        let all = outline(&places).expect("four");
        assert!(
            all.iter().all(|[x, y]| (y - 3.0 * x.ln()).abs() < 1e-9),
            "{all:?}"
        );
    }

    #[test]
    fn two_runs_and_runs_that_are_all_the_same_have_no_outline() {
        assert_eq!(outline(&[[1.0, 2.0], [2.0, 3.0]]), None);
        assert_eq!(outline(&[[1.0, 2.0]; 4]), None);
    }
}
