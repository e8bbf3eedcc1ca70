//! Behaviour of the endpoint, in virtual time and over loopback.

use super::outgoing::Outgoing;
use super::socket::{ReceiveBuffers, Socket, send_singly};
use super::testing::{Network, Path, client_config, server_config, transport};
use super::waiters::{Topic, Waiters};
use super::{Endpoint, Server};
use crate::feedback::Stamps;
use crate::{Factory, PacketLog};
use bytes::{Bytes as Data, BytesMut};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use noq_proto::congestion::{Controller, ControllerFactory};
use noq_proto::{ConnectionError, EcnCodepoint, EndpointConfig, VarInt};
use std::any::Any;
use std::cell::RefCell;
use std::future::Future;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use whimbrel_cc::fairness::Priority;
use whimbrel_units::{Bytes, Duration, Rate, Time};

fn path() -> Path {
    let (rate, delay) = (
        Rate::from_bits_per_sec(10_000_000),
        Duration::from_millis(20),
    );
    Path::symmetric(rate, delay, Bytes::new(100_000))
}

fn network(path: &Path, seed: u64) -> (Network, super::Connection, super::Connection) {
    let mut network = Network::new(path, seed);
    let server = Arc::new(server_config(transport()));
    let (client, server) = network.connect(client_config(transport()), server);
    (network, client, server)
}

/// Sends `bytes` on one stream and returns when they have arrived.
fn transfer(network: &mut Network, ends: (&super::Connection, &super::Connection), bytes: usize) {
    let (client, server) = (ends.0.clone(), ends.1.clone());
    network.spawn(async move {
        let mut stream = client.open_uni().await.expect("open");
        let data = Data::from(vec![7; bytes]);
        stream.write_chunk(data).await.expect("written");
        stream.finish().expect("open");
        assert_eq!(stream.stopped().await, Ok(None));
    });
    network.spawn(async move {
        let mut stream = server.accept_uni().await.expect("opened");
        let data = stream.read_to_end(bytes).await.expect("complete");
        assert_eq!(data.len(), bytes);
    });
    assert!(network.run_tasks(network.now() + Duration::from_secs(60)));
}

#[test]
fn a_transfer_takes_the_time_of_the_link() {
    let (mut network, client, server) = network(&path(), 1);
    let begun = network.now();
    // The server's handshake is complete after three flights of 20 ms and their packets.
    let handshake = begun.since(Time::ZERO).as_millis_f64();
    assert!((60.0..65.0).contains(&handshake), "{handshake} ms");
    transfer(&mut network, (&client, &server), 1_000_000);
    let took = network.now().since(begun).as_secs_f64();
    assert!((0.85..1.3).contains(&took), "{took} s");
    client.close(VarInt::from_u32(3), b"done");
    network.run_until(network.now() + Duration::from_secs(5));
    let reason = server.close_reason().expect("closed").to_string();
    assert!(reason.contains("done"), "{reason}");
    let (at_client, at_server) = network.endpoints();
    assert_eq!(
        (at_client.open_connections(), at_server.open_connections()),
        (0, 0)
    );
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    let run = |seed| {
        let mut path = path();
        path.forth.loss.random = "2 %".parse().expect("a probability");
        path.back.loss.random = "1 %".parse().expect("a probability");
        let mut network = Network::new(&path, seed);
        network.record();
        let server = Arc::new(server_config(transport()));
        let (client, server) = network.connect(client_config(transport()), server);
        transfer(&mut network, (&client, &server), 500_000);
        network.take_packets()
    };
    let first = run(1);
    assert!(first.iter().any(|packet| packet.arrives.is_none()));
    assert_eq!(first, run(1));
    assert_ne!(first, run(2));
}

#[test]
fn consecutive_datagrams_leave_in_one_call() {
    let (mut network, client, server) = network(&path(), 1);
    transfer(&mut network, (&client, &server), 1_000_000);
    let forth = network.forth();
    assert!(forth.largest_batch >= 4, "{forth:?}");
    assert!(forth.calls < forth.sent / 2, "{forth:?}");
}

/// A log wants packets one by one, which are collected then. So many leave at once only without
/// congestion control; the network checks what a system call takes.
#[test]
fn what_is_collected_fits_a_system_call() {
    let fast = Path::symmetric(
        Rate::from_bits_per_sec(10_000_000_000),
        Duration::from_millis(10),
        Bytes::new(10_000_000),
    );
    let mut network = Network::new(&fast, 1);
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let log = PacketLog::create(file.path()).expect("created");
    let sending = Factory::uncontrolled().logging(log);
    let client = sending.client(client_config(transport()), transport(), Priority::LOWEST);
    let (client, server) = network.connect(client, Arc::new(server_config(transport())));
    transfer(&mut network, (&client, &server), 5_000_000);
    let forth = network.forth();
    assert!(forth.largest_batch >= 40, "{forth:?}");
}

#[test]
fn the_last_dropped_handle_closes_the_connection() {
    let (mut network, client, server) = network(&path(), 1);
    let stream = Rc::new(RefCell::new(None));
    let (opened, opener) = (Rc::clone(&stream), client.clone());
    network.spawn(async move {
        *opened.borrow_mut() = Some(opener.open_uni().await.expect("open"));
    });
    network.run_until(network.now() + Duration::from_secs(1));
    drop(client);
    network.run_until(network.now() + Duration::from_secs(1));
    assert_eq!(server.close_reason(), None, "the stream is a handle too");
    stream.take();
    network.run_until(network.now() + Duration::from_secs(1));
    assert!(server.close_reason().is_some());
}

/// Lets the client send `bytes` on a stream and the server do something with it.
fn with_stream<F: Future<Output = ()> + 'static>(
    bytes: usize,
    then: impl FnOnce(super::RecvStream) -> F + 'static,
) -> (Network, super::Connection, super::Connection) {
    let (mut network, client, server) = network(&path(), 1);
    let (from, to) = (client.clone(), server.clone());
    network.spawn(async move {
        let mut stream = from.open_uni().await.expect("open");
        stream.write_all(&vec![7; bytes]).await.ok();
    });
    network.spawn(async move {
        then(to.accept_uni().await.expect("opened")).await;
    });
    let until = network.now() + Duration::from_secs(5);
    assert!(network.run_tasks(until));
    network.run_until(until);
    (network, client, server)
}

#[test]
fn a_stream_may_be_as_long_as_its_reader_permits_and_no_longer() {
    for (bytes, fits) in [(1, true), (5000, true), (5001, false), (50_000, false)] {
        with_stream(bytes, move |mut stream| async move {
            let data = stream.read_to_end(5000).await;
            assert_eq!(data.map(|data| data.len()).ok(), fits.then_some(bytes));
        });
    }
}

#[test]
fn a_stream_that_was_stopped_is_not_at_its_end() {
    with_stream(1_000_000, |mut stream| async move {
        assert!(stream.read_chunk(10).await.expect("data").is_some());
        stream.stop(VarInt::from_u32(4)).expect("open");
        let again = stream.read_chunk(10).await.map(|chunk| chunk.is_some());
        assert_eq!(again, Err(super::ReadError::ClosedStream));
        assert_eq!(stream.received_reset().await, Ok(None));
        assert!(stream.stop(VarInt::from_u32(4)).is_err());
    });
}

/// RFC 9000 section 3.5: whether the application still writes or has left the stream with data that
/// waits to be sent.
#[test]
fn a_stream_that_the_peer_stopped_is_reset() {
    for bytes in [20_000_000, 1_000_000] {
        let (network, client, server) = with_stream(bytes, |mut stream| async move {
            assert!(stream.read_chunk(10).await.expect("data").is_some());
        });
        assert_eq!(server.stats().frame_tx.stop_sending, 1);
        assert_eq!(client.stats().frame_tx.reset_stream, 1);
        assert!(network.forth().arrived_bytes < 200_000, "{bytes}");
    }
}

#[test]
fn who_waits_for_the_end_of_a_stream_hears_of_its_reset() {
    let (mut network, client, _server) = network(&path(), 1);
    let timer = network.timer();
    network.spawn(async move {
        let mut stream = client.open_uni().await.expect("open");
        stream.write_all(&[7; 1000]).await.expect("written");
        let before = stream.stopped();
        stream.reset(VarInt::from_u32(3)).expect("open");
        assert_eq!(before.await, Ok(None));
        assert_eq!(stream.stopped().await, Ok(None));
        assert!(timer.now() < Time::ZERO + Duration::from_secs(1));
    });
    assert!(network.run_tasks(network.now() + Duration::from_secs(5)));
}

#[test]
fn an_obstacle_ends_an_attempt_and_no_connection() {
    let (mut network, client, _server) = network(&path(), 1);
    let to = client.remote_address().expect("connected");
    let endpoint = network.endpoints().0.clone();
    let attempt = endpoint
        .connect(client_config(transport()), to, "server")
        .expect("a valid configuration");
    let elsewhere = SocketAddr::from(([10, 0, 0, 9], 4433));
    let forged = |remote| {
        endpoint
            .shared()
            .call(|core| core.obstructed(remote, super::Obstacle::NoRoute));
    };
    forged(elsewhere);
    assert_eq!((attempt.obstacle(), client.close_reason()), (None, None));
    forged(to);
    assert_eq!(attempt.obstacle(), Some(super::Obstacle::NoRoute));
    network.run_until(network.now() + Duration::from_secs(1));
    assert_eq!(client.close_reason(), None);
}

#[test]
fn answers_to_strangers_that_cannot_leave_are_bounded() {
    let network = Network::new(&path(), 1);
    let shared = Arc::clone(network.endpoints().1.shared());
    // An unknown version is answered without a connection (RFC 9000 section 6.1).
    let mut datagram = vec![0; 1200];
    datagram[..6].copy_from_slice(&[0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8]);
    datagram[14] = 8;
    let now = network.instant_now();
    let mut core = shared.lock();
    for port in 1..=1000 {
        let arrival = super::core::Arrival {
            source: SocketAddr::from(([10, 0, 0, 9], port)),
            destination: None,
            ecn: None,
            arrived: Time::ZERO,
            data: BytesMut::from(&datagram[..]),
            link: 0,
        };
        core.receive(now, arrival);
    }
    let mut buffer = Vec::new();
    let answers = std::iter::from_fn(|| core.poll_transmit(now, &mut buffer));
    assert_eq!(answers.count(), 64);
}

/// Two endpoints over loopback.
fn real() -> (Endpoint, Endpoint) {
    let socket = || UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let config = EndpointConfig::default;
    let server = Server::new(server_config(transport()));
    let server = Endpoint::new(config(), Some(server), socket()).expect("a server");
    let client = Endpoint::new(config(), None, socket()).expect("a client");
    (client, server)
}

#[tokio::test(flavor = "multi_thread")]
async fn real_sockets_carry_streams_in_both_directions() {
    const SIZE: usize = 5_000_000;
    let (client, server) = real();
    let address = server.local_addr().expect("bound");
    let serving = tokio::spawn(async move {
        let incoming = server.accept().await.expect("a client");
        assert_eq!(incoming.remote_address().ip(), address.ip());
        let connection = incoming
            .accept()
            .expect("accepted")
            .await
            .expect("connected");
        let (mut send, mut receive) = connection.accept_bi().await.expect("a stream");
        let data = receive.read_to_end(SIZE).await.expect("complete");
        send.write_chunk(data.into()).await.expect("written");
        send.finish().expect("open");
        connection.closed().await;
        server.wait_idle().await;
    });
    let connecting = client.connect(client_config(transport()), address, "server");
    let connection = connecting.expect("valid").await.expect("connected");
    assert_eq!(connection.remote_address(), Some(address));
    let (mut send, mut receive) = connection.open_bi().await.expect("open");
    let sent: Vec<u8> = (0..SIZE).map(|i| (i % 251) as u8).collect();
    let copy = sent.clone();
    let sending = tokio::spawn(async move {
        send.write_all(&copy).await.expect("written");
        send.finish().expect("open");
    });
    let received = receive.read_to_end(SIZE).await.expect("complete");
    assert!(received == sent);
    sending.await.expect("sent");
    connection.close(VarInt::from_u32(0), b"");
    client.wait_idle().await;
    serving.await.expect("served");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_moves_to_another_socket() {
    let (client, server) = real();
    let address = server.local_addr().expect("bound");
    let serving = tokio::spawn(async move {
        let incoming = server.accept().await.expect("a client");
        let before = Some(incoming.remote_address());
        let connection = incoming
            .accept()
            .expect("accepted")
            .await
            .expect("connected");
        while connection.remote_address() == before {
            let mut stream = connection.accept_uni().await.expect("a stream");
            stream.read_to_end(100).await.expect("complete");
        }
        connection.close(VarInt::from_u32(7), b"seen elsewhere");
        server.wait_idle().await;
    });
    let connecting = client.connect(client_config(transport()), address, "server");
    let connection = connecting.expect("valid").await.expect("connected");
    connection.handshake_confirmed().await.expect("confirmed");
    client
        .rebind(UdpSocket::bind("127.0.0.1:0").expect("a socket"))
        .expect("rebound");
    // The driver changes the socket in its next round: the first data may still leave by the old.
    for _ in 0..1000 {
        let Ok(mut stream) = connection.open_uni().await else {
            break;
        };
        if stream.write_all(b"from elsewhere").await.is_ok() && stream.finish().is_ok() {
            stream.stopped().await.ok();
        }
    }
    let reason = connection.close_reason().expect("closed").to_string();
    assert!(reason.contains("seen elsewhere"), "{reason}");
    serving.await.expect("served");
}

#[test]
fn attempts_are_refused_retried_or_ignored() {
    let mut network = Network::new(&path(), 1);
    let (client, server) = network.endpoints();
    let (client, server) = (client.clone(), server.clone());
    let connect = move || {
        let to = SocketAddr::from(([10, 0, 0, 2], 4433));
        let connecting = client.connect(client_config(transport()), to, "server");
        connecting.expect("a valid configuration")
    };
    let (refused, ignored, retried) = (connect(), connect(), connect());
    let at_server = server.clone();
    network.spawn(async move {
        at_server.accept().await.expect("open").refuse();
        at_server.accept().await.expect("open").ignore();
        let unknown = at_server.accept().await.expect("open");
        assert!(unknown.may_retry() && !unknown.remote_address_validated());
        unknown.retry().expect("the first time");
        loop {
            let known = at_server.accept().await.expect("open");
            // The ignored client tries again too.
            if known.remote_address_validated() {
                let known = known.retry().expect_err("not twice").into_incoming();
                let config = Arc::new(server_config(transport()));
                known
                    .accept_with(config)
                    .expect("accepted")
                    .await
                    .expect("connected");
                return;
            }
            known.ignore();
        }
    });
    network.spawn(async move {
        let error = refused.await.expect_err("refused").to_string();
        assert!(error.contains("refused"), "{error}");
    });
    network.spawn(async move {
        retried.await.expect("connected");
    });
    network.spawn(async move {
        let error = ignored.await.expect_err("ignored");
        assert_eq!(error, ConnectionError::TimedOut);
    });
    assert!(network.run_tasks(Time::ZERO + Duration::from_secs(60)));
    server.close(VarInt::from_u32(0), b"");
    network.spawn(async move { assert!(server.accept().await.is_none()) });
    assert!(network.run_tasks(network.now()));
}

#[test]
fn foreign_and_damaged_datagrams_are_ignored() {
    let (mut network, client, server) = network(&path(), 1);
    let mut state = 1u64;
    for size in 0..1500usize {
        let garbage: Vec<u8> = (0..size)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        network.inject(size % 2 == 0, &garbage);
    }
    transfer(&mut network, (&client, &server), 100_000);
}

/// A controller that fails at the first acknowledgment after `armed` is set.
#[derive(Debug, Clone)]
struct Failing {
    armed: Arc<AtomicBool>,
}

impl Controller for Failing {
    fn on_end_acks(&mut self, _: Instant, _: u64, _: bool, _: Option<u64>) {
        assert!(!self.armed.load(Ordering::Relaxed), "the controller fails");
    }
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: bool, _: u64, _: u64) {}
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 {
        20_000
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        20_000
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for Failing {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new((*self).clone())
    }
}

#[test]
fn a_panic_in_a_connection_leaves_the_others_alone() {
    let (mut network, client, server) = network(&path(), 1);
    let armed = Arc::new(AtomicBool::new(false));
    let mut bad = transport();
    bad.congestion_controller_factory(Arc::new(Failing {
        armed: Arc::clone(&armed),
    }));
    let config = Arc::new(server_config(transport()));
    let (failing, _at_server) = network.connect(client_config(bad), config);
    network.spawn({
        let failing = failing.clone();
        async move {
            let mut stream = failing.open_uni().await.expect("open");
            stream.write_all(&[1; 100]).await.expect("written");
            stream.finish().expect("open");
            stream.stopped().await.expect("acknowledged");
        }
    });
    assert!(network.run_tasks(network.now() + Duration::from_secs(5)));
    armed.store(true, Ordering::Relaxed);
    network.spawn({
        let failing = failing.clone();
        async move {
            let mut stream = failing.open_uni().await.expect("open");
            stream.write_all(&[1; 100]).await.expect("written");
            assert!(stream.stopped().await.is_err());
        }
    });
    assert!(network.run_tasks(network.now() + Duration::from_secs(5)));
    let why = failing.close_reason().expect("closed").to_string();
    assert!(why.contains("failed"), "{why}");
    assert_eq!(network.endpoints().0.open_connections(), 1);
    transfer(&mut network, (&client, &server), 100_000);
}

#[test]
fn a_waiting_future_that_is_dropped_leaves_nothing() {
    let mut waiters = Waiters::default();
    let (mut first, mut second) = (None, None);
    let topic = Topic::Closed;
    for _ in 0..3 {
        waiters.register(topic, &mut first, Waker::noop());
        waiters.register(topic, &mut second, Waker::noop());
    }
    waiters.cancel(topic, first.expect("registered"));
    let mut woken = Vec::new();
    waiters.notify(Topic::Connected, &mut woken);
    assert!(woken.is_empty());
    waiters.notify(topic, &mut woken);
    assert_eq!(woken.len(), 1);
    waiters.notify_all(&mut woken);
    assert_eq!(woken.len(), 1);
}

/// Sends three datagrams of 100 bytes, in one call or in three, from a socket to another of this
/// family, and returns their times of arrival.
fn three_datagrams(address: &str, together: bool, stamps: Stamps) -> Vec<Time> {
    let open = || Socket::new(UdpSocket::bind(address).expect("a socket")).expect("options");
    let (from, mut to) = (open(), open());
    to.set_stamps(stamps);
    let outgoing = Outgoing {
        destination: to.local_addr().expect("bound"),
        source: None,
        ecn: Some(EcnCodepoint::Ect0),
        segment_size: Some(100),
        exact: false,
        link: 0,
    };
    if together {
        from.send(&outgoing, &[1; 300]).expect("sent");
    } else {
        send_singly(&from, &outgoing, &[1; 300]);
    }
    let mut buffers = ReceiveBuffers::new();
    let (mut messages, mut arrivals) = (0, Vec::new());
    while arrivals.len() < 3 {
        // A busy kernel may still hold some of them.
        let mut readable = [PollFd::new(to.as_fd(), PollFlags::POLLIN)];
        let ready = poll(&mut readable, PollTimeout::from(60_000_u16)).expect("a socket");
        assert_eq!(ready, 1, "{} of 3 have arrived", arrivals.len());
        let received = to.receive(&mut buffers, 16).expect("some have arrived");
        messages += received;
        buffers.arrivals(|arrival| {
            assert_eq!((arrival.data.len(), arrival.ecn), (100, outgoing.ecn));
            assert_eq!(arrival.source, from.local_addr().expect("bound"));
            arrivals.push(arrival.arrived);
        });
    }
    assert_eq!(arrivals.len(), 3);
    let merged = messages == 1;
    assert_eq!(
        merged,
        stamps.may_merge() && together,
        "{messages} messages"
    );
    arrivals
}

#[test]
fn merging_is_switched_and_packets_have_the_kernels_time() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        if UdpSocket::bind(address).is_err() {
            println!("skipped: no {address}");
            continue;
        }
        three_datagrams(address, true, Stamps::None);
        three_datagrams(address, true, Stamps::Single);
        for stamps in [Stamps::Merged, Stamps::Single] {
            let (begin, before) = (Instant::now(), SystemTime::now());
            let single = three_datagrams(address, false, stamps);
            assert!(
                single.is_sorted() && single[0] < single[2],
                "each has its own"
            );
            let before = before.duration_since(UNIX_EPOCH).expect("after 1970");
            let before = Time::ZERO + Duration::from(before);
            let took = Duration::from(begin.elapsed());
            assert!(single[0] >= before && single[2].since(before) < took);
        }
        let before = SystemTime::now().duration_since(UNIX_EPOCH);
        let before = Time::ZERO + Duration::from(before.expect("after 1970"));
        let merged = three_datagrams(address, true, Stamps::Merged);
        assert!(merged.iter().all(|time| *time == merged[0]));
        assert!(merged[0] >= before);
    }
}
