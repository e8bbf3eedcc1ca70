//! Three words through NATs of the kernel: directly where they let it be, else over the meeting
//! server. Where the system allows no namespaces or has no `iptables`, the tests print why they are
//! skipped.

use super::support::*;
use std::fs;

/// Two homes at a hub. The interface of a link has the number of its place in the file.
const NET: &str = "\
[link.a]
between = [\"alice\", \"home\"]
[link.b]
between = [\"home\", \"hub\"]
delay = \"5 ms\"
[link.c]
between = [\"hub\", \"office\"]
delay = \"5 ms\"
[link.d]
between = [\"office\", \"bob\"]
";

/// A NAT as routers at home are one, with these `flags` of its mapping: nothing comes in through
/// `outside` but answers. The file `ready` tells that it works.
fn nat(outside: &str, flags: &str, ready: &str) -> String {
    format!(
        "iptables -t nat -A POSTROUTING -p udp -o {outside} -j MASQUERADE {flags} && \
         iptables -A FORWARD -i {outside} -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT && \
         iptables -A FORWARD -i {outside} -j DROP && iptables -A INPUT -i {outside} -j DROP && \
         touch '{ready}' && exec sleep 60"
    )
}

/// What `get` says in JSON after a file went from `alice` to `bob`; `None` if this system cannot
/// have two NATs. `mapping`: flags of both, `send`: of both ends.
fn exchanged(mapping: &str, send: &str) -> Option<serde_json::Value> {
    let probe = whimbrel(&["link", "--quiet", "--", "iptables", "-t", "nat", "-L"]);
    if !probe.status.success() {
        println!("skipped: {}", text(&probe.stderr).trim());
        return None;
    }
    let folder = folder();
    let [net, from, got, home, office, words_file, got_json] =
        ["net.toml", "from", "got", "home", "office", "words", "json"]
            .map(|name| path_in(&folder, name));
    let [inbox, state, serving] = ["inbox", "state", "serving"].map(|name| path_in(&folder, name));
    fs::write(&net, NET).expect("written");
    fs::write(&from, vec![7; 300_000]).expect("written");
    fs::create_dir(&inbox).expect("a folder");
    let own = env!("CARGO_BIN_EXE_whimbrel");
    // A minute at most.
    let until = |condition: String| {
        format!("for _ in $(seq 600); do {condition} && break; sleep 0.1; done")
    };
    let ready = until(format!(
        "[ -e '{home}' ] && [ -e '{office}' ] && [ -s '{serving}' ]"
    ));
    let run = [
        format!("home={}", nat("whimbrel1", mapping, &home)),
        format!("office={}", nat("whimbrel0", mapping, &office)),
        format!("hub=exec '{own}' serve '{inbox}' --meet --identity '{state}' > '{serving}'"),
        format!(
            "alice={ready}; exec '{own}' send '{from}' --meet hub --identity '{state}-a' \
             {send} > '{words_file}'"
        ),
    ];
    let get = format!(
        "{}; '{own}' get $(grep -o 'get [a-z-]*' '{words_file}' | cut -c5-) '{got}' --meet hub \
         --json {send} > '{got_json}'",
        until(format!("grep -q get '{words_file}'")),
    );
    let mut arguments = vec!["link", "--quiet", "--topology", &net, "--at", "bob"];
    for command in &run {
        arguments.extend(["--run", command.as_str()]);
    }
    arguments.extend(["--", "sh", "-c", &get]);
    let output = whimbrel(&arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(
        fs::read(format!("{got}/from")).expect("a file").len(),
        300_000
    );
    Some(parse(&fs::read_to_string(&got_json).expect("a file")))
}

#[test]
fn two_ends_reach_each_other_through_nats_that_keep_a_port() {
    if let Some(report) = exchanged("", "--no-lan") {
        assert_eq!(report["direct"], true, "{report}");
    }
}

#[test]
fn the_meeting_server_carries_what_nats_do_not_let_through() {
    if let Some(report) = exchanged("--random-fully", "--no-lan") {
        assert_eq!(report["direct"], false, "{report}");
    }
}

#[test]
fn ends_that_do_not_want_to_be_known_are_not_told_of_each_other() {
    if let Some(report) = exchanged("", "--no-direct") {
        assert_eq!(report["direct"], false, "{report}");
    }
}
