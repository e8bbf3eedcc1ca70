//! `whimbrel serve` and what it shows of transfers in progress.

use crate::support::{command, folder, list, number, parse, refused, whimbrel_in};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn transfers_in_progress_are_reported_as_json() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("data"), vec![7; 20_000_000]).expect("written");
    fs::create_dir(path.join("in")).expect("made");
    let mut server = command()
        .args(["serve", "in", "--once", "--json", "--interval", "5 ms"])
        .args(["--listen", "127.0.0.1:0", "--identity", "id"])
        .current_dir(path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut printed = BufReader::new(server.stdout.take().expect("piped")).lines();
    let mut next = || printed.next().map(|line| parse(&line.expect("UTF-8")));
    let listening = next().expect("its address");
    let address = listening["address"].as_str().expect("a string");
    let sent = whimbrel_in(path, &["send", "data", address, "--identity", "id"]);
    assert!(sent.status.success(), "{sent:?}");
    let events: Vec<_> = std::iter::from_fn(&mut next).collect();
    server.wait().expect("it ends");
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
    for (args, says) in [
        (
            &["serve", ".", "--max-priority", "0"][..],
            "from 1 (the lowest) to 8",
        ),
        (
            &["serve", ".", "--interval", "0 s"],
            "--interval: must be above zero",
        ),
        (
            &["send", "f", "h", "--priority", "9"],
            "from 1 (the lowest) to 8",
        ),
        (
            &["send", "f", "h", "--priority", "2"],
            "`cubic` does not share by priority; use --controller enhanced-aatp",
        ),
    ] {
        let error = refused(args, "");
        assert!(error.contains(says), "{args:?}: {error}");
    }
}
