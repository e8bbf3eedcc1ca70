//! Title and legend above a picture.

use crate::mark::Kind;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::error::Error;

/// What pictures are drawn on.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Whatever the viewer has without serifs.
pub(crate) const FONT: &str = "sans-serif";
/// Length of a line in the legend, pixels.
const SWATCH: i32 = 26;
/// Dashes of a dashed line, and the gaps between them, pixels.
const DASH: i32 = 7;
const GAP: i32 = 3;
/// Left and right of the title and the entries, pixels.
const MARGIN: i32 = 24;

/// One line of the legend.
pub(crate) struct Entry {
    pub label: String,
    pub style: ShapeStyle,
    pub dashed: bool,
    /// Instead of a line.
    pub mark: Option<Kind>,
}

/// Where the only row of entries is, pixels from the top, and where two are.
const ONE_ROW: i32 = 62;
const TWO_ROWS: [i32; 2] = [50, 73];

/// Draws a title, and under it what each kind of line stands for, in two rows if one is too short.
pub(crate) fn head(
    area: &Area<'_>,
    title: &str,
    entries: impl IntoIterator<Item = Entry>,
) -> Result<(), Box<dyn Error>> {
    area.draw(&Text::new(
        title.to_owned(),
        (24, 16),
        (FONT, 22).into_font(),
    ))?;
    let entries: Vec<Entry> = entries.into_iter().collect();
    let widths: Vec<i32> = entries.iter().map(width).collect();
    let room = i32::try_from(area.dim_in_pixel().0).unwrap_or(i32::MAX) - 2 * MARGIN;
    for (entry, (x, y)) in entries.into_iter().zip(places(&widths, room)) {
        one(area, entry, x, y)?;
    }
    Ok(())
}

/// Where entries of these widths stand. What does not fit into two rows runs out of the second.
fn places(widths: &[i32], room: i32) -> Vec<(i32, i32)> {
    let fits = widths.iter().sum::<i32>() <= room;
    let mut rows = if fits { &[ONE_ROW][..] } else { &TWO_ROWS }
        .iter()
        .copied();
    let mut y = rows.next().unwrap_or(ONE_ROW);
    let mut x = MARGIN;
    let place = |width: &i32| {
        if x + width > MARGIN + room
            && let Some(next) = rows.next()
        {
            (x, y) = (MARGIN, next);
        }
        let at = (x, y);
        x += width;
        at
    };
    widths.iter().map(place).collect()
}

/// No font is at hand to measure with: 9 pixels a character is what a wide one takes at this size.
fn width(entry: &Entry) -> i32 {
    let characters = i32::try_from(entry.label.chars().count()).unwrap_or(20);
    SWATCH + 7 + 24 + 9 * characters
}

fn one(area: &Area<'_>, entry: Entry, x: i32, y: i32) -> Result<(), Box<dyn Error>> {
    // Dashes by hand: a path in pixels has no dashed style.
    let dash = if entry.dashed { DASH } else { SWATCH };
    if let Some(kind) = entry.mark {
        area.draw(&kind.element((x + SWATCH / 2, y), entry.style))?;
    }
    let line = if entry.mark.is_some() { 0 } else { SWATCH };
    for start in (0..line).step_by((dash + GAP) as usize) {
        let piece = vec![(x + start, y), (x + (start + dash).min(SWATCH), y)];
        area.draw(&PathElement::new(piece, entry.style))?;
    }
    area.draw(&Text::new(
        entry.label,
        (x + SWATCH + 7, y - 9),
        (FONT, 16).into_font(),
    ))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_in_one_row_if_it_is_long_enough_and_else_in_two() {
        assert_eq!(places(&[300, 300], 600), [(24, 62), (324, 62)]);
        let two = [(24, 50), (324, 50), (24, 73), (324, 73)];
        assert_eq!(places(&[300, 300, 300, 300], 700), two);
        assert_eq!(places(&[900], 700), [(24, 73)], "nothing is left out");
    }
}
