//! Clients without a token do not keep those with one away.

use crate::common::client::{RawClient, refused};
use crate::common::{
    ScratchDirectory, Service, TEST_TIMEOUT, limits_without_deadline, raw, upload,
};
use futures::future::join_all;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use whimbrel_transfer::wire::{MAX_FIRST_MESSAGE, Message, VERSION};
use whimbrel_transfer::{Limits, Reason, Token, TransportChoice};
use whimbrel_units::Duration as Span;

/// Hostile connections at once.
const HOSTILE: usize = 64;
/// Honest transfers.
const HONEST: usize = 10;

/// Connects again and again, and trickles the first bytes of a request.
async fn trickle(from: IpAddr, to: SocketAddr, connected: Arc<AtomicU64>) {
    let endpoint = raw::endpoint(from);
    loop {
        if let Some(connection) = raw::connect(&endpoint, to).await {
            connected.fetch_add(1, Ordering::Relaxed);
            let Ok((mut send, _receive)) = connection.open_bi().await else {
                continue;
            };
            while send.write_all(&[0]).await.is_ok() && connection.close_reason().is_none() {
                sleep(Duration::from_millis(300)).await;
            }
        }
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_hostile_connections_delay_nobody_elsewhere() {
    let scratch = ScratchDirectory::new();
    let service = Service::with(&scratch, limits_without_deadline(), false);
    let connected = Arc::new(AtomicU64::new(0));
    let mut hostile = JoinSet::new();
    for _ in 0..HOSTILE {
        let connected = Arc::clone(&connected);
        hostile.spawn(trickle([127, 0, 0, 2].into(), service.address, connected));
    }
    while connected.load(Ordering::Relaxed) < HOSTILE as u64 {
        sleep(Duration::from_millis(10)).await;
    }
    for n in 0..HONEST {
        let file = scratch.file(&format!("honest-{n}"), 100_000);
        upload(service.options(&file)).await.expect("served");
    }
    hostile.shutdown().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trickling_does_not_extend_the_deadline_of_the_first_request() {
    let scratch = ScratchDirectory::new();
    let limits = Limits {
        handshake: Span::from_millis(600),
        ..crate::common::limits()
    };
    let service = Service::with(&scratch, limits, false);
    let endpoint = raw::endpoint([127, 0, 0, 2].into());
    let connection = raw::connect(&endpoint, service.address).await;
    let connection = connection.expect("connected");
    let (mut send, _receive) = connection.open_bi().await.expect("open");
    let trickling = async {
        // The length of a message, and then its bytes one by one, which takes 50 s.
        send.write_all(&1000u32.to_be_bytes()).await.ok();
        while send.write_all(&[1]).await.is_ok() && connection.close_reason().is_none() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(TEST_TIMEOUT, trickling)
        .await
        .expect("disconnected");
    let why = connection.closed().await.to_string();
    assert!(why.contains("no token arrived in time"), "{why}");
    service.stop().await;
}

/// A stranger cannot make the server wait for more than the first message of a client needs.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_first_message_is_refused_by_its_length() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let raw = RawClient::stranger(service.address, noq::TransportConfig::default()).await;
    let (mut send, mut receive) = raw.connection.open_bi().await.expect("open");
    let length = MAX_FIRST_MESSAGE as u32 + 1;
    send.write_all(&length.to_be_bytes())
        .await
        .expect("written");
    send.write_all(&vec![0; length as usize]).await.ok();
    let refusal = refused(&mut receive).await;
    assert_eq!(refusal.reason, Reason::Protocol, "{refusal}");
    assert!(refusal.text.contains(&length.to_string()), "{refusal}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_do_not_shut_out_the_right_one_from_the_same_address() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let endpoint = raw::endpoint([127, 0, 0, 1].into());
    for _ in 0..110 {
        let Some(connection) = raw::connect(&endpoint, service.address).await else {
            continue;
        };
        let (mut send, mut receive) = connection.open_bi().await.expect("open");
        let hello = Message::Hello {
            version: VERSION,
            token: Token::random().expect("randomness"),
        };
        send.write_all(&hello.encode()).await.ok();
        receive.read_to_end(4000).await.ok();
    }
    // Whoever shows the right one in its first packet or message is not slowed down either.
    let ignored = service.server.counts().ignored;
    for transport in [TransportChoice::Quic, TransportChoice::Tls] {
        let sending = (0..4).map(|n| {
            let file = scratch.file(&format!("{transport:?}-{n}"), 100_000);
            let mut options = service.options(&file);
            options.client.transport = transport;
            upload(options)
        });
        for sent in join_all(sending).await {
            sent.expect("served");
        }
    }
    assert_eq!(service.server.counts().ignored, ignored);
    service.stop().await;
}
