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

/// One line of the legend.
pub(crate) struct Entry {
    pub label: String,
    pub style: ShapeStyle,
    pub dashed: bool,
    /// Instead of a line.
    pub mark: Option<Kind>,
}

/// Draws a title, and under it what each kind of line stands for.
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
    let mut x = 24;
    for entry in entries {
        // Dashes by hand: a path in pixels has no dashed style.
        let dash = if entry.dashed { DASH } else { SWATCH };
        if let Some(kind) = entry.mark {
            area.draw(&kind.element((x + SWATCH / 2, 62), entry.style))?;
        }
        let line = if entry.mark.is_some() { 0 } else { SWATCH };
        for start in (0..line).step_by((dash + GAP) as usize) {
            let piece = vec![(x + start, 62), (x + (start + dash).min(SWATCH), 62)];
            area.draw(&PathElement::new(piece, entry.style))?;
        }
        let characters = entry.label.chars().count();
        area.draw(&Text::new(
            entry.label,
            (x + SWATCH + 7, 53),
            (FONT, 16).into_font(),
        ))?;
        // No font is at hand to measure with: 9 pixels a character is what a wide one takes at this size.
        x += SWATCH + 7 + 24 + 9 * i32::try_from(characters).unwrap_or(20);
    }
    Ok(())
}
