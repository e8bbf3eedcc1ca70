//! Peers that violate the protocol, lie or stay silent. The server gives a reason, keeps no file
//! and goes on.

use crate::common::client::{RawClient, accepted, finish, header, rand_id, read_message, refused};
use crate::common::scratch_directory::file_names;
use crate::common::{ScratchDirectory, Service, TEST_TIMEOUT, limits, upload, visible};
use noq::VarInt;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use tokio::time::timeout;
use whimbrel_transfer::users::Rights;
use whimbrel_transfer::wire::{Kind, Message, Metadata, Put};
use whimbrel_transfer::{Event, Limits, Reason, Token, TreeOptions, send_tree};
use whimbrel_units::{Bytes, Duration as Span};

/// Checks that the server still works and has kept no file.
async fn still_serves(scratch: &ScratchDirectory, service: Service) {
    upload(service.options(&scratch.file("proof", 3_000_000)))
        .await
        .expect("the server still works");
    let directory = service.stop().await;
    assert_eq!(visible(&directory), ["proof"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_file_name_leads_out_of_the_directory() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let raw = RawClient::connect(&service).await;
    for name in [
        "../x", "/etc/x", "a/../b", "a//b", "a/", "", ".", "..", ".hidden", "a\0b", "a\nb", "a/.",
        "a/..",
    ] {
        let (_send, mut receive) = raw.put(name, 1).await;
        assert_eq!(refused(&mut receive).await.reason, Reason::Name, "{name:?}");
    }
    assert_eq!(file_names(scratch.path()), ["identity", "stored"]);
    still_serves(&scratch, service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_another_hash_than_announced_is_not_stored() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let raw = RawClient::connect(&service).await;
    let (mut send, mut receive) = raw.put("a", 5).await;
    let transfer = accepted(&mut receive).await;
    raw.chunk(transfer, 0, b"hello").await;
    let wrong = finish(b"world", 1);
    send.write_all(&wrong.encode()).await.expect("written");
    assert_eq!(refused(&mut receive).await.reason, Reason::Corrupt);
    // With the right hash the file is stored, over the same connection.
    let (mut send, mut receive) = raw.put("proof2", 5).await;
    let transfer = accepted(&mut receive).await;
    raw.chunk(transfer, 0, b"hello").await;
    let right = finish(b"hello", 1);
    send.write_all(&right.encode()).await.expect("written");
    let Message::Stored { bytes: 5, hash } = read_message(&mut receive).await else {
        panic!("not stored")
    };
    assert_eq!(hash, blake3::hash(b"hello"));
    std::fs::remove_file(service.directory.join("proof2")).expect("stored");
    still_serves(&scratch, service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_duplicate_or_misshapen_chunks_end_the_transfer() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let mebibyte = 1 << 20;
    let cases: [&[(u64, usize)]; 7] = [
        &[(7, 10)],
        &[(u64::MAX, 1)],
        &[(0, 3), (0, 3)],
        &[(0, 5), (3, 5)],
        &[(0, 11)],
        &[(mebibyte - 5, 10)],
        &[(0, 0)],
    ];
    for (n, chunks) in cases.into_iter().enumerate() {
        let raw = RawClient::connect(&service).await;
        let size = if n == 5 { mebibyte + 10 } else { 10 };
        let (_send, mut receive) = raw.put("a", size).await;
        let transfer = accepted(&mut receive).await;
        for (offset, length) in chunks {
            raw.chunk(transfer, *offset, &vec![0; *length]).await;
        }
        assert_eq!(
            refused(&mut receive).await.reason,
            Reason::Protocol,
            "{chunks:?}"
        );
    }
    // More or less data than the header says.
    for case in 0..2 {
        let raw = RawClient::connect(&service).await;
        let (_send, mut receive) = raw.put("a", 10).await;
        let transfer = accepted(&mut receive).await;
        match case {
            0 => raw.stream(header(transfer, 0, 9), &[0; 10]).await,
            _ => raw.stream(header(transfer, 0, 10), &[0; 9]).await,
        }
        assert_eq!(
            refused(&mut receive).await.reason,
            Reason::Protocol,
            "{case}"
        );
    }
    still_serves(&scratch, service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn excessive_sizes_are_refused() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(
        &scratch,
        Limits {
            file: Bytes::MAX,
            ..limits()
        },
        false,
    );
    let raw = RawClient::connect(&service).await;
    let (_send, mut receive) = raw.put("a", u64::MAX - 1).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::TooLarge);
    let (_send, mut receive) = raw.put("a", 1 << 44).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::DiskFull);
    still_serves(&scratch, service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_and_too_many_transfers_are_refused() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(
        &scratch,
        Limits {
            transfers: 2,
            ..limits()
        },
        false,
    );
    let raw = RawClient::stranger(service.address, noq::TransportConfig::default()).await;
    let token = service.identity.token().clone();
    let hello = Message::Hello { version: 99, token };
    let (_send, mut receive) = raw.send_message(&hello).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Version);
    // Whoever has no token does not learn the version.
    let raw = RawClient::stranger(service.address, noq::TransportConfig::default()).await;
    let token = whimbrel_transfer::Token::random().expect("randomness");
    let hello = Message::Hello { version: 99, token };
    let (_send, mut receive) = raw.send_message(&hello).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Token);
    // A token is shown once.
    let raw = RawClient::connect(&service).await;
    let (_send, mut receive) = raw.hello(service.identity.token().clone()).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Protocol);
    let raw = RawClient::connect(&service).await;
    let mut open = Vec::new();
    for name in ["a", "b"] {
        let (send, mut receive) = raw.put(name, 1).await;
        accepted(&mut receive).await;
        open.push((send, receive));
    }
    let (_send, mut receive) = raw.put("c", 1).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Busy);
    // When one has ended, another may begin.
    let (mut send, mut receive) = open.pop().expect("two");
    raw.chunk(2, 0, b"x").await;
    let end = finish(b"x", 1);
    send.write_all(&end.encode()).await.expect("written");
    let Message::Stored { bytes: 1, .. } = read_message(&mut receive).await else {
        panic!("not stored")
    };
    std::fs::remove_file(service.directory.join("b")).expect("stored");
    let (_send, mut receive) = raw.put("c", 1).await;
    accepted(&mut receive).await;
    raw.connection.close(VarInt::from_u32(0), b"");
    still_serves(&scratch, service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_sends_no_data_is_disconnected() {
    let scratch = ScratchDirectory::new();
    let short = Limits {
        stall: Span::from_millis(200),
        handshake: Span::from_millis(200),
        ..limits()
    };
    let mut service = Service::with(&scratch, short, false);
    let mut transport = noq::TransportConfig::default();
    transport.keep_alive_interval(Some(std::time::Duration::from_millis(50)));
    let raw = RawClient::stranger(service.address, transport.clone()).await;
    raw.welcomed(&service).await;
    let (_send, mut receive) = raw.put("a", 10).await;
    accepted(&mut receive).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Stalled);
    let Event::Failed { .. } = service.event().await else {
        panic!("not failed")
    };
    // A client that never sends a request.
    let raw = RawClient::stranger(service.address, transport).await;
    timeout(TEST_TIMEOUT, raw.connection.closed())
        .await
        .expect("closed in time");
    still_serves(&scratch, service).await;
}

/// A place is for those whose data moves: single bytes, each a complete chunk, do not hold it.
#[tokio::test(flavor = "multi_thread")]
async fn a_trickle_does_not_keep_the_place_that_others_wait_for() {
    let scratch = ScratchDirectory::new();
    let one = Limits {
        connections: 1,
        stall: Span::from_millis(300),
        ..limits()
    };
    let service = Service::with(&scratch, one, false);
    let raw = RawClient::connect(&service).await;
    let (_send, mut receive) = raw.put("slow", 1 << 20).await;
    let transfer = accepted(&mut receive).await;
    let trickling = async {
        for number in 0.. {
            raw.chunk(transfer, 2 * number, b"x").await;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let file = scratch.file("waits", 100_000);
    let waiting = timeout(TEST_TIMEOUT, upload(service.options(&file)));
    tokio::select! {
        served = waiting => drop(served.expect("in time").expect("served")),
        () = trickling => {}
    }
    assert_eq!(refused(&mut receive).await.reason, Reason::Stalled);
    service.stop().await;
}

/// Without a token a client cannot open a data stream, and gets little memory.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_token_cannot_open_a_data_stream() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let raw = RawClient::stranger(service.address, noq::TransportConfig::default()).await;
    let opened = timeout(
        std::time::Duration::from_millis(100),
        raw.connection.open_uni(),
    )
    .await;
    assert!(opened.is_err(), "no credit");
    let token = Token::random().expect("random numbers");
    let (_hello, mut answer) = raw.hello(token).await;
    // A request in the same flight gets nothing.
    let (_send, mut receive) = raw.put("a", 1).await;
    assert_eq!(refused(&mut answer).await.reason, Reason::Token);
    assert!(
        receive
            .read_to_end(100)
            .await
            .map_or(true, |bytes| bytes.is_empty())
    );
    timeout(TEST_TIMEOUT, raw.connection.closed())
        .await
        .expect("disconnected");
    still_serves(&scratch, service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_the_announced_size_and_a_stream_no_more_than_the_largest() {
    let scratch = ScratchDirectory::new();
    let small = Limits {
        file: Bytes::new(3_000_000),
        ..limits()
    };
    let service = Service::with(&scratch, small, false);
    let raw = RawClient::connect(&service).await;
    let (mut send, mut receive) = raw.put("a", 10).await;
    let transfer = accepted(&mut receive).await;
    raw.chunk(transfer, 0, b"0123456789").await;
    let shorter = finish(b"012345678", 1);
    send.write_all(&shorter.encode()).await.expect("written");
    assert_eq!(refused(&mut receive).await.reason, Reason::Protocol);
    let raw = RawClient::connect(&service).await;
    let (_send, mut receive) = raw
        .send_message(&Message::Put(Put {
            id: rand_id(),
            path: b"b".to_vec(),
            size: None,
            metadata: Metadata::plain(Kind::File),
        }))
        .await;
    let transfer = accepted(&mut receive).await;
    raw.chunk(transfer, 3 << 20, b"x").await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Protocol);
    still_serves(&scratch, service).await;
}

/// What arrived is not sent again if the server is killed.
#[tokio::test(flavor = "multi_thread")]
async fn what_arrived_of_a_chunk_that_stalls_is_on_disk() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let raw = RawClient::connect(&service).await;
    let (_send, mut receive) = raw.put("a", 1 << 20).await;
    let transfer = accepted(&mut receive).await;
    let mut stream = raw.connection.open_uni().await.expect("open");
    let header = header(transfer, 0, 1 << 20);
    stream.write_all(&header.encode()).await.expect("written");
    stream.write_all(&[7; 100_000]).await.expect("written");
    let on_disk = || {
        let names = file_names(&service.directory);
        let name = names.iter().find(|name| name.ends_with(".part"));
        name.is_some_and(|name| {
            let content = std::fs::read(service.directory.join(name)).unwrap_or_default();
            content.iter().filter(|byte| **byte == 7).count() == 100_000
        })
    };
    let written = async {
        while !on_disk() {
            tokio::task::yield_now().await;
        }
    };
    timeout(TEST_TIMEOUT, written).await.expect("in time");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_out_of_place_ends_the_transfer() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let raw = RawClient::connect(&service).await;
    let (mut send, mut receive) = raw.put("a", 10).await;
    accepted(&mut receive).await;
    let message = Message::Present.encode();
    send.write_all(&message).await.expect("written");
    assert_eq!(refused(&mut receive).await.reason, Reason::Protocol);
    still_serves(&scratch, service).await;
}

/// A comparison takes long where the disk is slow, and no data comes meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_that_is_compared_does_not_stall() {
    let scratch = ScratchDirectory::new();
    let stall = std::time::Duration::from_millis(700);
    let short = Limits {
        stall: stall.into(),
        ..limits()
    };
    let service = Service::with(&scratch, short, false);
    let raw = RawClient::connect(&service).await;
    let (mut send, mut receive) = raw.put("a", 1 << 20).await;
    accepted(&mut receive).await;
    let began = std::time::Instant::now();
    while began.elapsed() < 3 * stall {
        let (log, first, count) = (16, 0, 1);
        let request = Message::HashRequest { log, first, count };
        send.write_all(&request.encode()).await.expect("written");
        let Message::Hashes { .. } = read_message(&mut receive).await else {
            panic!("no hashes")
        };
    }
    assert_eq!(refused(&mut receive).await.reason, Reason::Stalled);
    still_serves(&scratch, service).await;
}

/// The places where packs are written are all clients'.
#[tokio::test(flavor = "multi_thread")]
async fn packs_that_cannot_be_written_keep_no_place() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    for _ in 0..40 {
        let raw = RawClient::connect(&service).await;
        let tree = Message::Tree {
            id: rand_id(),
            path: Vec::new(),
            bytes: 100,
        };
        let (_send, mut receive) = raw.send_message(&tree).await;
        let transfer = accepted(&mut receive).await;
        // It does not have its hash.
        raw.chunk(transfer, 0, &[0; 100]).await;
        assert_eq!(refused(&mut receive).await.reason, Reason::Corrupt);
    }
    let file = scratch.file("small", 100);
    let tree = TreeOptions::new(service.client(), vec![file]);
    let sending = send_tree(tree, |_| (), std::future::pending());
    let report = timeout(TEST_TIMEOUT, sending).await.expect("in time");
    assert!(report.error.is_none(), "{:?}", report.error);
    assert_eq!(visible(&service.directory), ["small"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_bytes_are_refused() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let mut runner = TestRunner::deterministic();
    let bytes = proptest::collection::vec(proptest::prelude::any::<u8>(), 1..3000);
    for n in 0..60u64 {
        let raw = RawClient::connect(&service).await;
        let mut garbage = bytes.new_tree(&mut runner).expect("random bytes").current();
        if n % 2 == 0 {
            // With a correct length, so that the message is decoded.
            let length = (garbage.len() as u32).min(2048).to_be_bytes();
            garbage[0] %= 24;
            garbage.splice(..0, length);
        }
        // After a valid request, on its control stream and data streams; or as the request.
        if n % 3 == 0 {
            let (mut send, mut receive) = raw.put("a", 4_000_000).await;
            accepted(&mut receive).await;
            raw.chunk(n << 56, 7, &garbage).await;
            raw.chunk(1, n, &garbage).await;
            send.write_all(&garbage).await.ok();
            send.finish().ok();
            refused(&mut receive).await;
        } else {
            let (mut send, mut receive) = raw.connection.open_bi().await.expect("open");
            send.write_all(&garbage).await.ok();
            send.finish().ok();
            refused(&mut receive).await;
        }
        raw.connection.close(VarInt::from_u32(9), &[0xff, 0x1b]);
    }
    // Datagrams that are not QUIC.
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    for _ in 0..200 {
        socket
            .send_to(
                &bytes.new_tree(&mut runner).expect("random bytes").current()[..],
                service.address,
            )
            .ok();
    }
    still_serves(&scratch, service).await;
}

/// Hashing that nobody waits for any more ends at once, and with it the server.
#[test]
fn hashing_ends_with_its_transfer() {
    hashing_ends(true);
}

/// The same for a server that is stopped while its client waits for hashes.
#[test]
fn hashing_ends_when_the_server_is_stopped() {
    hashing_ends(false);
}

fn hashing_ends(client_leaves: bool) {
    let scratch = ScratchDirectory::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let service = Service::start(&scratch);
        let raw = RawClient::connect(&service).await;
        // It takes no space, and half a minute to hash.
        let (mut send, mut receive) = raw.put("sparse", 16 << 30).await;
        accepted(&mut receive).await;
        for log in [16, 44] {
            let (first, count) = (0, 1);
            let request = Message::HashRequest { log, first, count };
            send.write_all(&request.encode()).await.expect("written");
        }
        let Message::Hashes { log: 16, .. } = read_message(&mut receive).await else {
            panic!("no hashes")
        };
        if client_leaves {
            raw.connection.close(VarInt::from_u32(0), b"");
        }
        timeout(TEST_TIMEOUT / 4, service.stop())
            .await
            .expect("stopped");
    });
    let stopped = std::time::Instant::now();
    drop(runtime);
    let took = stopped.elapsed();
    assert!(took < std::time::Duration::from_secs(3), "{took:?}");
}

/// The same for a client that gets a file without data.
#[tokio::test]
async fn hashing_for_a_reader_ends_when_it_leaves() {
    let scratch = ScratchDirectory::new();
    let rights = Rights {
        read: true,
        ..Rights::default()
    };
    let mut service = Service::with_rights(&scratch, rights);
    // It takes no space, and minutes to hash.
    let large = std::fs::File::create(service.directory.join("large")).expect("created");
    large.set_len(1 << 40).expect("set");
    let raw = RawClient::connect(&service).await;
    let path = b"large".to_vec();
    let (mut send, mut receive) = raw.send_message(&Message::Get { path }).await;
    let Message::Put(_) = read_message(&mut receive).await else {
        panic!("no file")
    };
    let (transfer, have) = (1, Vec::new());
    let accepted = Message::Accepted { transfer, have };
    send.write_all(&accepted.encode()).await.expect("written");
    // When the server answers this, it has read that.
    let list = Message::List {
        path: Vec::new(),
        recursive: false,
    };
    let (_send, mut receive) = raw.send_message(&list).await;
    let Message::Entries { .. } = read_message(&mut receive).await else {
        panic!("no listing")
    };
    raw.connection.close(VarInt::from_u32(0), b"");
    let event = service.event().await;
    assert!(matches!(event, Event::Failed { .. }), "{event:?}");
    service.stop().await;
}
