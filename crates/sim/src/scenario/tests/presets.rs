//! Presets in `[run]`.

use super::super::presets::{PRESETS, Preset};
use super::{error, link, network};
use crate::network::{Recovery, SsthreshFrom, TcpSettings, Traffic};
use whimbrel_cc::Growth;
use whimbrel_units::{Bytes, Duration};

/// A scenario with these lines in `[run]` and in its flow.
fn scenario(run: &str, flow: &str) -> String {
    format!(
        "[link.L]\nrate = \"8 Mbit/s\"\n[link.own]\nrate = \"8 Mbit/s\"\nqueue = \"7 packets\"\n\
         [link.wire]\ndelay = \"1 ms\"\n\
         [[flow]]\nroute = [\"L\", \"own\", \"wire\"]\n{flow}\n[run]\n{run}\n"
    )
}

fn settings(run: &str, flow: &str) -> TcpSettings {
    match &network(&scenario(run, flow)).flows[0].traffic {
        Traffic::Tcp(tcp) => tcp.settings,
        _ => unreachable!("CUBIC runs over TCP"),
    }
}

#[test]
fn a_preset_sets_what_its_simulator_does() {
    let ns2 = settings("preset = \"ns-2.35\"", "");
    let expected = TcpSettings {
        recovery: Recovery::NewReno,
        mss: Bytes::new(1000),
        header: Bytes::new(40),
        initial_window: 2,
        receive_window: Bytes::new(20_000),
        ack_every: 1,
        growth: Growth::Fractions,
        growth_at_recovery_end: true,
        timestamps: false,
        min_rto: Duration::from_millis(200),
        coarse_timer: Some(Duration::from_millis(10)),
        ssthresh_from: SsthreshFrom::Window,
        ..TcpSettings::default()
    };
    assert_eq!(ns2, expected);
    let linux = settings("preset = \"linux-2.6.32\"", "");
    assert_eq!((linux.recovery, linux.quick_acks), (Recovery::Fack, 16));
}

#[test]
fn keys_beside_a_preset_and_of_a_flow_override_it() {
    let run = settings(
        "preset = \"ns-2.35\"\nmss = \"1460 B\"\nmin_rto = \"1 s\"",
        "",
    );
    assert_eq!(
        run.receive_window,
        Bytes::new(29_200),
        "20 packets of 1460 B"
    );
    assert_eq!(run.min_rto, Duration::from_secs(1));
    let flow = settings("preset = \"ns-2.35\"", "ack_every = 2");
    assert_eq!((flow.ack_every, flow.initial_window), (2, 2));
    let off = settings("preset = \"ns-2.35\"\ncoarse_timer = \"off\"", "");
    assert_eq!(off.coarse_timer, None);
}

#[test]
fn a_preset_sets_the_buffers_of_links_with_a_rate_and_no_queue() {
    let run = network(&scenario("preset = \"ns-2.35\"", ""));
    let packets = |name| link(&run, name).queue;
    assert_eq!(packets("L"), whimbrel_net::QueueLimit::Packets(50));
    assert_eq!(
        packets("L (reverse)"),
        whimbrel_net::QueueLimit::Packets(50)
    );
    assert_eq!(packets("own"), whimbrel_net::QueueLimit::Packets(7));
    assert_eq!(packets("wire"), whimbrel_net::QueueLimit::Unlimited);
}

#[test]
fn every_preset_is_accepted_and_can_be_swept() {
    for Preset { name, .. } in PRESETS {
        settings(&format!("preset = \"{name}\""), "");
    }
    let text = scenario("", "") + "[sweep]\n\"run.preset\" = [\"ns-2.35\", \"ns-3\"]\n";
    let scenario = super::parse(&text);
    let mss = |point: usize| match &scenario.points()[point].network(1).flows[0].traffic {
        Traffic::Tcp(tcp) => tcp.settings.mss.get(),
        _ => 0,
    };
    assert_eq!((mss(0), mss(1)), (1000, 536));
}

#[test]
fn mistakes_in_presets_are_explained() {
    assert_eq!(
        error(&scenario("preset = \"ns-2.34\"", "")),
        "scenario.toml:12: run.preset: unknown preset `ns-2.34`, did you mean `ns-2.35`?"
    );
    assert_eq!(
        error(&scenario("receive_window = \"0 packets\"", "")),
        "scenario.toml:12: run.receive_window: must be from 1 to 741534 packets of 1.448 kB"
    );
    assert_eq!(
        error(&scenario("coarse_timer = \"2 s\"", "")),
        "scenario.toml:12: run.coarse_timer: must be from 1 us to 1 s, or `off`, not 2 s"
    );
    assert_eq!(
        error(&scenario("ssthresh_from = \"windw\"", "")),
        "scenario.toml:12: run.ssthresh_from: unknown ssthresh_from `windw`, did you mean \
         `window`?"
    );
}
