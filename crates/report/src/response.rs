//! Response functions: what flows get over how much is lost, predicted and measured.

use crate::legend::{self, Entry, FONT};
use crate::picture::{MOST, PictureError, number};
use crate::style;
use plotters::prelude::*;
use std::error::Error;

const SIZE: (u32, u32) = (960, 560);
const HEAD: u32 = 92;
/// Pixels.
const DOT: i32 = 4;
/// How much of a law's colour its band has.
const BAND: f64 = 0.2;

/// What a response function's picture shows.
#[derive(Debug, Clone)]
pub struct Response {
    /// Above it all.
    pub title: String,
    /// Below the horizontal axis, which is logarithmic.
    pub x: String,
    /// Beside the vertical axis, which begins at 0.
    pub y: String,
    /// One for each law.
    pub lines: Vec<ResponseLine>,
}

/// One law, over x above 0.
#[derive(Debug, Clone)]
pub struct ResponseLine {
    /// What the legend calls it.
    pub label: String,
    /// Predicted: x, the least y and the greatest; drawn as a band, or a line where they are the same.
    pub predicted: Vec<(f64, f64, f64)>,
    /// Measured: x and y; drawn as dots. Empty if it was not.
    pub measured: Vec<(f64, f64)>,
}

/// Draws bands and lines of theory and dots of measurement over a logarithmic axis. Gives SVG.
///
/// # Errors
/// If there are not two different x to draw over, nothing above 0, or more lines than colours.
pub fn response(response: &Response) -> Result<String, PictureError> {
    let points = || {
        response.lines.iter().flat_map(|line| {
            let predicted = line.predicted.iter().map(|(x, _, y)| (*x, *y));
            predicted.chain(line.measured.iter().copied())
        })
    };
    let least = points().map(|(x, _)| x).fold(f64::INFINITY, f64::min);
    let greatest = points().map(|(x, _)| x).fold(0.0, f64::max);
    let top = points().map(|(_, y)| y).fold(0.0, f64::max);
    if least <= 0.0 || least >= greatest || top <= 0.0 {
        return Err(PictureError::TooFew);
    }
    if response.lines.len() > MOST {
        return Err(PictureError::TooMany(response.lines.len()));
    }
    let mut svg = String::new();
    draw(&mut svg, response, (least, greatest), top * 1.05)
        .map_err(|error| PictureError::Drawing(error.to_string()))?;
    Ok(svg)
}

fn draw(
    svg: &mut String,
    response: &Response,
    (least, greatest): (f64, f64),
    top: f64,
) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (head, panel) = area.split_vertically(HEAD);
    let entry = |(line, colour): (&ResponseLine, RGBColor)| Entry {
        label: line.label.clone(),
        style: colour.stroke_width(3),
        dashed: line.predicted.iter().all(|(_, a, b)| a == b),
        mark: None,
    };
    legend::head(&head, &response.title, coloured(response).map(entry))?;
    let mut chart = ChartBuilder::on(&panel)
        .margin_left(10)
        .margin_right(30)
        .margin_bottom(6)
        .x_label_area_size(44)
        .y_label_area_size(72)
        // Room for the dots at the ends.
        .build_cartesian_2d((least / 1.1..greatest * 1.1).log_scale(), 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .axis_style(BLACK.mix(0.5))
        .label_style((FONT, 15))
        .axis_desc_style((FONT, 16))
        .x_desc(format!(
            "{}; bands and dashes: predicted, dots: simulated",
            response.x
        ))
        .y_desc(&response.y)
        .y_labels(6)
        .x_label_formatter(&|x| format!("{x}"))
        .y_label_formatter(&|y| number(*y))
        .draw()?;
    for (line, colour) in coloured(response) {
        let least = line.predicted.iter().map(|(x, least, _)| (*x, *least));
        let greatest = line
            .predicted
            .iter()
            .map(|(x, _, greatest)| (*x, *greatest));
        if line.predicted.iter().all(|(_, a, b)| a == b) {
            let style = colour.stroke_width(2);
            chart.draw_series(DashedLineSeries::new(least, 7, 5, style))?;
        } else {
            let around: Vec<_> = least.clone().chain(greatest.clone().rev()).collect();
            chart.draw_series([Polygon::new(around, colour.mix(BAND))])?;
            chart.draw_series(LineSeries::new(least, colour.stroke_width(1)))?;
            chart.draw_series(LineSeries::new(greatest, colour.stroke_width(1)))?;
        }
        let dots = line.measured.iter();
        chart.draw_series(dots.map(|point| Circle::new(*point, DOT, colour.filled())))?;
    }
    area.present()?;
    Ok(())
}

/// Each line in the colour of its law.
fn coloured(response: &Response) -> impl Iterator<Item = (&ResponseLine, RGBColor)> {
    let labels: Vec<&str> = response
        .lines
        .iter()
        .map(|line| line.label.as_str())
        .collect();
    response.lines.iter().zip(style::colours(&labels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_function_has_lines_dots_and_names() {
        let line = |label: &str, spread: f64, measured| ResponseLine {
            label: label.to_owned(),
            predicted: vec![(1e-4, 0.9, 0.9 + spread), (1e-1, 0.1, 0.1 + spread)],
            measured,
        };
        let dots = vec![(1e-4, 0.95), (1e-2, 0.3), (1e-1, 0.1)];
        let mut picture = Response {
            title: "A title".to_owned(),
            x: "packet error probability".to_owned(),
            y: "share".to_owned(),
            lines: vec![line("reno", 0.1, dots), line("Mathis", 0.0, Vec::new())],
        };
        let svg = response(&picture).expect("a picture");
        for text in [
            "A title",
            "reno",
            "Mathis",
            "packet error probability",
            "share",
        ] {
            assert!(svg.contains(text), "no {text}");
        }
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("<polygon").count(), 1);
        picture.lines = vec![ResponseLine {
            label: String::new(),
            predicted: vec![(0.01, 0.5, 0.5)],
            measured: Vec::new(),
        }];
        assert_eq!(response(&picture), Err(PictureError::TooFew));
    }
}
