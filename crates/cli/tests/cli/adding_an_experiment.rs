//! The steps of `docs/adding-an-experiment.md`: writes its files, runs its commands, and compares
//! their output with the page.
//!
//! With `WRITE_DOCS=1` the test updates the page instead.

use super::support::{command, folder};
use std::path::Path;

const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/adding-an-experiment.md"
);

/// A fenced block: its language and its content.
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

/// The output of a command, on both streams, in a folder with the files of the page.
fn run(line: &str, folder: &Path) -> String {
    let args = line
        .strip_prefix("whimbrel ")
        .expect("commands begin with whimbrel")
        .split(' ');
    let output = command()
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

/// A line without its run time, which differs between runs.
fn lasting(line: &str) -> String {
    match line.rsplit_once(" (") {
        Some((head, tail)) if tail.ends_with(" s)") => format!("{head} (… s)"),
        _ => line.trim_end().to_owned(),
    }
}

#[test]
fn the_page_on_adding_an_experiment_is_correct() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let folder = folder();
    let here = folder.path().canonicalize().expect("it exists");
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
                let (first, expected) = content.split_once('\n').expect("a command");
                let command = first.strip_prefix("$ ").expect("a prompt");
                let printed = run(command, &here);
                let lines = |text: &str| text.trim_end().lines().map(lasting).collect::<Vec<_>>();
                if lines(expected) != lines(&printed) {
                    assert!(
                        write,
                        "{command}\nThe page has:\n{expected}\nThe output is:\n{printed}"
                    );
                    let was = format!("```console\n{content}```");
                    let is = format!("```console\n{first}\n{printed}\n```");
                    renewed = renewed.replacen(&was, &is, 1);
                }
                commands += 1;
            }
            other => panic!("unknown language ```{other}"),
        }
    }
    assert!(commands >= 5, "the page has at least five commands");
    if write {
        std::fs::write(PAGE, renewed).expect("written");
    }
}
