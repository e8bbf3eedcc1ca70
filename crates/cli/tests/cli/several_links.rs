//! One file over two emulated links: what the sender, the server and the logs say of each path.
//! Where the system allows no namespaces, it prints why it is skipped.

use super::support::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

const LINKS: &str = "[link.a]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"1 bdp\"\n\
     [link.b]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 bdp\"\n\
     [[flow]]\ncontroller = \"cubic\"\nroutes = [[\"a\"], [\"b\"]]\n";

#[test]
fn sender_server_and_qlog_have_a_row_for_each_path() {
    if !allowed("link --quiet -- true") {
        return;
    }
    let folder = folder();
    let [from, inbox, state, links, logs, served, sent] = [
        "from",
        "inbox",
        "state",
        "links.toml",
        "logs",
        "served",
        "sent",
    ]
    .map(|name| path_in(&folder, name));
    fs::write(&from, vec![7; 14_000_000]).expect("written");
    fs::write(&links, LINKS).expect("written");
    fs::create_dir(&inbox).expect("a folder");
    let own = env!("CARGO_BIN_EXE_whimbrel");
    let serve = format!(
        "exec '{own}' serve '{inbox}' --once --json --interval 500ms --identity '{state}' > '{served}'"
    );
    let link = format!("link --quiet --scenario {links} --link a --link b --far");
    let send = format!(
        "'{own}' send '{from}' 10.77.0.2 --via all --json --interval 500ms --identity '{state}' \
         --no-resume-rate --controller cubic --qlog '{logs}' > '{sent}'"
    );
    let mut arguments = words(&link);
    arguments.extend([serve.as_str(), "--", "sh", "-c", send.as_str()]);
    let output = whimbrel(&arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));

    let report = parse(&fs::read_to_string(&sent).expect("a file"));
    let names = |value: &Value| -> Vec<String> {
        let paths = list(&value["paths"]).iter();
        paths
            .map(|path| path["via"].as_str().expect("a name").to_owned())
            .collect()
    };
    let mut all = names(&report);
    all.sort();
    assert_eq!(all, ["whimbrel0", "whimbrel1"]);
    for (index, path) in list(&report["paths"]).iter().enumerate() {
        let sent = path["sent_bytes"].as_u64().expect("a number");
        assert!(sent > 2_000_000, "{report}");
        // The intervals add up to what was sent until the last of them.
        let intervals = list(&report["intervals"]).iter();
        let part = |interval: &Value| {
            interval["paths"][index]["bytes"]
                .as_u64()
                .expect("a number")
        };
        let sum: u64 = intervals.map(part).sum();
        assert!(sum <= sent && sum * 10 > sent * 9, "{sum} of {sent}");
    }

    // The server sees both addresses of the client, and how much comes over each.
    let served = fs::read_to_string(&served).expect("a file");
    let events = served
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(parse);
    let mut fastest: BTreeMap<String, f64> = BTreeMap::new();
    for event in events.filter(|event| event["event"] == "receiving") {
        for path in list(&event["transfers"][0]["paths"]) {
            let peer = path["peer"].as_str().expect("an address");
            let rate = fastest.entry(peer.split(':').next().unwrap_or(peer).to_owned());
            let rate = rate.or_default();
            *rate = rate.max(number(path, "/rate_bps"));
        }
    }
    let peers: Vec<&str> = fastest.keys().map(String::as_str).collect();
    assert_eq!(peers, ["10.77.0.1", "10.77.1.1"], "{served}");
    assert!(fastest.values().all(|rate| *rate > 3e6), "{fastest:?}");

    // In the qlog file each packet has the number of its path.
    let log = fs::read_dir(&logs)
        .expect("a folder")
        .next()
        .expect("a file")
        .expect("readable");
    let log = fs::read_to_string(log.path()).expect("text");
    let records = log
        .split('\u{1e}')
        .filter(|record| !record.trim().is_empty());
    let mut packets: BTreeMap<String, u32> = BTreeMap::new();
    for record in records.map(parse) {
        if record["name"]
            .as_str()
            .is_some_and(|name| name.ends_with("packet_sent"))
        {
            let path = record["tuple"].as_str().unwrap_or("none").to_owned();
            *packets.entry(path).or_default() += 1;
        }
    }
    for path in ["p0", "p1"] {
        assert!(
            packets.get(path).is_some_and(|count| *count > 1000),
            "{packets:?}"
        );
    }
}
