//! The text behind the options of a command's help, within a width: it is written in lines of up to
//! 100 columns, and breaking these one by one would leave ragged paragraphs, lists without their
//! indent, and examples that are no longer one command.

use std::fmt::Write as _;

/// The indent of a command's second line.
const CONTINUED: usize = 4;
/// What begins a line of its own.
const OPENINGS: [&str; 3] = ["--json", "With --json", "Exit status"];
/// The programs with which an indented line is a command, wherever it stands.
const PROGRAMS: [&str; 3] = ["whimbrel", "sudo", "systemd-run"];

/// A text whose lines have at most `width` columns, if its words permit it.
pub fn fitted(text: &str, width: usize) -> String {
    let mut all = String::new();
    let mut examples = false;
    // Whether the line before ends with a backslash.
    let mut continued = false;
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
            "Example:" | "Examples:" => true,
            _ => examples && !words.is_empty(),
        };
        if words.is_empty() || words.ends_with(':') && indent == 0 || is_toml(words) {
            let _ = writeln!(all, "{line}");
        } else if examples || continued || is_command(indent, words) {
            command(&mut all, indent, words, width);
            continued = words.ends_with('\\');
            continue;
        } else {
            item = Some(Item::new(indent, words));
        }
        continued = false;
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

/// Whether a line is a command that a reader may copy.
fn is_command(indent: usize, words: &str) -> bool {
    let program = words.split(' ').next().unwrap_or(words);
    indent > 0 && PROGRAMS.contains(&program)
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
        let plain = !words.is_empty() && !words.contains("  ");
        let plain = plain && !is_toml(words) && !is_command(indent, words);
        let opens = OPENINGS.iter().any(|opening| words.starts_with(opening));
        // A heading follows the end of a sentence; a sentence may lead to a list.
        let heads = words.ends_with(':') && (indent > 0 || self.words.ends_with('.'));
        let led = self.indent == 0 && self.words.ends_with(':');
        plain && !opens && indent == self.hanging && !heads && !led
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
    let goes_on = words.strip_suffix(" \\");
    let words = goes_on.unwrap_or(words);
    let gap = words.find("  ").filter(|_| !fits);
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
        let last = i + 1 + usize::from(value.is_some()) == all.len() && goes_on.is_none();
        // Room for the backslash.
        let room = if last { 0 } else { 2 };
        if i > 0 && !fits && column + 1 + whole + room > width {
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
    text.push_str(if goes_on.is_some() { " \\\n" } else { "\n" });
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
    use super::super::{WIDTH, fit};
    use super::*;
    use crate::Cli;
    use clap::{Command, CommandFactory};

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

    #[test]
    fn commands_below_a_paragraph_are_not_joined() {
        let text = "\
From a figure to the code, in
two steps:
  whimbrel reproduce a
  whimbrel reproduce a --print-scenario \\
      --json a-name-that-is-long
  sudo whimbrel tcp
What follows is
a paragraph.
  This one is
  indented
  whimbrel sim a";
        let expected = "\
From a figure to the code, in two
steps:
  whimbrel reproduce a
  whimbrel reproduce a \\
      --print-scenario \\
      --json a-name-that-is-long
  sudo whimbrel tcp
What follows is a paragraph.
  This one is indented
  whimbrel sim a";
        assert_eq!(fitted(text, 34), expected);
    }

    #[test]
    fn the_help_of_all_commands_can_be_copied_and_fits() {
        let mut source = Cli::command();
        let mut shown = fit(Cli::command()).term_width(WIDTH);
        source.build();
        shown.build();
        let mut commands = 0;
        check(&source, &shown, &mut commands);
        assert!(commands > 100, "{commands} commands");
    }

    /// Checks the help of a command and of its subcommands, and counts the commands in it.
    fn check(source: &Command, shown: &Command, commands: &mut usize) {
        let name = source.get_name();
        let help = shown.clone().render_long_help().to_string();
        for line in help.lines() {
            let fits = line.chars().count() <= WIDTH || !line.trim().contains(' ');
            assert!(fits || line.starts_with("Usage:"), "{name}: {line}");
        }
        let text = source.get_after_help().map(ToString::to_string);
        let text = unfolded(&text.unwrap_or_default());
        let help = unfolded(&help);
        let mut lines = help.iter().map(|line| line.trim());
        for line in &text {
            let words = line.trim_start();
            if !is_command(line.len() - words.len(), words) {
                continue;
            }
            // What explains a command may be below it.
            let alone = words.split("  ").next();
            let found = lines.any(|line| line == words || Some(line) == alone);
            assert!(found, "{name}: {words}");
            *commands += 1;
        }
        for (source, shown) in source.get_subcommands().zip(shown.get_subcommands()) {
            check(source, shown, commands);
        }
    }

    /// The lines of a text, in which a command that goes on behind a backslash is one.
    fn unfolded(text: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut goes_on = false;
        for line in text.lines() {
            let part = line.strip_suffix('\\').unwrap_or(line);
            match lines.last_mut().filter(|_| goes_on) {
                Some(last) => *last += part.trim_start(),
                None => lines.push(part.to_owned()),
            }
            goes_on = line.ends_with('\\');
        }
        lines
    }
}
