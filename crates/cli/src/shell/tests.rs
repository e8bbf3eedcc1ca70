//! The help of all commands, at the width of one that does not go to a terminal: what is written
//! behind the options has at most so many columns, so that nothing breaks its lists and examples.

use super::WIDTH;
use crate::Cli;
use clap::{Command, CommandFactory};

/// The programs with which an indented line is a command that a reader may copy.
const PROGRAMS: [&str; 3] = ["whimbrel", "sudo", "systemd-run"];

#[test]
fn the_help_of_all_commands_can_be_copied_and_fits() {
    let mut all = Cli::command().term_width(WIDTH);
    all.build();
    let mut commands = 0;
    check(&all, &mut commands);
    assert!(commands > 100, "{commands} commands");
}

/// Checks the help of a command and of its subcommands, and counts the commands in it.
fn check(command: &Command, commands: &mut usize) {
    let name = command.get_name();
    let help = command.clone().render_long_help().to_string();
    for line in help.lines() {
        let fits = line.chars().count() <= WIDTH || !line.trim().contains(' ');
        assert!(fits || line.starts_with("Usage:"), "{name}: {line}");
    }
    let text = command.get_after_help().map(ToString::to_string);
    let text = unfolded(&text.unwrap_or_default());
    let help = unfolded(&help);
    let mut lines = help.iter().map(|line| line.trim());
    for line in &text {
        let words = line.trim_start();
        if !is_command(line.len() - words.len(), words) {
            continue;
        }
        assert!(lines.any(|line| line == words), "{name}: {words}");
        *commands += 1;
    }
    for command in command.get_subcommands() {
        check(command, commands);
    }
}

/// Whether a line is a command that a reader may copy.
fn is_command(indent: usize, words: &str) -> bool {
    let program = words.split(' ').next().unwrap_or(words);
    indent > 0 && PROGRAMS.contains(&program)
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
