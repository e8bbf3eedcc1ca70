//! Negative acknowledgments between real connections over a path that corrupts packets. Where the
//! system allows no namespaces or no BPF, the test prints why it is skipped.

use super::support::*;
use std::fs;

#[test]
fn corruption_is_reported_and_does_not_slow_a_transfer_down() {
    let own = env!("CARGO_BIN_EXE_whimbrel");
    let probe = format!("link --quiet -- '{own}' tcp --nack --controller tcp-nack --quiet -- true");
    if !allowed(&probe) {
        return;
    }
    let folder = folder();
    let [from, to, near, far] = ["from", "to", "near", "far"].map(|name| path_in(&folder, name));
    let content: Vec<u8> = (0..4_000_000_u32).map(|i| (i ^ (i >> 7)) as u8).collect();
    fs::write(&from, &content).expect("written");
    let program = END_PROGRAM.as_str();
    let tcp = words("tcp --nack --controller tcp-nack --quiet --output");
    let receive = format!(
        "RECEIVE='{to}' exec '{own}' {} '{far}' -- '{program}' {}",
        tcp.join(" "),
        END.join(" ")
    );
    let path = words("link --rate 20Mbit/s --rtt 20ms --corrupt 2%");
    let send = [&near, "--", "env", &format!("SEND={from}"), program];
    let far_end = ["--far", &receive, "--", own];
    let output = whimbrel(&[&path[..], &far_end, &tcp, &send, &END].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        fs::read(&to).expect("a file") == content,
        "the file differs"
    );

    let [near, far] = [near, far].map(|file| parse(&fs::read_to_string(file).expect("a file")));
    let answered = number(&far, "/nacks/receiver/nacked");
    let corrupted = number(&far, "/nacks/receiver/corrupted");
    assert!(answered > 20.0 && answered >= 0.9 * corrupted, "{far}");
    // One right checksum in 65,536 looks as if the hardware had to complete it.
    assert!(number(&far, "/nacks/receiver/offloaded") < 5.0, "{far}");
    // Every NACK arrives; the path corrupts packets to the far end only.
    assert_eq!(number(&near, "/nacks/sender/passed_on"), answered, "{near}");
    let sender = list(&near["connections"])
        .iter()
        .find(|c| number(c, "/acked_bytes") > 1e6);
    let sender = sender.expect("the sender's end");
    assert!(number(sender, "/nacks") >= 0.8 * answered, "{sender}");
}
