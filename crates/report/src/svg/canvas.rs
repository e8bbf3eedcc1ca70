//! Rectangles, lines, marks and texts as SVG 1.1 elements.

use crate::style::{Colour, DARK_PAGE, Marker};
use std::fmt::Write;

/// Whatever font without serifs the viewer has.
pub(super) const FONT: &str = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
/// Estimated width of a character relative to the font size: there is no font to measure with.
const CHARACTER: f64 = 0.56;

pub(super) const PAGE: Colour = Colour([0xff, 0xff, 0xff]);
/// Text and axes' names.
pub(super) const INK: Colour = Colour([0x1d, 0x23, 0x29]);
/// Text of less weight: ticks, captions.
pub(super) const SOFT: Colour = Colour([0x5a, 0x64, 0x6e]);
/// Axes and borders.
pub(super) const LINE: Colour = Colour([0xc9, 0xd0, 0xd6]);
pub(super) const GRID: Colour = Colour([0xe8, 0xec, 0xef]);
/// The area below a capacity, and its edge.
pub(super) const SHADE: Colour = Colour([0xee, 0xf1, 0xf3]);
pub(super) const SHADE_EDGE: Colour = Colour([0xaa, 0xb3, 0xbb]);

/// The same on the dark page.
pub(super) const DARK: [(Colour, Colour); 7] = [
    (PAGE, DARK_PAGE),
    (INK, Colour([0xe6, 0xea, 0xee])),
    (SOFT, Colour([0xa3, 0xad, 0xb7])),
    (LINE, Colour([0x45, 0x4e, 0x57])),
    (GRID, Colour([0x27, 0x2e, 0x35])),
    (SHADE, Colour([0x20, 0x27, 0x2e])),
    (SHADE_EDGE, Colour([0x5b, 0x66, 0x6f])),
];

/// A place in pixels: right of and below the upper left corner.
pub(super) type Point = [f64; 2];

/// How a line is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stroke<'a> {
    pub colour: Colour,
    pub width: f64,
    /// Lengths of dashes and gaps in turn; empty for a solid line.
    pub dash: &'a [u8],
}

impl Stroke<'_> {
    /// A solid line.
    pub fn solid(colour: Colour, width: f64) -> Self {
        Self {
            colour,
            width,
            dash: &[],
        }
    }
}

/// How an area is filled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fill {
    pub colour: Colour,
    pub opacity: f64,
}

impl From<Colour> for Fill {
    fn from(colour: Colour) -> Self {
        Self {
            colour,
            opacity: 1.0,
        }
    }
}

/// Which end of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Font {
    /// Pixels.
    pub size: f64,
    pub colour: Colour,
    pub bold: bool,
    pub anchor: Anchor,
}

impl Font {
    /// In the ink of text, from its place to the right.
    pub fn new(size: f64) -> Self {
        Self {
            size,
            colour: INK,
            bold: false,
            anchor: Anchor::Start,
        }
    }

    /// For ticks and labels.
    pub fn soft(size: f64, anchor: Anchor) -> Self {
        Self {
            colour: SOFT,
            anchor,
            ..Self::new(size)
        }
    }

    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }
}

/// The estimated width of a text, in pixels.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    CHARACTER * size * text.chars().count() as f64
}

/// The text, cut to about this width.
pub(super) fn fitted(text: &str, width: f64, size: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let kept = (width / (CHARACTER * size)).floor() - 1.0;
    let kept: String = text.chars().take(kept.max(0.0) as usize).collect();
    format!("{}…", kept.trim_end())
}

/// The text in lines of about this width.
pub(super) fn wrapped(text: &str, width: f64, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + size / 2.0 < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A part of a picture that the page's script shows, hides, reads or zooms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// A panel with its axes.
    Panel,
    /// The series of a panel, which zooming moves.
    Data,
    /// Ticks of the horizontal and of the vertical axis.
    XTicks,
    YTicks,
    /// One tick, at its place.
    Tick,
    /// A series.
    Series,
    /// The name at the end of a line.
    End,
    /// An entry of the legend.
    Key,
    /// A map, a matrix, a row or a small panel of one protocol.
    Item,
    /// A value that the pointer finds.
    Cell,
}

impl Part {
    /// Its class in the page.
    const fn class(self) -> &'static str {
        match self {
            Self::Panel => "panel",
            Self::Data => "data",
            Self::XTicks => "ticks x",
            Self::YTicks => "ticks y",
            Self::Tick => "tick",
            Self::Series => "series",
            Self::End => "end",
            Self::Key => "key",
            Self::Item => "item",
            Self::Cell => "cell",
        }
    }
}

/// The `data-` attribute that names a protocol.
pub(super) fn of(protocol: Option<&str>) -> Vec<(&str, &str)> {
    protocol.map(|name| ("p", name)).into_iter().collect()
}

/// Elements of a picture, in the order in which they are drawn.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    body: String,
    /// For the page: groups say which [part](Part) of the picture they are.
    pub live: bool,
}

impl Canvas {
    /// A canvas for a picture in a page.
    pub fn of_page() -> Self {
        Self {
            live: true,
            ..Self::default()
        }
    }

    /// Draws a part of the picture. `data`: its `data-` attributes, for the page only.
    pub fn part(&mut self, part: Part, data: &[(&str, &str)], draw: impl FnOnce(&mut Self)) {
        self.group(part, data, "", draw);
    }

    /// Draws one tick, whose own origin is at this place.
    pub fn tick(&mut self, [x, y]: Point, draw: impl FnOnce(&mut Self)) {
        let place = format!(" transform=\"translate({} {})\"", px(x), px(y));
        self.group(Part::Tick, &[], &place, draw);
    }

    fn group(
        &mut self,
        part: Part,
        data: &[(&str, &str)],
        place: &str,
        draw: impl FnOnce(&mut Self),
    ) {
        if self.live {
            let data = data.iter().fold(String::new(), |text, (name, value)| {
                format!("{text} data-{name}=\"{}\"", escaped(value))
            });
            self.element(format_args!("<g class=\"{}\"{place}{data}>", part.class()));
        } else if !place.is_empty() {
            self.element(format_args!("<g{place}>"));
        }
        draw(self);
        if self.live || !place.is_empty() {
            self.element(format_args!("</g>"));
        }
    }

    /// The elements alone, as an SVG image within a page.
    pub fn inline(self, class: &str, [width, height]: [f64; 2]) -> String {
        let (width, height) = (px(width), px(height));
        format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" stroke-linejoin=\"round\" aria-hidden=\"true\">\n{}</svg>",
            self.body
        )
    }

    /// The picture, on a white background. `mm`: the size of a pixel in millimetres; without it,
    /// the viewer decides.
    pub fn finish(self, width: f64, height: f64, font: &str, mm: Option<f64>) -> String {
        let (width, height) = (px(width), px(height));
        let size = |length: f64| match mm {
            Some(mm) => format!("{}mm", (length * mm * 1e3).round() / 1e3),
            None => length.to_string(),
        };
        let (wide, tall, font) = (size(width), size(height), escaped(font));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{tall}\" \
             viewBox=\"0 0 {width} {height}\" stroke-linejoin=\"round\" font-family=\"{font}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{PAGE}\"/>\n{}</svg>\n",
            self.body
        )
    }

    /// Adds an element of these attributes.
    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }

    pub fn rect(
        &mut self,
        [x, y]: Point,
        [width, height]: [f64; 2],
        fill: Option<Fill>,
        stroke: Option<Stroke<'_>>,
    ) {
        let (x, y, width, height) = (px(x), px(y), px(width), px(height));
        let paint = paint(fill, stroke);
        self.element(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{paint}/>"
        ));
    }

    /// A line through these places.
    pub fn line(&mut self, places: &[Point], stroke: Stroke<'_>) {
        if places.len() > 1 {
            let (outline, paint) = (path(places), paint(None, Some(stroke)));
            self.element(format_args!("<path d=\"{outline}\"{paint}/>"));
        }
    }

    /// A closed area.
    pub fn polygon(&mut self, places: &[Point], fill: Fill, stroke: Stroke<'_>) {
        let (places, paint) = (joined(places), paint(Some(fill), Some(stroke)));
        self.element(format_args!("<polygon points=\"{places}\"{paint}/>"));
    }

    /// A mark of `size` pixels around a place; a hollow one is an outline.
    pub fn mark(&mut self, marker: Marker, [x, y]: Point, size: f64, colour: Colour, hollow: bool) {
        let paint = if hollow {
            let width = px(3.2 / size);
            format!("fill=\"{PAGE}\" stroke=\"{colour}\" stroke-width=\"{width}\"")
        } else {
            format!("fill=\"{colour}\"")
        };
        self.shape(outline(marker), [x, y], size, &paint);
    }

    /// The end of an error bar: a short level line.
    pub fn cap(&mut self, place: Point, colour: Colour) {
        let paint = format!("stroke=\"{colour}\" stroke-width=\"0.4\"");
        self.shape("M-1 0H1", place, 6.0, &paint);
    }

    /// A shape in a square from -1 to 1, which is `size` pixels wide.
    fn shape(&mut self, outline: &str, [x, y]: Point, size: f64, paint: &str) {
        let (x, y, scale) = (px(x), px(y), px(size / 2.0));
        self.element(format_args!(
            "<path d=\"{outline}\" transform=\"translate({x} {y}) scale({scale})\" {paint}/>"
        ));
    }

    /// A text whose middle is at this height.
    pub fn text(&mut self, text: &str, place: Point, font: Font) {
        self.turned(text, place, font, 0.0);
    }

    /// A text that is turned clockwise around its place, by an angle in degrees.
    pub fn turned(&mut self, text: &str, [x, y]: Point, font: Font, angle: f64) {
        if text.is_empty() {
            return;
        }
        let anchor = match font.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if font.bold {
            " font-weight=\"600\""
        } else {
            ""
        };
        let turn = match angle {
            0.0 => String::new(),
            angle => format!(" transform=\"rotate({} {} {})\"", px(angle), px(x), px(y)),
        };
        // Not every viewer knows `dominant-baseline`.
        let (x, y) = (px(x), px(y + 0.35 * font.size));
        let (size, colour, text) = (px(font.size), font.colour, escaped(text));
        self.element(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\"{anchor}{weight}{turn}>{text}</text>"
        ));
    }
}

/// A length in pixels, with at most two decimals.
fn px(length: f64) -> f64 {
    // `+ 0.0` makes a negative zero positive.
    (length * 100.0).round() / 100.0 + 0.0
}

fn joined(places: &[Point]) -> String {
    let mut text = String::with_capacity(places.len() * 12);
    for [x, y] in places {
        // Writing to a string cannot fail.
        let _ = write!(text, "{},{} ", px(*x), px(*y));
    }
    text.truncate(text.trim_end().len());
    text
}

/// The outline of a line through these places, in tenths of a pixel: steps from place to place,
/// which have fewer digits than the places. Places that are not apart are one.
fn path(places: &[Point]) -> String {
    let tenths = |length: f64| (length * 10.0).round() as i64;
    let mut text = String::with_capacity(places.len() * 6);
    let (mut x, mut y) = (0, 0);
    for (i, [right, down]) in places.iter().enumerate() {
        let step = (tenths(*right) - x, tenths(*down) - y);
        if i > 1 && step == (0, 0) {
            continue;
        }
        text += match i {
            0 => "M",
            1 => "l",
            _ if step.0 >= 0 => " ",
            _ => "",
        };
        number(&mut text, step.0);
        if step.1 >= 0 {
            text.push(' ');
        }
        number(&mut text, step.1);
        (x, y) = (x + step.0, y + step.1);
    }
    text
}

/// Appends a number of tenths, without a leading zero.
fn number(text: &mut String, tenths: i64) {
    let sign = if tenths < 0 { "-" } else { "" };
    // Writing to a string cannot fail.
    let _ = match (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10) {
        (whole, 0) => write!(text, "{sign}{whole}"),
        (0, tenth) => write!(text, "{sign}.{tenth}"),
        (whole, tenth) => write!(text, "{sign}{whole}.{tenth}"),
    };
}

fn paint(fill: Option<Fill>, stroke: Option<Stroke<'_>>) -> String {
    let mut text = match fill {
        None => " fill=\"none\"".to_owned(),
        Some(Fill { colour, opacity }) if opacity >= 1.0 => format!(" fill=\"{colour}\""),
        Some(Fill { colour, opacity }) => {
            format!(" fill=\"{colour}\" fill-opacity=\"{}\"", px(opacity))
        }
    };
    if let Some(Stroke {
        colour,
        width,
        dash,
    }) = stroke
    {
        text += &format!(" stroke=\"{colour}\" stroke-width=\"{}\"", px(width));
        if !dash.is_empty() {
            let lengths: Vec<String> = dash.iter().map(u8::to_string).collect();
            text += &format!(" stroke-dasharray=\"{}\"", lengths.join(" "));
        }
    }
    text
}

/// A text without the characters that have a meaning in XML, and without those that XML forbids.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' => escaped += "&#10;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A marker's outline, in a square from -1 to 1.
fn outline(marker: Marker) -> &'static str {
    match marker {
        Marker::Circle => "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1 -1 0Z",
        Marker::Square => "M-.9 -.9H.9V.9H-.9Z",
        Marker::Triangle => "M0 -1L1 .8H-1Z",
        Marker::Diamond => "M0 -1L1 0L0 1L-1 0Z",
        Marker::DownTriangle => "M0 1L-1 -.8H1Z",
        Marker::Plus => "M-.35 -1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z",
        Marker::Cross => {
            "M-.7 -1L0 -.35L.7 -1L1 -.7L.35 0L1 .7L.7 1L0 .35L-.7 1L-1 .7L-.35 0L-1 -.7Z"
        }
        Marker::Star => {
            "M0 -1L.26 -.36L.95 -.31L.42 .14L.59 .81L0 .44L-.59 .81L-.42 .14L-.95 -.31L-.26 -.36Z"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let mut canvas = Canvas::default();
        canvas.text("a < b & \u{1}\"c\"", [0.0, 0.0], Font::new(12.0));
        let svg = canvas.finish(10.0, 10.0, "a\"b", Some(0.5));
        assert!(
            svg.contains(">a &lt; b &amp;  &quot;c&quot;</text>"),
            "{svg}"
        );
        assert!(
            svg.contains("width=\"5mm\" height=\"5mm\" viewBox=\"0 0 10 10\""),
            "{svg}"
        );
        assert!(svg.contains("font-family=\"a&quot;b\""), "{svg}");
    }

    #[test]
    fn text_is_cut_and_wrapped_to_a_width() {
        assert_eq!(fitted("congestion", 1000.0, 10.0), "congestion");
        assert_eq!(fitted("congestion window", 11.5 * 5.6, 10.0), "congestion…");
        let lines = wrapped("one two three four", 10.0 * 5.6, 10.0);
        assert_eq!(lines, ["one two", "three four"]);
    }
}
