//! Corrupted segments and NACKs over complete paths, compared with calculations by hand.

use std::path::Path;
use whimbrel_sim::scenario::Scenario;
use whimbrel_sim::{FlowOutcome, Outcome, run};

/// The one run of a scenario.
fn outcome(text: &str) -> Outcome {
    let scenario = Scenario::parse(text, Path::new("nack.toml")).expect("a scenario");
    run(&scenario.points()[0].network(1))
}

/// One flow over a link of 8 Mbit/s and 25 ms each way with an unlimited buffer; `loss` of the
/// link, and further keys of the flow.
fn flow(loss: &str, keys: &str) -> FlowOutcome {
    let text = format!(
        "[link.L]\nrate = \"8 Mbit/s\"\ndelay = \"25 ms\"\nloss = {loss}\n[[flow]]\nroute = [\"L\"]\ncontroller = \"newreno\"\n\
         receive_window = \"100 kB\"\n{keys}\n[run]\nduration = \"60 s\"\n"
    );
    outcome(&text).flows.remove(0)
}

/// The values of `recovery`.
const RECOVERIES: [&str; 3] = ["newreno", "sack", "rack"];

#[test]
fn with_nacks_one_percent_corruption_costs_almost_nothing() {
    for recovery in RECOVERIES {
        let keys = |nack| format!("recovery = \"{recovery}\"\nnack = \"{nack}\"");
        let on = flow("{ corrupt = \"1 %\" }", &keys("on"));
        let nacks = on.nacks.expect("NACKs are on");
        // 52 of 1500 bytes are headers: 3.47 % of the corrupted packets cause no NACK.
        let reported = nacks.sent as f64 / on.lost.corrupted as f64;
        assert!((0.94..0.99).contains(&reported), "{recovery}: {reported}");
        assert!(on.lost.corrupted > 250, "{recovery}: {on:?}");
        let strange = (nacks.refused, nacks.mistaken, nacks.forged);
        assert_eq!(strange, (0, 0, 0), "{recovery}");
        // One reduction for each of the others, about 14 per minute.
        let unreported = on.lost.corrupted - nacks.sent;
        assert!(
            on.loss_episodes + on.timeouts <= unreported + 5,
            "{recovery}: {on:?}"
        );
        let off = flow("{ corrupt = \"1 %\" }", &keys("off"));
        assert_eq!(off.nacks, None);
        assert!(off.loss_episodes > 5 * on.loss_episodes, "{recovery}");
        let (on, off) = (on.goodput.as_bits_per_sec(), off.goodput.as_bits_per_sec());
        assert!(
            on > off * 3 / 2 && on > 6_500_000,
            "{recovery}: {on}, {off}"
        );
    }
}

#[test]
fn only_corrupted_segments_are_retransmitted() {
    for recovery in RECOVERIES {
        let keys = format!("recovery = \"{recovery}\"\nnack = \"on\"\nsize = \"10 MB\"");
        let flow = flow("{ corrupt = \"2 %\" }", &keys);
        assert_eq!(flow.delivered.get(), 10_000_000, "{recovery}");
        // 10 MB are 6907 segments; each transmission that is not corrupted delivers one.
        assert_eq!(flow.packets_sent, 6907 + flow.retransmits, "{recovery}");
        let extra = flow.retransmits - flow.lost.corrupted;
        assert!(extra <= 3, "{recovery}: {flow:?}");
    }
}

#[test]
fn no_true_nack_counts_as_false_and_few_are_refused() {
    // A long path, a short one with a short queue, Wi-Fi, and one that also loses packets both
    // ways.
    let paths = [
        "rate = \"10 Mbit/s\"\ndelay = \"300 ms\"\nqueue = \"1 bdp\"\nloss = { corrupt = \"2 %\" }",
        "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"20 packets\"\nloss = { corrupt = \"2 %\" }",
        "wifi = \"65 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 packets\"\nloss = { corrupt = \"2 %\" }",
        "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"1 bdp\"\n\
         loss = { corrupt = \"2 %\", random = \"1 %\" }\nreverse = { loss = \"same\" }",
    ];
    for (path, recovery) in paths.iter().flat_map(|p| RECOVERIES.map(|r| (p, r))) {
        for timestamps in [true, false] {
            let text = format!(
                "[link.L]\n{path}\n[[flow]]\nroute = [\"L\"]\ncontroller = \"cubic\"\nnack = \"on\"\n\
                 recovery = \"{recovery}\"\ntimestamps = {timestamps}\n[run]\nduration = \"30 s\"\n"
            );
            let nacks = outcome(&text).flows[0].nacks.expect("NACKs are on");
            assert_eq!(
                nacks.mistaken, 0,
                "{recovery} {timestamps} {path}: {nacks:?}"
            );
            // A NACK is refused if its segment is already marked lost, e.g. after a timeout.
            let most = 20 + nacks.sent / 8;
            assert!(
                nacks.sent > 50 && nacks.refused < most,
                "{recovery} {path}: {nacks:?}"
            );
        }
    }
}

#[test]
fn losses_without_nacks_are_repaired_as_usual() {
    // Headers of 1000 bytes and a payload of 64 bytes: a NACK is possible for 64 of 1064.
    let keys = "nack = \"on\"\nmss = \"64 B\"\nheader = \"1000 B\"";
    let hidden = flow("{ corrupt = \"3 %\" }", keys);
    let reported = hidden.nacks.expect("NACKs are on").sent as f64 / hidden.lost.corrupted as f64;
    assert!((0.03..0.09).contains(&reported), "{reported}");
    // Dropped packets are treated the same with and without NACKs.
    for recovery in RECOVERIES {
        let keys = |nack| format!("recovery = \"{recovery}\"\nnack = \"{nack}\"");
        let (on, off) = (flow("\"1 %\"", &keys("on")), flow("\"1 %\"", &keys("off")));
        let unlike = FlowOutcome { nacks: None, ..on };
        assert_eq!(unlike, off, "{recovery}");
    }
}

#[test]
fn corrupted_acknowledgments_and_nacks_are_dropped() {
    // A fifth of the packets in the reverse direction is corrupted, including NACKs: losses that
    // they do not report are repaired as usual.
    for recovery in RECOVERIES {
        let text = format!(
            "[link.L]\nrate = \"8 Mbit/s\"\ndelay = \"25 ms\"\nloss = {{ corrupt = \"2 %\" }}\nreverse = {{ loss = {{ corrupt = \"20 %\" }} }}\n\
             [[flow]]\nroute = [\"L\"]\ncontroller = \"tcp-nack\"\nrecovery = \"{recovery}\"\nsize = \"2 MB\"\n"
        );
        let outcome = outcome(&text);
        let flow = &outcome.flows[0];
        assert_eq!(flow.delivered.get(), 2_000_000, "{recovery}: {flow:?}");
        let nacks = flow.nacks.expect("the controller enables them");
        let came = nacks.accepted + nacks.refused;
        assert!(
            came > nacks.sent * 6 / 10 && came < nacks.sent * 95 / 100,
            "{recovery}: {nacks:?}"
        );
    }
}

#[test]
fn two_way_and_multipath_flows_support_nacks() {
    let two_way = flow(
        "{ corrupt = \"1 %\" }",
        "nack = \"on\"\ntwo_way = true\nsize = \"5 MB\"",
    );
    assert_eq!(two_way.delivered.get(), 10_000_000);
    assert!(two_way.nacks.is_some_and(|nacks| nacks.accepted > 10));
    let text = "[link.A]\nrate = \"4 Mbit/s\"\ndelay = \"10 ms\"\nloss = { corrupt = \"2 %\" }\n\
                [link.B]\nrate = \"2 Mbit/s\"\ndelay = \"30 ms\"\nloss = { bit_errors = 1e-6 }\n\
                [[flow]]\nroutes = [[\"A\"], [\"B\"]]\ncontroller = \"tcp-nack\"\nsize = \"5 MB\"\n";
    let outcome = outcome(text);
    let flow = &outcome.flows[0];
    assert_eq!(flow.delivered.get(), 5_000_000);
    let nacks = flow.nacks.expect("the controller enables them");
    assert!(flow.paths.iter().all(|path| path.lost.corrupted > 0));
    assert!(
        nacks.accepted + 10 > nacks.sent && nacks.resent == nacks.accepted,
        "{nacks:?}"
    );
}

#[test]
fn forged_nacks_grow_no_window_and_cost_at_most_the_allowance() {
    for recovery in RECOVERIES {
        // A queue that overflows: the window oscillates between its reductions.
        let run = |forged: &str| {
            let text = format!(
                "[link.L]\nrate = \"8 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"20 packets\"\n[[flow]]\nroute = [\"L\"]\n\
                 controller = \"tcp-nack\"\nrecovery = \"{recovery}\"\n{forged}\n[run]\nduration = \"60 s\"\nsample = \"10 ms\"\n"
            );
            outcome(&text).flows.remove(0)
        };
        let most = |flow: &FlowOutcome| {
            let late = flow.samples.iter().filter(|s| s.at.as_secs_f64() > 10.0);
            late.map(|s| s.cwnd.get() / 1448).max().expect("sampled")
        };
        let alone = run("");
        for sequences in ["random", "in-window", "replayed"] {
            let forged = run(&format!(
                "forged_nacks = {{ rate = 1000, sequences = \"{sequences}\" }}"
            ));
            let nacks = forged.nacks.expect("some were forged");
            let arrived = forged.delivered.get() / 1448;
            assert!(
                nacks.resent <= 10 + arrived / 2 + 1,
                "{recovery} {sequences}: {nacks:?}"
            );
            let (most, alone) = (most(&forged), most(&alone));
            assert!(most <= alone, "{recovery} {sequences}: {most}, {alone}");
            match sequences {
                // One of 2^32 numbers practically never matches; without corruption there is no
                // NACK to replay.
                "random" => assert_eq!(nacks.accepted, 0, "{recovery}"),
                "replayed" => assert_eq!(nacks.forged, 0, "{recovery}"),
                // After the first NACK for a segment that arrived intact no more are accepted.
                _ => assert!(nacks.forged > 59_000 && nacks.mistaken > 0 && nacks.accepted <= 10),
            }
        }
    }
}

#[test]
fn replayed_nacks_have_no_effect() {
    for recovery in RECOVERIES {
        let run = |forged: &str| {
            let keys = format!("recovery = \"{recovery}\"\nnack = \"on\"\n{forged}");
            flow("{ corrupt = \"1 %\" }", &keys)
        };
        let replayed = run("forged_nacks = { rate = 1000, sequences = \"replayed\" }");
        let nacks = replayed.nacks.expect("NACKs are on");
        assert!(nacks.forged > 50_000, "{recovery}: {nacks:?}");
        assert_eq!(
            (nacks.mistaken, nacks.resent),
            (0, nacks.accepted),
            "{recovery}"
        );
        assert!(nacks.accepted <= nacks.sent, "{recovery}: {nacks:?}");
        let (with, without) = (replayed.goodput, run("").goodput);
        let ratio = with.as_bits_per_sec() as f64 / without.as_bits_per_sec() as f64;
        assert!((0.9..1.1).contains(&ratio), "{recovery}: {ratio}");
    }
}

#[test]
fn mistakes_in_nack_settings_are_explained() {
    let error = |line: &str| {
        let text = format!("[link.L]\nrate = \"1 Mbit/s\"\n[[flow]]\nroute = [\"L\"]\n{line}\n");
        let parsed = Scenario::parse(&text, Path::new("nack.toml"));
        parsed.expect_err("a mistake").to_string()
    };
    let wrong = error("nack = \"yes\"");
    assert!(
        wrong.contains("nack") && wrong.contains("unsuppressed"),
        "{wrong}"
    );
    let wrong = error("forged_nacks = { rate = 0 }");
    assert!(wrong.contains("0.001 to 1000000 per second"), "{wrong}");
    let wrong = error("forged_nacks = { rate = 10, sequences = \"all\" }");
    assert!(wrong.contains("in-window"), "{wrong}");
    let wrong = error("forged_nacks = { sequences = \"random\" }");
    assert!(wrong.contains("rate"), "{wrong}");
}
