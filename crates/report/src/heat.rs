//! Heat maps: a share over up to four axes, as small multiples, in SVG.

use crate::legend::{Area, FONT};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;

/// One axis: its name and the names of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeatAxis {
    /// What is shown beside it; may be empty.
    pub name: String,
    /// One for each cell along it; not empty.
    pub values: Vec<String>,
}

impl HeatAxis {
    /// An axis along which there is one cell only, which nothing is said of.
    pub fn none() -> Self {
        Self {
            name: String::new(),
            values: vec![String::new()],
        }
    }
}

/// A share over four axes.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    /// What stands above it.
    pub title: String,
    /// Within each panel from left to right and from top to bottom; then the panels from left to right, and from top to
    /// bottom.
    pub axes: [HeatAxis; 4],
    /// Shares from 0 to 1, the first axis turning fastest; `None` where there is nothing to share. Cells that are missing
    /// at the end are such, too.
    pub cells: Vec<Option<f64>>,
}

const CELL: (i32, i32) = (46, 24);
const MARGIN: i32 = 24;
/// Above each map: its title and the panels' columns. Below: the names of the columns of cells.
const MAP_HEAD: i32 = 58;
const MAP_FOOT: i32 = 44;
/// Between panels.
const GAP: i32 = 12;
/// Left of each map: names of the panels' rows, and of the rows of cells; at this many pixels a character.
const CHARACTER: i32 = 8;
const SMALL: i32 = 13;
const TITLE_HEIGHT: i32 = 76;
/// What the colours mean.
const KEY: &str = "white: never, full colour: always, grey: there was none";
/// From nothing to all: white to the red of M. Okabe and K. Ito's palette.
const FULL: (f64, f64, f64) = (213.0, 94.0, 0.0);
const EMPTY: RGBColor = RGBColor(225, 225, 225);

/// Draws rows of maps that have the same axes, one row below the other. Gives SVG.
///
/// # Errors
/// If the drawing library fails.
pub fn heat_maps(title: &str, rows: &[Vec<HeatMap>]) -> Result<String, String> {
    let mut svg = String::new();
    draw(&mut svg, title, rows)
        .map_err(|error| format!("the picture could not be drawn: {error}"))?;
    Ok(svg)
}

fn draw(svg: &mut String, title: &str, rows: &[Vec<HeatMap>]) -> Result<(), Box<dyn Error>> {
    let row_height = |row: &Vec<HeatMap>| row.iter().map(|map| size(map).1).max().unwrap_or(0);
    let row_width = |row: &Vec<HeatMap>| row.iter().map(|map| size(map).0 + MARGIN).sum::<i32>();
    let width = rows.iter().map(row_width).max().unwrap_or(0).max(
        // The title, at its size of letters.
        (CHARACTER + 3) * count(title),
    ) + MARGIN;
    let height = TITLE_HEIGHT + rows.iter().map(row_height).sum::<i32>();
    let pixels = |length: i32| u32::try_from(length).unwrap_or(1);
    let area = SVGBackend::with_string(svg, (pixels(width), pixels(height))).into_drawing_area();
    area.fill(&WHITE)?;
    text(&area, title, (MARGIN, 22), 22, HPos::Left)?;
    text(&area, KEY, (MARGIN, 48), SMALL, HPos::Left)?;
    let mut top = TITLE_HEIGHT;
    for row in rows {
        let mut left = MARGIN;
        for map in row {
            draw_map(&area, map, (left, top))?;
            left += size(map).0 + MARGIN;
        }
        top += row_height(row);
    }
    area.present()?;
    Ok(())
}

/// Room for the names left of a map.
fn side(map: &HeatMap) -> i32 {
    let [_, y, _, rows] = &map.axes;
    let widest = |axis: &HeatAxis| axis.values.iter().map(|v| count(v)).max().unwrap_or(0);
    let y_label = widest(y).max(count(&y.name));
    let row_label = widest(rows).max(count(&rows.name));
    CHARACTER * (y_label + row_label) + 2 * GAP
}

fn panel(map: &HeatMap) -> (i32, i32) {
    let [x, y, ..] = &map.axes;
    (CELL.0 * length(x), CELL.1 * length(y))
}

fn size(map: &HeatMap) -> (i32, i32) {
    let [_, _, columns, rows] = &map.axes;
    let (width, height) = panel(map);
    (
        side(map) + length(columns) * (width + GAP),
        MAP_HEAD + length(rows) * (height + GAP) + MAP_FOOT,
    )
}

fn draw_map(area: &Area<'_>, map: &HeatMap, (left, top): (i32, i32)) -> Result<(), Box<dyn Error>> {
    let [x, y, columns, rows] = &map.axes;
    let (width, height) = panel(map);
    let (first, above) = (left + side(map), top + MAP_HEAD);
    text(area, &map.title, (left, top + 8), 18, HPos::Left)?;
    let y_names = first - GAP / 2;
    let row_names = left;
    text(area, &y.name, (y_names, above - 12), SMALL, HPos::Right)?;
    text(area, &rows.name, (row_names, above - 12), SMALL, HPos::Left)?;
    for (c, column) in columns.values.iter().enumerate() {
        let name = joined(&columns.name, column);
        let middle = first + at(c) * (width + GAP) + width / 2;
        text(area, &name, (middle, above - 12), SMALL, HPos::Center)?;
    }
    for (r, row) in rows.values.iter().enumerate() {
        let panel_top = above + at(r) * (height + GAP);
        let middle = panel_top + height / 2;
        text(area, row, (row_names, middle), SMALL, HPos::Left)?;
        for (j, name) in y.values.iter().enumerate() {
            let middle = panel_top + at(j) * CELL.1 + CELL.1 / 2;
            text(area, name, (y_names, middle), SMALL, HPos::Right)?;
        }
        for c in 0..columns.values.len() {
            let corner = (first + at(c) * (width + GAP), panel_top);
            for j in 0..y.values.len() {
                for i in 0..x.values.len() {
                    let index =
                        ((r * columns.values.len() + c) * y.values.len() + j) * x.values.len() + i;
                    let share = map.cells.get(index).copied().flatten();
                    let place = (corner.0 + at(i) * CELL.0, corner.1 + at(j) * CELL.1);
                    draw_cell(area, share, place)?;
                }
            }
        }
    }
    let below = above + length(rows) * (height + GAP);
    for c in 0..columns.values.len() {
        let from = first + at(c) * (width + GAP);
        for (i, name) in x.values.iter().enumerate() {
            let middle = from + at(i) * CELL.0 + CELL.0 / 2;
            text(area, name, (middle, below), SMALL, HPos::Center)?;
        }
        text(
            area,
            &x.name,
            (from + width / 2, below + 18),
            SMALL,
            HPos::Center,
        )?;
    }
    Ok(())
}

/// Its colour, and its number in percent.
fn draw_cell(
    area: &Area<'_>,
    share: Option<f64>,
    (left, top): (i32, i32),
) -> Result<(), Box<dyn Error>> {
    let corners = [(left, top), (left + CELL.0 - 1, top + CELL.1 - 1)];
    let colour = share.map_or(EMPTY, colour);
    area.draw(&Rectangle::new(corners, colour.filled()))?;
    let Some(share) = share else {
        return Ok(());
    };
    let number = match 100.0 * share {
        percent if percent > 0.0 && percent < 0.5 => "<1".to_owned(),
        percent => format!("{percent:.0}"),
    };
    let middle = (left + CELL.0 / 2, top + CELL.1 / 2);
    text(area, &number, middle, SMALL, HPos::Center)
}

fn colour(share: f64) -> RGBColor {
    let share = share.clamp(0.0, 1.0);
    // Rounded from within 0 to 255.
    let mix = |full: f64| (255.0 + share * (full - 255.0)).round() as u8;
    RGBColor(mix(FULL.0), mix(FULL.1), mix(FULL.2))
}

fn text(
    area: &Area<'_>,
    words: &str,
    at: (i32, i32),
    size: i32,
    side: HPos,
) -> Result<(), Box<dyn Error>> {
    if words.is_empty() {
        return Ok(());
    }
    let style = (FONT, size).into_font();
    let style = TextStyle::from(style).pos(Pos::new(side, VPos::Center));
    area.draw(&Text::new(words.to_owned(), at, style))?;
    Ok(())
}

fn joined(name: &str, value: &str) -> String {
    if name.is_empty() {
        value.to_owned()
    } else {
        format!("{name} {value}")
    }
}

fn count(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX / 64)
}

fn length(axis: &HeatAxis) -> i32 {
    at(axis.values.len())
}

fn at(index: usize) -> i32 {
    // A scenario has at most 100,000 points: no axis is longer.
    i32::try_from(index).unwrap_or(i32::MAX / 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, values: &[&str]) -> HeatAxis {
        HeatAxis {
            name: name.to_owned(),
            values: values.iter().map(|v| (*v).to_owned()).collect(),
        }
    }

    #[test]
    fn a_map_names_its_axes_and_shows_each_share_in_its_place() {
        let map = HeatMap {
            title: "mistakes of cerl".to_owned(),
            axes: [
                axis("loss", &["0 %", "1 %"]),
                axis("delay", &["10 ms", "50 ms"]),
                axis("queue", &["1 bdp", "4 bdp"]),
                HeatAxis::none(),
            ],
            cells: [0.01, 0.02, 0.03, 0.04, 0.05, 1.0]
                .into_iter()
                .map(Some)
                .chain([None])
                .collect(),
        };
        let svg = heat_maps("A title", &[vec![map]]).expect("a picture");
        for words in [
            "A title",
            "mistakes of cerl",
            "loss",
            "queue 4 bdp",
            "10 ms",
        ] {
            assert!(svg.contains(words), "no {words}");
        }
        // The place of a number: x and y of the text element that holds it.
        let place = |number: &str| -> (i32, i32) {
            let before = svg.split(&format!(">\n{number}\n<")).next().expect("text");
            let element = before.rsplit("<text").next().expect("an element");
            let value = |key: &str| {
                let after = element.split(&format!("{key}=\"")).nth(1).expect("a place");
                after
                    .split('"')
                    .next()
                    .and_then(|n| n.parse().ok())
                    .expect("a number")
            };
            (value(" x"), value(" y"))
        };
        let (one, two, three, five, six) =
            (place("1"), place("2"), place("3"), place("5"), place("100"));
        assert!(two.0 > one.0 && two.1 == one.1, "loss goes to the right");
        assert!(three.0 == one.0 && three.1 > one.1, "delay goes down");
        assert!(
            five.0 > two.0 && five.1 == one.1,
            "the next panel is to the right"
        );
        assert_eq!((six.0 - five.0, six.1), (two.0 - one.0, one.1));
        // All is the full colour; the two cells of which nothing is known are grey.
        assert!(svg.contains("#D55E00"), "{svg}");
        assert_eq!(svg.matches("#E1E1E1").count(), 2);
    }
}
