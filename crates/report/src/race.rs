//! One file under several algorithms: data delivered over time, measured and predicted.

use crate::legend::{self, Entry, FONT};
use crate::picture::{MOST, PictureError, number};
use crate::style;
use plotters::prelude::*;
use std::error::Error;
use whimbrel_units::Rate;

const SIZE: (u32, u32) = (960, 520);
const HEAD: u32 = 92;
/// The logarithmic time axis begins here, in seconds: before it nothing has arrived on any path of interest.
const FIRST: f64 = 0.1;
const MEGABYTE: f64 = 1e6;

/// What a race's picture shows.
#[derive(Debug, Clone)]
pub struct Race {
    /// Above it all.
    pub title: String,
    /// The path's: the line that nobody can cross.
    pub capacity: Rate,
    /// One for each contestant.
    pub lines: Vec<Line>,
}

/// One contestant. Points are seconds since its start and bytes delivered until then.
#[derive(Debug, Clone)]
pub struct Line {
    /// What the legend calls it.
    pub label: String,
    /// Measured; drawn as a line. Empty if it was not.
    pub measured: Vec<(f64, f64)>,
    /// Predicted; drawn in dashes.
    pub predicted: Vec<(f64, f64)>,
}

/// Draws data delivered over a logarithmic time axis, on which twice as fast is as far to the left
/// wherever one looks. Gives SVG.
///
/// # Errors
/// If there is nothing to draw, or more lines than colours.
pub fn race(race: &Race) -> Result<String, PictureError> {
    let points = || {
        race.lines
            .iter()
            .flat_map(|l| l.measured.iter().chain(&l.predicted))
    };
    let end = points().map(|(t, _)| *t).fold(0.0, f64::max);
    let top = points().map(|(_, y)| *y).fold(0.0, f64::max);
    if end <= FIRST || top <= 0.0 {
        return Err(PictureError::NoSamples);
    }
    if race.lines.len() > MOST {
        return Err(PictureError::TooMany(race.lines.len()));
    }
    let mut svg = String::new();
    draw(&mut svg, race, end * 1.1, top / MEGABYTE * 1.05)
        .map_err(|error| PictureError::Drawing(error.to_string()))?;
    Ok(svg)
}

fn draw(svg: &mut String, race: &Race, end: f64, top: f64) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (head, panel) = area.split_vertically(HEAD);
    legend::head(&head, &race.title, entries(race))?;
    let mut chart = ChartBuilder::on(&panel)
        .margin_left(10)
        .margin_right(24)
        .margin_bottom(6)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d((FIRST..end).log_scale(), 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .axis_style(BLACK.mix(0.5))
        .label_style((FONT, 15))
        .axis_desc_style((FONT, 16))
        .y_desc("delivered (MB)")
        .x_desc("time (s)")
        .y_labels(6)
        .x_label_formatter(&|x| number(*x))
        .y_label_formatter(&|y| number(*y))
        .draw()?;
    let per_second = race.capacity.as_bytes_per_sec() as f64 / MEGABYTE;
    let steps = (0..=200).map(|i| FIRST * (end / FIRST).powf(f64::from(i) / 200.0));
    let limit = steps
        .map(|t| (t, t * per_second))
        .take_while(|(_, y)| *y <= top);
    chart.draw_series(LineSeries::new(limit, BLACK.mix(0.45).stroke_width(1)))?;
    for (line, colour) in coloured(race) {
        let visible = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            points
                .iter()
                .filter(|(t, _)| *t >= FIRST)
                .map(|(t, y)| (*t, y / MEGABYTE))
                .collect()
        };
        chart.draw_series(LineSeries::new(
            visible(&line.measured),
            colour.stroke_width(3),
        ))?;
        let predicted = visible(&line.predicted).into_iter();
        chart.draw_series(DashedLineSeries::new(
            predicted,
            7,
            5,
            colour.stroke_width(2),
        ))?;
    }
    area.present()?;
    Ok(())
}

/// Each contestant in the colour of its law.
fn coloured(race: &Race) -> impl Iterator<Item = (&Line, RGBColor)> {
    let labels: Vec<&str> = race.lines.iter().map(|line| line.label.as_str()).collect();
    race.lines.iter().zip(style::colours(&labels))
}

/// Two lines for each contestant, as far as there are, and the link's.
fn entries(race: &Race) -> impl Iterator<Item = Entry> {
    let of = |(line, colour): (&Line, RGBColor)| {
        let entry = |word, points: &[(f64, f64)], width, dashed| {
            (!points.is_empty()).then(|| Entry {
                label: format!("{} {word}", line.label),
                style: colour.stroke_width(width),
                dashed,
                mark: None,
            })
        };
        let measured = entry("measured", &line.measured, 4, false);
        [measured, entry("predicted", &line.predicted, 2, true)]
    };
    let limit = Entry {
        label: "the link's rate".to_owned(),
        style: BLACK.mix(0.45).stroke_width(1),
        dashed: false,
        mark: None,
    };
    let contestants = coloured(race).flat_map(of).flatten();
    contestants.chain([limit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_names_its_contestants_and_axes() {
        let points = |rate: f64| {
            (1..100)
                .map(|i| (f64::from(i), f64::from(i) * rate))
                .collect()
        };
        let line = Line {
            label: "cerl".to_owned(),
            measured: points(1e6),
            predicted: points(1.1e6),
        };
        let capacity = Rate::from_bits_per_sec(50_000_000);
        let mut the_race = Race {
            title: "A title".to_owned(),
            capacity,
            lines: vec![line],
        };
        let svg = race(&the_race).expect("a picture");
        for text in [
            "A title",
            "cerl measured",
            "cerl predicted",
            "delivered (MB)",
            "time (s)",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        the_race.lines.clear();
        assert_eq!(race(&the_race), Err(PictureError::NoSamples));
    }
}
