//! Mistakes in a scenario file, and the exact error for each: file, line, key, and the nearest
//! right word.

mod flow;
mod link;
mod loss;
mod run;
mod streams;
mod transport;

use super::{MINIMAL, error};
use std::fmt::Write as _;

/// A scenario with `line` in its `[link.L]`, on line 3.
fn link_key(line: &str) -> String {
    format!("[link.L]\nrate = \"8 Mbit/s\"\n{line}\n[[flow]]\nroute = [\"L\"]\n")
}

/// A scenario with `line` in its `[[flow]]`, from line 4 on.
fn flow_key(line: &str) -> String {
    format!("[link.L]\n[[flow]]\nroute = [\"L\"]\n{line}\n")
}

/// A scenario whose `[[flow]]` has these lines only, from line 3 on.
fn flow_keys(lines: &str) -> String {
    format!("[link.L]\n[[flow]]\n{lines}\n")
}

/// A scenario with `line` in its `[run]`, from line 5 on.
fn run_key(line: &str) -> String {
    format!("{MINIMAL}[run]\n{line}\n")
}

/// A scenario with `line` in its `[sweep]`, from line 5 on.
fn sweep_key(line: &str) -> String {
    format!("{MINIMAL}[sweep]\n{line}\n")
}

/// Reads each scenario and compares its error with the expected one. All differences are reported.
fn check(cases: &[(String, &str)]) {
    let mut wrong = String::new();
    for (text, expected) in cases {
        let found = error(text);
        // The registry and the TOML parser add text of their own to some errors: then only the
        // beginning is compared.
        let open = expected.ends_with(": ")
            || expected.contains("parameter of")
            || expected.contains("cubik")
            || expected.contains("qqq");
        if !(found == *expected || open && found.starts_with(expected)) {
            let _ = write!(wrong, "\nexpected {expected}\nfound    {found}\nin\n{text}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
