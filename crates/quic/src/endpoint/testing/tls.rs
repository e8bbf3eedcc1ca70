//! Configurations with a certificate of constant size.

use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{ClientConfig, ServerConfig, TransportConfig};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519, SerialNumber};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::version::TLS13;
use std::sync::{Arc, OnceLock};

/// The name in the server's certificate.
pub(super) const NAME: &str = "server";

/// Queue of DATAGRAM frames in each direction, bytes.
const DATAGRAMS: usize = 64 << 10;

/// Defaults, with room for DATAGRAM frames.
pub(crate) fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .datagram_receive_buffer_size(Some(DATAGRAMS))
        .datagram_send_buffer_size(DATAGRAMS);
    transport
}

/// A client that trusts the server of [`server_config`].
pub(crate) fn client_config(transport: TransportConfig) -> ClientConfig {
    client_config_with(default_provider(), transport)
}

/// The same with this cryptography.
pub(crate) fn client_config_with(
    provider: CryptoProvider,
    transport: TransportConfig,
) -> ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(identity().0.clone()).expect("a certificate");
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let crypto = QuicClientConfig::try_from(tls).expect("a cipher for QUIC");
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    config
}

/// A server with a certificate of its own.
pub(crate) fn server_config(transport: TransportConfig) -> ServerConfig {
    server_config_with(default_provider(), transport)
}

/// The same with this cryptography.
pub(crate) fn server_config_with(
    provider: CryptoProvider,
    transport: TransportConfig,
) -> ServerConfig {
    let (certificate, key) = identity();
    let key = PrivatePkcs8KeyDer::from(key.clone());
    let tls = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .expect("a certificate");
    let crypto = QuicServerConfig::try_from(tls).expect("a cipher for QUIC");
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    config
}

/// One for the process. Signatures with Ed25519 have a fixed size.
fn identity() -> &'static (CertificateDer<'static>, Vec<u8>) {
    static IDENTITY: OnceLock<(CertificateDer<'static>, Vec<u8>)> = OnceLock::new();
    IDENTITY.get_or_init(|| {
        let key = KeyPair::generate_for(&PKCS_ED25519).expect("a key");
        let mut params = CertificateParams::new([NAME.to_owned()]).expect("a name");
        params.serial_number = Some(SerialNumber::from(1u64));
        let certificate = params.self_signed(&key).expect("a certificate");
        (certificate.der().clone(), key.serialize_der())
    })
}
