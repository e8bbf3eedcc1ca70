//! Response functions: throughput over the loss rate, predicted and measured.

use super::over_time::series;
use crate::figure::{Axis, Figure, Form, Panel, Plot};

/// One controller or formula, over x above 0.
#[derive(Debug, Clone)]
pub struct Response {
    /// What the legend calls it.
    pub label: String,
    /// The controller; `None` for a closed form, which is no controller's own.
    pub protocol: Option<String>,
    /// Predicted: x, and the minimum and maximum of y. Drawn as a band, or as a line if they are
    /// equal.
    pub predicted: Vec<(f64, f64, f64)>,
    /// Measured: x and y. Empty if it was not measured.
    pub measured: Vec<(f64, f64)>,
}

/// Bands and lines of theory and marks of measurement over a logarithmic axis. `None` if there are
/// not two different x, or if nothing is above 0.
pub fn response(title: &str, x: &str, y: &str, responses: &[Response]) -> Option<Figure> {
    let mut all = Vec::new();
    for response in responses {
        let (protocol, label) = (response.protocol.as_deref(), response.label.as_str());
        let predicted = &response.predicted;
        let minimum = predicted.iter().map(|(x, low, _)| [*x, *low]);
        if predicted.iter().all(|(_, low, high)| low == high) {
            all.push(series(protocol, label, Form::Line, minimum.collect()));
        } else {
            let maximum = predicted.iter().rev().map(|(x, _, high)| [*x, *high]);
            let around = minimum.chain(maximum).collect();
            all.push(series(protocol, label, Form::Outline, around));
        }
        let dots = response.measured.iter().map(|(x, y)| [*x, *y]);
        all.push(series(protocol, label, Form::Marks, dots.collect()));
    }
    all.retain(|series| !series.points.is_empty());
    let points = || all.iter().flat_map(|series| &series.points);
    let ends = points().map(|[x, _]| *x);
    let ends = ends.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), x| {
        (low.min(x), high.max(x))
    });
    let top = points().map(|[_, y]| *y).fold(0.0, f64::max);
    if ends.0 <= 0.0 || ends.0 >= ends.1 || top <= 0.0 {
        return None;
    }
    let x = Axis {
        log: true,
        ..Axis::new(x, "")
    };
    Some(Figure {
        id: "response".to_owned(),
        title: title.to_owned(),
        caption:
            "Bands and lines are predictions; marks without a line are means of simulated runs."
                .to_owned(),
        plot: Plot::Panels {
            x,
            panels: vec![Panel {
                y: Axis::new(y, ""),
                series: all,
            }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_function_has_a_band_marks_and_lines() {
        let of = |label: &str, spread: f64, measured| Response {
            label: label.to_owned(),
            protocol: None,
            predicted: vec![(1e-4, 0.9, 0.9 + spread), (1e-1, 0.1, 0.1 + spread)],
            measured,
        };
        let dots = vec![(1e-4, 0.95), (1e-2, 0.3), (1e-1, 0.1)];
        let both = [of("reno", 0.1, dots), of("Mathis", 0.0, Vec::new())];
        let figure = response("A title", "loss", "utilization", &both).expect("a figure");
        let Plot::Panels { x, panels } = &figure.plot else {
            panic!("{figure:?}");
        };
        assert!(x.log && !panels[0].y.log);
        let found: Vec<(Form, usize)> = panels[0]
            .series
            .iter()
            .map(|s| (s.form, s.points.len()))
            .collect();
        assert_eq!(
            found,
            [(Form::Outline, 4), (Form::Marks, 3), (Form::Line, 2)]
        );
        let one = Response {
            predicted: vec![(0.01, 0.5, 0.5)],
            ..of("", 0.0, Vec::new())
        };
        assert_eq!(response("", "", "", &[one]), None);
    }
}
