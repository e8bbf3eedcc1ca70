//! One file under several controllers: data delivered over time, measured and predicted.

use super::over_time::series;
use crate::figure::{Axis, Figure, Form, Panel, Plot, Series};
use whimbrel_units::Rate;

/// The logarithmic time axis begins here, in seconds: on no path of interest has anything arrived
/// earlier.
const FIRST: f64 = 0.1;

/// One controller of a race. Points are seconds since its start and bytes delivered by then.
#[derive(Debug, Clone)]
pub struct Racer {
    /// Its controller.
    pub protocol: String,
    /// Measured; empty if it was not measured.
    pub measured: Vec<(f64, f64)>,
    /// Predicted by the simulator.
    pub predicted: Vec<(f64, f64)>,
}

/// Data delivered over a logarithmic time axis, on which twice as fast is the same distance
/// everywhere. `None` if nothing was delivered.
pub fn race(title: &str, capacity: Rate, racers: &[Racer]) -> Option<Figure> {
    let points = || {
        racers
            .iter()
            .flat_map(|r| r.measured.iter().chain(&r.predicted))
    };
    let end = points().map(|(t, _)| *t).fold(0.0, f64::max);
    let top = points().map(|(_, y)| *y).fold(0.0, f64::max);
    if end <= FIRST || top <= 0.0 {
        return None;
    }
    let full = top / capacity.as_bytes_per_sec().max(1) as f64;
    let steps = (0..=100).map(|i| FIRST * (full / FIRST).max(1.0).powf(f64::from(i) / 100.0));
    let at_capacity = steps
        .map(|t| [t, top * t / full])
        .filter(|[_, y]| *y <= top);
    let mut all = vec![series(None, "link rate", Form::Line, at_capacity.collect())];
    for racer in racers {
        let line = |form, label: String, points: &[(f64, f64)]| -> Option<Series> {
            let visible = points.iter().filter(|(t, _)| *t >= FIRST);
            let places: Vec<[f64; 2]> = visible.map(|(t, y)| [*t, *y]).collect();
            (!places.is_empty()).then(|| series(Some(&racer.protocol), &label, form, places))
        };
        let name = &racer.protocol;
        all.extend(line(Form::Line, name.clone(), &racer.measured));
        all.extend(line(
            Form::Dashed,
            format!("{name}, predicted"),
            &racer.predicted,
        ));
    }
    let x = Axis {
        log: true,
        ..Axis::new("time", "s")
    };
    Some(Figure {
        id: "race".to_owned(),
        title: title.to_owned(),
        caption: "Data delivered since the start of each transfer: measured (lines) and \
                  predicted by the simulator (dashed)."
            .to_owned(),
        plot: Plot::Panels {
            x,
            panels: vec![Panel {
                y: Axis::new("delivered", "B"),
                series: all,
            }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_has_a_line_for_each_measurement_and_prediction() {
        let points = |rate: f64| {
            (1..100)
                .map(|i| (f64::from(i), f64::from(i) * rate))
                .collect()
        };
        let racer = Racer {
            protocol: "cerl".to_owned(),
            measured: points(1e6),
            predicted: points(1.1e6),
        };
        let capacity = Rate::from_bits_per_sec(50_000_000);
        let figure = race("A title", capacity, &[racer]).expect("a figure");
        let Plot::Panels { x, panels } = &figure.plot else {
            panic!("{figure:?}");
        };
        assert!(x.log);
        let labels: Vec<&str> = panels[0].series.iter().map(|s| s.label.as_str()).collect();
        assert_eq!(labels, ["link rate", "cerl", "cerl, predicted"]);
        let link = &panels[0].series[0].points;
        assert!(
            link.iter()
                .all(|[t, y]| (y / t - 6.25e6).abs() < 1.0 && *y <= 1.1e8)
        );
        assert_eq!(race("", capacity, &[]), None);
    }
}
