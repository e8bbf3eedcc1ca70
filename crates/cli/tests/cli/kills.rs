//! Real servers and senders that are killed at random instants.

use super::support::*;
use serde_json::Value;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// The size of the file that is sent, bytes.
const SIZE: usize = 30_000_000;
/// What may be sent twice after a kill, bytes.
const TWICE: f64 = (16 << 20) as f64;

/// Starts a server on an address; port 0 chooses one.
fn serve(path: &Path, listen: &str) -> Server {
    for _ in 0..100 {
        if let Some(server) = Server::try_start(path, &format!("--listen {listen}")) {
            return server;
        }
        // The port of the server that was killed is not free yet.
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the server does not start")
}

fn send(path: &Path, name: &str, address: &str) -> Child {
    command()
        .args(["send", name, address])
        .args(words(
            "--identity id --json --retry-for 60s --bwlimit 200Mbit/s",
        ))
        .current_dir(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts")
}

fn result(child: Child) -> Value {
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    parse(&String::from_utf8(output.stdout).expect("UTF-8"))
}

/// Bytes of the incomplete file on disk.
fn arrived(path: &Path) -> u64 {
    let entries = path.join("in").read_dir().expect("a directory");
    let parts = entries
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().ends_with(".part"));
    parts
        .map(|e| e.metadata().map_or(0, |m| m.blocks() * 512))
        .sum()
}

/// Kills either side once for each file, at random instants.
fn kill(rounds: Range<u32>) {
    let folder = folder();
    let path = folder.path();
    fs::create_dir(path.join("in")).expect("made");
    let mut server = serve(path, "127.0.0.1:0");
    let address = server.address.clone();
    for round in rounds {
        let name = format!("file-{round}");
        let mut data = vec![0; SIZE];
        blake3::Hasher::new()
            .update(name.as_bytes())
            .finalize_xof()
            .fill(&mut data);
        fs::write(path.join(&name), &data).expect("written");
        let random = blake3::hash(format!("{round}").as_bytes());
        let after = u64::from(random.as_bytes()[0]) * 6;
        let mut sender = send(path, &name, &address);
        std::thread::sleep(Duration::from_millis(after));
        if round % 2 == 0 {
            drop(server);
            server = serve(path, &address);
            let result = result(sender);
            let twice = number(&result, "/sent_bytes") - SIZE as f64;
            assert!(twice <= TWICE, "round {round}: {result}");
        } else {
            sender.kill().ok();
            sender.wait().expect("it ends");
            let there = arrived(path);
            let result = result(send(path, &name, &address));
            let resumed = number(&result, "/resumed_bytes");
            assert!(
                resumed + TWICE >= there as f64,
                "round {round}: {there} {result}"
            );
        }
        let stored = fs::read(path.join("in").join(&name)).expect("stored");
        assert!(stored == data, "round {round}");
        fs::remove_file(path.join("in").join(&name)).expect("there");
        fs::remove_file(path.join(&name)).expect("there");
    }
    assert_eq!(
        fs::read_dir(path.join("in")).expect("a directory").count(),
        0
    );
}

#[test]
fn after_four_kills_every_file_is_right() {
    kill(0..4);
}

/// Part of `make test-more`.
#[test]
#[ignore = "takes minutes"]
fn after_100_kills_every_file_is_right() {
    // Four servers at once: a round mostly waits.
    std::thread::scope(|scope| {
        for first in [0, 25, 50, 75] {
            scope.spawn(move || kill(first..first + 25));
        }
    });
}

/// Kills either side once for each file, on a path that loses packets. Each round has a path of its
/// own, and both ends in its namespaces.
fn kill_on_a_lossy_path(rounds: u32, first_round: u32) {
    if !allowed("link --quiet --rtt '2 ms' -- true") {
        return;
    }
    let folder = folder();
    let path = folder.path();
    let program = env!("CARGO_BIN_EXE_whimbrel");
    let serve = format!("{program} serve in --json --identity id > served.txt 2>&1");
    let send = format!(
        "{program} send file 10.77.0.2 --identity id --json --retry-for 60s --controller bbr"
    );
    for round in first_round..first_round + rounds {
        let mut data = vec![0; SIZE];
        blake3::Hasher::new()
            .update(format!("lossy {round}").as_bytes())
            .finalize_xof()
            .fill(&mut data);
        fs::create_dir(path.join("in")).expect("made");
        fs::write(path.join("file"), &data).expect("written");
        let random = blake3::hash(format!("{round}").as_bytes());
        let after = 0.3 + f64::from(random.as_bytes()[0]) / 100.0;
        let kills_server = round % 2 == 0;
        let (far, near) = if kills_server {
            // `sh` says that its child was killed.
            let far = format!("({serve} & echo $! > pid; wait; {serve}) 2> killed.txt");
            (far, format!("(sleep {after}; kill -9 $(cat pid)) & {send}"))
        } else {
            let first = format!("{send} > first.txt 2>&1 & p=$!; sleep {after}; kill -9 $p");
            // What is on its way arrives.
            let settle = "sleep 0.5; find in -name '*.part' -printf '%b' > blocks";
            (serve.clone(), format!("{first}; {settle}; {send}"))
        };
        let seed = round.to_string();
        let link = words("link --quiet --rate 200Mbit/s --rtt 100ms --loss 1% --seed");
        let lossy = [&seed, "--far", &far, "--"];
        let output = whimbrel_in(
            path,
            &[&link[..], &lossy[..], &["sh", "-c", &near]].concat(),
        );
        assert!(output.status.success(), "round {round}: {output:?}");
        let result = parse(&text(&output.stdout));
        if kills_server {
            let twice = number(&result, "/sent_bytes") - SIZE as f64;
            println!("round {round}: server killed, {twice} bytes twice");
            assert!(twice <= TWICE, "round {round}: {result}");
        } else {
            let blocks = fs::read_to_string(path.join("blocks")).expect("written");
            let there = blocks.parse().unwrap_or(0.0) * 512.0;
            let resumed = number(&result, "/resumed_bytes");
            println!("round {round}: sender killed, {resumed} of {there} bytes kept");
            assert!(resumed + TWICE >= there, "round {round}: {there} {result}");
        }
        let stored = fs::read(path.join("in/file")).expect("stored");
        assert!(stored == data, "round {round}");
        fs::remove_dir_all(path.join("in")).expect("there");
    }
}

#[test]
fn after_two_kills_on_a_lossy_path_the_file_is_right() {
    kill_on_a_lossy_path(2, 0);
}

/// Part of `make test-more`.
#[test]
#[ignore = "takes minutes"]
fn after_100_kills_on_a_lossy_path_every_file_is_right() {
    kill_on_a_lossy_path(100, 2);
}

#[test]
fn trees_go_there_and_back() {
    let folder = folder();
    let path = folder.path();
    fs::create_dir_all(path.join("tree/a")).expect("made");
    fs::create_dir(path.join("back")).expect("made");
    fs::write(path.join("tree/a/one"), "1").expect("written");
    fs::write(path.join("tree/two"), "22").expect("written");
    let server = Server::start(path, "--listen 127.0.0.1:0 --allow-read --allow-remove");
    let address = &server.address;
    let run = |line: &str| {
        let output = whimbrel_in(path, &format!("{line} --identity id"));
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout)
    };
    let place = format!("{address}:box/");
    let dry = run(&format!("send tree {place} --dry-run"));
    assert_contains(&dry, &["would send 2 of 2 files"]);
    let sent = parse(&run(&format!("send tree {place} --json")));
    assert_eq!(
        (&sent["files"], &sent["outcome"]),
        (&2.into(), &"stored".into()),
        "{sent}"
    );
    let again = run(&format!("send tree {place}"));
    assert_contains(&again, &["2 files (3 B) were there already"]);
    let listed = run(&format!("ls {address}:box --recursive"));
    assert_contains(&listed, &["tree/a/one"]);
    run(&format!("get {address}:box/tree back"));
    assert_eq!(fs::read(path.join("back/tree/a/one")).expect("here"), b"1");
    let removed = run(&format!("rm {address}:box --recursive"));
    assert_contains(&removed, &["5 files and directories"]);
    // A single file to another name, and a failure as JSON.
    run(&format!("send tree/two {address}:x/three"));
    assert_eq!(fs::read(path.join("in/x/three")).expect("stored"), b"22");
    fs::write(path.join("tree/two"), "33").expect("written");
    let failing = format!("send tree/two {address}:x/three --json --identity id");
    let failed = whimbrel_in(path, &failing);
    assert_eq!(failed.status.code(), Some(1));
    let failed = parse(&text(&failed.stdout));
    assert_eq!(failed["outcome"], "not stored");
    assert_contains(failed["error"].as_str().expect("a text"), &["exists"]);
}
