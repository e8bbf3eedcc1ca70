//! `whimbrel completions` and `whimbrel man`.

use super::support::*;
use std::fs;

#[test]
fn completions_know_the_commands_and_flags() {
    for shell in ["bash", "fish", "zsh"] {
        let script = stdout(&whimbrel(&["completions", shell]));
        assert_contains(&script, &["compare", "advise", "controllers", "transport"]);
    }
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
