//! `[sweep]`, settings of the command line, and the oracle.

use super::aatp::receivers;
use super::*;
use crate::network::Recovery;
use whimbrel_units::Bytes;

#[test]
fn sweeps_set_keys_that_are_not_in_the_file_and_single_flows() {
    let text = format!(
        "{MINIMAL}name = \"web\"\n[[flow]]\nroute = [\"L\"]\n[[flow]]\nkind = \"udp\"\nrate = \"1 Mbit/s\"\nroute = [\"L\"]\n\
         [sweep]\n\"link.L.reverse.delay\" = [\"1 ms\"]\n\"flow.web.controller\" = [\"cerl\"]\n\
         \"flow.1.size\" = [\"1 MB\"]\n\"flow.recovery\" = [\"sack\"]\n\"run.duration\" = [\"3 s\"]\n\"flow.count\" = [2, 3]\n"
    );
    let scenario = parse(&text);
    assert_eq!(scenario.points().len(), 2);
    let network = scenario.points()[1].network(1);
    assert_eq!(network.flows.len(), 9);
    assert_eq!(network.duration, Duration::from_secs(3));
    assert_eq!(
        link(&network, "L (reverse)").delay.minimum(),
        Duration::from_millis(1)
    );
    let Traffic::Tcp(web) = &network.flows[0].traffic else {
        panic!("TCP")
    };
    let Traffic::Tcp(other) = &network.flows[3].traffic else {
        panic!("TCP")
    };
    assert_eq!(
        (web.controller.to_string().as_str(), web.size),
        ("cerl", None)
    );
    assert_eq!(
        (other.controller.to_string().as_str(), other.size),
        ("cubic", Some(Bytes::new(1_000_000)))
    );
    assert_eq!(web.settings.recovery, Recovery::Sack);
}

#[test]
fn settings_override_the_file_and_remove_keys_from_the_sweep() {
    let document = || Document::parse(DESIGN, Path::new("scenario.toml")).expect("TOML");
    let set = |text: &str| -> Setting { text.parse().expect("key=value") };
    let settings = [
        set("link.L.loss=2 %"),
        set("run.seeds=[7, 9]"),
        set("flow.0.count=3"),
    ];
    let scenario = Scenario::from_document(document(), &settings).expect("a scenario");
    assert_eq!(scenario.points().len(), 3);
    let network = scenario.points()[0].network(7);
    assert_eq!(network.flows.len(), 3);
    assert_eq!(link(&network, "L").loss.random.get(), 0.02);
    assert_eq!(scenario.points()[0].seeds(), [7, 9]);

    let fail = |text: &str| {
        Scenario::from_document(document(), &[set(text)])
            .expect_err(text)
            .to_string()
    };
    assert_eq!(
        fail("link.M.loss=2 %"),
        "link.M.loss=2 %: link.M.loss: unknown link `M`; known: `access`, `L`"
    );
    assert_eq!(
        fail("link.L.loss=2 percent"),
        "link.L.loss=2 percent: link.L.loss: `2 percent` is not a probability: unknown unit `percent`, the units are %; write e.g. `1 %`"
    );
    let flag = Setting {
        source: "--set",
        ..set("link.L.loss=2")
    };
    let error = Scenario::from_document(document(), &[flag]).expect_err("above 1");
    assert_eq!(error.place(), "--set link.L.loss=2");
    assert!("no equals sign".parse::<Setting>().is_err());
}

#[test]
fn an_oracle_is_set_for_the_flows_of_one_controller_only() {
    let text = MINIMAL.to_owned()
        + "controller = \"cerl?A=0.50\"\n[[flow]]\nroute = [\"L\"]\ncontroller = \"cerl\"\n\
           [run]\noracle = \"congestion\"\n";
    let point = parse(&text).points()[0].with_oracle("cerl?A=0.5", Oracle::Random);
    let oracle = |flow: &crate::FlowSpec| match &flow.traffic {
        Traffic::Tcp(tcp) => Some(tcp.settings.oracle),
        _ => None,
    };
    let oracles: Vec<_> = point.network(1).flows.iter().map(oracle).collect();
    assert_eq!(oracles, [Some(Oracle::Random), Some(Oracle::Congestion)]);
}

#[test]
fn all_kinds_of_flows_and_links_can_be_combined() {
    let scenario = parse(SHARED);
    assert_eq!(scenario.points().len(), 4);
    let network = scenario.points()[1].network(1);
    assert_eq!(receivers(&network), ["client", "home", "home", "home"]);
    assert_eq!(
        scenario.points()[3].controllers(),
        ["enhanced-aatp", "cubic"]
    );
    // The copy of the first flow and the shared link, both at the swept rate.
    let rates: Vec<u64> = network
        .channels
        .iter()
        .map(|channel| channel.rate().as_bits_per_sec())
        .collect();
    assert_eq!(rates, [6_500_000, 6_500_000]);
    assert_eq!(link(&network, "home (reverse)").loss.outages, []);
    assert!(
        link(&network, "home (reverse)")
            .loss
            .gilbert_elliott
            .is_some()
    );
    assert_eq!(link(&network, "core (reverse)").loss.outages.len(), 5);
}
