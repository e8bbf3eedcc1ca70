//! A client that is hostile or does not care whom it talks to, without Whimbrel's code.

use noq::rustls;
use noq::{Connection, Endpoint};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use whimbrel_transfer::ALPN;

/// Accepts every certificate.
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

/// A client's configuration that trusts every server.
pub fn trusting(transport: noq::TransportConfig) -> noq::ClientConfig {
    let crypto = noq::crypto::rustls::QuicClientConfig::try_from(tls()).expect("TLS 1.3");
    let mut config = noq::ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    config
}

/// TLS that trusts every server.
pub fn tls() -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("a supported version")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate))
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    tls
}

/// An endpoint on this local address.
pub fn endpoint(local: IpAddr) -> Endpoint {
    Endpoint::client((local, 0).into()).expect("a socket")
}

/// Connects to a server; `None` if the connection fails.
pub async fn connect(endpoint: &Endpoint, to: SocketAddr) -> Option<Connection> {
    let mut transport = noq::TransportConfig::default();
    transport.keep_alive_interval(Some(std::time::Duration::from_millis(500)));
    let connecting = endpoint.connect_with(trusting(transport), to, "x");
    connecting.expect("a valid configuration").await.ok()
}
