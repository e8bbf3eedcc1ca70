//! What a picture's lines, marks and areas stand for.

use super::canvas::{Canvas, Font, Part, SHADE, SHADE_EDGE, Stroke, fitted, of, text_width};
use super::looks::{Drawn, Look};
use crate::figure::Form;

/// Width of a sample, height of a row, pixels.
const SAMPLE: f64 = 26.0;
const ROW: f64 = 20.0;
const SIZE: f64 = 12.0;
/// Labels are cut to this width, pixels.
const WIDEST: f64 = 420.0;

/// An entry of the legend.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub label: String,
    /// The protocol that it stands for, if it is one.
    pub protocol: Option<String>,
    pub form: Form,
    pub look: Look,
}

/// Each label once. Companions of several lines have one entry in the colour of text.
pub(super) fn entries(panels: &[Vec<Drawn<'_>>]) -> Vec<Entry> {
    let mut own: Vec<(Option<&str>, Entry)> = Vec::new();
    let mut companions: Vec<(&str, Entry)> = Vec::new();
    for drawn in panels.iter().flatten() {
        let (series, look) = (drawn.series, drawn.look);
        if series.points.is_empty() {
            continue;
        }
        let protocol = series.protocol.as_deref();
        let entry = |label: &str| Entry {
            label: label.to_owned(),
            protocol: protocol.map(str::to_owned),
            form: series.form,
            look,
        };
        if let Some(what) = drawn.companion {
            let known = companions
                .iter_mut()
                .find(|(known, entry)| *known == what && entry.form == series.form);
            match known {
                None => companions.push((what, entry(&series.label))),
                Some((_, known)) if known.label != series.label => {
                    known.label = what.to_owned();
                    known.protocol = None;
                    known.look = known.look.in_ink();
                }
                Some(_) => {}
            }
            continue;
        }
        let known = own
            .iter_mut()
            .find(|(of, entry)| *of == protocol && entry.label == series.label);
        match known {
            None => own.push((protocol, entry(&series.label))),
            // A line and marks, or marks and their outline, are one entry.
            Some((_, known)) => {
                let forms = [known.form, series.form];
                if known.form != series.form && forms.contains(&Form::Marks) {
                    known.form = if forms.contains(&Form::Outline) {
                        Form::Marks
                    } else {
                        Form::MarkedLine
                    };
                }
            }
        }
    }
    let own = own.into_iter().map(|(_, entry)| entry);
    own.chain(companions.into_iter().map(|(_, entry)| entry))
        .collect()
}

/// Draws the entries in rows from `top` on; returns the height of the rows.
pub(super) fn draw(
    canvas: &mut Canvas,
    entries: &[Entry],
    [left, top]: [f64; 2],
    width: f64,
) -> f64 {
    let [mut x, mut y] = [left, top + ROW / 2.0];
    for entry in entries {
        let text = fitted(&entry.label, WIDEST.min(width - SAMPLE - 8.0), SIZE);
        let wide = SAMPLE + 8.0 + text_width(&text, SIZE) + 18.0;
        if x > left && x + wide > left + width {
            [x, y] = [left, y + ROW];
        }
        canvas.part(Part::Key, &of(entry.protocol.as_deref()), |canvas| {
            sample(canvas, entry, [x, y]);
            canvas.text(&text, [x + SAMPLE + 8.0, y], Font::new(SIZE));
        });
        x += wide;
    }
    if entries.is_empty() {
        0.0
    } else {
        y + ROW / 2.0 - top
    }
}

fn sample(canvas: &mut Canvas, entry: &Entry, [x, y]: [f64; 2]) {
    let Entry { form, look, .. } = entry;
    let mut area = |opacity, stroke| {
        let fill = super::canvas::Fill {
            colour: look.colour,
            opacity,
        };
        canvas.rect([x, y - 5.0], [SAMPLE, 10.0], Some(fill), stroke);
    };
    match form {
        Form::Shade => canvas.rect(
            [x, y - 5.0],
            [SAMPLE, 10.0],
            Some(SHADE.into()),
            Some(Stroke::solid(SHADE_EDGE, 1.0)),
        ),
        Form::Stack => area(0.75, None),
        Form::Outline => area(0.13, Some(Stroke::solid(look.colour, 1.0))),
        Form::Marks => {}
        Form::Line | Form::Dashed | Form::Steps | Form::MarkedLine => {
            let width = if *form == Form::Dashed { 1.5 } else { 2.0 };
            canvas.line(&[[x, y], [x + SAMPLE, y]], look.stroke(*form, width));
        }
    }
    if matches!(
        form,
        Form::Marks | Form::MarkedLine | Form::Line | Form::Steps
    ) {
        canvas.mark(look.marker, [x + SAMPLE / 2.0, y], 8.0, look.colour, false);
    }
}

/// A protocol's sample as an image within a page.
pub(super) fn swatch(look: Look) -> String {
    let entry = Entry {
        label: String::new(),
        protocol: None,
        form: Form::MarkedLine,
        look,
    };
    let mut canvas = Canvas::default();
    sample(&mut canvas, &entry, [1.0, 6.0]);
    canvas.inline("swatch", [SAMPLE + 2.0, 12.0])
}
