//! Wrong input: what the command reports, and its exit status.

use super::support::*;
use std::fs;
use std::process::Stdio;

/// A link and a flow.
const SCENARIO: &str = r#"
[link.L]
rate = "8 Mbit/s"
delay = "50 ms"
queue = "50 packets"
[[flow]]
route = ["L"]
[run]
duration = "5 s"
"#;

#[test]
fn errors_name_the_place_of_the_mistake() {
    let folder = folder();
    let file = path_in(&folder, "a.toml");
    fs::write(&file, SCENARIO.replace("queue", "queu")).expect("written");
    assert_eq!(
        refused(&["sim", &file], ""),
        format!("error: {file}:5: link.L: unknown key `queu`, did you mean `queue`?\n")
    );
    assert!(
        refused(&["sim", "-"], "[[flow]]\nroute = [\"L\"]\n")
            .starts_with("error: <stdin>:2: flow.route: unknown link `L`")
    );
    assert!(refused(&["sim", "no/such.toml"], "").starts_with("error: cannot read no/such.toml: "));
    assert!(
        refused(&["sim", "-", "--set", "link.L.rate=fast"], SCENARIO)
            .contains("--set link.L.rate=fast: link.L.rate: ")
    );
    assert!(
        refused(&["sim", "-", "--set", "rate"], SCENARIO).contains("must be written key=value")
    );
    assert!(refused(&["compare", "--controllers", "cubik"], "").contains("did you mean `cubic`?"));
    assert!(refused(&["compare", "--rate", "8 mbits"], "").contains("did you mean `Mbit/s`?"));
    for command in [
        &["send", "FILE", "HOST", "--controller", "cubik"][..],
        &["demo", "--size", "1MB", "--controllers", "cubik"],
    ] {
        assert!(refused(command, "").contains("did you mean `cubic`?"));
    }
    let bursts = refused(&["tcp", "--controller", "enhanced-aatp", "--", "true"], "");
    assert!(
        bursts.contains("`enhanced-aatp` sends bursts, which TCP cannot do"),
        "{bursts}"
    );
    assert!(
        refused(&["compare", "--queue", "1 bpd"], "")
            .contains("link.L.queue: `1 bpd` is not a queue")
    );
    assert!(
        refused(&["compare", "--messages", "20 kB each 10 ms"], "")
            .contains("flow.messages: `20 kB each 10 ms` does not describe messages")
    );
    assert!(refused(&["compare", "--threads", "0"], "").contains("--threads"));
    assert!(refused(&["simulate"], "").contains("'sim'"));
    // The input is right, but the file cannot be written: status 1.
    let output = whimbrel(&[
        "compare",
        "--duration",
        "1s",
        "--seeds",
        "1",
        "--plot",
        "/no/such/folder/a.svg",
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot write /no/such/folder/a.svg"));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child = command()
        .args(["compare", "--duration", "1s", "--seeds", "20", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(text(&output.stderr), "");
    assert!(output.status.success());
}

#[test]
fn every_command_has_help_with_examples() {
    let help = stdout(&whimbrel(&["--help"]));
    for command in [
        "controllers",
        "sim",
        "compare",
        "judge",
        "model",
        "reproduce",
        "tcp",
    ] {
        assert!(help.contains(command), "{help}");
        let own = stdout(&whimbrel(&[command, "--help"]));
        assert!(
            own.contains(&format!("whimbrel {command}")) && own.contains("--json"),
            "{own}"
        );
    }
}
