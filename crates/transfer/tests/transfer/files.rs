//! A file arrives completely, or not at all with a reason.

use crate::common::scratch_directory::file_names;
use crate::common::{ScratchDirectory, Service, UNDER_WAY, limits, upload, visible};
use std::fs;
use whimbrel_cc::registry::CONTROLLERS;
use whimbrel_transfer::{Error, Event, Fingerprint, Identity, KnownHosts, Limits, Reason, Token};
use whimbrel_units::Bytes;

fn reason(error: Error) -> Reason {
    match error {
        Error::Refused(refusal) => refusal.reason,
        other => panic!("not refused: {other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_arrives_with_every_controller() {
    let scratch = ScratchDirectory::new();
    let mut service = Service::start(&scratch);
    for entry in CONTROLLERS {
        let file = scratch.file(entry.name, 8_000_001);
        let mut options = service.options(&file);
        options.client.controller = entry.name.parse().expect("a known controller");
        let summary = upload(options)
            .await
            .unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        let sent = fs::read(&file).expect("a file");
        assert!(
            fs::read(service.directory.join(entry.name)).expect("stored") == sent,
            "{}",
            entry.name
        );
        assert_eq!(summary.bytes, 8_000_001);
        assert_eq!(summary.blake3, blake3::hash(&sent).to_hex().to_string());
        assert!(summary.seconds > 0.0 && summary.goodput_bps > 0.0);
        assert!(summary.sent_packets > 800 && summary.rtt_ms > 0.0 && summary.cwnd_bytes > 0);
        let Event::Stored { name, bytes, .. } = service.event().await else {
            panic!("not stored")
        };
        assert_eq!(
            (&*name.to_string(), bytes),
            (entry.name, Bytes::new(8_000_001))
        );
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_smallest_files_and_files_at_chunk_boundaries_arrive() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    for size in [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1] {
        let name = format!("size-{size}");
        let file = scratch.file(&name, size);
        upload(service.options(&file)).await.expect("stored");
        assert_eq!(
            fs::read(service.directory.join(&name)).ok(),
            fs::read(&file).ok(),
            "{size}"
        );
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_are_refused_and_the_right_one_is_not() {
    let scratch = ScratchDirectory::new();
    let file = scratch.file("a", 1000);
    let service = Service::start(&scratch);
    for _ in 0..12 {
        let mut options = service.options(&file);
        options.client.token = Token::random().expect("random numbers");
        assert_eq!(
            reason(upload(options).await.expect_err("a wrong token")),
            Reason::Token
        );
    }
    assert!(file_names(&service.directory).is_empty());
    upload(service.options(&file)).await.expect("stored");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_another_fingerprint_gets_nothing() {
    let scratch = ScratchDirectory::new();
    let file = scratch.file("a", 1000);
    let service = Service::start(&scratch);
    let right = service.identity.fingerprint();
    let mut options = service.options(&file);
    options.client.fingerprint = Some(Fingerprint::of_key(b"another"));
    match upload(options).await.expect_err("not the pinned one") {
        Error::FingerprintMismatch { found, .. } => assert_eq!(found, right),
        other => panic!("{other}"),
    }
    assert!(file_names(&service.directory).is_empty());
    service.stop().await;
}

/// The fingerprint that a user gives counts more than what is remembered of the server.
#[tokio::test(flavor = "multi_thread")]
async fn a_given_fingerprint_counts_although_the_server_is_known() {
    let scratch = ScratchDirectory::new();
    let file = scratch.file("a", 1000);
    let service = Service::start(&scratch);
    let known = KnownHosts::at(scratch.path().join("known_hosts"));
    let mut options = service.options(&file);
    options.client.known_hosts = Some(known.clone());
    upload(options).await.expect("stored, and remembered");
    let other = scratch.file("b", 1000);
    let mut options = service.options(&other);
    options.client.known_hosts = Some(known);
    options.client.fingerprint = Some(Fingerprint::of_key(b"another"));
    let refused = upload(options).await.expect_err("not the given one");
    assert!(
        matches!(refused, Error::FingerprintMismatch { .. }),
        "{refused}"
    );
    assert_eq!(file_names(&service.directory), ["a"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_pinned_on_first_use_and_known_afterwards() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let known = KnownHosts::at(scratch.path().join("known_hosts"));
    let options = |name, fingerprint| {
        let mut options = service.options(&scratch.file(name, 10));
        options.client.known_hosts = Some(known.clone());
        options.client.fingerprint = fingerprint;
        options
    };
    let error = upload(options("a", None)).await.expect_err("unknown");
    let text = error.to_string();
    assert!(matches!(error, Error::UnknownServer { .. }));
    assert!(
        text.contains(&service.identity.fingerprint().to_string()),
        "{text}"
    );
    upload(options("a", Some(service.identity.fingerprint())))
        .await
        .expect("named");
    upload(options("b", None)).await.expect("remembered");
    known
        .set(
            &service.address.to_string(),
            &Fingerprint::of_key(b"old").into(),
        )
        .expect("written");
    let error = upload(options("c", None)).await.expect_err("changed");
    assert!(
        matches!(error, Error::FingerprintMismatch { .. }),
        "{error}"
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_connected_knows_the_servers_next_key() {
    let scratch = ScratchDirectory::new();
    let state = scratch.path().join("identity");
    let hosts = |name: &str| KnownHosts::at(scratch.path().join(name));
    let (often, seldom) = (hosts("often"), hosts("seldom"));
    let options = |service: &Service, name: &str, known: &KnownHosts, fingerprint| {
        let mut options = service.options(&scratch.file(name, 10));
        options.client.known_hosts = Some(known.clone());
        options.client.fingerprint = fingerprint;
        options
    };
    let service = Service::start(&scratch);
    let (first, address) = (service.identity.fingerprint(), service.address);
    for (name, known) in [("a", &often), ("b", &seldom)] {
        let given = options(&service, name, known, Some(first));
        upload(given).await.expect("pinned");
    }
    service.stop().await;
    let prepared = Identity::prepare_next(&state).expect("created");
    let next = prepared.next_fingerprint().expect("a next key");
    let service = Service::listening(&scratch, address);
    assert_eq!(service.identity.fingerprint(), first);
    upload(options(&service, "c", &often, None))
        .await
        .expect("the first key");
    service.stop().await;
    Identity::rotate(&state).expect("rotated");
    let service = Service::listening(&scratch, address);
    assert_eq!(service.identity.fingerprint(), next);
    // Also where the first one is given, as by a script.
    upload(options(&service, "f", &often, Some(first)))
        .await
        .expect("the next key, which the server announced");
    upload(options(&service, "d", &often, None))
        .await
        .expect("the next key");
    // The first one is no longer trusted.
    let pinned = often.get(&address.to_string()).expect("read");
    assert_eq!(pinned, Some(next.into()));
    match upload(options(&service, "e", &seldom, None)).await {
        Err(Error::FingerprintMismatch {
            expected, found, ..
        }) => {
            assert_eq!((expected, found), (first, next));
        }
        other => panic!("{other:?}"),
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_existing_file_is_kept_unless_overwriting_is_allowed() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    fs::write(service.directory.join("a"), "old").expect("written");
    let file = scratch.file("a", 5000);
    assert_eq!(
        reason(
            upload(service.options(&file))
                .await
                .expect_err("the file exists")
        ),
        Reason::Exists
    );
    assert_eq!(
        fs::read(service.directory.join("a")).expect("a file"),
        b"old"
    );
    service.stop().await;
    let service = Service::with(&scratch, limits(), true);
    upload(service.options(&file)).await.expect("replaced");
    assert_eq!(
        fs::read(service.directory.join("a")).ok(),
        fs::read(&file).ok()
    );
    assert_eq!(file_names(&service.directory), ["a"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_above_the_size_limit_is_refused_before_it_is_sent() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(
        &scratch,
        Limits {
            file: Bytes::new(999),
            ..limits()
        },
        false,
    );
    let error = upload(service.options(&scratch.file("a", 1000)))
        .await
        .expect_err("too large");
    assert!(error.to_string().contains("1 kB"), "{error}");
    assert_eq!(reason(error), Reason::TooLarge);
    upload(service.options(&scratch.file("b", 999)))
        .await
        .expect("fits");
    assert_eq!(file_names(&service.directory), ["b"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_transfer_leaves_no_file_under_its_name() {
    let scratch = ScratchDirectory::new();
    let mut service = Service::start(&scratch);
    let file = scratch.file("a", 200_000_000);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut stop = Some(stop);
    let watch = |progress: whimbrel_transfer::Progress| {
        if progress.bytes > UNDER_WAY {
            stop.take().map(|s| s.send(()));
        }
    };
    let stopped = async { stopped.await.unwrap_or_default() };
    let result = whimbrel_transfer::send(service.options(&file), watch, stopped).await;
    assert!(matches!(result, Err(Error::Stopped)), "{result:?}");
    let Event::Failed {
        name: Some(name), ..
    } = service.event().await
    else {
        panic!("not failed")
    };
    assert_eq!(name.to_string(), "a");
    let directory = service.stop().await;
    assert!(visible(&directory).is_empty(), "{:?}", visible(&directory));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_server_notifies_its_client() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let directory = service.directory.clone();
    let file = scratch.file("a", 200_000_000);
    let options = service.options(&file);
    let (under_way, begun) = tokio::sync::oneshot::channel::<()>();
    let mut under_way = Some(under_way);
    let client = tokio::spawn(async move {
        let watch = move |progress: whimbrel_transfer::Progress| {
            if progress.bytes > UNDER_WAY {
                under_way.take().map(|s| s.send(()));
            }
        };
        whimbrel_transfer::send(options, watch, std::future::pending()).await
    });
    begun.await.expect("it begins");
    service.stop().await;
    let error = client
        .await
        .expect("no panic")
        .expect_err("stopped")
        .to_string();
    assert!(error.contains("stopped"), "{error}");
    assert!(visible(&directory).is_empty(), "{:?}", visible(&directory));
}
