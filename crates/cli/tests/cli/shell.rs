//! `whimbrel completions` and `whimbrel man`.

use super::support::*;
use std::fs;

#[test]
fn a_shells_script_asks_the_command_for_what_fits() {
    for shell in ["bash", "fish", "zsh"] {
        let script = stdout(&whimbrel(&["completions", shell]));
        assert_contains(&script, &["COMPLETE", "whimbrel"]);
    }
    // What the script of bash calls.
    let complete = |words: &[&str]| {
        let output = command()
            .args(["--", "whimbrel"])
            .args(words)
            .env("COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
            .output();
        stdout(&output.expect("it runs"))
    };
    assert_eq!(complete(&["adv"]).trim(), "advise");
    assert_eq!(complete(&["send", "--control"]).trim(), "--controller");
    let list = complete(&["compare", "--controllers", "bbr,cub"]);
    assert_eq!(list.trim(), "bbr,cubic");
    let error = refused("completions csh", "");
    assert_contains(&error, &["possible values: bash"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = folder();
    let pages = path_in(&folder, "man1");
    let said = stdout(&whimbrel(&["man", &pages]));
    let names = names(folder.path().join("man1").as_path());
    assert!(
        said.starts_with(&format!("{} pages in ", names.len())),
        "{said}"
    );
    assert!(names.contains(&"whimbrel.1".to_owned()), "{names:?}");
    assert!(names.contains(&"whimbrel-rank.1".to_owned()), "{names:?}");
    let rank = fs::read_to_string(folder.path().join("man1/whimbrel-rank.1")).expect("a page");
    assert_contains(&rank, &[".TH", "controllers", "matrix of paths"]);
}

#[test]
fn help_that_is_piped_has_80_columns() {
    let help = stdout(&whimbrel(&["--help"]));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let named = commands.take_while(|line| !line.is_empty());
    // What is indented further is the rest of a description.
    let named: Vec<String> = named
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !matches!(*name, "" | "help"))
        .map(str::to_owned)
        .collect();
    assert!(named.len() > 20, "{help}");
    for name in &named {
        let output = command()
            .args([name, "--help"])
            .env_remove("COLUMNS")
            .output();
        let own = stdout(&output.expect("it runs"));
        for line in own.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
    }
}
