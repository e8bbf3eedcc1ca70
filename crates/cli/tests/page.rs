//! `--report FILE.html` as people ask for it: the figures that the page holds, read back out of it.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn whimbrel(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whimbrel"));
    let output = command.current_dir(folder).args(args).output();
    output.expect("the command runs")
}

/// The figures that stand in a page as data, in order.
fn figures(page: &str) -> Vec<Value> {
    let scripts = page.split("<script type=\"application/json\">").skip(1);
    let data = scripts.filter_map(|piece| piece.split_once("</script>"));
    data.map(|(text, _)| serde_json::from_str(text).expect("JSON"))
        .collect()
}

fn ids(figures: &[Value]) -> Vec<&str> {
    figures.iter().filter_map(|f| f["id"].as_str()).collect()
}

/// A page made with these arguments.
fn made(args: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let all = [args, &["--report", "page.html"]].concat();
    let output = whimbrel(folder.path(), &all);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    let left = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 1, "nothing but the page is left");
    fs::read_to_string(folder.path().join("page.html")).expect("a page")
}

const COMPARE: [&str; 7] = [
    "compare",
    "--loss",
    "0%,1%",
    "--duration",
    "3s",
    "--controllers",
    "newreno,cerl",
];

#[test]
fn a_comparison_has_the_figures_that_its_runs_give() {
    let page = made(&COMPARE);
    let all = figures(&page);
    let expected = [
        "time",
        "tradeoff",
        "tradeoff-2",
        "over-loss",
        "sequence",
        "rtt-cdf",
        "delay-cdf",
        "confusion",
    ];
    assert_eq!(ids(&all), expected, "in this order");
    let capacity = &all[0]["plot"]["panels"][1]["series"][0];
    assert_eq!(capacity["form"], "shade");
    assert_eq!(
        capacity["points"],
        serde_json::json!([[0.0, 50.0], [3.0, 50.0]])
    );
    // The command, as it can be typed again, and the scenario that it stands for.
    assert!(page.contains("whimbrel compare --loss 0%,1% --duration 3s"));
    assert!(page.contains("controller") && page.contains("[link.L]"));
}

#[test]
fn the_same_figures_come_of_any_number_of_threads() {
    let on = |threads: &str| {
        let page = made(&[&COMPARE[..], &["--threads", threads]].concat());
        figures(&page)
    };
    assert_eq!(on("1"), on("2"));
}

#[test]
fn runs_that_are_sampled_anyway_are_not_run_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "[link.L]\nrate = \"8 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"10 packets\"\n[[flow]]\nroute = [\"L\"]\n\
                [run]\nduration = \"4 s\"\nsample = \"500 ms\"\n";
    fs::write(folder.path().join("path.toml"), text).expect("written");
    let output = whimbrel(
        folder.path(),
        &["sim", "path.toml", "--report", "page.html"],
    );
    assert!(output.status.success());
    let page = fs::read_to_string(folder.path().join("page.html")).expect("a page");
    let all = figures(&page);
    let window = &all[0]["plot"]["panels"][0]["series"][0]["points"];
    // Every 500 ms for 4 s, as the file says.
    assert_eq!(
        (ids(&all)[0], window.as_array().map(Vec::len)),
        ("time", Some(8))
    );
}

#[test]
fn a_page_that_cannot_be_written_is_said_before_anything_is_run() {
    let folder = tempfile::tempdir().expect("a folder");
    // Ten thousand seconds of simulation would take minutes.
    let args = [
        "compare",
        "--duration",
        "10000s",
        "--report",
        "nowhere/page.html",
    ];
    let output = whimbrel(folder.path(), &args);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        errors.contains("cannot write nowhere/page.html"),
        "{errors}"
    );
    assert!(output.stdout.is_empty());
}
