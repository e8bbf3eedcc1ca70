//! What a live view shows, and how it is laid out.

use super::{Curve, short};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Paragraph, Sparkline};
use std::borrow::Cow;

/// Rows of a curve with its name, and the least.
const CURVE: (u16, u16) = (6, 2);
/// Rows that the table and the output keep, if there are any.
const BELOW: u16 = 6;
/// A curve's height in eighths of a row has this many steps to its maximum.
const STEPS: f64 = 1000.0;

/// Lines of output that a view keeps.
const LINES: usize = 200;

/// One moment of a command.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// The first line.
    pub title: String,
    /// From top to bottom.
    pub curves: Vec<Curve>,
    /// A table as text.
    pub table: String,
    /// Lines of output; the last ones are shown.
    pub output: Vec<String>,
}

impl View {
    /// A view with curves of these names.
    pub fn new(title: String, curves: &[&str]) -> Self {
        Self {
            title,
            curves: curves.iter().map(|name| Curve::new(*name)).collect(),
            ..Self::default()
        }
    }

    /// Adds the newest value of each curve.
    pub fn push<const N: usize>(&mut self, values: [f64; N]) {
        for (curve, value) in self.curves.iter_mut().zip(values) {
            curve.push(value);
        }
    }

    /// Adds a line of output. The oldest lines are forgotten.
    pub fn note(&mut self, line: String) {
        self.output.push(line);
        let more = self.output.len().saturating_sub(LINES);
        self.output.drain(..more);
    }

    /// Draws it over the whole frame.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let table: Vec<&str> = self.table.lines().collect();
        let rows = [1, self.curves_height(area.height), table.len() as u16];
        let [title, curves, middle, output, foot] = Layout::vertical([
            Constraint::Length(rows[0]),
            Constraint::Length(rows[1]),
            Constraint::Length(rows[2]),
            Constraint::Min(0),
            Constraint::Length(1),
        ])
        .areas(area);
        let bold = Style::new().add_modifier(Modifier::BOLD);
        frame.render_widget(Line::styled(printable(&self.title), bold), title);
        self.draw_curves(frame, curves, plain);
        let text: Text<'_> = table
            .iter()
            .map(|line| Line::raw(printable(line)))
            .collect();
        frame.render_widget(Paragraph::new(text), middle);
        let room = usize::from(output.height.saturating_sub(1));
        let skip = self.output.len().saturating_sub(room);
        let last = self.output.iter().skip(skip);
        // An empty line between the table and the output.
        let lines =
            std::iter::once(Line::raw("")).chain(last.map(|line| Line::raw(printable(line))));
        frame.render_widget(Paragraph::new(lines.collect::<Text<'_>>()), output);
        let dim = Style::new().add_modifier(Modifier::DIM);
        frame.render_widget(Line::styled("Ctrl-C ends", dim), foot);
    }

    /// Rows for all curves: as many as leave room for the rest.
    fn curves_height(&self, height: u16) -> u16 {
        let count = self.curves.len() as u16;
        let table = self.table.lines().count() as u16;
        let output = if self.output.is_empty() { 0 } else { BELOW };
        let below = table.min(height / 2) + output.min(height / 4);
        let room = height.saturating_sub(2 + below);
        let (most, least) = CURVE;
        (room / count.max(1)).clamp(least, most) * count
    }

    fn draw_curves(&self, frame: &mut Frame<'_>, area: Rect, plain: bool) {
        let places = Layout::vertical(vec![Constraint::Fill(1); self.curves.len()]).split(area);
        for (curve, place) in self.curves.iter().zip(places.iter()) {
            let [head, body] =
                Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(*place);
            let most = curve.most();
            let text = format!(
                "{}: {}, at most {}",
                curve.name,
                short(curve.last()),
                short(most)
            );
            frame.render_widget(Line::raw(text), head);
            let values: Vec<u64> = curve
                .newest(usize::from(body.width))
                .map(|value| {
                    if most > 0.0 {
                        (value / most * STEPS) as u64
                    } else {
                        0
                    }
                })
                .collect();
            let style = if plain {
                Style::new()
            } else {
                Style::new().fg(Color::Cyan)
            };
            let line = Sparkline::default()
                .data(values)
                .max(STEPS as u64)
                .style(style);
            frame.render_widget(line, body);
        }
    }
}

/// The text without control characters, which could move the cursor.
fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        text.chars()
            .filter(|c| !c.is_control())
            .collect::<String>()
            .into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn lines(view: &View, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a buffer");
        terminal.draw(|frame| view.draw(frame)).expect("drawn");
        let buffer = terminal.backend().buffer().clone();
        let row = |y| -> String { (0..width).map(|x| buffer[(x, y)].symbol()).collect() };
        (0..height).map(|y| row(y).trim_end().to_owned()).collect()
    }

    fn view() -> View {
        let curves = ["rate, Mbit/s", "lost, packets/s"];
        let mut view = View::new("serving /srv on [::]:4440".to_owned(), &curves);
        for values in [[10.0, 0.0], [20.0, 4.0], [40.0, 2.0]] {
            view.push(values);
        }
        view.table = "name  Mbit/s\nfile    40.0\n".to_owned();
        for i in 0..9 {
            view.note(format!("stored file-{i}\u{1b}[2J"));
        }
        view
    }

    #[test]
    fn a_view_has_title_curves_table_and_the_last_lines() {
        let lines = lines(&view(), 40, 24);
        assert_eq!(lines[0], "serving /srv on [::]:4440");
        assert_eq!(lines[1], "rate, Mbit/s: 40.0, at most 40.0");
        // The newest value is the maximum: its column reaches the top.
        assert_eq!(lines[2].chars().nth(2), Some('█'), "{lines:#?}");
        assert!(
            lines.contains(&"lost, packets/s: 2.00, at most 4.00".to_owned()),
            "{lines:#?}"
        );
        let table = lines
            .iter()
            .position(|line| line == "name  Mbit/s")
            .expect("a table");
        assert_eq!(lines[table + 1], "file    40.0");
        assert_eq!(lines[22], "stored file-8[2J", "the escape is gone");
        assert_eq!(lines[23], "Ctrl-C ends");
    }

    #[test]
    fn a_view_fits_any_terminal() {
        for (width, height) in [(80, 24), (200, 60), (20, 6), (1, 1), (3, 2)] {
            assert_eq!(lines(&view(), width, height).len(), usize::from(height));
        }
        let small = lines(&view(), 30, 8);
        assert!(
            small
                .iter()
                .any(|line| line.starts_with("rate, Mbit/s: 40.0")),
            "{small:#?}"
        );
        let empty = lines(&View::default(), 40, 5);
        assert_eq!(empty[4], "Ctrl-C ends");
    }
}
