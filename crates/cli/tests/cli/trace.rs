//! `--trace`.

use super::support::*;
use std::fs;
use std::path::Path;
use std::process::Output;

/// Runs `compare` on a small path with these additional arguments.
fn compare(folder: &Path, args: &str) -> Output {
    let small = "compare --rate=5Mbit/s --rtt=20ms --duration=2s --seeds=1";
    whimbrel_in(folder, &format!("{small} {args}"))
}

#[test]
fn traces_do_not_change_the_results() {
    let folder = folder();
    let plain = compare(folder.path(), "--controllers=cubic");
    let flags = "--controllers=cubic --trace=a.pcapng --trace=a.sqlog --trace=a.qlog";
    let traced = compare(folder.path(), flags);
    assert!(traced.status.success(), "{traced:?}");
    assert_eq!(plain.stdout, traced.stdout);
    assert_eq!(
        names(folder.path()),
        ["a.pcapng", "a.qlog", "a.sqlog"],
        "no temporary file is left"
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
fn flows_have_separate_logs_and_share_a_capture() {
    let folder = folder();
    let args = "--controllers=reno --flows=2 --trace=b.sqlog --trace=b.pcapng";
    let traced = compare(folder.path(), &format!("{args} --trace-at=receiver"));
    assert!(traced.status.success(), "{traced:?}");
    assert_eq!(names(folder.path()), ["b-1.sqlog", "b-2.sqlog", "b.pcapng"]);
}

#[test]
fn a_trace_of_a_sweep_is_refused_with_values_to_select() {
    let folder = folder();
    let error = fails(
        &compare(
            folder.path(),
            "--loss=0%,1% --controllers=cubic,reno --trace=c.pcapng",
        ),
        2,
    );
    assert_contains(&error, &["has 4 combinations"]);
    assert_contains(&error, &["--loss '0%' --controllers 'cubic'"]);
    // The swept key has the delay of each direction, which is no value of --rtt.
    let rtts = "--rtt=10ms,50ms --controllers=cubic --trace=c.pcapng";
    let error = fails(&compare(folder.path(), rtts), 2);
    assert_contains(&error, &["--rtt with one value"]);
    let scenario = "[link.L]\nrate = \"5 Mbit/s\"\n[[flow]]\ncontroller = \"reno\"\nroute = [\"L\"]\n\
        [run]\nduration = \"1 s\"\n[sweep]\n\"link.L.loss\" = [\"1 %\", \"2 %\"]\n";
    fs::write(folder.path().join("s.toml"), scenario).expect("written");
    let error = fails(
        &whimbrel_in(folder.path(), &["sim", "s.toml", "--trace=c.pcapng"]),
        2,
    );
    assert_contains(&error, &["--set link.L.loss='1 %'"]);
    let one = words("sim s.toml --set 'link.L.loss=1 %' --trace=c.pcapng");
    let traced = whimbrel_in(folder.path(), &one);
    assert!(traced.status.success(), "{traced:?}");
}

#[test]
fn an_unknown_extension_is_refused_with_the_known_ones() {
    let folder = folder();
    let error = fails(
        &compare(folder.path(), "--controllers=cubic --trace=d.csv"),
        2,
    );
    assert_contains(&error, &[".pcapng", ".sqlog", ".qlog"]);
    let error = fails(
        &compare(folder.path(), "--controllers=cubic --trace=d.pcap"),
        2,
    );
    assert_contains(&error, &["comments"]);
    let nowhere = compare(folder.path(), "--controllers=cubic --trace=none/d.pcapng");
    assert!(
        !nowhere.status.success() && nowhere.stdout.is_empty(),
        "it fails before any run"
    );
    assert!(names(folder.path()).is_empty());
}
