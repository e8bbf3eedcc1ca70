//! What a server answers to the requests of a client that knows the protocol and no manners.

use crate::common::client::{RawClient, accepted, finish, rand_id, read_message, refused};
use crate::common::scratch_directory::file_names;
use crate::common::{ScratchDirectory, Service, TEST_TIMEOUT, limits, report, upload, visible};
use bytes::{Bytes, BytesMut};
use std::fs;
use std::time::Duration;
use tokio::time::timeout;
use whimbrel_transfer::users::Rights;
use whimbrel_transfer::wire::{Kind, MAX_PACK, Message, Metadata, PackEntry, PackReader, Put};
use whimbrel_transfer::{
    Event, KeepFree, Limits, Outcome, Reason, SendOptions, SendSource, ServeOptions,
};
use whimbrel_units::{Bytes as Size, Duration as Span};

fn put(id: [u8; 16], size: Option<u64>) -> Message {
    Message::Put(Put {
        id,
        path: b"a".to_vec(),
        size,
        metadata: Metadata::plain(Kind::File),
    })
}

fn tree(bytes: u64) -> Message {
    Message::Tree {
        id: rand_id(),
        path: Vec::new(),
        bytes,
    }
}

/// A pack of one file.
fn pack(name: &str) -> Bytes {
    let mut pack = BytesMut::new();
    let entry = PackEntry {
        path: name.as_bytes().to_vec(),
        metadata: Metadata::plain(Kind::File),
        content: Bytes::from_static(b"text"),
    };
    entry.encode(&mut pack);
    PackReader::seal(pack)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_without_rights_is_refused_at_each_request() {
    let scratch = ScratchDirectory::new();
    let service = Service::with_rights(&scratch, Rights::default());
    fs::write(service.directory.join("a"), "secret").expect("written");
    let path = b"a".to_vec();
    let recursive = false;
    let raw = RawClient::connect(&service).await;
    for request in [
        put(rand_id(), Some(4)),
        put(rand_id(), None),
        tree(4),
        Message::Get { path: path.clone() },
        Message::GetMany { transfer: 1 },
        Message::List {
            path: Vec::new(),
            recursive,
        },
        Message::Remove { path, recursive },
    ] {
        let (_send, mut receive) = raw.send_message(&request).await;
        let refusal = refused(&mut receive).await;
        assert_eq!(refusal.reason, Reason::Rights, "{request:?}");
    }
    assert_eq!(file_names(&service.directory), ["a"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_comes_once_and_is_no_longer_than_permitted() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let raw = RawClient::connect(&service).await;
    let (_send, mut receive) = raw.send_message(&tree(4)).await;
    let transfer = accepted(&mut receive).await;
    for _ in 0..2 {
        raw.chunk(transfer, 3, &pack("a")).await;
    }
    let refusal = match read_message(&mut receive).await {
        Message::Packed { pack: 3, failures } if failures.is_empty() => refused(&mut receive).await,
        Message::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal.reason, Reason::Protocol);
    let raw = RawClient::connect(&service).await;
    let (_send, mut receive) = raw.send_message(&tree(4)).await;
    let transfer = accepted(&mut receive).await;
    raw.chunk(transfer, 0, &vec![0; MAX_PACK + 1]).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Protocol);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_is_stored_when_all_its_packs_are() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let raw = RawClient::connect(&service).await;
    let (mut send, mut receive) = raw.send_message(&tree(4)).await;
    let transfer = accepted(&mut receive).await;
    let end = finish(b"", 1).encode();
    send.write_all(&end).await.expect("written");
    // The server has seen it when it answers this.
    let (_other, mut refusal) = raw.put("../x", 1).await;
    refused(&mut refusal).await;
    raw.chunk(transfer, 0, &pack("a")).await;
    let first = read_message(&mut receive).await;
    assert!(
        matches!(first, Message::Packed { pack: 0, .. }),
        "{first:?}"
    );
    let second = read_message(&mut receive).await;
    assert!(
        matches!(second, Message::Stored { bytes: 4, .. }),
        "{second:?}"
    );
    assert_eq!(visible(&service.directory), ["a"]);
    service.stop().await;
}

/// The client requests each of them alone, or reports that it does not exist.
#[tokio::test(flavor = "multi_thread")]
async fn small_files_that_cannot_be_read_are_named() {
    let scratch = ScratchDirectory::new();
    let rights = Rights {
        read: true,
        ..Rights::default()
    };
    let service = Service::with_rights(&scratch, rights);
    fs::write(service.directory.join("a"), "text").expect("written");
    let raw = RawClient::connect(&service).await;
    let many = Message::GetMany { transfer: 1 };
    let (mut send, mut receive) = raw.send_message(&many).await;
    let paths = [&b"a"[..], b"missing"].map(<[u8]>::to_vec).to_vec();
    let wanted = Message::Wanted { paths, last: true };
    send.write_all(&wanted.encode()).await.expect("written");
    match read_message(&mut receive).await {
        Message::Unsent { failures } => {
            assert_eq!((failures.len(), failures[0].index), (1, 1));
            assert_eq!(failures[0].refusal.reason, Reason::Missing);
        }
        other => panic!("{other:?}"),
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_transfer_takes_the_place_of_its_first_attempt() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let id = rand_id();
    let first = RawClient::connect(&service).await;
    let (_send, mut answers) = first.send_message(&put(id, Some(4))).await;
    accepted(&mut answers).await;
    let second = RawClient::connect(&service).await;
    let (mut send, mut receive) = second.send_message(&put(id, Some(4))).await;
    let transfer = accepted(&mut receive).await;
    assert_eq!(refused(&mut answers).await.reason, Reason::Cancelled);
    second.chunk(transfer, 0, b"text").await;
    let end = finish(b"text", 1).encode();
    send.write_all(&end).await.expect("written");
    let stored = read_message(&mut receive).await;
    assert!(
        matches!(stored, Message::Stored { bytes: 4, .. }),
        "{stored:?}"
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_stays_is_refused_before_it_is_sent() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    fs::write(service.directory.join("a"), "other").expect("written");
    let raw = RawClient::connect(&service).await;
    for size in [Some(4), None] {
        let (_send, mut receive) = raw.send_message(&put(rand_id(), size)).await;
        assert_eq!(refused(&mut receive).await.reason, Reason::Exists);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_there_with_its_time_is_not_sent_again() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(&scratch, limits(), true);
    let file = scratch.file("a", 3_000_000);
    upload(service.options(&file)).await.expect("stored");
    let again = report(service.options(&file)).await;
    assert_eq!(again.outcome, Outcome::Stored, "{again:?}");
    assert_eq!((again.sent_bytes, again.resumed_bytes), (0, 3_000_000));
    service.stop().await;
}

/// What did not fit must not keep the disk full.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_fills_the_disk_leaves_nothing() {
    let scratch = ScratchDirectory::new();
    let listen = ([127, 0, 0, 1], 0).into();
    let options = ServeOptions {
        keep_free: KeepFree::Bytes(Size::new(1 << 60)),
        limits: limits(),
        ..ServeOptions::new(scratch.subdirectory("stored"), listen)
    };
    let mut service = Service::of(&scratch, options);
    let content = std::io::Cursor::new(vec![7; 3_000_000]);
    let sending = SendOptions {
        name: Some("a".to_owned()),
        ..SendOptions::new(service.client(), SendSource::stream(content))
    };
    let error = upload(sending).await.expect_err("no room");
    let whimbrel_transfer::Error::Refused(refusal) = error else {
        panic!("{error}")
    };
    assert_eq!(refusal.reason, Reason::DiskFull);
    while !matches!(service.event().await, Event::Failed { .. }) {}
    assert!(file_names(&service.directory).is_empty());
    service.stop().await;
}

/// A client that requests files and reads none holds a place that others need.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_request_does_not_keep_the_place_that_others_wait_for() {
    let scratch = ScratchDirectory::new();
    let limits = Limits {
        connections: 1,
        stall: Span::from_millis(300),
        ..limits()
    };
    let options = ServeOptions {
        rights: Rights {
            read: true,
            write: true,
            remove: false,
        },
        limits,
        ..ServeOptions::new(scratch.subdirectory("stored"), ([127, 0, 0, 1], 0).into())
    };
    let service = Service::of(&scratch, options);
    let raw = RawClient::connect(&service).await;
    let many = Message::GetMany { transfer: 1 };
    let (_send, mut receive) = raw.send_message(&many).await;
    // The request keeps its place until another client needs it.
    let silence = timeout(Duration::from_secs(1), read_message(&mut receive)).await;
    assert!(silence.is_err(), "{silence:?}");
    let file = scratch.file("waits", 100_000);
    let waiting = timeout(TEST_TIMEOUT, upload(service.options(&file)));
    waiting.await.expect("in time").expect("stored");
    assert_eq!(refused(&mut receive).await.reason, Reason::Stalled);
    service.stop().await;
}
