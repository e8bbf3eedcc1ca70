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
        refused("sim -", "[[flow]]\nroute = [\"L\"]\n")
            .starts_with("error: <stdin>:2: flow.route: unknown link `L`")
    );
    assert!(refused("sim no/such.toml", "").starts_with("error: cannot read no/such.toml: "));
    assert!(
        refused("sim - --set link.L.rate=fast", SCENARIO)
            .contains("--set link.L.rate=fast: link.L.rate: ")
    );
    assert!(refused("sim - --set rate", SCENARIO).contains("must be written key=value"));
    // The libraries know no flags.
    let error = refused("sim - --set run.preset=ns-4", SCENARIO);
    assert!(
        error.contains("? `whimbrel sim --list-presets` shows"),
        "{error}"
    );
    let error = refused("reproduce no/such", "");
    assert!(error.starts_with("error: unknown experiment"), "{error}");
    assert!(
        error.contains("; see `whimbrel reproduce --list`"),
        "{error}"
    );
    let bursts = "`enhanced-aatp` sends bursts, which TCP cannot do";
    all_refused(
        "",
        &[
            ("compare --controllers cubik", "did you mean `cubic`?"),
            ("compare --rate '8 mbits'", "did you mean `Mbit/s`?"),
            ("send FILE HOST --controller cubik", "did you mean `cubic`?"),
            (
                "demo --size 1MB --controllers cubik",
                "did you mean `cubic`?",
            ),
            ("tcp --controller enhanced-aatp -- true", bursts),
        ],
    );
    // A flag is named as the user wrote it; no file, which the user did not write.
    let queue = refused("compare --queue 1", "");
    assert_contains(
        &queue,
        &[
            "'--queue <QUEUE>'",
            "`1` is not a queue; write e.g. `50 packets`",
        ],
    );
    let messages = refused("compare --messages '20 kB each 10 ms'", "");
    assert!(
        messages.starts_with("error: --messages: `20 kB each 10 ms` does not describe messages"),
        "{messages}"
    );
    let long = refused("compare --flows 1000000", "");
    assert!(
        long.starts_with("error: --flows: must be from 0 to 100000, not 1000000"),
        "{long}"
    );
    assert!(refused("compare --threads 0", "").contains("--threads"));
    assert!(refused(&["simulate"], "").contains("'sim'"));
    // The input is right, but the file cannot be written: status 1.
    let output = whimbrel("compare --duration 1s --seeds 1 --plot /no/such/folder/a.svg");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot write /no/such/folder/a.svg"));
}

#[test]
fn a_wrong_number_is_refused_with_the_reason_and_the_right_spelling() {
    for (flag, value, why) in [
        (
            "--loss",
            "0.5",
            "`0.5` has no unit, and would be 50 %; write `0.5 %` or `50 %`",
        ),
        (
            "--loss",
            "1e-3",
            "`1e-3` has no unit, and would be 0.1 %; write `1e-3 %` or `0.1 %`",
        ),
        ("--loss", "-1%", "it may not be negative"),
        (
            "--rate",
            "50Mb",
            "unknown unit `Mb`, did you mean `Mbit/s`?",
        ),
        ("--rate", "50MB", "unknown unit `MB`, did you mean `MB/s`?"),
    ] {
        let error = refused(&["compare", flag, value], "");
        assert!(error.contains(why), "{flag} {value}: {error}");
    }
    for command in ["link", "demo", "advise"] {
        let error = refused(&format!("{command} --loss 0.5"), "");
        assert_contains(&error, &["write `0.5 %` or `50 %`"]);
    }
}

#[test]
fn a_flow_beyond_the_run_and_a_single_bracket_are_refused_at_their_line() {
    let late = SCENARIO.replace("[[flow]]", "[[flow]]\nstart = \"9 s\"");
    let error = refused("sim -", &late);
    assert!(
        error.starts_with(
            "error: <stdin>:7: flow.start: the flow would start at 9 s, but the run ends at 5 s"
        ),
        "{error}"
    );
    assert_eq!(
        refused("sim -", &SCENARIO.replace("[[flow]]", "[flow]")),
        "error: <stdin>:6: flow: flows are a list: write [[flow]] with double brackets\n"
    );
    // A scenario may write a probability as a number with an exponent.
    let small = SCENARIO.replace("queue", "loss = \"1e-3\"\nqueue");
    let run = piped("sim - --json", &small);
    assert!(run.status.success(), "{}", text(&run.stderr));
}

#[test]
fn names_are_found_in_any_case_and_a_typo_shows_three() {
    let scenario = stdout(&whimbrel(
        "compare --print-scenario --controllers CUBIC,BBR",
    ));
    assert_contains(&scenario, &["[\"cubic\", \"bbr\"]"]);
    let error = refused("compare --controllers cubik", "");
    assert!(
        error.contains("did you mean `cubic`?") && !error.contains("vegas"),
        "{error}"
    );
    let error = refused("reproduce cubic", "");
    assert!(
        error.contains("`cerl`, `emfast`") && error.len() < 200,
        "{error}"
    );
}

#[test]
fn no_error_names_a_temporary_file() {
    let output = whimbrel("rank --save /no/such/folder/a.json");
    let error = text(&output.stderr);
    assert_eq!(
        error,
        "error: cannot write /no/such/folder/a.json: No such file or directory\n"
    );
}

#[test]
fn no_error_has_the_words_of_rusts_library() {
    for (args, says) in [
        (&["sim", "/no/such.toml"][..], "No such file or directory;"),
        (&["compare", "--seeds", "x"], "not a whole number"),
        (
            &["serve", ".", "--metrics", "x"],
            "not an address; write e.g. 127",
        ),
        (&["send"], "<PATH... HOST>"),
    ] {
        let error = refused(args, "");
        assert!(error.contains(says), "{error}");
        assert!(
            !error.contains("os error") && !error.contains("digit"),
            "{error}"
        );
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let mut child = command()
        .args(words("compare --duration 1s --seeds 20 --json"))
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
fn a_mistake_in_a_file_of_the_lab_names_it_once() {
    let folder = folder();
    fs::write(
        folder.path().join("a.toml"),
        "[link.L]\nrate = \"1 Mbit/s\"\n",
    )
    .expect("written");
    let error = fails(&whimbrel_in(folder.path(), "lab a.toml"), 2);
    assert!(error.starts_with("error: a.toml:1: no flows"), "{error}");
}

/// `whimbrel … 2>&1 | head`, or a log on a full disk.
#[test]
fn a_standard_error_that_takes_nothing_does_not_change_the_exit_status() {
    let status = |line: &str| {
        let full = || fs::File::options().write(true).open("/dev/full");
        let mut child = command();
        let child = child.args(words(line)).stdout(full().expect("Linux"));
        let ended = child.stderr(full().expect("Linux")).status();
        ended.expect("the command ends").code()
    };
    assert_eq!(status("sim none.toml"), Some(2));
    assert_eq!(status("compare --rate fast"), Some(2));
    assert_eq!(status("key show --identity /none"), Some(2));
    // What was asked for could not be printed.
    assert_eq!(status("--help"), Some(1));
    if allowed("link --quiet -- true") {
        assert_eq!(status("link -- sh -c 'exit 7'"), Some(7));
    }
}

#[test]
fn every_command_has_help_with_examples() {
    let help = stdout(&whimbrel(&["--help"]));
    for command in words("controllers sim compare judge model rank advise reproduce tcp") {
        assert_contains(&help, &[command]);
        let own = stdout(&whimbrel(&[command, "--help"]));
        assert!(
            own.contains(&format!("whimbrel {command}")) && own.contains("--json"),
            "{own}"
        );
    }
}
