//! Pipes to ports and programs at a server, and the users who may open them.

use crate::common::{ScratchDirectory, TEST_TIMEOUT};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, empty, sink};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use whimbrel_cc::fairness::Priority;
use whimbrel_transfer::users::{Rights, Target, TokenEntry, User, Users};
use whimbrel_transfer::{
    Carried, ClientOptions, Error, Identity, Limits, PipeClient, Reason, ServeOptions, Server,
    ServerAddress, Token, probe,
};
use whimbrel_units::{Bytes, Duration as Span};

/// A server whose owner may reach some targets.
struct Service {
    identity: Identity,
    server: Arc<Server>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    _scratch: ScratchDirectory,
}

impl Service {
    fn start(targets: &[(&str, Target)]) -> Self {
        Self::start_with(targets, Limits::default())
    }

    fn start_with(targets: &[(&str, Target)], limits: Limits) -> Self {
        let scratch = ScratchDirectory::new();
        let identity =
            Identity::load_or_create(&scratch.path().join("identity")).expect("an identity");
        let mut owner = User::owner(identity.token(), Rights::default(), Priority::HIGHEST);
        for (name, target) in targets {
            owner.connect.insert((*name).to_owned(), target.clone());
        }
        let directory = scratch.subdirectory("stored");
        let options = ServeOptions {
            users: Some(Users::new([owner])),
            limits,
            ..ServeOptions::new(directory, ([127, 0, 0, 1], 0).into())
        };
        let server = Arc::new(Server::bind(options, &identity).expect("a server"));
        let (stop, stopped) = oneshot::channel();
        let running = Arc::clone(&server);
        let serving = tokio::spawn(async move {
            let stopped = async { stopped.await.unwrap_or_default() };
            running.run(|_| (), stopped).await;
        });
        Self {
            identity,
            server,
            stop,
            serving,
            _scratch: scratch,
        }
    }

    fn options(&self) -> ClientOptions {
        let address = self.server.local_addr().expect("bound");
        let server = ServerAddress {
            host: address.ip().to_string(),
            port: address.port(),
        };
        let controller = "newreno".parse().expect("a known controller");
        let token = self.identity.token().clone();
        let mut options = ClientOptions::for_pipes(server, token, controller);
        options.fingerprint = Some(self.identity.fingerprint());
        options
    }

    async fn client(&self) -> PipeClient {
        PipeClient::connect(self.options())
            .await
            .expect("connected")
    }

    async fn stop(self) {
        self.stop.send(()).ok();
        self.serving.await.expect("the server never panics");
    }
}

/// A TCP server that sends back what it receives, and ends when its client does.
async fn echo() -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let serving = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                tokio::io::copy(&mut from, &mut to).await.ok();
                to.shutdown().await.ok();
            });
        }
    });
    (address, serving)
}

fn tcp(address: SocketAddr) -> (String, Target) {
    let name = address.to_string();
    let target = name.parse().expect("a target");
    (name, target)
}

fn command(words: &[&str]) -> Target {
    Target::Command(words.iter().map(|word| (*word).to_owned()).collect())
}

/// Sends `data` through a pipe, ends it, and returns what came back.
async fn through(
    client: &PipeClient,
    target: &str,
    data: Vec<u8>,
) -> Result<(Vec<u8>, Carried, u8), Error> {
    let (near, far) = duplex(64 << 10);
    let (from, to) = tokio::io::split(far);
    let (mut output, mut input) = tokio::io::split(near);
    let writing = tokio::spawn(async move {
        input.write_all(&data).await.ok();
        input.shutdown().await.ok();
    });
    let reading = tokio::spawn(async move {
        let mut received = Vec::new();
        output.read_to_end(&mut received).await.expect("read");
        received
    });
    let piping = client.pipe(target, from, to);
    let (carried, status) = timeout(TEST_TIMEOUT, piping).await.expect("in time")?;
    writing.abort();
    Ok((reading.await.expect("no panic"), carried, status))
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_go_to_a_port_and_come_back() {
    let (address, echoing) = echo().await;
    let (name, target) = tcp(address);
    let service = Service::start(&[(&name, target)]);
    let client = service.client().await;
    // Less than a chunk, exactly one, some and a part, nothing.
    for size in [5, 1 << 20, 5_000_000, 0] {
        let data: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
        let (back, carried, status) = through(&client, "", data.clone()).await.expect("carried");
        assert!(back == data, "{size}");
        let size = size as u64;
        let expected = Carried {
            sent: size,
            received: size,
        };
        assert_eq!((carried, status), (expected, 0));
    }
    client.close().await;
    service.stop().await;
    echoing.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn small_writes_go_at_once() {
    let (address, echoing) = echo().await;
    let (name, target) = tcp(address);
    let service = Service::start(&[(&name, target)]);
    let client = service.client().await;
    let (near, far) = duplex(4096);
    let (from, to) = tokio::io::split(far);
    let piping = tokio::spawn(async move {
        client.pipe("", from, to).await.expect("carried");
    });
    let (mut output, mut input) = tokio::io::split(near);
    let mut times = Vec::new();
    for n in 0..50u8 {
        let started = Instant::now();
        input.write_all(&[n]).await.expect("written");
        let mut back = [0];
        timeout(TEST_TIMEOUT, output.read_exact(&mut back))
            .await
            .expect("in time")
            .expect("echoed");
        assert_eq!(back, [n]);
        times.push(started.elapsed());
    }
    // Loopback takes less than a millisecond; nothing is held back to be sent together. A busy
    // machine is slow now and then, not half of the time.
    times.sort_unstable();
    assert!(times[25] < Duration::from_secs(1), "{times:?}");
    input.shutdown().await.expect("ended");
    drop((input, output));
    timeout(TEST_TIMEOUT, piping)
        .await
        .expect("in time")
        .expect("no panic");
    service.stop().await;
    echoing.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_gets_the_input_and_its_exit_status_comes_back() {
    let service = Service::start(&[
        ("cat", command(&["cat"])),
        ("fail", command(&["sh", "-c", "echo out; exit 7"])),
        ("killed", command(&["sh", "-c", "kill -9 $$"])),
    ]);
    let client = service.client().await;
    let data = b"some text\n".repeat(50_000);
    let (back, _, status) = through(&client, "cat", data.clone()).await.expect("ran");
    assert!(back == data && status == 0);
    // The program ends although the input has not.
    let (near, far) = duplex(4096);
    let (from, to) = tokio::io::split(far);
    let (_, status) = timeout(TEST_TIMEOUT, client.pipe("fail", from, to))
        .await
        .expect("in time")
        .expect("ran");
    assert_eq!(status, 7);
    drop(near);
    let (_, status) = client.pipe("killed", empty(), sink()).await.expect("ran");
    assert_eq!(status, 137);
    client.close().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_a_program_leaves_behind_does_not_hold_the_pipe() {
    let script = "echo early; (sleep 1.2; echo late; sleep 30) & exit 3";
    let service = Service::start(&[("daemon", command(&["sh", "-c", script]))]);
    let client = service.client().await;
    let (near, far) = duplex(4096);
    let (from, to) = tokio::io::split(far);
    let began = Instant::now();
    let (carried, status) = timeout(TEST_TIMEOUT, client.pipe("daemon", from, to))
        .await
        .expect("in time")
        .expect("ran");
    // What the program itself wrote has arrived.
    assert!(carried.received >= 6 && status == 3, "{carried:?}");
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    drop(near);
    client.close().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_permitted_targets_are_reached() {
    // A socket that does not listen refuses connections, and no other test gets its port.
    let closed = tokio::net::TcpSocket::new_v4().expect("a socket");
    closed.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let (name, target) = tcp(closed.local_addr().expect("bound"));
    let service = Service::start(&[(&name, target)]);
    let client = service.client().await;
    for (target, reason, says) in [
        ("127.0.0.1:1", Reason::Rights, "permits"),
        ("sh", Reason::Rights, "permits"),
        (&name, Reason::Missing, "refused"),
    ] {
        let Err(Error::Refused(refusal)) = client.pipe(target, empty(), sink()).await else {
            panic!("not refused: {target}")
        };
        assert_eq!(refusal.reason, reason, "{refusal}");
        assert!(refusal.text.contains(says), "{refusal}");
    }
    client.close().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_are_exchanged_while_the_server_runs() {
    let service = Service::start(&[("cat", command(&["cat"]))]);
    let open = service.client().await;
    let token = Token::random().expect("randomness");
    let mut user = User::owner(&token, Rights::default(), Priority::LOWEST);
    user.connect.insert("cat".to_owned(), command(&["cat"]));
    user.tokens = vec![TokenEntry {
        hash: token.hash(),
        expires: None,
    }];
    service.server.set_users(Users::new([user]));
    let refused = PipeClient::connect(service.options()).await;
    let Err(Error::Refused(refusal)) = refused else {
        panic!("the old token is valid")
    };
    assert_eq!(refusal.reason, Reason::Token);
    let mut options = service.options();
    options.token = token;
    let new = PipeClient::connect(options).await.expect("the new token");
    let (back, ..) = through(&new, "", b"x".to_vec()).await.expect("carried");
    assert_eq!(back, b"x");
    assert!(through(&open, "", b"x".to_vec()).await.is_err(), "revoked");
    open.close().await;
    new.close().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_server_ends_a_pipe_with_a_reason() {
    let service = Service::start(&[("cat", command(&["cat"]))]);
    let client = Arc::new(service.client().await);
    let (near, far) = duplex(4096);
    let (from, to) = tokio::io::split(far);
    let piping = {
        let client = Arc::clone(&client);
        tokio::spawn(async move { client.pipe("cat", from, to).await })
    };
    let (mut output, mut input) = tokio::io::split(near);
    input.write_all(b"x").await.expect("written");
    output.read_exact(&mut [0]).await.expect("echoed");
    service.stop().await;
    let result = timeout(TEST_TIMEOUT, piping).await.expect("in time");
    let error = result.expect("no panic").expect_err("lost").to_string();
    assert!(error.contains("stopped"), "{error}");
    assert!(!client.is_open());
}

#[tokio::test]
async fn a_probe_measures_the_path_within_its_bounds() {
    let service = Service::start(&[]);
    let most = Bytes::new(3_000_000);
    let hour = Span::from_secs(3600);
    let report = timeout(TEST_TIMEOUT, probe(service.options(), most, hour, |_| {}))
        .await
        .expect("in time")
        .expect("permitted");
    assert_eq!(report.bytes, most.get());
    assert!(report.min_rtt > 0.0 && report.mtu >= 1200, "{report:?}");
    let counts: Vec<u64> = report.samples.iter().map(|s| s.delivered).collect();
    assert!(counts.is_sorted() && !counts.is_empty(), "{counts:?}");
    service.stop().await;
}

#[tokio::test]
async fn a_server_bounds_a_probe_and_may_refuse_it() {
    let limited = |bytes| Limits {
        probe: Bytes::new(bytes),
        ..Limits::default()
    };
    let second = Span::from_secs(1);
    let service = Service::start_with(&[], limited(1 << 20));
    let most = Bytes::new(64 << 20);
    let report = timeout(TEST_TIMEOUT, probe(service.options(), most, second, |_| {}))
        .await
        .expect("in time")
        .expect("permitted");
    // What is on the way when the server has enough counts as sent.
    assert!(
        report.bytes >= 1 << 20 && report.bytes < most.get(),
        "{}",
        report.bytes
    );
    service.stop().await;
    let service = Service::start_with(&[], limited(0));
    let refused = timeout(TEST_TIMEOUT, probe(service.options(), most, second, |_| {}))
        .await
        .expect("in time")
        .expect_err("no probes here");
    let Error::Refused(refusal) = refused else {
        panic!("{refused}");
    };
    assert_eq!(refusal.reason, Reason::Rights);
    service.stop().await;
}
