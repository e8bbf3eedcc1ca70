//! Transfers where UDP is blocked: over TLS and TCP, with the same guarantees and limits.

use crate::common::blocked::Blocked;
use crate::common::{
    ScratchDirectory, Service, TEST_TIMEOUT, UNDER_WAY, limits_without_deadline, list,
    nothing_listens_at, raw, remove, report, upload,
};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use whimbrel_transfer::users::Rights;
use whimbrel_transfer::{
    Error, Fingerprint, GetOptions, Limits, Outcome, Progress, Reason, Report, Retry, SendOptions,
    ServeOptions, Token, Transport, TransportChoice, Update, get, transfer,
};
use whimbrel_units::Duration as Span;

/// Bytes that may be sent twice after an interruption.
const TWICE: u64 = 16 << 20;

fn is_tls(report: &Report) -> bool {
    matches!(report.transport, Some(Transport::Tls(_)))
}

fn retrying(mut options: SendOptions) -> SendOptions {
    options.client.retry = Some(Retry {
        limit: Some(Span::from_secs(30)),
        from_start: true,
    });
    options
}

#[tokio::test(flavor = "multi_thread")]
async fn blocked_udp_is_found_after_a_second_and_said_once() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let path = Blocked::to(service.address, false).await;
    let file = scratch.file("data", 20_000_000);
    let options = service.options_to(&file, path.address);
    let mut said = Vec::new();
    let note = |update| {
        if let Update::OverTcp(control) = update {
            said.push(control);
        }
    };
    let sending = transfer(options, note, std::future::pending());
    let report = timeout(TEST_TIMEOUT, sending).await.expect("in time");
    let summary = report.result.as_ref().expect("stored");
    assert!(is_tls(&report) && report.outcome == Outcome::Stored);
    // TCP is tried after a second. QUIC alone would wait for five, and connect to nothing.
    let connecting = summary.connect_seconds;
    assert!((1.0..4.5).contains(&connecting), "{connecting} s");
    let [control] = &said[..] else {
        panic!("{said:?}")
    };
    assert!(control.algorithm.starts_with("the kernel's "), "{control}");
    assert_eq!(summary.controller, control.algorithm);
    assert_eq!((summary.lost_packets, summary.cwnd_bytes), (0, 0));
    let stored = std::fs::read(service.directory.join("data")).expect("stored");
    assert!(stored == std::fs::read(&file).expect("the source"));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn quic_is_used_where_udp_passes() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let path = Blocked::to(service.address, true).await;
    let file = scratch.file("data", 1_000_000);
    let report = report(service.options_to(&file, path.address)).await;
    assert_eq!(report.transport, Some(Transport::Quic));
    assert_eq!(path.sent().1, 0, "no TCP connection");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_transfer_over_tcp_goes_on_where_it_was() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let path = Blocked::to(service.address, false).await;
    let size: u64 = 60_000_000;
    let file = scratch.file("data", size as usize);
    let mut options = retrying(service.options_to(&file, path.address));
    options.client.transport = TransportChoice::Tls;
    options.bandwidth = Some(whimbrel_units::Rate::from_bits_per_sec(400_000_000));
    path.cut_tcp(3, size / 4);
    let report = report(options).await;
    assert!(is_tls(&report), "{report:?}");
    assert_eq!((report.outcome, report.retries), (Outcome::Stored, 3));
    assert!(report.sent_bytes <= size + 3 * TWICE, "{report:?}");
    let stored = std::fs::read(service.directory.join("data")).expect("stored");
    assert!(stored == std::fs::read(&file).expect("the source"));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_goes_on_over_tcp_when_udp_becomes_blocked() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let path = Blocked::to(service.address, true).await;
    let size: u64 = 30_000_000;
    let file = scratch.file("data", size as usize);
    let mut options = retrying(service.options_to(&file, path.address));
    options.client.idle = Span::from_secs(1);
    options.bandwidth = Some(whimbrel_units::Rate::from_bits_per_sec(200_000_000));
    path.block_udp_after(size / 3);
    let report = report(options).await;
    assert!(
        is_tls(&report) && report.outcome == Outcome::Stored,
        "{report:?}"
    );
    assert!(
        report.resumed_bytes > 0 && report.sent_bytes <= size + TWICE,
        "{report:?}"
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_listed_got_and_removed_over_tcp() {
    let scratch = ScratchDirectory::new();
    let rights = Rights {
        read: true,
        write: true,
        remove: true,
    };
    let service = Service::with_rights(&scratch, rights);
    let file = scratch.file("data", 3_000_000);
    let mut options = service.options(&file);
    options.client.transport = TransportChoice::Tls;
    upload(options.clone()).await.expect("stored");
    let never = std::future::pending::<()>;
    let entries = list(options.client.clone(), None, false).await;
    assert_eq!(entries.expect("allowed").entries.len(), 1);
    let name = || whimbrel_transfer::RemotePath::new(b"data").expect("a name");
    let here = scratch.subdirectory("got");
    let what = GetOptions::new(options.client.clone(), vec![Some(name())], here.clone());
    let got = get(what, |_| (), never()).await;
    assert_eq!(
        (got.outcome, got.transport.map(|t| t.name())),
        (Outcome::Stored, Some("tls"))
    );
    assert!(std::fs::read(here.join("data")).ok() == std::fs::read(&file).ok());
    assert_eq!(
        remove(options.client, name(), false)
            .await
            .expect("allowed"),
        1
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn identity_and_token_are_checked_over_tcp_too() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let path = Blocked::to(service.address, false).await;
    let file = scratch.file("data", 1000);
    let mut options = service.options_to(&file, path.address);
    options.client.fingerprint = None;
    let error = upload(options.clone()).await.expect_err("unknown");
    let found = service.identity.fingerprint();
    assert!(
        matches!(error, Error::UnknownServer { found: f, .. } if f == found),
        "{error}"
    );
    let other = ScratchDirectory::new();
    let other = whimbrel_transfer::Identity::load_or_create(&other.path().join("id"));
    let expected: Fingerprint = other.expect("an identity").fingerprint();
    options.client.fingerprint = Some(expected);
    let error = upload(options.clone()).await.expect_err("another server");
    assert!(
        matches!(error, Error::FingerprintMismatch { .. }),
        "{error}"
    );
    options.client.fingerprint = Some(found);
    options.client.token = Token::random().expect("randomness");
    let error = upload(options).await.expect_err("a wrong token");
    assert!(
        matches!(&error, Error::Refused(r) if r.reason == Reason::Token),
        "{error}"
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tcp_or_udp_is_named_as_before() {
    let scratch = ScratchDirectory::new();
    let directory = scratch.subdirectory("stored");
    let options = ServeOptions {
        tcp: false,
        ..ServeOptions::new(directory, ([127, 0, 0, 1], 0).into())
    };
    let service = Service::of(&scratch, options);
    assert!(TcpStream::connect(service.address).await.is_err());
    let file = scratch.file("data", 1000);
    upload(service.options(&file)).await.expect("over QUIC");
    let mut options = service.options(&file);
    options.client.transport = TransportChoice::Tls;
    let error = upload(options).await.expect_err("no TCP").to_string();
    assert!(
        error.contains("TCP port") && error.contains("cannot be reached"),
        "{error}"
    );
    let options = service.options(&file);
    let address = service.address;
    service.stop().await;
    nothing_listens_at(address).await;
    let error = upload(options).await.expect_err("no server").to_string();
    assert!(error.contains("nothing listens on UDP port"), "{error}");
    assert!(!error.contains("TCP"), "TCP adds nothing: {error}");
}

/// A TCP connection from this address.
async fn connect(from: IpAddr, to: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((from, 0).into()).expect("an address");
    socket.connect(to).await.ok()
}

/// Waits for the end of a connection.
async fn end(mut stream: impl tokio::io::AsyncRead + Unpin) {
    let mut buffer = [0; 1000];
    while let Ok(1..) = stream.read(&mut buffer).await {}
}

/// The deadline of the handshake is short. Nothing else ends a connection during a test.
fn strict() -> Limits {
    Limits {
        handshake: Span::from_millis(600),
        idle: Span::from_secs(3600),
        ..Limits::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_and_trickling_over_tcp_end_at_the_deadline() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(&scratch, strict(), false);
    let from: IpAddr = [127, 0, 0, 2].into();
    let mut hostile = JoinSet::new();
    for kind in 0..4 {
        let stream = connect(from, service.address).await.expect("connected");
        hostile.spawn(async move {
            match kind {
                // Nothing.
                0 => end(stream).await,
                // The header of a TLS record that never ends.
                1 => {
                    let (read, mut write) = stream.into_split();
                    let trickle = async {
                        write.write_all(&[22, 3, 1, 2, 0]).await.ok();
                        while write.write_all(&[1]).await.is_ok() {
                            sleep(Duration::from_millis(50)).await;
                        }
                    };
                    tokio::select! {
                        () = end(read) => {}
                        () = trickle => {}
                    }
                }
                // TLS, and then nothing, or half a frame.
                kind => {
                    let name = "x".try_into().expect("a name");
                    let tls = TlsConnector::from(Arc::new(raw::tls())).connect(name, stream);
                    let mut tls = tls.await.expect("TLS");
                    if kind == 3 {
                        tls.write_all(&[16, 0, 1, 2, 3]).await.expect("written");
                        tls.flush().await.expect("sent");
                    }
                    end(tls).await;
                }
            }
        });
    }
    let ended = timeout(TEST_TIMEOUT, hostile.join_all()).await;
    ended.expect("all are disconnected");
    service.stop().await;
}

/// The time until then is a part of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_first_message_over_tcp_does_not_move_the_deadline() {
    let scratch = ScratchDirectory::new();
    let limits = Limits {
        handshake: Span::from_secs(1),
        ..strict()
    };
    let service = Service::with(&scratch, limits, false);
    let from: IpAddr = [127, 0, 0, 2].into();
    let mut took = Duration::MAX;
    // A busy machine may be late itself.
    for _ in 0..3 {
        let stream = connect(from, service.address).await.expect("connected");
        let began = Instant::now();
        sleep(Duration::from_millis(800)).await;
        let name = "x".try_into().expect("a name");
        let tls = TlsConnector::from(Arc::new(raw::tls())).connect(name, stream);
        end(tls.await.expect("TLS")).await;
        took = took.min(began.elapsed());
        if took < Duration::from_millis(1500) {
            break;
        }
    }
    assert!(took < Duration::from_millis(1500), "{took:?}");
    service.stop().await;
}

/// Its first message has come, and nothing after it.
#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_over_tcp_that_stops_is_not_waited_for() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(&scratch, strict(), false);
    let from: IpAddr = [127, 0, 0, 2].into();
    let mut stream = connect(from, service.address).await.expect("connected");
    let name = "x".try_into().expect("a name");
    let client = rustls::ClientConnection::new(Arc::new(raw::tls()), name);
    let mut hello = Vec::new();
    let written = client.expect("a client").write_tls(&mut hello);
    assert!(written.expect("written") > 0);
    stream.write_all(&hello).await.expect("sent");
    let ended = timeout(Duration::from_secs(20), end(stream)).await;
    ended.expect("the server ends it");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_tcp_connections_delay_nobody_elsewhere() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(&scratch, limits_without_deadline(), false);
    let connected = Arc::new(AtomicU64::new(0));
    let mut hostile = JoinSet::new();
    for _ in 0..64 {
        let (to, connected) = (service.address, Arc::clone(&connected));
        hostile.spawn(async move {
            loop {
                if let Some(stream) = connect([127, 0, 0, 2].into(), to).await {
                    connected.fetch_add(1, Ordering::Relaxed);
                    end(stream).await;
                }
                sleep(Duration::from_millis(20)).await;
            }
        });
    }
    while connected.load(Ordering::Relaxed) < 64 {
        sleep(Duration::from_millis(10)).await;
    }
    for n in 0..6 {
        let file = scratch.file(&format!("honest-{n}"), 100_000);
        let mut options = service.options(&file);
        if n % 2 == 0 {
            options.client.transport = TransportChoice::Tls;
        }
        upload(options).await.expect("served");
    }
    hostile.shutdown().await;
    service.stop().await;
}

/// Connections that say nothing, and such that begin with TLS and show no token.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_tcp_connections_of_the_same_address_do_not_keep_a_token_out() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(&scratch, limits_without_deadline(), false);
    let connected = Arc::new(AtomicU64::new(0));
    let mut hostile = JoinSet::new();
    for number in 0..64 {
        let (to, connected) = (service.address, Arc::clone(&connected));
        hostile.spawn(async move {
            loop {
                if let Some(stream) = connect([127, 0, 0, 1].into(), to).await {
                    connected.fetch_add(1, Ordering::Relaxed);
                    if number % 2 == 0 {
                        end(stream).await;
                    } else {
                        let name = "x".try_into().expect("a name");
                        let tls = TlsConnector::from(Arc::new(raw::tls())).connect(name, stream);
                        if let Ok(tls) = tls.await {
                            end(tls).await;
                        }
                    }
                }
                sleep(Duration::from_millis(20)).await;
            }
        });
    }
    while connected.load(Ordering::Relaxed) < 64 {
        sleep(Duration::from_millis(10)).await;
    }
    for n in 0..4 {
        let file = scratch.file(&format!("honest-{n}"), 100_000);
        let mut options = service.options(&file);
        options.client.transport = TransportChoice::Tls;
        upload(options).await.expect("served");
    }
    hostile.shutdown().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_bytes_inside_and_outside_of_tls_do_no_harm() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(&scratch, strict(), false);
    let from: IpAddr = [127, 0, 0, 3].into();
    let mut long_header = vec![0xc0, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0];
    long_header.resize(1200, 7);
    let mut initial = (long_header.len() as u16).to_be_bytes().to_vec();
    initial.extend(long_header);
    let inside: [&[u8]; 5] = [
        &[0, 0],
        &[0xff; 70_000],
        &[0, 1, 0x40, 0, 1, 0xff],
        &initial.repeat(100),
        b"GET / HTTP/1.1\r\n\r\n",
    ];
    for bytes in inside {
        let stream = connect(from, service.address).await.expect("connected");
        let name = "x".try_into().expect("a name");
        let tls = TlsConnector::from(Arc::new(raw::tls())).connect(name, stream);
        let mut tls = tls.await.expect("TLS");
        // The server may close before all is written.
        tls.write_all(bytes).await.ok();
        tls.flush().await.ok();
        timeout(TEST_TIMEOUT, end(tls)).await.expect("disconnected");
        let mut plain = connect(from, service.address).await.expect("connected");
        plain.write_all(bytes).await.ok();
        timeout(TEST_TIMEOUT, end(plain))
            .await
            .expect("disconnected");
    }
    let file = scratch.file("data", 1_000_000);
    let mut options = service.options(&file);
    options.client.transport = TransportChoice::Tls;
    upload(options).await.expect("stored");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_says_so_over_tcp() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let file = scratch.file("data", 50_000_000);
    let mut options = service.options(&file);
    options.client.transport = TransportChoice::Tls;
    options.bandwidth = Some(whimbrel_units::Rate::from_bits_per_sec(80_000_000));
    let (under_way, begun) = oneshot::channel::<()>();
    let mut under_way = Some(under_way);
    let sending = tokio::spawn(async move {
        let watch = move |update| {
            if matches!(update, Update::Progress(Progress { bytes, .. }) if bytes > UNDER_WAY) {
                under_way.take().map(|s| s.send(()));
            }
        };
        transfer(options, watch, std::future::pending()).await
    });
    begun.await.expect("it begins");
    service.stop().await;
    let report = sending.await.expect("no panic");
    let error = report.result.expect_err("stopped").to_string();
    assert!(error.contains("the server was stopped"), "{error}");
}
