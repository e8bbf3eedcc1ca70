//! `--trace` through the real command.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn whimbrel(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_whimbrel"))
        .current_dir(folder)
        .args(args)
        .output()
        .expect("the command runs")
}

/// Runs `compare` on a small path with one more argument list.
fn compare(folder: &Path, args: &[&str]) -> Output {
    let small = [
        "compare",
        "--rate=5Mbit/s",
        "--rtt=20ms",
        "--duration=2s",
        "--seeds=1",
    ];
    whimbrel(folder, &[&small, args].concat())
}

fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_run_is_written_in_all_formats_and_its_results_are_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = compare(folder.path(), &["--controllers=cubic"]);
    let traces = ["--trace=a.pcapng", "--trace=a.sqlog", "--trace=a.qlog"];
    let traced = compare(
        folder.path(),
        &[&["--controllers=cubic"], &traces[..]].concat(),
    );
    assert!(traced.status.success(), "{traced:?}");
    assert_eq!(plain.stdout, traced.stdout);
    assert_eq!(
        names(folder.path()),
        ["a.pcapng", "a.qlog", "a.sqlog"],
        "nothing is left aside"
    );
    let begins = |name: &str, with: &[u8]| {
        let bytes = fs::read(folder.path().join(name)).expect("a file");
        assert!(bytes.len() > 10_000 && bytes.starts_with(with), "{name}");
    };
    begins("a.pcapng", &[0x0a, 0x0d, 0x0d, 0x0a]);
    begins(
        "a.sqlog",
        b"\x1e{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\"",
    );
    begins("a.qlog", b"{\"qlog_version\":\"0.3\"");
}

#[test]
fn each_flow_has_a_log_of_its_own_and_all_share_a_capture() {
    let folder = tempfile::tempdir().expect("a folder");
    let args = [
        "--controllers=reno",
        "--flows=2",
        "--trace=b.sqlog",
        "--trace=b.pcapng",
    ];
    let traced = compare(
        folder.path(),
        &[&args[..], &["--trace-at=receiver"]].concat(),
    );
    assert!(traced.status.success(), "{traced:?}");
    assert_eq!(names(folder.path()), ["b-1.sqlog", "b-2.sqlog", "b.pcapng"]);
}

#[test]
fn a_sweep_is_no_run_and_the_command_says_what_to_choose() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = error(&compare(
        folder.path(),
        &[
            "--loss=0%,1%",
            "--controllers=cubic,reno",
            "--trace=c.pcapng",
        ],
    ));
    assert!(said.contains("there are 4 combinations"), "{said}");
    assert!(said.contains("--loss '0%' --controllers 'cubic'"), "{said}");
    let scenario = "[link.L]\nrate = \"5 Mbit/s\"\n[[flow]]\ncontroller = \"reno\"\nroute = [\"L\"]\n\
        [run]\nduration = \"1 s\"\n[sweep]\n\"link.L.loss\" = [\"1 %\", \"2 %\"]\n";
    fs::write(folder.path().join("s.toml"), scenario).expect("written");
    let said = error(&whimbrel(
        folder.path(),
        &["sim", "s.toml", "--trace=c.pcapng"],
    ));
    assert!(said.contains("--set link.L.loss='1 %'"), "{said}");
    let one = [
        "sim",
        "s.toml",
        "--set",
        "link.L.loss=1 %",
        "--trace=c.pcapng",
    ];
    let traced = whimbrel(folder.path(), &one);
    assert!(traced.status.success(), "{traced:?}");
}

#[test]
fn an_unknown_ending_names_those_that_are_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = error(&compare(
        folder.path(),
        &["--controllers=cubic", "--trace=d.csv"],
    ));
    assert!(
        said.contains(".pcapng") && said.contains(".sqlog") && said.contains(".qlog"),
        "{said}"
    );
    let said = error(&compare(
        folder.path(),
        &["--controllers=cubic", "--trace=d.pcap"],
    ));
    assert!(said.contains("comments"), "{said}");
    let nowhere = compare(
        folder.path(),
        &["--controllers=cubic", "--trace=none/d.pcapng"],
    );
    assert!(
        !nowhere.status.success() && nowhere.stdout.is_empty(),
        "before anything is run"
    );
    assert!(names(folder.path()).is_empty());
}
