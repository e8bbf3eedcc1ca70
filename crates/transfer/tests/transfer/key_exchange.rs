//! Keys that a quantum computer cannot find, over UDP and over TCP.

use crate::common::blocked::Blocked;
use crate::common::{ScratchDirectory, Service, limits, raw, upload};
use std::future::pending as never;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use whimbrel_transfer::{
    ALPN, AcceptedGroups, Error, Event, KeyExchange, ServeOptions, ServerAddress, TransportChoice,
    transfer,
};

#[tokio::test(flavor = "multi_thread")]
async fn client_and_server_agree_on_post_quantum_keys() {
    let scratch = ScratchDirectory::new();
    let mut service = Service::start(&scratch);
    let path = Blocked::to(service.address, false).await;
    let addresses = [(service.address, "quic"), (path.address, "tls")];
    for (address, carrier) in addresses {
        let file = scratch.file(&format!("over-{carrier}"), 1000);
        let mut options = service.options_to(&file, address);
        options.client.groups = AcceptedGroups::PostQuantum;
        let report = transfer(options, |_| (), never()).await;
        assert!(report.result.is_ok(), "{:?}", report.result);
        assert_eq!(report.transport.map(|t| t.name()), Some(carrier));
        assert_eq!(report.key_exchange, Some(KeyExchange::POST_QUANTUM));
        let Event::Stored { key_exchange, .. } = service.event().await else {
            panic!("stored");
        };
        assert_eq!(key_exchange, Some(KeyExchange::POST_QUANTUM));
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_requires_them_refuses_older_clients_only() {
    let scratch = ScratchDirectory::new();
    let older = raw::endpoint(IpAddr::from([127, 0, 0, 1]));
    for (groups, admits) in [
        (AcceptedGroups::Any, true),
        (AcceptedGroups::PostQuantum, false),
    ] {
        let name = format!("stored-{admits}");
        let directory = scratch.subdirectory(&name);
        let options = ServeOptions {
            groups,
            limits: limits(),
            ..ServeOptions::new(directory, ([127, 0, 0, 1], 0).into())
        };
        let service = Service::of(&scratch, options);
        let connection = raw::connect(&older, service.address).await;
        assert_eq!(connection.is_some(), admits, "{groups:?}");
        let file = scratch.file("data", 1000);
        upload(service.options(&file)).await.expect("a new client");
        service.stop().await;
    }
}

/// A TLS server with classical keys only.
fn classical() -> rustls::ServerConfig {
    let made = rcgen::generate_simple_self_signed(["whimbrel".to_owned()]).expect("a key");
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .expect("a certificate");
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_requires_them_names_what_an_older_server_lacks() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let file = scratch.file("data", 1000);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
    let over_tcp = listener.local_addr().expect("bound");
    let acceptor = TlsAcceptor::from(Arc::new(classical()));
    let listening = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            acceptor.accept(stream).await.ok();
        }
    });
    let mut options = service.options(&file);
    options.client.server = ServerAddress {
        host: over_tcp.ip().to_string(),
        port: over_tcp.port(),
    };
    options.client.transport = TransportChoice::Tls;
    options.client.groups = AcceptedGroups::PostQuantum;
    let error = upload(options).await.expect_err("classical keys only");
    assert!(
        matches!(&error, Error::KeyExchange { required: true, .. }),
        "{error}"
    );
    assert!(!error.is_temporary());
    assert!(error.to_string().contains("X25519MLKEM768"), "{error}");
    listening.abort();
    service.stop().await;
}
