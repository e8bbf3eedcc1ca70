//! `docs/adding-an-experiment.md`, done: its files written, its commands given, and what they print held against the page.
//!
//! With `WRITE_DOCS=1` what they print is written into the page instead.

use std::path::Path;
use std::process::Command;

const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/adding-an-experiment.md"
);

/// A fenced block: from where to where its content is in the page, and its language.
struct Block<'a> {
    language: &'a str,
    content: &'a str,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut fences = page.split("```").skip(1);
    let mut found = Vec::new();
    while let Some(block) = fences.next() {
        let (language, content) = block.split_once('\n').expect("a fence ends its line");
        found.push(Block { language, content });
        fences.next(); // the text up to the next fence
    }
    found
}

/// What a command prints, on either stream, in a folder that has the page's files.
fn run(command: &str, folder: &Path) -> String {
    let args = command
        .strip_prefix("whimbrel ")
        .expect("the page gives commands of whimbrel")
        .split(' ');
    let output = Command::new(env!("CARGO_BIN_EXE_whimbrel"))
        .args(args)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("HOME", folder)
        .output()
        .expect("the command starts");
    let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8");
    let here = folder.to_str().expect("UTF-8");
    text.replace(here, "/home/you").trim_end().to_owned()
}

/// Without what differs from run to run: the time it took.
fn lasting(line: &str) -> String {
    match line.rsplit_once(" (") {
        Some((head, tail)) if tail.ends_with(" s)") => format!("{head} (… s)"),
        _ => line.trim_end().to_owned(),
    }
}

#[test]
fn the_page_on_adding_an_experiment_says_what_happens() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path().canonicalize().expect("it is there");
    let mut renewed = page.clone();
    let mut commands = 0;
    let write = std::env::var_os("WRITE_DOCS").is_some();
    for Block { language, content } in blocks(&page) {
        match language {
            "toml" => {
                let name = content.lines().next().and_then(|l| l.strip_prefix("# "));
                let path = here.join(name.expect("its first line names it"));
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
                std::fs::write(path, content).expect("written");
            }
            "console" => {
                let (first, told) = content.split_once('\n').expect("a command");
                let command = first.strip_prefix("$ ").expect("a prompt");
                let printed = run(command, &here);
                let lines = |text: &str| text.trim_end().lines().map(lasting).collect::<Vec<_>>();
                if lines(told) != lines(&printed) {
                    assert!(
                        write,
                        "{command}\nThe page has:\n{told}\nIt prints:\n{printed}"
                    );
                    let was = format!("```console\n{content}```");
                    let is = format!("```console\n{first}\n{printed}\n```");
                    renewed = renewed.replacen(&was, &is, 1);
                }
                commands += 1;
            }
            other => panic!("what is ```{other}?"),
        }
    }
    assert!(commands >= 5, "the page has its commands");
    if write {
        std::fs::write(PAGE, renewed).expect("written");
    }
}
