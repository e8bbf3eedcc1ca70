//! `queue` and `aqm`.

use super::*;
use whimbrel_net::{Aqm, CoDel, QueueLimit, QueueUnit};
use whimbrel_units::Bytes;
use whimbrel_units::Time;

#[test]
fn a_queue_in_bdp_uses_the_maximum_rate_and_base_rtt() {
    let text = r#"
        [link.near]
        delay = "10 ms"
        [link.far]
        delay = [["0 s", "20 ms"], ["5 s", "30 ms"]]
        reverse = { delay = "40 ms" }
        [link.L]
        rate = [["0 s", "8 Mbit/s"], ["9 s", "16 Mbit/s"]]
        delay = "10 ms"
        queue = "2 bdp"
        [[flow]]
        route = ["near", "L"]
        [[flow]]
        route = ["far", "L"]
        "#;
    // 16 Mbit/s x (30 + 10 + 10 + 40) ms x 2.
    assert_eq!(
        link(&network(text), "L").queue,
        QueueLimit::Bytes(Bytes::new(360_000))
    );
    // At least one packet: 1448 + 52 bytes.
    let tiny = network(&text.replace("2 bdp", "0 bdp"));
    assert_eq!(link(&tiny, "L").queue, QueueLimit::Bytes(Bytes::new(1500)));
    assert_eq!(
        link(&tiny, "L (reverse)").queue,
        QueueLimit::Bytes(Bytes::new(1500))
    );
    // `back` replaces the mirrored route: 16 Mbit/s x (30 + 10 + 10) ms x 2.
    let back = network(&text.replace(
        "route = [\"far\", \"L\"]",
        "route = [\"far\", \"L\"]\nback = [\"near\"]",
    ));
    assert_eq!(
        link(&back, "L").queue,
        QueueLimit::Bytes(Bytes::new(200_000))
    );
}

/// The queue management of a link, with a base RTT of 100 ms and packets of 1500 bytes.
fn managed(lines: &str, name: &str) -> Option<Aqm> {
    let text = format!(
        "[link.L]\nrate = \"12 Mbit/s\"\ndelay = \"50 ms\"\n{lines}\n[[flow]]\nroute = [\"L\"]\n"
    );
    link(&network(&text), name).aqm
}

#[test]
fn aqm_is_a_word_or_a_table() {
    let codel = |target| {
        Some(Aqm::CoDel(CoDel {
            target: Duration::from_millis(target),
            interval: Duration::from_millis(100),
            mtu: Bytes::new(1500),
        }))
    };
    assert_eq!(managed("", "L"), None);
    assert_eq!(managed("aqm = \"none\"", "L"), None);
    assert_eq!(managed("aqm = \"codel\"", "L"), codel(5));
    assert_eq!(managed("aqm = \"codel?target=7 ms\"", "L"), codel(7));
    let table = "aqm = { kind = \"codel\", target = \"7 ms\" }";
    assert_eq!(managed(table, "L"), codel(7));
    let table = "aqm = { kind = \"red\", min = \"5 packets\", max = \"20 packets\", max_p = 0.05, weight = 0.002, \
                 gentle = false }";
    let Some(Aqm::Red(red)) = managed(table, "L") else {
        panic!("{:?}", managed(table, "L"))
    };
    assert_eq!((red.min, red.max, red.max_p.get()), (5.0, 20.0, 0.05));
    assert_eq!((red.weight, red.gentle), (0.002, false));
    assert_eq!(red.packet_time, Duration::from_millis(1));
    // 0.1 of 12 Mbit/s x 100 ms.
    let Some(Aqm::Mark(mark)) = managed("aqm = { kind = \"mark\", threshold = \"0.1 bdp\" }", "L")
    else {
        panic!("no marks")
    };
    assert_eq!((mark.threshold, mark.unit), (15_000.0, QueueUnit::Bytes));
}

#[test]
fn the_mirrored_queue_has_the_same_aqm_for_its_own_rate() {
    let thresholds = |lines, name| match managed(lines, name) {
        Some(Aqm::Red(red)) => Some((red.min, red.max)),
        _ => None,
    };
    let both = "aqm = \"red\"";
    assert_eq!(thresholds(both, "L (reverse)"), Some((5.0, 15.0)));
    // 2.5 ms at 120 Mbit/s are 25 packets.
    let fast = "aqm = \"red\"\nreverse = { rate = \"120 Mbit/s\" }";
    assert_eq!(thresholds(fast, "L"), Some((5.0, 15.0)));
    assert_eq!(thresholds(fast, "L (reverse)"), Some((25.0, 75.0)));
    let one = "aqm = \"red\"\nreverse = { aqm = \"none\" }";
    assert_eq!(thresholds(one, "L (reverse)"), None);
    let other = "reverse = { aqm = \"codel\" }";
    assert_eq!(managed(other, "L"), None);
    assert!(matches!(managed(other, "L (reverse)"), Some(Aqm::CoDel(_))));
}

#[test]
fn aqm_can_be_swept_on_copies_of_a_link() {
    let text = "[link.access]\nrate = \"1 Mbit/s\"\naqm = { kind = \"red\" }\n[[flow]]\ncount = 2\nroute = [\"access*\"]\n\
                [run]\necn = true\nduration = \"3 s\"\n[sweep]\n\"link.access.aqm.max_p\" = [0.1, \"2 %\"]\n";
    let scenario = parse(text);
    let of = |point: usize| {
        let network = scenario.points()[point].network(1);
        ["access*[1]", "access*[2]"].map(|name| match link(&network, name).aqm {
            Some(Aqm::Red(red)) => red.max_p.get(),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!((of(0), of(1)), ([0.1; 2], [0.02; 2]));
    let kinds = text.replace(
        "\"link.access.aqm.max_p\" = [0.1, \"2 %\"]",
        "\"link.access.aqm\" = [\"none\", \"codel\", \"mark\"]",
    );
    let kinds = parse(&kinds);
    let marked = |point: usize| {
        let outcome = crate::run(&kinds.points()[point].network(1));
        outcome.flows.iter().map(|flow| flow.marked).sum::<u64>()
    };
    assert_eq!(marked(0), 0);
    assert!(marked(1) > 0 && marked(2) > 0);
}

#[test]
fn a_policer_limits_the_capacity() {
    let text = "[link.L]\nrate = \"100 Mbit/s\"\naqm = \"policer?rate=20 Mbit/s\"\n\
                [[flow]]\nroute = [\"L\"]\n";
    let scenario = Scenario::parse(text, Path::new("a.toml")).expect("a scenario");
    let rate = Rate::from_bits_per_sec(20_000_000);
    assert_eq!(scenario.points()[0].capacity(), Some(rate));
    let network = scenario.points()[0].network(1);
    let route = &network.flows[0].routes[0];
    let until = Time::ZERO + Duration::from_secs(1);
    assert_eq!(
        network.path_capacity(route, until, 1),
        Some(vec![(Time::ZERO, rate)])
    );
    assert!(error(&text.replace("?rate=20 Mbit/s", "")).contains("a policer needs its `rate`"));
}

#[test]
fn fq_codel_gives_equal_shares_whatever_the_algorithms_and_round_trips() {
    let text = r#"
        [link.near]
        delay = "5 ms"
        [link.far]
        delay = "20 ms"
        [link.L]
        rate = "10 Mbit/s"
        delay = "5 ms"
        queue = "1000 packets"
        aqm = "fq-codel"
        [[flow]]
        controller = "cubic"
        route = ["near", "L"]
        [[flow]]
        controller = "newreno"
        route = ["far", "L"]
        [run]
        duration = "60 s"
        "#;
    let of = |text: &str| {
        let outcome = crate::run(&network(text));
        let goodput = outcome
            .flows
            .iter()
            .map(|flow| flow.goodput.as_bits_per_sec() as f64);
        let goodput: Vec<f64> = goodput.collect();
        (outcome.jain(), goodput)
    };
    // A sawtooth leaves a little of NewReno's half to CUBIC.
    let (fair, goodput) = of(text);
    assert!(fair > 0.97, "{fair} {goodput:?}");
    assert!(goodput.iter().sum::<f64>() > 8.5e6, "{goodput:?}");
    let (unfair, goodput) = of(&text.replace("fq-codel", "none"));
    assert!(unfair < fair, "{unfair} {goodput:?}");
}
