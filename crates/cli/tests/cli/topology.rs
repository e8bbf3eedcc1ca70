//! `whimbrel link --topology`: real programs at named nodes, whose packets other nodes forward.
//! Where the system allows no namespaces, the test prints why it is skipped.

use super::support::*;
use std::fs;

const NET: &str = "\
[link.radio]
between = [\"ship\", \"shore\"]
rate = \"50 Mbit/s\"
delay = \"20 ms\"
queue = \"1 bdp\"
[link.core]
between = [\"shore\", \"office\"]
delay = \"10 ms\"
[link.attic]
between = [\"office\", \"attic\"]
";

#[test]
fn a_file_crosses_a_router_to_a_node_that_is_found_by_its_name() {
    if !allowed("link --quiet -- true") {
        return;
    }
    let folder = folder();
    let [net, from, inbox, state, json] =
        ["net.toml", "from", "inbox", "state", "json"].map(|name| path_in(&folder, name));
    fs::write(&net, NET).expect("written");
    fs::write(&from, vec![7; 500_000]).expect("written");
    fs::create_dir(&inbox).expect("a folder");
    let own = env!("CARGO_BIN_EXE_whimbrel");
    let link = format!("link --topology '{net}' --json '{json}' --run");
    let serve = format!("office=exec '{own}' serve '{inbox}' --once --identity '{state}'");
    let send = format!(
        "echo at $WHIMBREL_NODE_ATTIC && exec '{own}' send '{from}' office --identity '{state}'"
    );
    let output = whimbrel(&[&words(&link)[..], &[&serve, "--", "sh", "-c", &send]].concat());
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(text(&output.stdout).starts_with("at 10.77.255.4\n"));
    assert_eq!(
        fs::read(format!("{inbox}/from")).expect("a file").len(),
        500_000
    );
    assert!(errors.contains("ship to shore"), "{errors}");

    let report = parse(&fs::read_to_string(&json).expect("a file"));
    assert_eq!(report["links"][1]["name"], "core");
    let arrived = |link: usize| number(&report, &format!("/links/{link}/forward/arrived"));
    assert!(arrived(0) > 300.0, "{report}");
    // The router forwards only what it receives, and no packet goes to a node without a program.
    assert!(arrived(1) > 300.0 && arrived(1) <= arrived(0), "{report}");
    assert_eq!(arrived(2), 0.0);
}

#[test]
fn mistakes_in_a_topology_name_the_nearest_word() {
    let folder = folder();
    let net = path_in(&folder, "net.toml");
    fs::write(&net, NET).expect("written");
    let said = |flags: &str| {
        let output = whimbrel(&format!("link --topology '{net}' {flags} -- true"));
        assert_eq!(output.status.code(), Some(2), "{flags}");
        text(&output.stderr)
    };
    for (flags, expected) in [
        (
            "--at offce",
            "--at: unknown node `offce`, did you mean `office`?",
        ),
        (
            "--run offce=true",
            "--run: unknown node `offce`, did you mean `office`?",
        ),
        (
            "--run office",
            "write a node and a command, e.g. `office=iperf3 -s`",
        ),
        (
            "--link radjo",
            "--link: unknown link `radjo`, did you mean `radio`?",
        ),
        ("--rate 1Mbit/s", "cannot be used with"),
        ("--far true", "cannot be used with"),
        ("--tcp cerl", "only an algorithm of the kernel"),
    ] {
        let errors = said(flags);
        assert!(errors.contains(expected), "{flags}: {errors}");
    }
    fs::write(
        &net,
        NET.replace("\"shore\", \"office\"", "\"shor\", \"office\""),
    )
    .expect("written");
    let expected = "net.toml:7: link.core.between: no links lead from `ship` to `shor`, did you \
                    mean `shore`?";
    assert!(
        said("").replace('\n', " ").contains(expected),
        "{}",
        said("")
    );
}
