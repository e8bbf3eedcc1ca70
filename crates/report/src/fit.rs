//! Text tables that fit the terminal: no number and no word is broken. A table that is too wide
//! loses its least important columns; one that is still too wide is turned, with a line for each
//! value.

use comfy_table::Table;
use std::fmt::Write as _;

/// Spaces between two columns.
const GAP: usize = 2;
/// The line below the heads ends this much behind the last column.
const BEHIND: usize = 1;

/// A column of a table.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Its head; a second line is the unit.
    pub head: String,
    /// Its cells are numbers, aligned at the right.
    pub right: bool,
    /// Its cells.
    pub cells: Vec<String>,
    /// The cells without deviations, if they have any.
    pub short: Option<Vec<String>>,
    /// How soon it is left out: the highest first; 0: never.
    pub least: u8,
}

impl Column {
    fn width(&self) -> usize {
        let lines = self
            .head
            .lines()
            .chain(self.cells.iter().map(String::as_str));
        lines.map(length).max().unwrap_or(0)
    }

    /// Its head in one line.
    fn name(&self) -> String {
        let words: Vec<&str> = self.head.lines().filter(|line| !line.is_empty()).collect();
        words.join(" ")
    }
}

/// Length of a text on a terminal.
fn length(text: &str) -> usize {
    text.chars().count()
}

/// The width of a table.
fn width(columns: &[Column]) -> usize {
    let all: usize = columns.iter().map(Column::width).sum();
    all + GAP * columns.len().saturating_sub(1) + BEHIND
}

/// The width of the terminal; `None` without one, for a file or a pipe.
pub(crate) fn terminal() -> Option<usize> {
    Table::new()
        .width()
        .filter(|width| *width > 0)
        .map(usize::from)
}

/// Lines of text have at most this many characters.
const TEXT_WIDTH: usize = 80;

/// Breaks a text into lines of at most 80 characters, or as many as the terminal has, after `at`
/// (`" "`, or `", "` for a list whose items stay whole); no word is broken.
pub fn fill(text: &str, at: &str) -> String {
    let width = terminal().map_or(TEXT_WIDTH, |width| width.clamp(20, TEXT_WIDTH));
    fill_within(text, at, width)
}

pub(crate) fn fill_within(text: &str, at: &str, width: usize) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    // What stays of the separator at the end of a line.
    let end = length(at.trim_end());
    for (i, part) in text.split(at).enumerate() {
        let Some(line) = lines.last_mut() else {
            break;
        };
        if i == 0 {
            line.push_str(part);
        } else if length(line) + length(at) + length(part) + end <= width {
            line.push_str(at);
            line.push_str(part);
        } else {
            line.push_str(at.trim_end());
            lines.push(part.to_owned());
        }
    }
    lines.join("\n")
}

/// A text behind `indent` characters of its line, broken at spaces for the terminal; further lines
/// begin below the text. Unchanged in a file or a pipe.
pub fn hanging(text: &str, indent: usize) -> String {
    hanging_within(text, indent, terminal())
}

fn hanging_within(text: &str, indent: usize, limit: Option<usize>) -> String {
    let Some(limit) = limit else {
        return text.to_owned();
    };
    // On a very narrow terminal the words decide.
    let room = limit.saturating_sub(indent).max(20);
    let mut broken = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        if used > 0 && used + 1 + length(word) > room {
            broken.push('\n');
            broken.push_str(&" ".repeat(indent));
            used = 0;
        } else if !broken.is_empty() {
            broken.push(' ');
            used += 1;
        }
        broken.push_str(word);
        used += length(word);
    }
    broken
}

/// Leaves out the deviations of the columns with at least this `least` if the table is wider than
/// `limit`.
pub(crate) fn shorten(columns: &mut [Column], limit: usize, least: u8) {
    if width(columns) > limit {
        for column in columns.iter_mut().filter(|column| column.least >= least) {
            if let Some(short) = column.short.take() {
                column.cells = short;
            }
        }
    }
}

/// Columns that fit `limit`, and the names of those that were left out. Deviations go first, then
/// the columns that matter least.
pub(crate) fn fit(mut columns: Vec<Column>, limit: Option<usize>) -> (Vec<Column>, Vec<String>) {
    let Some(limit) = limit else {
        return (columns, Vec::new());
    };
    let mut left_out = Vec::new();
    // The deviations of all columns but the one that matters most, then of that.
    for least in [1, 0] {
        shorten(&mut columns, limit, least);
        while least == 1 && width(&columns) > limit {
            let worst = columns.iter().map(|column| column.least).max().unwrap_or(0);
            let Some(at) = columns
                .iter()
                .position(|column| column.least == worst && worst > 0)
            else {
                break;
            };
            left_out.push(columns.remove(at).name());
        }
    }
    (columns, left_out)
}

/// The table as text, turned if it is wider than `limit`. `draw` draws one that is not.
pub(crate) fn print(
    columns: &[Column],
    limit: Option<usize>,
    draw: impl Fn(&[Column]) -> String,
) -> String {
    if limit.is_none_or(|limit| width(columns) <= limit) {
        draw(columns)
    } else {
        turned(columns)
    }
}

/// A line for each value, and an empty line between rows.
fn turned(columns: &[Column]) -> String {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let names: Vec<String> = columns.iter().map(Column::name).collect();
    let longest = names.iter().map(|name| length(name)).max().unwrap_or(0);
    let mut text = String::new();
    for row in 0..rows {
        if row > 0 {
            text.push('\n');
        }
        for (column, name) in columns.iter().zip(&names) {
            let cell = &column.cells[row];
            let pad = " ".repeat(longest - length(name) + GAP);
            if !cell.is_empty() {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{name}{pad}{cell}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(head: &str, cell: &str, short: Option<&str>, least: u8) -> Column {
        Column {
            head: head.to_owned(),
            right: true,
            cells: vec![cell.to_owned()],
            short: short.map(|short| vec![short.to_owned()]),
            least,
        }
    }

    fn columns() -> Vec<Column> {
        vec![
            column("controller", "enhanced-aatp", None, 0),
            column("goodput\nMbit/s", "24.7 ± 1.2", Some("24.7"), 0),
            column("RTT\nms", "123.4 ± 5.6", Some("123.4"), 1),
            column("resent\n%", "1.25 ± 0.1", Some("1.25"), 3),
        ]
    }

    fn heads(limit: usize) -> (Vec<String>, Vec<String>) {
        let (columns, out) = fit(columns(), Some(limit));
        (columns.iter().map(|c| c.cells[0].clone()).collect(), out)
    }

    #[test]
    fn deviations_go_first_and_then_what_matters_least() {
        // 13 + 10 + 11 + 10, three gaps, and one behind: 51.
        assert_eq!(width(&columns()), 51);
        assert_eq!(heads(51).0.len(), 4);
        let (cells, out) = heads(50);
        assert_eq!(cells, ["enhanced-aatp", "24.7 ± 1.2", "123.4", "1.25"]);
        assert!(out.is_empty());
        let (cells, out) = heads(40);
        assert_eq!((cells.len(), out), (3, vec!["resent %".to_owned()]));
        let (cells, out) = heads(27);
        assert_eq!(cells, ["enhanced-aatp", "24.7 ± 1.2"]);
        assert_eq!(out, ["resent %", "RTT ms"]);
        assert_eq!(heads(23).0, ["enhanced-aatp", "24.7"]);
        assert_eq!(fit(columns(), None).0.len(), 4);
    }

    #[test]
    fn text_is_broken_between_words_or_items() {
        let text = "one two three, four five, six";
        assert_eq!(fill_within(text, " ", 80), text);
        assert_eq!(fill_within(text, " ", 14), "one two three,\nfour five, six");
        assert_eq!(
            fill_within(text, " ", 13),
            "one two\nthree, four\nfive, six"
        );
        // The comma belongs to the line that it ends.
        assert_eq!(
            fill_within(text, ", ", 25),
            "one two three, four five,\nsix"
        );
        assert_eq!(
            fill_within(text, ", ", 24),
            "one two three,\nfour five, six"
        );
        // An item that does not fit stays whole.
        assert_eq!(
            fill_within(text, ", ", 5),
            "one two three,\nfour five,\nsix"
        );
        assert_eq!(fill_within("", " ", 5), "");
    }

    #[test]
    fn text_hangs_below_its_first_line() {
        let text = "one  two three four five six";
        assert_eq!(hanging_within(text, 4, None), text);
        assert_eq!(hanging_within(text, 4, Some(32)), text);
        assert_eq!(
            hanging_within(text, 4, Some(28)),
            "one  two three four five\n    six"
        );
        assert_eq!(
            hanging_within(text, 4, Some(3)),
            "one  two three four\n    five six"
        );
        assert_eq!(hanging_within("", 4, Some(20)), "");
    }

    #[test]
    fn a_table_that_cannot_fit_is_turned() {
        let (few, _) = fit(columns(), Some(12));
        let text = print(&few, Some(12), |_| unreachable!("too wide"));
        assert_eq!(
            text,
            "controller      enhanced-aatp\ngoodput Mbit/s  24.7\n"
        );
        assert_eq!(print(&few, None, |_| "drawn".to_owned()), "drawn");
    }
}
