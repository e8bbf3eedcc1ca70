//! Peers that violate the protocol, lie or stay silent. The server gives a reason, keeps no file
//! and goes on.

mod common;

use common::scratch_directory::file_names;
use common::{ScratchDirectory, Service, TEST_TIMEOUT, limits, upload};
use noq::rustls;
use noq::{Connection, Endpoint, RecvStream, SendStream, VarInt};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::time::timeout;
use whimbrel_transfer::wire::{Message, Put, Refusal, VERSION, chunk_header};
use whimbrel_transfer::{ALPN, Event, Limits, Reason, Token};
use whimbrel_units::{Bytes, Duration as Span};

/// A client that writes protocol messages directly.
struct RawClient {
    connection: Connection,
    _endpoint: Endpoint,
}

/// Accepts every certificate, because the hostile party here is the client.
#[derive(Debug)]
struct AcceptAnyCertificate;

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

impl RawClient {
    async fn connect(to: SocketAddr) -> Self {
        Self::connect_with(to, noq::TransportConfig::default()).await
    }

    async fn connect_with(to: SocketAddr, transport: noq::TransportConfig) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("a supported version")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate))
            .with_no_client_auth();
        tls.alpn_protocols = vec![ALPN.to_vec()];
        let crypto = noq::crypto::rustls::QuicClientConfig::try_from(tls).expect("TLS 1.3");
        let mut config = noq::ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::client(([127, 0, 0, 1], 0).into()).expect("a socket");
        let connection = endpoint
            .connect_with(config, to, "x")
            .expect("a valid configuration")
            .await
            .expect("connected");
        Self {
            connection,
            _endpoint: endpoint,
        }
    }

    async fn put(&self, service: &Service, name: &str, size: u64) -> (SendStream, RecvStream) {
        let token = service.identity.token().clone();
        self.send_message(&Message::Put(Put {
            version: VERSION,
            token,
            size,
            name: name.to_owned(),
        }))
        .await
    }

    async fn send_message(&self, message: &Message) -> (SendStream, RecvStream) {
        let (mut send, receive) = self.connection.open_bi().await.expect("open");
        send.write_all(&message.encode()).await.expect("written");
        (send, receive)
    }

    /// Sends a chunk stream. The server may stop it at any time, so errors are ignored.
    async fn chunk(&self, header: [u8; 16], data: &[u8]) {
        let mut stream = self.connection.open_uni().await.expect("open");
        stream.write_all(&header).await.ok();
        stream.write_all(data).await.ok();
        stream.finish().ok();
    }
}

async fn read_message(receive: &mut RecvStream) -> Message {
    let reading = async {
        let mut length = [0; 4];
        receive.read_exact(&mut length).await.expect("an answer");
        let mut body = vec![0; u32::from_be_bytes(length) as usize];
        receive.read_exact(&mut body).await.expect("an answer");
        Message::decode(&body).expect("a message")
    };
    timeout(TEST_TIMEOUT, reading).await.expect("in time")
}

async fn refused(receive: &mut RecvStream) -> Refusal {
    match read_message(receive).await {
        Message::Refused(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

async fn accepted(receive: &mut RecvStream) -> u64 {
    match read_message(receive).await {
        Message::Accepted { transfer } => transfer,
        other => panic!("not accepted: {other:?}"),
    }
}

/// Checks that the server still works and has kept no file.
async fn still_serves(scratch: &ScratchDirectory, service: Service) {
    upload(service.options(&scratch.file("proof", 3_000_000)))
        .await
        .expect("the server still works");
    let directory = service.stop().await;
    assert_eq!(file_names(&directory), ["proof"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_file_name_leads_out_of_the_directory() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let raw = RawClient::connect(service.address).await;
    for name in [
        "../x", "/etc/x", "a/b", ".", "..", ".hidden", "a\0b", "a\nb", "a\\b",
    ] {
        let (_send, mut receive) = raw.put(&service, name, 1).await;
        assert_eq!(refused(&mut receive).await.reason, Reason::Name, "{name:?}");
    }
    assert_eq!(file_names(scratch.path()), ["identity", "stored"]);
    // An empty name is not a valid message: the connection ends.
    let (_send, mut receive) = raw.put(&service, "", 1).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Protocol);
    still_serves(&scratch, service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_another_hash_than_announced_is_not_stored() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let raw = RawClient::connect(service.address).await;
    let (mut send, mut receive) = raw.put(&service, "a", 5).await;
    let transfer = accepted(&mut receive).await;
    raw.chunk(chunk_header(transfer, 0), b"hello").await;
    let wrong = Message::Finish {
        hash: blake3::hash(b"world"),
    };
    send.write_all(&wrong.encode()).await.expect("written");
    assert_eq!(refused(&mut receive).await.reason, Reason::Corrupt);
    // With the right hash the file is stored, over the same connection.
    let (mut send, mut receive) = raw.put(&service, "proof2", 5).await;
    let transfer = accepted(&mut receive).await;
    raw.chunk(chunk_header(transfer, 0), b"hello").await;
    let right = Message::Finish {
        hash: blake3::hash(b"hello"),
    };
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
    let cases: [&[(u64, usize)]; 5] = [
        &[(7, 10)],
        &[(u64::MAX, 1)],
        &[(0, 3), (0, 3)],
        &[(0, 9)],
        &[(0, 1 << 20), (1, 11)],
    ];
    for (n, chunks) in cases.into_iter().enumerate() {
        let raw = RawClient::connect(service.address).await;
        let (_send, mut receive) = raw
            .put(&service, "a", if n == 4 { (1 << 20) + 10 } else { 10 })
            .await;
        let transfer = accepted(&mut receive).await;
        for (index, length) in chunks {
            raw.chunk(chunk_header(transfer, *index), &vec![0; *length])
                .await;
        }
        assert_eq!(
            refused(&mut receive).await.reason,
            Reason::Protocol,
            "{chunks:?}"
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
    let raw = RawClient::connect(service.address).await;
    let (_send, mut receive) = raw.put(&service, "a", u64::MAX).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::TooLarge);
    let (_send, mut receive) = raw.put(&service, "a", 1 << 44).await;
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
    let raw = RawClient::connect(service.address).await;
    let token = service.identity.token().clone();
    let put = Put {
        version: 99,
        token,
        size: 1,
        name: "a".to_owned(),
    };
    let (_send, mut receive) = raw.send_message(&Message::Put(put)).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Version);
    let mut open = Vec::new();
    for name in ["a", "b"] {
        let (send, mut receive) = raw.put(&service, name, 1).await;
        accepted(&mut receive).await;
        open.push((send, receive));
    }
    let (_send, mut receive) = raw.put(&service, "c", 1).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Busy);
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
    let raw = RawClient::connect_with(service.address, transport.clone()).await;
    let (_send, mut receive) = raw.put(&service, "a", 10).await;
    accepted(&mut receive).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Stalled);
    let Event::Failed { .. } = service.event().await else {
        panic!("not failed")
    };
    // A client that never sends a request.
    let raw = RawClient::connect_with(service.address, transport).await;
    timeout(TEST_TIMEOUT, raw.connection.closed())
        .await
        .expect("closed in time");
    still_serves(&scratch, service).await;
}

/// Without a token a client cannot open a data stream, and gets little memory.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_token_cannot_open_a_data_stream() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let raw = RawClient::connect(service.address).await;
    let opened = timeout(
        std::time::Duration::from_millis(100),
        raw.connection.open_uni(),
    )
    .await;
    assert!(opened.is_err(), "no credit");
    let token = Token::random().expect("random numbers");
    let put = Put {
        version: VERSION,
        token,
        size: 1,
        name: "a".to_owned(),
    };
    let (_send, mut receive) = raw.send_message(&Message::Put(put)).await;
    assert_eq!(refused(&mut receive).await.reason, Reason::Token);
    timeout(TEST_TIMEOUT, raw.connection.closed())
        .await
        .expect("disconnected");
    still_serves(&scratch, service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_bytes_are_refused() {
    let scratch = ScratchDirectory::new();
    let service = Service::start(&scratch);
    let mut runner = TestRunner::deterministic();
    let bytes = proptest::collection::vec(proptest::prelude::any::<u8>(), 1..3000);
    for n in 0..60 {
        let raw = RawClient::connect(service.address).await;
        let mut garbage = bytes.new_tree(&mut runner).expect("random bytes").current();
        if n % 2 == 0 {
            // With a correct length, so that the message is decoded.
            let length = (garbage.len() as u32).min(2048).to_be_bytes();
            garbage.splice(..0, length);
        }
        // After a valid request, on its control stream and data streams; or as the request.
        if n % 3 == 0 {
            let (mut send, mut receive) = raw.put(&service, "a", 4_000_000).await;
            accepted(&mut receive).await;
            raw.chunk([n; 16], &garbage).await;
            raw.chunk(chunk_header(1, u64::from(n)), &garbage).await;
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
