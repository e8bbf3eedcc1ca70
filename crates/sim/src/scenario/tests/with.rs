//! `with` of a flow.

use super::{error, network};
use crate::network::{TcpFlow, Traffic};
use whimbrel_units::{Bytes, Duration};

const SCTP: &str = "{ sctp = { receive_window = \"20 packets\", min_rto = \"2 s\", streams = 1 } }";

fn scenario(controller: &str, with: &str) -> String {
    format!(
        "[link.L]\nrate = \"8 Mbit/s\"\n[[flow]]\nroute = [\"L\"]\nmin_rto = \"300 ms\"\n\
         streams = 3\ncontroller = \"{controller}\"\nwith = {with}\n[run]\nmss = \"1000 B\"\n"
    )
}

fn flow(controller: &str) -> TcpFlow {
    match &network(&scenario(controller, SCTP)).flows[0].traffic {
        Traffic::Tcp(tcp) => tcp.clone(),
        _ => unreachable!("both run over TCP"),
    }
}

#[test]
fn settings_for_a_controller_override_those_of_the_flow() {
    for controller in ["sctp", "sctp?L=2"] {
        let sctp = flow(controller);
        assert_eq!(sctp.settings.receive_window, Bytes::new(20_000));
        assert_eq!(sctp.settings.min_rto, Duration::from_secs(2));
        assert_eq!(sctp.streams.count, 1);
    }
    let other = flow("newreno");
    assert_eq!(other.settings.min_rto, Duration::from_millis(300));
    assert_eq!(other.settings.receive_window, Bytes::new(1 << 30));
    assert_eq!(other.streams.count, 3);
}

#[test]
fn settings_of_other_controllers_are_checked() {
    for (with, expected) in [
        (
            "{ sctp = { min_rtt = \"1 s\" } }",
            "unknown key `min_rtt`, did you mean `min_rto`?",
        ),
        ("{ sctq = {} }", "did you mean `sctp`?"),
        (
            "{ sctp = { min_rto = \"0 s\" } }",
            "must be greater than zero",
        ),
        ("{ sctp = 1 }", "must be a table"),
    ] {
        let found = error(&scenario("newreno", with));
        assert!(found.contains(expected), "{found}");
    }
}
