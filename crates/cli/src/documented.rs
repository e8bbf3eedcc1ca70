//! A test of the documentation: the command accepts every command line in it.

use crate::Cli;
use clap::CommandFactory;
use clap::error::ErrorKind;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages: `README.md`, and all in `docs`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The command lines in blocks of a page, each with the number of its line.
fn command_lines(page: &str) -> Vec<(usize, String)> {
    let (mut found, mut inside) = (Vec::new(), false);
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line.starts_with("```") {
            inside = !inside && matches!(line, "```" | "```console");
            continue;
        }
        let line = line.strip_prefix("$ ").unwrap_or(line);
        let line = line.strip_prefix("sudo ").unwrap_or(line);
        // Two spaces: the row of a table.
        if !inside || !line.starts_with("whimbrel ") || line.starts_with("whimbrel  ") {
            continue;
        }
        let mut whole = line.to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            whole += lines.next().map_or("", |(_, more)| more.trim());
        }
        found.push((number + 1, whole));
    }
    found
}

/// The words of a command, without a comment and what a shell does with its output.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = shlex::split(line).expect("closed quotes");
    let is_shells = |word: &String| matches!(word.as_str(), "|" | ">" | "<" | "&&" | ";" | "&");
    if let Some(end) = words.iter().position(is_shells) {
        words.truncate(end);
    }
    words
}

#[test]
fn every_command_line_in_the_documentation_is_accepted() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for (number, line) in command_lines(&text) {
            count += 1;
            // Words in capital letters and dots stand for values.
            let open = line.contains("...") || words(&line).iter().any(|w| is_placeholder(w));
            let Err(error) = Cli::command().try_get_matches_from(words(&line)) else {
                continue;
            };
            let fine = match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
                ErrorKind::ValueValidation if line.contains(".parquet") => true,
                ErrorKind::ValueValidation
                | ErrorKind::InvalidValue
                | ErrorKind::MissingRequiredArgument => open,
                _ => false,
            };
            assert!(fine, "{}:{number}: {line}\n{error}", page.display());
        }
    }
    assert!(count > 60, "{count} lines");
}

fn is_placeholder(word: &str) -> bool {
    word.len() > 1
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || "_.-/:<>[]".contains(c))
}
