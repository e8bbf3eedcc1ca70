//! Connections over several links, in virtual time.

use super::testing::{Network, Path, client_config, server_config, transport};
use super::{Connection, PathCondition};
use crate::{Factory, SharedNode};
use bytes::Bytes as Data;
use noq_proto::TransportConfig;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use whimbrel_cc::fairness::Priority;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// `rtt_ms` is the round trip without a queue; the buffer holds one of them, or 50 ms.
fn path(mbps: u64, rtt_ms: u64) -> Path {
    let rate = Rate::from_bits_per_sec(mbps * 1_000_000);
    let queue = mbps * 125 * rtt_ms.max(50);
    Path::symmetric(rate, Duration::from_millis(rtt_ms) / 2, Bytes::new(queue))
}

fn several() -> TransportConfig {
    let mut transport = transport();
    transport.max_concurrent_multipath_paths(8);
    let window = noq_proto::VarInt::from_u32(64 << 20);
    transport.send_window(64 << 20).receive_window(window);
    transport.stream_receive_window(noq_proto::VarInt::from_u32(1 << 20));
    transport.max_concurrent_uni_streams(noq_proto::VarInt::from_u32(128));
    transport.send_fairness(false);
    crate::tolerate_reordering(&mut transport);
    crate::request_prompt_acks(&mut transport);
    transport
}

/// A client with these links, and a connection over all of them.
fn connect(links: &[Path], seed: u64, controller: &str) -> (Network, Connection, Connection) {
    connect_with(links, seed, controller, several(), several())
}

fn connect_with(
    links: &[Path],
    seed: u64,
    controller: &str,
    client: TransportConfig,
    server: TransportConfig,
) -> (Network, Connection, Connection) {
    let mut network = Network::new(&links[0], seed);
    let factory = || Factory::for_endpoint(controller.parse().expect("registered")).seed(seed);
    let client = factory().client(client_config(client.clone()), client, Priority::LOWEST);
    let node = SharedNode::default();
    let server = factory().server(server_config(server.clone()), server, node);
    for link in &links[1..] {
        network.add_link(link, seed);
    }
    let (client, server) = network.connect(client, server);
    (network, client, server)
}

/// When bytes arrived at the application.
#[derive(Clone, Default)]
struct Arrivals(Rc<RefCell<Vec<(Time, u64)>>>);

impl Arrivals {
    fn bytes(&self) -> u64 {
        self.0.borrow().iter().map(|(_, bytes)| bytes).sum()
    }

    /// The longest time between two arrivals from `from` on.
    fn longest_stall(&self, from: Time) -> Duration {
        let arrivals = self.0.borrow();
        let times = arrivals.iter().map(|(at, _)| *at).filter(|at| *at >= from);
        let mut last = from;
        let mut longest = Duration::ZERO;
        for at in times {
            longest = longest.max(at.since(last));
            last = at;
        }
        longest
    }

    fn last(&self) -> Time {
        self.0.borrow().last().map_or(Time::ZERO, |(at, _)| *at)
    }
}

/// Sends `bytes` from one end to the other in streams of 1 MiB, as a transfer does.
fn transfer(network: &mut Network, from: &Connection, to: &Connection, bytes: u64) -> Arrivals {
    const CHUNK: u64 = 1 << 20;
    let (from, to, timer) = (from.clone(), to.clone(), network.timer());
    network.spawn(async move {
        let mut left = bytes;
        let mut streams = Vec::new();
        while left > 0 {
            let mut stream = from.open_uni().await.expect("open");
            let length = left.min(CHUNK);
            left -= length;
            let data = Data::from(vec![7; length as usize]);
            stream.write_chunk(data).await.expect("written");
            stream.finish().expect("open");
            streams.push(stream);
        }
        for stream in streams {
            assert_eq!(stream.stopped().await, Ok(None));
        }
    });
    let arrivals = Arrivals::default();
    let left = Rc::new(Cell::new(bytes.div_ceil(CHUNK)));
    for _ in 0..128 {
        let (to, timer, left, seen) = (to.clone(), timer.clone(), left.clone(), arrivals.clone());
        network.spawn(async move {
            while let Some(others) = left.get().checked_sub(1) {
                left.set(others);
                let mut stream = to.accept_uni().await.expect("opened");
                while let Some(chunk) = stream.read_unordered(usize::MAX).await.expect("read") {
                    let length = chunk.bytes.len() as u64;
                    seen.0.borrow_mut().push((timer.now(), length));
                }
            }
        });
    }
    arrivals
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The time that a transfer of so many bytes takes from the client over these links, seconds.
fn takes(links: &[Path], controller: &str, bytes: u64, seed: u64) -> f64 {
    let (mut network, client, server) = connect(links, seed, controller);
    let begun = network.now();
    let arrivals = transfer(&mut network, &client, &server, bytes);
    assert!(
        network.run_tasks(begun + seconds(300)),
        "{:?}",
        client.paths()
    );
    assert_eq!(arrivals.bytes(), bytes);
    arrivals.last().since(begun).as_secs_f64()
}

#[test]
fn two_equal_links_carry_twice_as_much() {
    let link = path(20, 40);
    let alone = takes(std::slice::from_ref(&link), "cubic", 20_000_000, 1);
    let together = takes(&[link.clone(), link], "cubic", 20_000_000, 1);
    assert!(together < alone / 1.8, "{together} s, {alone} s alone");
}

#[test]
fn a_slow_link_never_costs_the_better_one() {
    let (fast, far) = (path(50, 30), path(20, 600));
    let (faster, slow) = (path(100, 20), path(5, 40));
    // The links, the better one, and how long that one's path may take to open.
    let cases = [
        ([fast.clone(), far.clone()], 0, 0.0),
        ([far, fast], 1, 0.6),
        ([faster, slow], 0, 0.0),
    ];
    for (links, better, opening) in cases {
        let alone = takes(&links[better..=better], "cubic", 15_000_000, 1);
        let together = takes(&links, "cubic", 15_000_000, 1);
        let limit = alone / 0.98 + opening;
        assert!(together < limit, "{together} s, {alone} s alone");
    }
}

#[test]
fn a_short_transfer_is_no_slower_with_a_slow_link_beside() {
    for bytes in [20_000, 200_000, 2_000_000] {
        let (fast, slow) = (path(50, 30), path(2, 600));
        let alone = takes(std::slice::from_ref(&fast), "cubic", bytes, 1);
        let together = takes(&[fast, slow], "cubic", bytes, 1);
        assert!(
            together <= alone / 0.98 + 0.002,
            "{together} s, {alone} s alone"
        );
    }
}

/// A link is cut in the middle of a transfer of 10 MB over two of 20 Mbit/s, from the client or to
/// it. Returns the longest stall after the cut.
fn cut_at(seed: u64, link: usize, after: Duration, upload: bool) -> Duration {
    let links = [path(20, 40), path(20, 60)];
    let (mut network, client, server) = connect(&links, seed, "cubic");
    let begun = network.now();
    let (from, to) = match upload {
        true => (client.clone(), server.clone()),
        false => (server.clone(), client.clone()),
    };
    let arrivals = transfer(&mut network, &from, &to, 10_000_000);
    network.run_until(begun + after);
    let cut = network.now();
    network.cut(link, true);
    let complete = network.run_tasks(begun + seconds(60));
    assert!(complete, "{:?} {:?}", client.paths(), server.paths());
    assert_eq!(arrivals.bytes(), 10_000_000);
    arrivals.longest_stall(cut)
}

#[test]
fn a_cut_costs_a_fifth_of_a_second_and_a_round_trip() {
    let mut worst = Duration::ZERO;
    for number in 0..50u64 {
        let after = Duration::from_millis(150 + number * 7919 % 2200);
        let stall = cut_at(number, (number % 2) as usize, after, true);
        worst = worst.max(stall);
    }
    // The queue of the living path is at most 60 ms.
    assert!(worst <= Duration::from_millis(200 + 120), "{worst:?}");
}

#[test]
fn a_cut_while_data_comes_from_the_server_costs_no_more() {
    let mut worst = Duration::ZERO;
    for number in 0..50u64 {
        let after = Duration::from_millis(150 + number * 7919 % 2200);
        let stall = cut_at(number, (number % 2) as usize, after, false);
        worst = worst.max(stall);
    }
    assert!(worst <= Duration::from_millis(200 + 120), "{worst:?}");
}

#[test]
fn a_cut_at_the_end_of_a_transfer_costs_no_more() {
    // The last of the data is in flight. When the path is cut on which the receiver sends its
    // acknowledgments, those of both paths stop.
    for upload in [true, false] {
        for number in 0..40u64 {
            let link = (number % 2) as usize;
            let after = Duration::from_millis(2210 + number);
            let stall = cut_at(number, link, after, upload);
            // Round trip and full queue of the living path.
            let limit = Duration::from_millis(200 + [120, 90][link]);
            assert!(stall <= limit, "{number}, upload {upload}: {stall:?}");
        }
    }
}

#[test]
fn a_link_that_comes_back_carries_data_again() {
    let link = path(20, 40);
    let (mut network, client, server) = connect(&[link.clone(), link], 3, "cubic");
    let begun = network.now();
    let arrivals = transfer(&mut network, &client, &server, 30_000_000);
    network.run_until(begun + seconds(1));
    network.cut(1, true);
    network.run_until(begun + seconds(3));
    let paths = client.paths().expect("several");
    assert_eq!(paths[1].condition, PathCondition::Silent, "{paths:?}");
    network.cut(1, false);
    let before = network.arrived_over(1)[0];
    network.run_until(begun + seconds(5));
    let paths = client.paths().expect("several");
    assert_eq!(paths[1].condition, PathCondition::Open, "{paths:?}");
    let after = network.arrived_over(1)[0] - before;
    assert!(after > 2_000_000, "{after}");
    assert!(network.run_tasks(begun + seconds(60)));
    assert_eq!(arrivals.bytes(), 30_000_000);
}

#[test]
fn links_come_and_go() {
    let link = path(20, 40);
    let (mut network, client, server) = connect(&[link.clone(), link], 4, "cubic");
    let begun = network.now();
    let arrivals = transfer(&mut network, &client, &server, 20_000_000);
    for round in 1..4u64 {
        network.run_until(begun + seconds(round));
        let up = if round % 2 == 1 {
            [false, true]
        } else {
            [true, true]
        };
        network.cut(0, !up[0]);
        network.links_changed(&up);
    }
    assert!(
        network.run_tasks(begun + seconds(60)),
        "{:?}",
        client.paths()
    );
    assert_eq!(arrivals.bytes(), 20_000_000);
    let paths = client.paths().expect("several");
    assert!(
        paths.len() >= 3,
        "one was closed and opened again: {paths:?}"
    );
}

#[test]
fn a_link_that_swallows_all_but_the_first_packets_loses_nothing() {
    let link = path(20, 40);
    let (mut network, client, server) = connect(&[link.clone(), link], 5, "cubic");
    let begun = network.now();
    let arrivals = transfer(&mut network, &client, &server, 5_000_000);
    // Its path has just been opened, and the first data is on its way.
    network.run_until(begun + Duration::from_millis(60));
    network.cut(1, true);
    assert!(
        network.run_tasks(begun + seconds(30)),
        "{:?}",
        client.paths()
    );
    assert_eq!(arrivals.bytes(), 5_000_000);
    let took = arrivals.last().since(begun).as_secs_f64();
    assert!(took < 3.5, "{took} s; 2.1 s over the other link alone");
}

#[test]
fn a_server_without_several_paths_is_used_over_one() {
    let link = path(20, 40);
    let links = [link.clone(), link];
    let mut one = several();
    one.max_concurrent_multipath_paths(0);
    let (mut network, client, server) = connect_with(&links, 6, "cubic", several(), one);
    let begun = network.now();
    let arrivals = transfer(&mut network, &client, &server, 2_000_000);
    assert!(network.run_tasks(begun + seconds(30)));
    assert_eq!(arrivals.bytes(), 2_000_000);
    assert_eq!(client.paths(), None);
    assert_eq!(network.arrived_over(1), [0, 0]);
}

#[test]
fn a_link_to_another_server_loses_nothing() {
    // A stranger, and one with the same identity, which answers by stateless resets.
    for identity in [77, super::testing::SERVER] {
        let link = path(20, 40);
        let (mut network, client, server) = connect(&[link.clone(), link], 14, "cubic");
        network.lead_elsewhere(1, identity);
        let begun = network.now();
        let arrivals = transfer(&mut network, &client, &server, 5_000_000);
        assert!(
            network.run_tasks(begun + seconds(30)),
            "{:?}",
            client.paths()
        );
        assert_eq!(arrivals.bytes(), 5_000_000);
        let conditions = conditions(&client);
        assert_eq!(conditions, [PathCondition::Open, PathCondition::Opening]);
        let took = arrivals.last().since(begun).as_secs_f64();
        assert!(took < 2.4, "{took} s; 2.2 s over the other link alone");
        let answered = network.answered_elsewhere(1);
        assert_eq!(
            answered > 0,
            identity == super::testing::SERVER,
            "{answered}"
        );
        assert!(answered < 20, "{answered} answers");
    }
}

#[test]
fn a_path_that_answers_and_then_swallows_everything_loses_nothing() {
    // Again and again: it answers its challenges, and is cut as soon as data leaves over it.
    let link = path(20, 40);
    let (mut network, client, server) = connect(&[link.clone(), link], 16, "cubic");
    let begun = network.now();
    let arrivals = transfer(&mut network, &client, &server, 20_000_000);
    let mut open = 0;
    while network.unfinished() > 0 && network.now() < begun + seconds(60) {
        let next = network.now() + Duration::from_millis(5);
        network.run_until(next);
        let paths = client.paths().expect("several");
        let answers = paths.iter().filter(|path| path.link == 1);
        let lives = answers
            .clone()
            .any(|path| path.condition == PathCondition::Open);
        network.cut(1, lives);
        open = open.max(paths.len());
    }
    assert_eq!(arrivals.bytes(), 20_000_000, "{:?}", client.paths());
    assert!(open <= 2 + 64, "{open} paths are kept");
    let took = arrivals.last().since(begun).as_secs_f64();
    assert!(took < 12.0, "{took} s; 8.4 s over the other link alone");
}

#[test]
fn a_spoofed_address_gets_little_and_stops_nothing() {
    let link = path(20, 40);
    let (mut network, client, server) = connect(&[link.clone(), link], 9, "cubic");
    let begun = network.now();
    let arrivals = transfer(&mut network, &client, &server, 10_000_000);
    network.run_until(begun + Duration::from_millis(500));
    network.spoof(Some((1, ([192, 0, 2, 1], 4433).into())));
    network.run_until(begun + Duration::from_millis(600));
    let [from, to] = network.spoofed_bytes();
    assert!(from > 50_000, "{from}");
    // RFC 9000 section 8: three times what came from it, until it is validated.
    assert!(to <= 3 * from, "{to} bytes to a stranger, {from} from it");
    assert!(to < 20_000, "{to} bytes to a stranger");
    network.spoof(None);
    assert!(
        network.run_tasks(begun + seconds(30)),
        "{:?}",
        client.paths()
    );
    assert_eq!(arrivals.bytes(), 10_000_000);
    let took = arrivals.last().since(begun).as_secs_f64();
    assert!(took < 4.5, "{took} s; 4.1 s over one link alone");
}

fn conditions(connection: &Connection) -> Vec<PathCondition> {
    let paths = connection.paths().expect("several");
    paths.iter().map(|path| path.condition).collect()
}

#[test]
fn of_two_paths_over_one_bottleneck_one_carries_the_data_until_it_is_cut() {
    // whimbrel alone keeps too short a queue to be noticed.
    for controller in ["cubic", "newreno"] {
        let link = path(20, 40);
        let (mut network, client, server) = connect(&[link.clone(), link], 11, controller);
        network.share_bottleneck(true);
        let begun = network.now();
        let arrivals = transfer(&mut network, &client, &server, 60_000_000);
        network.run_until(begun + seconds(12));
        let found = conditions(&client);
        let stands_by = |condition: &PathCondition| *condition == PathCondition::StandingBy;
        let carrier = found.iter().position(|condition| !stands_by(condition));
        let carrier = carrier.expect("one carries");
        assert!(found.iter().any(stands_by), "{controller}: {found:?}");
        let before = network.arrived_over(1 - carrier)[0];
        network.run_until(begun + seconds(15));
        let more = network.arrived_over(1 - carrier)[0] - before;
        assert!(more < 50_000, "{controller}: {more} bytes beside 7 MB");
        network.cut(carrier, true);
        let cut = network.now();
        assert!(
            network.run_tasks(begun + seconds(60)),
            "{:?}",
            client.paths()
        );
        assert_eq!(arrivals.bytes(), 60_000_000);
        let stall = arrivals.longest_stall(cut);
        assert!(
            stall <= Duration::from_millis(320),
            "{controller}: {stall:?}"
        );
    }
}

#[test]
fn equal_links_that_fill_alike_both_carry() {
    for controller in ["cubic", "whimbrel?clock=false"] {
        let link = path(20, 40);
        let (mut network, client, server) = connect(&[link.clone(), link], 12, controller);
        let begun = network.now();
        let arrivals = transfer(&mut network, &client, &server, 100_000_000);
        for second in 1..20 {
            network.run_until(begun + seconds(second));
            let found = conditions(&client);
            assert_eq!(found, [PathCondition::Open; 2], "{controller}, {second} s");
        }
        assert!(network.run_tasks(begun + seconds(60)));
        assert_eq!(arrivals.bytes(), 100_000_000);
        // 20 Mbit/s each, less headers of 5 %.
        let took = arrivals.last().since(begun).as_secs_f64();
        assert!(took < 21.5, "{controller}: {took} s");
    }
}

#[test]
fn lia_is_coupled_over_several_paths() {
    // The links lose so much that nothing else limits the window: two paths of NewReno carry twice
    // what one does, two of LIA as much as one, once slow start is over.
    let mut lossy = path(100, 40);
    lossy.forth.loss.random = whimbrel_units::Probability::new(0.003).expect("below 1");
    let links = [lossy.clone(), lossy];
    let takes = |controller| -> f64 {
        let seeds = 13..16;
        seeds
            .map(|seed| takes(&links, controller, 20_000_000, seed))
            .sum()
    };
    let (newreno, lia) = (takes("newreno"), takes("lia"));
    assert!(lia > 1.3 * newreno, "{lia} s, {newreno} s with newreno");
}

#[test]
fn the_same_seed_gives_the_same_transfer() {
    // With the clock, drains follow the time of day.
    let spec = "whimbrel?clock=false";
    let run = || takes(&[path(20, 40), path(5, 100)], spec, 5_000_000, 7);
    assert_eq!(run().to_bits(), run().to_bits());
}

#[test]
fn a_peer_that_opens_and_closes_paths_all_the_time_is_cut_off() {
    let (mut network, client, server) = connect(&[path(20, 40)], 8, "cubic");
    let remote = client.remote_address().expect("connected");
    let begun = network.now();
    let mut most = 0;
    for number in 0..2000u64 {
        let now = network.instant_now();
        client.misbehave(|proto| {
            for id in proto.paths().into_iter().skip(1) {
                proto.close_path(now, id, 0u32.into()).ok();
            }
            let own = std::net::IpAddr::from([10, 0, 0, 1]);
            let tuple = noq_proto::FourTuple::new(remote, Some(own));
            proto
                .open_path(tuple, noq_proto::PathStatus::Available, now)
                .ok();
        });
        network.run_until(begun + Duration::from_millis(number + 1));
        most = most.max(server.misbehave(|proto| proto.paths().len()));
        if server.close_reason().is_some() {
            break;
        }
    }
    network.run_until(begun + seconds(4));
    let reason = client.close_reason().expect("closed").to_string();
    assert!(reason.contains("opened and closed too often"), "{reason}");
    assert!(most < 64, "{most}");
}

#[test]
fn a_far_link_is_used_beside_a_fast_one_by_the_default_algorithm() {
    // 50 Mbit/s x 30 ms carries 30 MB in 5.1 s. The far one needs 3 s to begin.
    let links = [path(50, 30), path(20, 600)];
    let controller = "whimbrel?clock=false";
    let (mut network, client, server) = connect(&links, 1, controller);
    let begun = network.now();
    let arrivals = transfer(&mut network, &client, &server, 90_000_000);
    network.run_until(begun + seconds(8));
    let found = conditions(&client);
    assert_eq!(found, [PathCondition::Open; 2], "{:?}", client.paths());
    let far = network.arrived_over(1)[0];
    assert!(far > 5_000_000, "{far} bytes over the far link");
    assert!(network.run_tasks(begun + seconds(60)));
    assert_eq!(arrivals.bytes(), 90_000_000);
    let took = arrivals.last().since(begun).as_secs_f64();
    assert!(took < 12.5, "{took} s; 15.2 s over the fast link alone");
}

/// The bottleneck of Fig 5 in EMFAST's paper: 1.5 Mbit/s, 120 ms, ten packets.
fn figure_5() -> Path {
    let rate = Rate::from_bits_per_sec(1_500_000);
    Path::symmetric(rate, Duration::from_millis(120), Bytes::new(10 * 1480))
}

/// Multihoming, as SCTP has it (section 2 of that paper): of two such links one is cut at 20 s, and
/// the connection goes on over the other, by each of the paper's algorithms.
#[test]
fn a_connection_of_emfasts_figure_5_outlives_one_of_its_links() {
    for controller in [
        "sctp",
        "newreno",
        "fast?alpha=6",
        "mfast?alpha=6",
        "emfast?alpha=6",
    ] {
        for link in 0..2 {
            let (mut network, client, server) = connect(&[figure_5(), figure_5()], 1, controller);
            let begun = network.now();
            let arrivals = transfer(&mut network, &client, &server, 100_000_000);
            let cut = begun + seconds(20);
            network.run_until(cut);
            let before = arrivals.bytes();
            network.cut(link, true);
            network.run_until(begun + seconds(60));
            let stall = arrivals.longest_stall(cut);
            let rates = [(before, 20), (arrivals.bytes() - before, 40)]
                .map(|(bytes, seconds)| bytes as f64 * 8e-6 / f64::from(seconds));
            assert!(
                stall < Duration::from_millis(400),
                "{controller}: {stall:?}"
            );
            // Both links, then one of them.
            assert!(rates[0] > 2.3 && rates[1] > 1.25, "{controller}: {rates:?}");
        }
    }
}
