//! The archive and the Debian package of `tools/package`, and what `cargo binstall` expects.

use super::support::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a program that must succeed; returns its output.
fn succeeds(program: impl AsRef<std::ffi::OsStr>, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_packages_have_a_command_that_runs_with_its_pages_and_completions() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        println!("skipped: no dpkg-deb");
        return;
    }
    let folder = folder();
    let out = path_in(&folder, "out");
    // A script in the place of the command: compressing a debug build would take minutes.
    let stand_in = path_in(&folder, "whimbrel");
    let own = env!("CARGO_BIN_EXE_whimbrel");
    fs::write(&stand_in, format!("#!/bin/sh\nexec '{own}' \"$@\"\n")).expect("written");
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).expect("executable");
    let made = succeeds(
        root().join("tools/package"),
        &["--binary", &stand_in, "--out", &out],
    );
    let files: Vec<&str> = made.lines().collect();
    // A list of components follows where the program that makes it is installed.
    let [archive, package, image, ..] = files[..] else {
        panic!("{made}");
    };
    assert!(Path::new(&format!("{image}/whimbrel")).exists(), "{made}");
    let version = env!("CARGO_PKG_VERSION");
    let within = path_in(&folder, "installed");
    succeeds("dpkg-deb", &["--extract", package, &within]);
    let command = format!("{within}/usr/bin/whimbrel");
    assert_eq!(
        succeeds(&command, &["--version"]),
        format!("whimbrel {version}\n")
    );
    for file in [
        "share/man/man1/whimbrel-advise.1.gz",
        "share/bash-completion/completions/whimbrel",
        "share/fish/vendor_completions.d/whimbrel.fish",
        "share/zsh/vendor-completions/_whimbrel",
        "share/doc/whimbrel/copyright",
    ] {
        let path = format!("{within}/usr/{file}");
        assert!(Path::new(&path).exists(), "no {file}");
    }
    let control = succeeds("dpkg-deb", &["--field", package]);
    assert_contains(
        &control,
        &["Package: whimbrel\n", &format!("Version: {version}\n")],
    );
    assert!(!control.contains("Depends"), "{control}");

    // The archive has the command where the metadata says.
    let manifest = fs::read_to_string(root().join("crates/cli/Cargo.toml")).expect("a file");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    let metadata = &manifest["package"]["metadata"]["binstall"];
    let rustc = succeeds("rustc", &["-vV"]);
    let target = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    let target = target.expect("a host");
    let fill = |key: &str| {
        let text = metadata[key].as_str().expect(key).to_owned();
        [
            ("{ version }", version),
            ("{ target }", target),
            ("{ bin }", "whimbrel"),
            ("{ binary-ext }", ""),
            ("{ archive-suffix }", ".tar.gz"),
        ]
        .iter()
        .fold(text, |text, (key, value)| text.replace(key, value))
    };
    let name = archive.rsplit('/').next().expect("a name");
    assert_eq!(fill("pkg-url").rsplit('/').next(), Some(name));
    let listed = succeeds("tar", &["-tzf", archive]);
    assert!(
        listed.lines().any(|line| line == fill("bin-dir")),
        "{listed}"
    );
}
