//! What must hold in every run, whatever the path does: on arbitrary paths, with every recovery and every
//! controller. The scoreboard's counts are checked at every acknowledgment besides (see
//! `Scoreboard::check`).

use crate::{
    FlowSpec, LinkId, NamedLink, Network, OnOff, Outcome, Recovery, TcpFlow, TcpSettings, Traffic,
    UdpFlow, run,
};
use proptest::prelude::*;
use whimbrel_cc::registry;
use whimbrel_net::{LinkSpec, LossSpec, Outage, QueueLimit, Schedule, ServiceSpec};
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A lossy link whose delay steps (down too, so that packets overtake each other), with an outage.
fn link() -> impl Strategy<Value = LinkSpec> {
    let delays = prop::collection::vec((1u64..2000, 1u64..300), 0..4);
    let rate = 200u64..200_000;
    let queue = prop_oneof![
        Just(QueueLimit::Unlimited),
        (1u32..60).prop_map(QueueLimit::Packets),
        (3000u64..60_000).prop_map(|b| QueueLimit::Bytes(Bytes::new(b))),
    ];
    let chances = (0.0f64..0.2, 0.0f64..0.05);
    let outage = prop::option::of((0u64..5000, 1u64..2000));
    (rate, 1u64..200, delays, queue, chances, outage).prop_map(
        |(kbit, first, later, queue, (random, corrupt), outage)| {
            let mut steps = vec![(Time::ZERO, ms(first))];
            for (after, delay) in later {
                let at = steps[steps.len() - 1].0 + ms(after);
                steps.push((at, ms(delay)));
            }
            let rate = Rate::from_bits_per_sec(kbit * 1000);
            LinkSpec {
                service: ServiceSpec::Rate(Schedule::constant(rate)),
                delay: Schedule::steps(steps).expect("in order"),
                queue,
                loss: LossSpec {
                    random: Probability::new(random).expect("a probability"),
                    corrupt: Probability::new(corrupt).expect("a probability"),
                    outages: outage
                        .map(|(from, length)| {
                            let from = Time::ZERO + ms(from);
                            Outage {
                                from,
                                to: from + ms(length),
                            }
                        })
                        .into_iter()
                        .collect(),
                },
            }
        },
    )
}

fn settings() -> impl Strategy<Value = TcpSettings> {
    let recovery = prop_oneof![
        Just(Recovery::NewReno),
        Just(Recovery::Sack),
        Just(Recovery::Rack)
    ];
    let pacing = prop::option::of(1.0f64..3.0);
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), pacing);
    (
        recovery,
        switches,
        1u32..4,
        1u64..500,
        200u64..1200,
        1u32..12,
        4u64..400,
    )
        .prop_map(
            |(
                recovery,
                (timestamps, limited, probe, pacing),
                every,
                delay,
                rto,
                initial,
                window,
            )| {
                TcpSettings {
                    recovery,
                    timestamps,
                    limited_transmit: limited,
                    tail_loss_probe: probe,
                    pacing,
                    ack_every: every,
                    ack_delay: ms(delay),
                    min_rto: ms(rto),
                    initial_window: initial,
                    receive_window: Bytes::new(1448 * window),
                    ..TcpSettings::default()
                }
            },
        )
}

fn tcp() -> impl Strategy<Value = TcpFlow> {
    (
        0..registry::ALL.len(),
        1u64..200_000,
        any::<bool>(),
        settings(),
    )
        .prop_map(|(entry, size, two_way, settings)| TcpFlow {
            controller: registry::ALL[entry].name.parse().expect("registered"),
            size: Some(Bytes::new(size)),
            two_way,
            settings,
        })
}

/// Some TCP flows and a bursty datagram source over two links in each direction.
fn network() -> impl Strategy<Value = Network> {
    let links = prop::collection::vec(link(), 4);
    let flows = prop::collection::vec((tcp(), 0u64..2000), 1..4);
    (links, flows, any::<bool>(), any::<u64>()).prop_map(|(links, flows, udp, seed)| {
        let route = |ids: [u32; 2]| ids.map(LinkId).to_vec();
        let flow = |(i, (traffic, start)): (usize, (Traffic, u64))| FlowSpec {
            name: format!("flow {i}"),
            forward: route([0, 1]),
            backward: route([2, 3]),
            start: Time::ZERO + ms(start),
            stop: None,
            traffic,
        };
        let bursts = udp.then(|| {
            let on_off = OnOff {
                on: ms(100),
                off: ms(400),
                exponential: true,
            };
            let rate = Rate::from_bits_per_sec(200_000);
            (
                Traffic::Udp(UdpFlow {
                    rate,
                    packet: Bytes::new(500),
                    on_off: Some(on_off),
                }),
                0,
            )
        });
        let tcp = flows
            .into_iter()
            .map(|(tcp, start)| (Traffic::Tcp(tcp), start));
        let name = |(i, spec)| NamedLink {
            name: format!("link {i}"),
            spec,
        };
        Network {
            links: links.into_iter().enumerate().map(name).collect(),
            flows: tcp.chain(bursts).enumerate().map(flow).collect(),
            duration: Duration::from_secs(20_000),
            seed,
            sample: None,
        }
    })
}

fn check_links(outcome: &Outcome) {
    for link in &outcome.links {
        let c = &link.counters;
        assert_eq!(
            c.offered,
            c.delivered + c.queue_overflow + c.random + c.outage,
            "{}: every packet has one fate",
            link.name
        );
        assert_eq!(
            c.delivered,
            link.came_out + link.in_transit,
            "{}: none made, none lost",
            link.name
        );
        assert!((0.0..=1.0).contains(&link.utilisation));
    }
    for (before, after) in [(0, 1), (2, 3)] {
        let (before, after) = (&outcome.links[before], &outcome.links[after]);
        assert_eq!(
            before.came_out, after.counters.offered,
            "what leaves a link enters the next"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Nothing delivered twice, nothing lost, nobody stuck: every connection delivers exactly its
    /// bytes, and ends.
    #[test]
    fn every_byte_arrives_exactly_once_on_any_path(network in network()) {
        let outcome = run(&network);
        check_links(&outcome);
        for (flow, spec) in outcome.flows.iter().zip(&network.flows) {
            let Traffic::Tcp(tcp) = &spec.traffic else { continue };
            let ways = if tcp.two_way { 2 } else { 1 };
            let size = tcp.size.expect("all have one").times(ways);
            prop_assert_eq!(flow.delivered, size, "{:?}", flow);
            prop_assert!(flow.completion.is_some());
            prop_assert!(flow.packets_sent >= flow.retransmits);
            prop_assert!(flow.sent_on_wire > size);
            prop_assert!(flow.retransmits <= flow.packets_sent);
        }
    }

    /// The same network gives the same outcome.
    #[test]
    fn the_same_seed_gives_the_same_bits(network in network()) {
        prop_assert_eq!(run(&network), run(&network));
    }
}
