//! The text behind the options of a command's help, within a width: it is written in lines of up to
//! 100 columns, and breaking these one by one would leave ragged paragraphs, lists without their
//! indent, and examples that are no longer one command.

use std::fmt::Write as _;

/// The indent of a command's second line.
const CONTINUED: usize = 4;
/// What begins a line of its own.
const OPENINGS: [&str; 3] = ["--json", "With --json", "Exit status"];

/// A text whose lines have at most `width` columns, if its words permit it.
pub fn fitted(text: &str, width: usize) -> String {
    let mut all = String::new();
    let mut examples = false;
    let mut item: Option<Item> = None;
    for line in text.lines() {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        let goes_on = item.as_ref().is_some_and(|item| item.takes(indent, words));
        if goes_on && let Some(item) = &mut item {
            item.words.push(' ');
            item.words += words;
            continue;
        }
        if let Some(item) = item.take() {
            item.write(&mut all, width);
        }
        examples = match words {
            "Examples:" => true,
            _ => examples && !words.is_empty(),
        };
        if words.is_empty() || words.ends_with(':') && indent == 0 || is_toml(words) {
            let _ = writeln!(all, "{line}");
        } else if examples {
            command(&mut all, indent, words, width);
        } else {
            item = Some(Item::new(indent, words));
        }
    }
    if let Some(item) = item {
        item.write(&mut all, width);
    }
    all.trim_end_matches('\n').to_owned()
}

/// Lines that must stay as they are.
fn is_toml(words: &str) -> bool {
    words.starts_with('[') && words.ends_with(']') || words.contains(" = ")
}

/// A paragraph, or an entry of a list with its description.
struct Item {
    indent: usize,
    /// Where its further lines begin.
    hanging: usize,
    words: String,
}

impl Item {
    fn new(indent: usize, words: &str) -> Self {
        // `name    what it is`
        let gap = words.find("  ").map(|at| {
            let rest = &words[at..];
            at + rest.len() - rest.trim_start().len()
        });
        Self {
            indent,
            hanging: indent + gap.unwrap_or(0),
            words: words.to_owned(),
        }
    }

    /// Whether a line belongs to it.
    fn takes(&self, indent: usize, words: &str) -> bool {
        let plain = !words.is_empty() && !words.contains("  ") && !is_toml(words);
        let opens = OPENINGS.iter().any(|opening| words.starts_with(opening));
        plain && !opens && indent == self.hanging && !words.ends_with(':')
    }

    fn write(&self, text: &mut String, width: usize) {
        let mut column = self.indent;
        let _ = write!(text, "{:column$}", "");
        // The gap of a list stays.
        let head = self.hanging - self.indent;
        text.push_str(&self.words[..head]);
        column += head;
        let mut first = true;
        for word in self.words[head..].split(' ') {
            let length = word.chars().count();
            if !first && column + 1 + length > width {
                let _ = write!(text, "\n{:1$}", "", self.hanging);
                column = self.hanging;
            } else if !first {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += length;
            first = false;
        }
        text.push('\n');
    }
}

/// An example: a command that is too long goes on behind a backslash, and what explains it is on a
/// line of its own.
fn command(text: &mut String, indent: usize, words: &str, width: usize) {
    let fits = indent + words.chars().count() <= width;
    let gap = words.find("   ").filter(|_| !fits);
    let (words, about) = words.split_at(gap.unwrap_or(words.len()));
    let mut column = indent;
    let _ = write!(text, "{:indent$}", "");
    let all = quoted_words(words);
    for (i, word) in all.iter().enumerate() {
        let length = word.chars().count();
        // A flag stays with its value.
        let value = all.get(i + 1).filter(|next| !next.starts_with('-'));
        let value = value.filter(|_| word.starts_with("--"));
        let whole = length + value.map_or(0, |value| 1 + value.chars().count());
        // Room for the backslash.
        if i > 0 && !fits && column + 1 + whole + 2 > width {
            let start = indent + CONTINUED;
            let _ = write!(text, " \\\n{:start$}", "");
            column = start;
        } else if i > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
    let about = about.trim();
    if !about.is_empty() {
        let _ = writeln!(text, "{:1$}{about}", "", indent + CONTINUED);
    }
}

/// The words of a command; a space in quotes divides none.
fn quoted_words(line: &str) -> Vec<&str> {
    let (mut words, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, ' ') => {
                words.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&line[start..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_lists_and_examples_keep_their_form() {
        let text = "\
A paragraph that was written
in lines of its own.

Columns:
name      what it is, in many words
          of its own
other     more

  [run]
  duration = \"100 s\"    # a very long comment of a file that stays as it is

Examples:
  whimbrel sim a.toml --set link.L.loss='2 %' --seeds 3
  whimbrel sim b.toml              explained by this
  whimbrel sim c.toml";
        let expected = "\
A paragraph that was written in lines of
its own.

Columns:
name      what it is, in many words of
          its own
other     more

  [run]
  duration = \"100 s\"    # a very long comment of a file that stays as it is

Examples:
  whimbrel sim a.toml \\
      --set link.L.loss='2 %' --seeds 3
  whimbrel sim b.toml
      explained by this
  whimbrel sim c.toml";
        assert_eq!(fitted(text, 40), expected);
    }
}
