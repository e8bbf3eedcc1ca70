//! Properties of every run: on arbitrary paths, with every recovery and every controller. The
//! counts of the scoreboard are verified at every acknowledgment besides (see `Scoreboard::check`).

use crate::observe::{self, Content, End, What};
use crate::{
    AatpFlow, AatpSettings, Confusion, Destination, FlowOutcome, FlowSpec, ForgedNacks, LinkId,
    Messages, Nack, NamedLink, Network, OnChannel, OnOff, Outcome, Recovery, Route, Sequences,
    Streams, TcpFlow, TcpSettings, Traffic, UdpFlow, run, run_observed,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use whimbrel_cc::fairness::{Adapter, Priority};
use whimbrel_cc::registry::{self};
use whimbrel_net::{
    Aqm, AqmSetting, Delay, DelayTrace, JitterDistribution, LinkSpec, LossSpec, Noise, Outage,
    QueueLimit, Schedule, ServiceSpec, Side, WifiSpec,
};
use whimbrel_units::{Bytes, Duration, Probability, Rate, Time};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The management of a queue, as a scenario writes it: all kinds, and none.
fn aqm() -> impl Strategy<Value = Option<Aqm>> {
    let kinds = [
        "none",
        "none",
        "red?min=2 packets&max=6 packets&weight=0.2",
        "red?min=3 kB&max=9 kB&gentle=false&weight=0.1",
        "codel",
        "codel?target=1 ms&interval=20 ms",
        "mark?threshold=3 packets",
        "fq-codel",
        "fq-codel?target=1 ms&interval=20 ms&queues=2",
        "policer?rate=500 kbit/s&burst=6 kB",
    ];
    prop::sample::select(kinds.to_vec()).prop_map(|text| {
        let setting: AqmSetting = text.parse().expect("queue management");
        let rate = ServiceSpec::Rate(Schedule::constant(Rate::from_bits_per_sec(1_000_000)));
        let resolved = setting.resolve(&rate, ms(100), Bytes::new(1500));
        resolved.expect("it fits")
    })
}

/// A lossy link whose delay changes in steps, once or repeatedly, with an outage and losses at set
/// times. When the delay becomes smaller, packets may overtake each other.
fn link() -> impl Strategy<Value = LinkSpec> {
    let delays = prop::collection::vec((1u64..2000, 1u64..300), 0..4);
    let rate = 200u64..200_000;
    let queue = prop_oneof![
        Just(QueueLimit::Unlimited),
        (1u32..60).prop_map(QueueLimit::Packets),
        (3000u64..60_000).prop_map(|b| QueueLimit::Bytes(Bytes::new(b))),
    ];
    let chances = (0.0f64..0.2, 0.0f64..0.05, 0.0f64..1e-5);
    let outage = prop::option::of((0u64..5000, 1u64..2000));
    let drops = prop::collection::vec((0u64..5000).prop_map(|at| Time::ZERO + ms(at)), 0..3);
    let delays = (1u64..200, delays, any::<bool>(), any::<bool>());
    (rate, delays, (queue, aqm()), chances, outage, drops).prop_map(
        |(
            kbit,
            (first, later, repeat, keep_order),
            (queue, aqm),
            (random, corrupt, bits),
            outage,
            drops,
        )| {
            let mut steps = vec![(Time::ZERO, ms(first))];
            for (after, delay) in later {
                let at = steps[steps.len() - 1].0 + ms(after);
                steps.push((at, ms(delay)));
            }
            let delay = if repeat && first % 4 == 0 {
                Delay::noisy(Noise {
                    base: ms(first),
                    jitter: ms(first / 2),
                    distribution: JitterDistribution::Pareto,
                    every: ms(5),
                    batch: ms(first % 20),
                })
            } else if repeat {
                let row = steps.iter().map(|(_, delay)| *delay).collect();
                let row = DelayTrace::new(row).expect("not empty");
                Delay::cycle(ms(100), row).expect("not zero")
            } else {
                Delay::steps(Schedule::steps(steps).expect("in order"))
            };
            let rate = Rate::from_bits_per_sec(kbit * 1000);
            LinkSpec {
                service: ServiceSpec::Rate(Schedule::constant(rate)),
                delay: delay.in_order(keep_order),
                queue,
                aqm,
                loss: LossSpec {
                    random: Probability::new(random).expect("a probability"),
                    corrupt: Probability::new(corrupt).expect("a probability"),
                    bit_errors: Probability::new(bits).expect("a probability"),
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
                    drops,
                    ..LossSpec::default()
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
    let nack = prop::option::of(prop_oneof![
        Just(Nack::Off),
        Just(Nack::On),
        Just(Nack::Unsuppressed)
    ]);
    let sequences = prop_oneof![
        Just(Sequences::Random),
        Just(Sequences::InWindow),
        Just(Sequences::Replayed)
    ];
    let forged = (50u64..1000, sequences).prop_map(|(interval, sequences)| ForgedNacks {
        interval: ms(interval),
        sequences,
    });
    let switches = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        pacing,
        (nack, prop::option::weighted(0.2, forged)),
    );
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
                (timestamps, limited, probe, ecn, pacing, (nack, forged_nacks)),
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
                    ecn: Some(ecn),
                    pacing,
                    nack,
                    forged_nacks,
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

/// Bulk data on one stream in half of the cases; otherwise several streams, messages, or both.
fn streams() -> impl Strategy<Value = Streams> {
    let messages = (1u64..6000, 0u64..6000, 1u64..300, any::<bool>(), 1u32..40).prop_map(
        |(least, more, every, exponential, count)| Messages {
            min_size: Bytes::new(least),
            max_size: Bytes::new(least + more / 3000 * more),
            every: ms(every),
            exponential,
            count: Some(count),
        },
    );
    let some = (1u32..12, any::<bool>(), prop::option::of(messages)).prop_map(
        |(count, interleave, messages)| Streams {
            count,
            interleave,
            messages,
        },
    );
    prop_oneof![Just(Streams::default()), some]
}

/// A flow of data under any controller, on the transport that supports it.
fn bulk() -> impl Strategy<Value = Traffic> {
    let aatp = (
        1u8..=8,
        prop::option::of(500u64..4000),
        prop::option::of(50u64..4000),
    );
    (
        0..registry::CONTROLLERS.len(),
        1u64..200_000,
        any::<bool>(),
        (settings(), streams()),
        aatp,
    )
        .prop_map(
            |(entry, size, two_way, (settings, streams), (priority, breaker, every))| {
                let entry = registry::CONTROLLERS[entry];
                let controller = entry.name.parse().expect("registered");
                let size = Some(Bytes::new(size));
                match entry.is_fed_bursts() {
                    false => Traffic::Tcp(TcpFlow {
                        controller,
                        size,
                        two_way: two_way && streams == Streams::default(),
                        streams,
                        settings,
                    }),
                    true => Traffic::Aatp(AatpFlow {
                        controller,
                        size,
                        priority: Priority::new(priority).expect("1 to 8"),
                        destination: 0,
                        settings: AatpSettings {
                            circuit_breaker: breaker.map(ms),
                            reestimate: every.map(ms),
                            ..AatpSettings::default()
                        },
                    }),
                }
            },
        )
}

/// Some flows with data and a bursty datagram source over two links in each direction. Either all
/// links are shared, or only the middle ones: then each flow has a last forward link and a first
/// backward link of its own, and so has each further path of a TCP flow.
fn network() -> impl Strategy<Value = Network> {
    // Four shared links, and two for further routes.
    let links = prop::collection::vec(link(), 6);
    let flows = prop::collection::vec((bulk(), 0u64..2000, 1usize..4), 1..4);
    let switches = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.3));
    (links, flows, switches, any::<u64>()).prop_map(|(specs, flows, (udp, own, wifi), seed)| {
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
                1,
            )
        });
        let name = |i: usize, spec: &LinkSpec| NamedLink {
            name: format!("link {i}").into(),
            spec: spec.clone(),
            on_channel: None,
            helped: None,
        };
        let mut links: Vec<_> = specs[..4]
            .iter()
            .enumerate()
            .map(|(i, spec)| name(i, spec))
            .collect();
        // The second forward link and the first backward link are the two directions of a Wi-Fi
        // channel.
        let mut channels = Vec::new();
        if wifi {
            let rate = Rate::from_bits_per_sec(6_500_000);
            channels.push(WifiSpec::at(rate).expect("an 802.11n rate"));
            for (link, side) in [(1, Side::Forward), (2, Side::Reverse)] {
                links[link].on_channel = Some(OnChannel { channel: 0, side });
            }
        }
        let mut flow = |(i, (traffic, start, routes)): (usize, (Traffic, u64, usize))| {
            let several =
                matches!(&traffic, Traffic::Tcp(tcp) if !tcp.two_way && tcp.streams.count == 1);
            let mut route = |path: usize| {
                let mut ids = [0, 1, 2, 3];
                if path > 0 || (own && i > 0) {
                    for shared in [1, 2] {
                        ids[shared] = links.len() as u32;
                        let spec = if path > 0 { shared + 3 } else { shared };
                        links.push(name(links.len(), &specs[spec]));
                    }
                }
                let ids = ids.map(LinkId);
                Route {
                    forward: ids[..2].to_vec(),
                    backward: ids[2..].to_vec(),
                }
            };
            let is_udp = matches!(&traffic, Traffic::Udp(_));
            FlowSpec {
                host: None,
                name: format!("flow {i}").into(),
                routes: (0..if several { routes } else { 1 })
                    .map(&mut route)
                    .collect(),
                start: Time::ZERO + ms(start),
                // Its packets would make the slowest transfers long to simulate.
                stop: is_udp.then(|| Time::ZERO + ms(100_000)),
                traffic,
            }
        };
        let flows = flows
            .into_iter()
            .chain(bursts)
            .enumerate()
            .map(&mut flow)
            .collect();
        Network {
            links,
            channels,
            destinations: vec![Destination {
                name: "node".to_owned(),
                is_copy: false,
                adapter: Adapter::default(),
                bandwidth: None,
            }],
            flows,
            // The slowest transfers lose up to 84 % of their round trips and send a segment per
            // timeout. With data in both directions the timeout stays at its maximum: an
            // acknowledgment that was lost comes again with the peer's own retransmission, and its
            // timestamp, echoed as RFC 7323 section 4.3 requires, makes the sample of the RTT as
            // long as the timeout.
            duration: Duration::from_secs(1_000_000),
            seed,
            sample: None,
        }
    })
}

/// Checks that every message arrived and was delivered. Returns their total size.
fn check_messages(tcp: &TcpFlow, flow: &FlowOutcome) -> Bytes {
    let spec = tcp.streams.messages.expect("the caller checked");
    let messages = flow.messages.as_ref().expect("it has messages");
    let count = u64::from(spec.count.expect("none is endless"));
    assert_eq!((messages.arrived, messages.delivered), (count, count));
    assert_eq!(
        (messages.latency.count, messages.blocked.count),
        (count, count)
    );
    assert!(messages.held <= count && messages.blocked.max <= messages.latency.max);
    assert_eq!(messages.held == 0, messages.blocked.max.is_zero());
    // Messages go to the streams in turn.
    let streams = flow.streams.iter().map(|stream| stream.messages);
    let most = count.div_ceil(u64::from(tcp.streams.count));
    let all: Vec<u64> = streams.collect();
    assert!(all.iter().all(|n| *n == most || *n + 1 == most), "{all:?}");
    assert_eq!(all.iter().sum::<u64>(), count);
    let bytes: Bytes = flow.streams.iter().map(|stream| stream.delivered).sum();
    assert!(bytes >= spec.min_size.times(count) && bytes <= spec.max_size.times(count));
    if spec.min_size == spec.max_size {
        assert_eq!(bytes, spec.min_size.times(count));
    }
    bytes
}

fn check_links(outcome: &Outcome) {
    for link in &outcome.links {
        let c = &link.counters;
        let dropped = c.queue_overflow + c.early + c.random + c.outage + c.contention;
        assert_eq!(
            c.offered,
            link.came_out + link.in_transit + dropped,
            "{}: every packet is delivered, dropped or on the link",
            link.name
        );
        assert!((0.0..=1.0).contains(&link.utilisation));
    }
    let sum = |from: usize, step: usize| -> (u64, u64) {
        let of = |l: &crate::LinkOutcome| (l.came_out, l.counters.offered);
        let own = outcome.links.iter().skip(from + 3).step_by(2).map(of);
        own.chain([of(&outcome.links[step])])
            .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    };
    // Own links are in pairs after the first four: the last forward link, the first backward link.
    let (there, back) = (sum(1, 1), sum(2, 2));
    assert_eq!(
        outcome.links[0].came_out, there.1,
        "packets that leave a link enter the next"
    );
    assert_eq!(
        back.0, outcome.links[3].counters.offered,
        "packets that leave a link enter the next"
    );
}

/// All events of a run.
#[derive(Default)]
struct Recorder(Vec<observe::Event>);

impl observe::Observer for Recorder {
    fn on_event(&mut self, event: &observe::Event) {
        self.0.push(event.clone());
    }
}

/// Checks that the events of a flow add up to the counts of its outcome.
fn check_events(events: &[observe::Event], index: usize, flow: &FlowOutcome, spec: &FlowSpec) {
    let of = || {
        events
            .iter()
            .filter(|event| event.flow == index)
            .map(|event| &event.what)
    };
    let count = |is: &dyn Fn(&What) -> bool| of().filter(|what| is(what)).count() as u64;
    let tcp = matches!(&spec.traffic, Traffic::Tcp(_));
    if matches!(&spec.traffic, Traffic::Udp(_)) {
        assert_eq!(
            count(&|what| matches!(what, What::Sent(_))),
            flow.packets_sent
        );
    }
    if !tcp {
        return;
    }
    let data = |packet: &observe::Packet| match &packet.content {
        Content::Segment(segment) => segment.data,
        Content::Message(_) | Content::Datagram => None,
    };
    let sent = || {
        of().filter_map(|what| match what {
            What::Sent(packet) => Some(packet),
            _ => None,
        })
    };
    let leaving = || sent().filter_map(data);
    assert_eq!(leaving().count() as u64, flow.packets_sent);
    assert_eq!(
        leaving().filter(|data| data.again).count() as u64,
        flow.retransmits
    );
    let lasts = |from| {
        sent()
            .filter(move |p| p.from == from)
            .filter_map(data)
            .any(|d| d.last)
    };
    assert_eq!(
        count(&|what| matches!(what, What::TimedOut(_))),
        flow.timeouts
    );
    assert_eq!(
        count(&|what| matches!(what, What::TakenBack(_))),
        flow.spurious
    );
    let judged = of().filter_map(|what| match what {
        What::Judged(judged) => Some(judged),
        _ => None,
    });
    let mut confusion = Confusion::default();
    let mut episodes = 0;
    for judged in judged {
        episodes += 1;
        if let Some(verdict) = judged.verdict {
            confusion.count(judged.truth, verdict, judged.confidence);
        }
    }
    assert_eq!(episodes, flow.loss_episodes);
    let counted = flow.discrimination.unwrap_or_default();
    // A flow adds the sums of its ends, so the last bits may differ.
    assert!((confusion.squared_error - counted.squared_error).abs() < 1e-9);
    confusion.squared_error = counted.squared_error;
    assert_eq!(confusion, counted);
    for what in of() {
        if let What::Lost(lost) = what
            && let Some(id) = lost.id
        {
            let meant = sent().find(|packet| packet.id == id).and_then(data);
            let meant = meant.map(|data| (data.offset, data.length));
            assert_eq!(meant, Some((lost.offset, lost.length)));
        }
    }
    if spec.routes.len() > 1 {
        return;
    }
    let came = of().filter_map(|what| match what {
        What::Arrived(packet) => data(packet).map(|data| (packet.from, data.offset, data.length)),
        _ => None,
    });
    let came: BTreeSet<_> = came
        .map(|(from, at, length)| (from == End::Far, at, length))
        .collect();
    let bytes: u64 = came.iter().map(|(_, _, length)| u64::from(*length)).sum();
    assert_eq!(
        Bytes::new(bytes),
        flow.delivered,
        "each byte has one offset"
    );
    let bulk = !spec.is_multipath();
    let two_way = matches!(&spec.traffic, Traffic::Tcp(tcp) if tcp.two_way);
    assert_eq!((lasts(End::Near), lasts(End::Far)), (bulk, bulk && two_way));
    let mut tops = [0_u64; 2];
    for packet in sent() {
        let Content::Segment(segment) = &packet.content else {
            continue;
        };
        let (own, peer) = match packet.from {
            End::Near => (0, tops[1]),
            End::Far => (1, tops[0]),
        };
        tops[own] = tops[own].max(segment.data.map_or(0, |data| data.end()));
        let acked = segment.ack.unwrap_or(0);
        assert!(acked <= peer, "no end acknowledges data that was not sent");
        let held = |range: &std::ops::Range<u64>| range.start < range.end && range.end <= peer;
        assert!(segment.sacks.iter().all(held), "{segment:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Every connection delivers exactly its bytes, and ends.
    #[test]
    fn every_byte_is_delivered_exactly_once_on_any_path(network in network()) {
        let outcome = run(&network);
        check_links(&outcome);
        for (flow, spec) in outcome.flows.iter().zip(&network.flows) {
            let size = match &spec.traffic {
                Traffic::Tcp(tcp) if tcp.streams.messages.is_some() => Some(check_messages(tcp, flow)),
                Traffic::Tcp(tcp) => tcp.size.map(|s| s.times(if tcp.two_way { 2 } else { 1 })),
                Traffic::Aatp(aatp) => aatp.size,
                Traffic::Udp(_) => continue,
            };
            let size = size.expect("none is endless");
            prop_assert_eq!(flow.delivered, size, "{:?}", flow);
            prop_assert!(flow.completion.is_some());
            prop_assert!(flow.packets_sent >= flow.retransmits);
            prop_assert!(flow.sent_on_wire > size);
            prop_assert!(flow.retransmits <= flow.packets_sent);
            let ecn = matches!(&spec.traffic, Traffic::Tcp(tcp) if tcp.settings.ecn == Some(true));
            prop_assert!(ecn || flow.marked + flow.mark_episodes == 0);
            prop_assert!(flow.marked > 0 || flow.mark_episodes == 0);
            let nacks = flow.nacks.unwrap_or_default();
            prop_assert!(nacks.sent <= flow.lost.corrupted, "{:?}", flow);
            prop_assert!(nacks.accepted + nacks.refused <= nacks.sent + nacks.forged);
            prop_assert!(nacks.resent <= nacks.accepted.min(flow.retransmits));
            let brought: Bytes = flow.paths.iter().map(|path| path.brought).sum();
            let paths = if spec.routes.len() > 1 { spec.routes.len() } else { 0 };
            prop_assert_eq!(flow.paths.len(), paths);
            prop_assert!(paths == 0 || brought == size, "{:?}", flow);
        }
    }

    /// The same network gives the same outcome.
    #[test]
    fn the_same_seed_gives_the_same_bits(network in network()) {
        prop_assert_eq!(run(&network), run(&network));
    }

    /// An observer does not change the run. It receives every event once and in order, and the
    /// events add up to the counts of the outcome.
    #[test]
    fn observation_changes_nothing_and_is_in_order(network in network()) {
        let mut recorder = Recorder::default();
        let outcome = run_observed(&network, &mut recorder);
        prop_assert_eq!(&run(&network), &outcome);
        let events = recorder.0;
        prop_assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at));
        prop_assert!(events.last().is_none_or(|last| last.at <= Time::ZERO + outcome.duration));
        let mut in_flight = BTreeSet::new();
        let mut dropped = vec![0; network.flows.len()];
        for event in &events {
            let carries = |packet: &observe::Packet| match &packet.content {
                Content::Segment(segment) => segment.data.is_some(),
                Content::Message(_) => false,
                Content::Datagram => true,
            };
            match &event.what {
                What::Sent(packet) => {
                    prop_assert_eq!(packet.sent, event.at);
                    prop_assert!(in_flight.insert(packet.id));
                }
                What::Arrived(packet) => prop_assert!(in_flight.remove(&packet.id)),
                What::Dropped(packet, _) => {
                    prop_assert!(in_flight.remove(&packet.id));
                    dropped[event.flow] += u64::from(carries(packet));
                }
                _ => {}
            }
        }
        for (index, (flow, spec)) in outcome.flows.iter().zip(&network.flows).enumerate() {
            check_events(&events, index, flow, spec);
            if !matches!(&spec.traffic, Traffic::Aatp(_)) {
                // With lookahead, packets that would be lost after the end are counted as lost.
                // They were in flight when the run ended.
                let beyond = flow.lost.total() - dropped[index];
                prop_assert!(beyond <= in_flight.len() as u64);
            }
        }
    }

    /// Lookahead changes no outcome. A sampled run has no lookahead. There is one flow, because
    /// equal flows act in the same nanosecond, and lookahead changes which of them is first.
    #[test]
    fn lookahead_changes_no_outcome(mut network in network()) {
        network.flows.truncate(1);
        let with_lookahead = run(&network);
        let mut sampled = Network { sample: Some(Duration::from_secs(30_000)), ..network };
        // Nothing happens after the end of a run that ended before its limit; the counts of one
        // that did not end depend on the limit.
        let ended = with_lookahead.duration < sampled.duration;
        let longer = if ended { Duration::from_secs(1) } else { Duration::ZERO };
        sampled.duration = with_lookahead.duration + longer;
        let step_by_step = run(&sampled);
        for (a, b) in with_lookahead.flows.iter().zip(&step_by_step.flows) {
            // With lookahead, packets that would be lost after the end are counted as lost.
            let mut a = FlowOutcome { lost: b.lost, ..a.clone() };
            for (a, b) in a.paths.iter_mut().zip(&b.paths) {
                a.lost = b.lost;
            }
            // A sampled run records loss episodes: one for each that was counted, at the near end.
            let mut b = b.clone();
            let recorded = b.paths.iter().fold(b.episodes.len(), |n, path| n + path.episodes.len());
            let one_way = !matches!(&sampled.flows[0].traffic, Traffic::Tcp(tcp) if tcp.two_way);
            let tcp = matches!(&sampled.flows[0].traffic, Traffic::Tcp(_));
            prop_assert!(!(one_way && tcp) || recorded as u64 == b.loss_episodes + b.timeouts, "{:?}", b);
            b.episodes.clear();
            b.distributions = None;
            b.paths.iter_mut().for_each(|path| path.episodes.clear());
            prop_assert_eq!(a, b);
        }
    }
}
