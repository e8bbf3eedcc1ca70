//! `whimbrel serve` and what it shows of transfers in progress.

use super::support::*;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
fn transfers_in_progress_are_reported_as_json() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("data"), vec![7; 20_000_000]).expect("written");
    fs::create_dir(path.join("in")).expect("made");
    let mut server = Server::start(path, "--listen 127.0.0.1:0 --once --interval '5 ms'");
    let send = format!("send data {} --identity id", server.address);
    let sent = whimbrel_in(path, &send);
    assert!(sent.status.success(), "{sent:?}");
    let events: Vec<_> = std::iter::from_fn(|| server.event()).collect();
    let (stored, receiving) = events.split_last().expect("events");
    assert_eq!(stored["event"], "stored");
    assert!(!receiving.is_empty());
    let mut before = (0.0, 0.0);
    for event in receiving {
        assert_eq!(event["event"], "receiving");
        let [transfer] = list(&event["transfers"]) else {
            panic!("one transfer: {event}")
        };
        assert_eq!(transfer["name"], "data");
        // CUBIC does not share by priority.
        assert!(transfer["priority"].is_null() && event["weighted_fairness"].is_null());
        let now = (number(event, "/t_s"), number(transfer, "/received"));
        assert!(
            now.0 > before.0 && now.1 >= before.1 && now.1 <= 20e6,
            "{event}"
        );
        assert!((0.0..=1.0).contains(&number(transfer, "/share")), "{event}");
        before = now;
    }
}

#[test]
fn wrong_priorities_are_explained() {
    let other = "`cubic` does not share by priority; use --controller whimbrel or enhanced-aatp";
    all_refused(
        "",
        &[
            ("serve . --max-priority 0", "from 1 (the lowest) to 8"),
            ("serve . --interval '0 s'", "--interval: must be above zero"),
            ("send f h --priority 9", "from 1 (the lowest) to 8"),
            ("send f h --controller cubic --priority 2", other),
        ],
    );
}

/// A server on a free port.
fn serving(path: &Path) -> Server {
    Server::start(path, "--listen 127.0.0.1:0")
}

/// The new server does not know the connection. It says so, and the client need not wait until the
/// connection has been silent for 30 s.
#[test]
fn a_killed_server_that_starts_again_gets_the_rest() {
    const SIZE: usize = 40_000_000;
    let folder = folder();
    let path = folder.path();
    let data: Vec<u8> = (0..SIZE).map(|i| ((i * i) >> 7) as u8).collect();
    fs::write(path.join("data"), &data).expect("written");
    let first = serving(path);
    let address = first.address.clone();
    let sender = command()
        .args(["send", "data", &address])
        .args(words("--identity id --json --bwlimit '100 Mbit/s'"))
        .current_dir(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // Until a quarter is on disk.
    let arrived = || {
        use std::os::unix::fs::MetadataExt;
        let files = fs::read_dir(path.join("in")).expect("a folder");
        let sizes = files.map(|file| file.and_then(|f| f.metadata()).map_or(0, |m| m.blocks()));
        sizes.sum::<u64>() * 512
    };
    let begun = Instant::now();
    while arrived() < SIZE as u64 / 4 {
        assert!(begun.elapsed() < Duration::from_secs(60), "it arrives");
        sleep(Duration::from_millis(5));
    }
    drop(first);
    let killed = Instant::now();
    let _second = Server::start(path, &format!("--listen {address}"));
    let output = sender.wait_with_output().expect("it ends");
    let took = killed.elapsed();
    let sent = parse(&String::from_utf8(output.stdout).expect("UTF-8"));
    assert_eq!(sent["outcome"], "stored", "{sent}");
    assert!(fs::read(path.join("in/data")).expect("stored") == data);
    // The rest takes 2.4 s.
    assert!(took < Duration::from_secs(25), "{took:?}");
    let (sent_bytes, resumed) = (
        number(&sent, "/sent_bytes"),
        number(&sent, "/resumed_bytes"),
    );
    assert!(number(&sent, "/retries") >= 1.0 && resumed > 0.0, "{sent}");
    let twice = sent_bytes + resumed - SIZE as f64;
    assert!(
        (0.0..16.0 * 1_048_576.0).contains(&twice),
        "{twice} bytes twice"
    );
}

#[test]
fn standard_input_is_a_source() {
    let folder = folder();
    let path = folder.path();
    let server = serving(path);
    for (name, size) in [("empty", 0), ("some", 5), ("more", 3_000_001)] {
        let data: Vec<u8> = (0..size).map(|i: usize| (i >> 3) as u8).collect();
        fs::write(path.join("source"), &data).expect("written");
        let mut cat = std::process::Command::new("cat")
            .arg(path.join("source"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let sent = command()
            .args(["send", "-", &format!("{}:{name}", server.address), "--json"])
            .args(words("--identity id"))
            .current_dir(path)
            .stdin(cat.stdout.take().expect("piped"))
            .output()
            .expect("it runs");
        cat.wait().expect("it ended");
        let sent = parse(&String::from_utf8(sent.stdout).expect("UTF-8"));
        assert_eq!(
            (&sent["outcome"], &sent["bytes"]),
            (&"stored".into(), &size.into())
        );
        assert!(fs::read(path.join("in").join(name)).expect("stored") == data);
    }
}

#[test]
fn a_server_goes_on_when_nobody_reads_its_output() {
    let folder = folder();
    let path = folder.path();
    fs::create_dir(path.join("in")).expect("made");
    let mut serving = command()
        .args(words("serve in --json --listen 127.0.0.1:0"))
        .args(words("--identity id"))
        .current_dir(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let mut output = BufReader::new(serving.stdout.take().expect("piped"));
    output.read_line(&mut line).expect("its address");
    drop(output);
    let address = parse(&line)["address"]
        .as_str()
        .expect("a string")
        .to_owned();
    for name in ["one", "two", "three"] {
        fs::write(path.join(name), name).expect("written");
        let sent = whimbrel_in(path, &["send", name, &address, "--identity", "id"]);
        assert!(sent.status.success(), "{sent:?}");
    }
    assert!(serving.try_wait().expect("it runs").is_none());
    serving.kill().expect("it runs");
    let ended = serving.wait_with_output().expect("it ends");
    let said = String::from_utf8(ended.stderr).expect("UTF-8");
    assert_eq!(said.matches("nobody reads the output").count(), 1, "{said}");
}

/// What a new user may do wrong, and what then is said.
#[test]
fn mistakes_are_explained() {
    let folder = folder();
    let path = folder.path();
    fs::create_dir_all(path.join("in/tree")).expect("made");
    fs::write(path.join("one"), "1").expect("written");
    fs::write(path.join("a\nb"), "2").expect("written");
    let server = serving(path);
    let address = &server.address;
    let (in_tree, missing) = (format!("{address}:tree"), format!("{address}:one"));
    let cases = [
        (
            format!("send - {address}"),
            2,
            "standard input needs a name: write HOST:PATH",
        ),
        (
            format!("send one {in_tree}"),
            3,
            "`tree` is a directory; write `tree/` to store",
        ),
        (
            format!("send 'a\nb' {address}"),
            1,
            "error: a\\u{a}b: cannot send: this file name",
        ),
        (
            "send one 127.0.0.1:99999".to_owned(),
            2,
            "99999 is not a port",
        ),
        (
            "send one ::1:4455:x".to_owned(),
            2,
            "`::1:4455:x`: write HOST:PATH",
        ),
        (
            format!("get {missing} nowhere/x"),
            1,
            "nowhere: cannot find this directory",
        ),
        (
            format!("get {missing}/ one"),
            1,
            "one: cannot store files in this directory",
        ),
    ];
    for (args, status, says) in cases {
        let output = whimbrel_in(path, &format!("{args} --identity id"));
        assert_contains(&fails(&output, status), &[says]);
    }
    // Standard input with a name, after `-` was refused above.
    let named = format!("{address}:tree/stream");
    let output = whimbrel_in(path, &format!("send - {named} --identity id"));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read(path.join("in/tree/stream")).expect("stored"), b"");
    let names = fs::read_dir(path.join("in")).expect("a folder").count();
    assert_eq!(names, 1, "only the tree");
}

#[test]
fn a_directory_that_cannot_be_written_is_refused_at_start() {
    let folder = folder();
    let path = folder.path();
    for name in ["in", "id"] {
        fs::create_dir(path.join(name)).expect("made");
    }
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("of this user");
    fs::set_permissions(path.join("in"), Permissions::from_mode(0o555)).expect("of this user");
    fs::set_permissions(path.join("id"), Permissions::from_mode(0o700)).expect("of this user");
    let mut serve = command();
    serve.args(words("serve in --identity id --listen 127.0.0.1:0"));
    // Root may write everywhere.
    let nobody = 65534;
    if chown(path.join("id"), Some(nobody), Some(nobody)).is_ok() {
        serve.uid(nobody).gid(nobody);
    }
    let error = fails(&serve.current_dir(path).output().expect("it runs"), 1);
    assert_contains(
        &error,
        &[
            "cannot store files in this directory",
            "in",
            "ermission denied",
        ],
    );
}
