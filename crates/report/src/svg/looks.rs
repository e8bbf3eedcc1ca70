//! How the series of a picture look.

use super::canvas::{INK, Stroke};
use crate::figure::{Figure, Form, Panel, Series};
use crate::style::{self, Colour, Marker, Style};
use std::collections::HashMap;

/// Colours of series that belong to no protocol, and their dashes.
const GREYS: [Colour; 4] = [
    Colour([0x3d, 0x46, 0x4e]),
    Colour([0x76, 0x81, 0x8b]),
    Colour([0x20, 0x26, 0x2c]),
    Colour([0x8a, 0x94, 0x9d]),
];
/// The same on the dark page.
pub(super) const DARK_GREYS: [(Colour, Colour); 4] = [
    (GREYS[0], Colour([0xc3, 0xcc, 0xd4])),
    (GREYS[1], Colour([0x8b, 0x96, 0xa0])),
    (GREYS[2], Colour([0xf0, 0xf3, 0xf5])),
    (GREYS[3], Colour([0x75, 0x80, 0x8a])),
];
const GREY_DASHES: [&[u8]; 4] = [&[], &[8, 4], &[3, 3], &[9, 3, 2, 3]];
/// Marks and dashes of companions, in the order in which a figure has them.
const EVENTS: [Marker; 8] = [
    Marker::Cross,
    Marker::Circle,
    Marker::Triangle,
    Marker::Diamond,
    Marker::Star,
    Marker::Plus,
    Marker::Square,
    Marker::DownTriangle,
];
const COMPANION_DASHES: [&[u8]; 4] = [&[2, 3], &[7, 3, 1, 3], &[1, 4], &[5, 5]];

/// How a series is drawn on white.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    pub colour: Colour,
    pub dash: &'static [u8],
    pub marker: Marker,
}

impl Look {
    /// A line in this look. `Form::Dashed` always has dashes.
    pub fn stroke(&self, form: Form, width: f64) -> Stroke<'static> {
        let dash = match form {
            Form::Dashed if !COMPANION_DASHES.contains(&self.dash) => COMPANION_DASHES[0],
            _ => self.dash,
        };
        Stroke {
            colour: self.colour,
            width,
            dash,
        }
    }

    /// The same in the colour of text, for what several protocols have in common.
    pub fn in_ink(self) -> Self {
        Self {
            colour: INK,
            ..self
        }
    }
}

/// The looks of all protocols that are drawn together.
pub(crate) struct Looks {
    /// The first variant of each protocol.
    protocols: HashMap<String, usize>,
}

/// A protocol may have as many labels in a panel before two of them look the same.
const VARIANTS: usize = 8;

impl Looks {
    /// The looks of the protocols of these figures.
    pub fn new<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Self {
        Self::of_protocols(figures.into_iter().flat_map(Figure::protocols).collect())
    }

    /// The looks of these protocols, whose names may repeat.
    pub fn of_protocols(mut names: Vec<&str>) -> Self {
        names.sort_by_key(|name| style::rank(name));
        names.dedup();
        let variants = style::variants(&names).into_iter();
        Self {
            protocols: variants
                .map(|(name, first)| (name.to_owned(), first))
                .collect(),
        }
    }

    /// All colours of the protocols, on white and on the dark page.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (Colour, Colour)> {
        let styles = |(name, first): (&'_ String, &usize)| -> Vec<Style> {
            let variants = *first..first + VARIANTS;
            variants
                .map(|variant| style::style(name, variant))
                .collect()
        };
        let styles = self.protocols.iter().flat_map(styles);
        styles.map(|style| (style.light, style.dark))
    }

    /// The `variant`th look of a protocol, or of what belongs to none.
    pub(super) fn of(&self, protocol: Option<&str>, variant: usize) -> Look {
        match protocol {
            Some(name) => {
                let first = self.protocols.get(name).copied().unwrap_or(0);
                let Style {
                    light,
                    dash,
                    marker,
                    ..
                } = style::style(name, first + variant);
                Look {
                    colour: light,
                    dash,
                    marker,
                }
            }
            None => Look {
                colour: GREYS[variant % GREYS.len()],
                dash: GREY_DASHES[variant % GREY_DASHES.len()],
                marker: Marker::ALL[variant % Marker::ALL.len()],
            },
        }
    }

    /// The looks of a figure's series, panel by panel. Of one protocol, labels that meet in a panel
    /// look different, each the same in all panels.
    pub(super) fn series<'a>(&self, panels: &'a [Panel]) -> Vec<Vec<Drawn<'a>>> {
        let mut variants: Vec<(Key<'a>, usize)> = Vec::new();
        let mut marks: Vec<&str> = Vec::new();
        let mut dashes: Vec<&str> = Vec::new();
        for panel in panels {
            for series in &panel.series {
                if let Some((_, what)) = companion_of(series, panel) {
                    let known = match series.form {
                        Form::Marks => &mut marks,
                        _ => &mut dashes,
                    };
                    if !known.contains(&what) {
                        known.push(what);
                    }
                } else if !variants.iter().any(|(key, _)| *key == Key::of(series)) {
                    let key = Key::of(series);
                    let number = free_variant(&key, panel, &variants);
                    variants.push((key, number));
                }
            }
        }
        let own = |series: &Series| {
            let key = Key::of(series);
            let known = variants.iter().find(|(other, _)| *other == key);
            self.of(series.protocol.as_deref(), known.map_or(0, |(_, n)| *n))
        };
        let number =
            |known: &[&str], what: &str| known.iter().position(|k| *k == what).unwrap_or(0);
        // Where dashes mean something, lines of protocols have none.
        let all = || panels.iter().flat_map(|panel| &panel.series);
        let dashed = all().any(|series| series.form == Form::Dashed);
        let drawn = |(index, series): (usize, &'a Series), panel| match companion_of(series, panel)
        {
            None => Drawn {
                series,
                index,
                look: match own(series) {
                    look if dashed && Family::of(series.form) == Family::Line => {
                        Look { dash: &[], ..look }
                    }
                    look => look,
                },
                companion: None,
            },
            Some((line, what)) => Drawn {
                series,
                index,
                look: Look {
                    colour: own(line).colour,
                    dash: COMPANION_DASHES[number(&dashes, what) % COMPANION_DASHES.len()],
                    marker: EVENTS[number(&marks, what) % EVENTS.len()],
                },
                companion: Some(what),
            },
        };
        panels
            .iter()
            .map(|panel| {
                let series = panel.series.iter().enumerate();
                series.map(|s| drawn(s, panel)).collect()
            })
            .collect()
    }
}

/// A series and its look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn<'a> {
    pub series: &'a Series,
    /// Its place in its panel.
    pub index: usize,
    pub look: Look,
    /// What it adds to a line of its panel: `loss` for `cubic, loss`.
    pub companion: Option<&'a str>,
}

/// Series with the same key look the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key<'a> {
    protocol: Option<&'a str>,
    family: Family,
    label: &'a str,
}

impl<'a> Key<'a> {
    fn of(series: &'a Series) -> Self {
        Self {
            protocol: series.protocol.as_deref(),
            family: Family::of(series.form),
            label: &series.label,
        }
    }
}

/// Forms that could be taken for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Line,
    Dashed,
    Marks,
    Area,
}

impl Family {
    fn of(form: Form) -> Self {
        match form {
            Form::Line | Form::Steps | Form::MarkedLine => Self::Line,
            Form::Dashed => Self::Dashed,
            Form::Marks => Self::Marks,
            Form::Shade | Form::Outline | Form::Stack => Self::Area,
        }
    }
}

/// The line that marks or dashes belong to (`cubic` for `cubic, loss`), and what they add to it.
fn companion_of<'a>(series: &'a Series, panel: &'a Panel) -> Option<(&'a Series, &'a str)> {
    if !matches!(series.form, Form::Marks | Form::Dashed) {
        return None;
    }
    let rest = |line: &Series| series.label.strip_prefix(&line.label)?.strip_prefix(", ");
    let lines = panel.series.iter().filter(|line| {
        line.protocol == series.protocol
            && Family::of(line.form) == Family::Line
            && rest(line).is_some()
    });
    let line = lines.max_by_key(|line| line.label.len())?;
    Some((line, &series.label[line.label.len() + 2..]))
}

/// The first variant that no other series of the same protocol and family has in this panel.
fn free_variant(key: &Key<'_>, panel: &Panel, variants: &[(Key<'_>, usize)]) -> usize {
    let meets = |other: &Key<'_>| {
        other.protocol == key.protocol
            && other.family == key.family
            && panel.series.iter().any(|s| Key::of(s) == *other)
    };
    let taken: Vec<usize> = variants
        .iter()
        .filter(|(other, _)| meets(other))
        .map(|(_, number)| *number)
        .collect();
    (0..).find(|n| !taken.contains(n)).unwrap_or(0)
}
