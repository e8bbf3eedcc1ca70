//! `whimbrel link` with a congestion control for the kernel's TCP: real connections over an
//! emulated path. Where the system allows no namespaces or no BPF, these tests print why they are
//! skipped.

use super::support::*;
use std::fs;

/// Whether this system can run an algorithm of ours on a path.
fn possible() -> bool {
    allowed("link --quiet --controller cerl -- true")
}

#[test]
fn the_log_of_lost_datagrams_has_a_line_for_each_loss_of_a_transfer() {
    if !allowed("link --quiet -- true") {
        return;
    }
    let folder = folder();
    let [from, inbox, state, json, lost, sent] =
        ["from", "inbox", "state", "json", "lost", "sent"].map(|name| path_in(&folder, name));
    fs::write(&from, vec![7; 3_000_000]).expect("written");
    fs::create_dir(&inbox).expect("a folder");
    let own = env!("CARGO_BIN_EXE_whimbrel");
    let serve = format!("exec '{own}' serve '{inbox}' --once --identity '{state}'");
    let link = format!(
        "link --json '{json}' --lost '{lost}' --rate 20Mbit/s --rtt 20ms --loss 3% \
         --reverse-loss 2% --far"
    );
    let send = format!(
        "-- '{own}' send '{from}' 10.77.0.2 --identity '{state}' --packet-log '{sent}' \
         --controller enhanced-aatp"
    );
    let output = whimbrel(&[&words(&link)[..], &[&serve], &words(&send)].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));

    let report = parse(&fs::read_to_string(&json).expect("a file"));
    let lost = fs::read_to_string(&lost).expect("a file");
    let mut lines = lost.lines();
    assert_eq!(
        lines.next(),
        Some("time_ns,direction,cause,size_bytes,fingerprint")
    );
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    for direction in ["forward", "backward"] {
        for cause in ["random", "queue"] {
            let found = rows.iter().filter(|row| row[1..3] == [direction, cause]);
            let counted = number(&report, &format!("/{direction}/dropped/{cause}"));
            assert_eq!(found.count() as f64, counted, "{direction}, {cause}");
        }
    }
    let mut prints: Vec<&str> = rows.iter().map(|row| row[4]).collect();
    assert!(
        prints.len() > 10 && prints.iter().all(|print| print.len() == 32),
        "{lost}"
    );
    prints.sort_unstable();
    prints.dedup();
    assert_eq!(
        prints.len(),
        rows.len(),
        "each packet has a fingerprint of its own"
    );

    // The sender knows the full packets that the path lost, and decided about some.
    let log = fs::read_to_string(&sent).expect("a file");
    let events = |name: &str| {
        let of = log.lines().map(|line| line.split(',').collect::<Vec<_>>());
        of.filter(|row| row[1] == name).collect::<Vec<_>>()
    };
    let known: Vec<&str> = events("sent").iter().map(|row| row[5]).collect();
    let full = rows
        .iter()
        .filter(|row| row[1] == "forward" && row[3].parse::<u32>().is_ok_and(|size| size > 1000));
    let full: Vec<&str> = full.map(|row| row[4]).collect();
    assert!(
        full.len() > 5 && full.iter().all(|print| known.contains(print)),
        "{full:?}"
    );
    let decided = events("decision");
    assert!(
        decided
            .iter()
            .all(|row| ["random", "congestion"].contains(&row[6]))
    );
    assert!(!decided.is_empty() && !events("lost").is_empty());
}

#[test]
fn decisions_of_a_classifier_are_compared_with_the_truth_of_the_path() {
    if !possible() {
        return;
    }
    let folder = folder();
    let [from, to, json] = ["from", "to", "json"].map(|name| path_in(&folder, name));
    let content: Vec<u8> = (0..3_000_000_u32).map(|i| (i ^ (i >> 7)) as u8).collect();
    fs::write(&from, &content).expect("written");
    let program = END_PROGRAM.as_str();
    let receive = format!("RECEIVE='{to}' exec '{program}' {}", END.join(" "));
    let send = [
        "--far",
        &receive,
        "--",
        "env",
        &format!("SEND={from}"),
        program,
    ];
    let path = ["--rate", "20Mbit/s", "--rtt", "20ms", "--loss", "2%"];
    let link = ["link", "--tcp", "newreno+cerl", "--json", &json];
    let run = || {
        let output = whimbrel(&[&link[..], &path, &send, &END].concat());
        let shown = text(&output.stderr);
        assert!(output.status.success(), "{shown}");
        assert!(
            fs::read(&to).expect("a file") == content,
            "the file differs"
        );
        (parse(&fs::read_to_string(&json).expect("a file")), shown)
    };
    // A process that gets no processor for a second hands its connections to the kernel, as it
    // must: such a run says nothing about decisions.
    let mut tries = std::iter::repeat_with(run).take(3);
    let (report, shown) = tries
        .find(|(report, _)| number(report, "/tcp/fallbacks") == 0.0)
        .expect("a run without a fallback");
    // The receiver's end is listed too if it learned that its answer had arrived.
    for says in [
        "newreno+cerl: ",
        "10.77.0.2:5001",
        "true cause",
        "random loss",
    ] {
        assert!(shown.contains(says), "{says} in {shown}");
    }

    let tcp = &report["tcp"];
    assert_eq!(number(tcp, "/dropped_events"), 0.0);
    let sent = |c: &&serde_json::Value| number(c, "/acked_bytes") > 1e6;
    let sender = list(&tcp["connections"]).iter().find(sent);
    let sender = sender.expect("the sender's end");
    assert!(number(sender, "/retransmits") > 10.0, "{sender}");
    let decisions = number(sender, "/verdicts/congestion") + number(sender, "/verdicts/random");
    assert!(decisions > 10.0, "{sender}");
    let known: f64 = ["congestion", "random"]
        .iter()
        .flat_map(|cause| ["congestion", "random"].map(|decided| format!("{cause}_as_{decided}")))
        .map(|cell| number(sender, &format!("/verdicts/truth/{cell}")))
        .sum();
    // The path has no truth about segments that were only late: those are retransmitted, too, but
    // the path has not lost them. A busy machine makes many late.
    let dropped: f64 = ["queue", "random"]
        .iter()
        .map(|cause| number(&report, &format!("/forward/dropped/{cause}")))
        .sum();
    let late = (number(sender, "/retransmits") - dropped).max(0.0);
    // One packet that the path lost may be no data, such as the last of the connection.
    assert!(
        known <= decisions && known >= decisions - late - 1.0 && known > 10.0,
        "{late} late, {sender}"
    );
}

#[test]
fn names_of_the_kernel_keep_their_meaning_and_controller_is_ours() {
    if !possible() {
        return;
    }
    let folder = folder();
    let json = path_in(&folder, "json");
    let chosen = |flag, name| {
        let show = ["cat", "/proc/sys/net/ipv4/tcp_congestion_control"];
        let output = whimbrel(&[&["link", flag, name, "--json", &json, "--"], &show[..]].concat());
        let report = parse(&fs::read_to_string(&json).expect("a file"));
        (text(&output.stdout).trim().to_owned(), report)
    };
    // Every kernel has Reno.
    let (name, report) = chosen("--tcp", "reno");
    assert_eq!(name, "reno");
    assert!(report["tcp"].is_null(), "{report}");
    for (flag, ours) in [("--controller", "reno"), ("--tcp", "cerl?A=0.6")] {
        let (name, report) = chosen(flag, ours);
        assert!(name != "reno" && name != "cubic", "{name}");
        assert_eq!(report["tcp"]["controller"], ours);
        assert_eq!(report["tcp"]["exit_status"], 0);
    }
}

#[test]
fn an_unknown_algorithm_is_refused_with_the_known_ones() {
    let error = refused("link --tcp cerll -- true", "");
    assert_contains(&error, &["reno", "did you mean `cerl`"]);
    let error = refused("link --controller cerll -- true", "");
    assert_contains(&error, &["did you mean `cerl`"]);
    let both = "link --tcp reno --controller cerl -- true";
    assert!(refused(both, "").contains("cannot be used with"));
}
