//! `docs/reference/commands.md`, made of the same description of the command line that parses it.
//!
//! The test checks that the page is current. With `WRITE_DOCS=1` (`make commands`) it writes it.

use crate::Cli;
use clap::{Arg, ArgAction, Command, CommandFactory};
use std::fs;

const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/reference/commands.md"
);
/// What the page says before the commands.
const PREFACE: &str = include_str!("reference.md");
/// The guides of commands.
const GUIDES: [(&str, &str); 20] = [
    ("advise", "choose-a-protocol.md"),
    ("compare", "simulate.md"),
    ("controllers", "adding-an-algorithm.md"),
    ("demo", "start.md"),
    ("figure", "reference/report.md#figures-for-a-paper"),
    ("get", "send-files.md#get-list-remove"),
    ("hunt", "hunt.md"),
    ("judge", "judging.md"),
    ("link", "emulate.md"),
    ("ls", "send-files.md#get-list-remove"),
    ("measure", "send-files.md#measure"),
    ("model", "model.md"),
    ("pipe", "pipes.md"),
    ("rank", "ranking.md"),
    ("reproduce", "reproducing.md"),
    ("rm", "send-files.md#get-list-remove"),
    ("send", "send-files.md"),
    ("serve", "operating-a-server.md"),
    ("sim", "simulate.md"),
    ("tcp", "linux-tcp.md"),
];

/// The page.
fn page() -> String {
    let mut command = Cli::command();
    command.build();
    let all: Vec<&Command> = shown(&command).collect();
    let mut text = PREFACE.to_owned();
    text += "| command | purpose |\n|---|---|\n";
    for one in &all {
        let (name, about) = (one.get_name(), one.get_about());
        let about = about.map(|about| cell(&about.to_string()));
        text += &format!("| [`{name}`](#{name}) | {} |\n", about.unwrap_or_default());
    }
    for one in all {
        section(one, one.get_name(), 2, &mut text);
    }
    text
}

/// The subcommands that help shows.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    let all = command.get_subcommands();
    all.filter(|one| !one.is_hide_set() && one.get_name() != "help")
}

/// A command and its subcommands, below a heading of this depth.
fn section(command: &Command, name: &str, depth: usize, text: &mut String) {
    *text += &format!("\n{} `{name}`\n\n", "#".repeat(depth));
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    for paragraph in about.split("\n\n") {
        *text += &format!("{}\n\n", wrapped(&plain(paragraph)));
    }
    if let Some((_, guide)) = GUIDES.iter().find(|(of, _)| *of == name) {
        let guide = match guide.strip_prefix("reference/") {
            Some(beside) => beside.to_owned(),
            None => format!("../{guide}"),
        };
        let (title, _) = guide.split_once(".md").unwrap_or((&guide, ""));
        let title = title.trim_start_matches("../");
        *text += &format!("Guide: [{title}.md]({guide}).\n\n");
    }
    let usage = command.clone().render_usage().to_string();
    *text += &format!("```text\n{}\n```\n", usage.trim_start_matches("Usage: "));
    let mut headings: Vec<Option<&str>> = Vec::new();
    let args = || command.get_arguments().filter(|arg| !arg.is_hide_set());
    for arg in args() {
        if !headings.contains(&arg.get_help_heading()) {
            headings.push(arg.get_help_heading());
        }
    }
    for heading in headings {
        let of = args().filter(|arg| arg.get_help_heading() == heading);
        let rows: String = of.filter(|arg| arg.get_id() != "help").map(row).collect();
        if !rows.is_empty() {
            let title = heading.unwrap_or("argument");
            *text += &format!("\n| {title} | meaning | default |\n|---|---|---|\n{rows}");
        }
    }
    if let Some(after) = command.get_after_help() {
        *text += &format!("\n```text\n{}\n```\n", after.to_string().trim());
    }
    for one in shown(command) {
        section(one, &format!("{name} {}", one.get_name()), depth + 1, text);
    }
}

/// A line of the table of arguments.
fn row(arg: &Arg) -> String {
    let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let values = arg.get_value_names().unwrap_or_default().join(" ");
    let name = match (arg.get_long(), takes) {
        (Some(long), true) => format!("--{long} {values}"),
        (Some(long), false) => format!("--{long}"),
        (None, _) => values,
    };
    let short = arg.get_short().map(|short| format!("`-{short}`, "));
    let help = arg.get_long_help().or(arg.get_help());
    let mut help = cell(&help.map(ToString::to_string).unwrap_or_default());
    let possible = arg.get_possible_values();
    let possible: Vec<String> = possible
        .iter()
        .filter(|value| takes && !value.is_hide_set())
        .map(|value| {
            let about = value
                .get_help()
                .map(|help| format!(" ({})", cell(&help.to_string())));
            format!("`{}`{}", value.get_name(), about.unwrap_or_default())
        })
        .collect();
    if !possible.is_empty() {
        help += &format!(": {}", possible.join(", "));
    }
    let defaults = arg.get_default_values().iter();
    let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
    let default = match takes && !arg.is_hide_default_value_set() && !defaults.is_empty() {
        true => format!("`{}`", defaults.join(",")),
        false => String::new(),
    };
    let name = name.replace('|', "\\|");
    format!(
        "| {}`{name}` | {help} | {default} |\n",
        short.unwrap_or_default()
    )
}

/// Help on one line, in a table.
fn cell(help: &str) -> String {
    plain(help).replace('|', "\\|")
}

/// Help as Markdown on one line: nothing outside of `code` is markup.
fn plain(help: &str) -> String {
    let words: Vec<&str> = help.split_whitespace().collect();
    let pieces = words.join(" ");
    let pieces = pieces.split('`').enumerate();
    let pieces: Vec<String> = pieces
        .map(|(i, piece)| match i % 2 {
            0 => piece
                .replace('<', "&lt;")
                .replace('*', "\\*")
                .replace('_', "\\_"),
            _ => piece.to_owned(),
        })
        .collect();
    pieces.join("`")
}

/// Lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 100 {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[test]
fn the_page_of_the_commands_is_what_help_says() {
    let made = page();
    if std::env::var_os("WRITE_DOCS").is_some() {
        fs::write(PAGE, &made).expect("written");
    }
    let page = fs::read_to_string(PAGE).expect("the page");
    let differs = page.lines().zip(made.lines()).find(|(is, be)| is != be);
    assert!(
        page == made,
        "run `make commands`; the first difference: {differs:?}"
    );
}
