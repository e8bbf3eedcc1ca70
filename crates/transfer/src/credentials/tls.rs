//! TLS 1.3 for both sides, with a pinned public key of the server.
//!
//! rustls runs the handshake; the cryptography is that of [`whimbrel_quic::key_exchange`]. This
//! module only decides which certificate is accepted: one of a pinned key, instead of one signed by
//! an authority. rustls verifies as usual that the server holds the key.
//!
//! **Another key with an overlap.** Behind its certificate a server may show one of the key that it
//! will have next. The client knows that it is the server's: the server's present key signs the
//! handshake, certificates included (RFC 8446 section 4.4.3). So it pins both, and after the change
//! only the new one.

use super::identity::Identity;
use crate::error::Error;
use crate::fingerprint::{Fingerprint, Pins};
use crate::lock::lock;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::version::TLS13;
use rustls::{CertificateError, DigitallySignedStruct, SignatureScheme};
use std::sync::{Arc, Mutex};
use whimbrel_quic::key_exchange::{AcceptedGroups, provider};

/// The application protocol of both sides (RFC 7301).
pub const ALPN: &[u8] = b"whimbrel/4";

/// Configuration of the server.
pub(crate) fn server_config(
    identity: &Identity,
    groups: AcceptedGroups,
) -> Result<QuicServerConfig, Error> {
    let config = tcp_server_config(identity, groups)?;
    QuicServerConfig::try_from(config).map_err(|e| Error::Identity(e.to_string()))
}

/// Configuration of the server for TLS over TCP.
pub(crate) fn tcp_server_config(
    identity: &Identity,
    groups: AcceptedGroups,
) -> Result<rustls::ServerConfig, Error> {
    let bad = |e: rustls::Error| Error::Identity(format!("the certificate cannot be used: {e}"));
    let mut config = rustls::ServerConfig::builder_with_provider(provider(groups))
        .with_protocol_versions(&[&TLS13])
        .map_err(bad)?
        .with_no_client_auth()
        .with_single_cert(identity.certificates(), identity.key())
        .map_err(bad)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(config)
}

/// Configuration of the client, and the verifier that records the server's keys.
pub(crate) fn client_config(
    expected: Option<Pins>,
    groups: AcceptedGroups,
) -> Result<(QuicClientConfig, Arc<Pin>), Error> {
    let (config, pin) = tcp_client_config(expected, groups)?;
    let config = QuicClientConfig::try_from(config).map_err(|e| Error::Identity(e.to_string()))?;
    Ok((config, pin))
}

/// Configuration of the client for TLS over TCP, and the verifier.
pub(crate) fn tcp_client_config(
    expected: Option<Pins>,
    groups: AcceptedGroups,
) -> Result<(rustls::ClientConfig, Arc<Pin>), Error> {
    let bad = |e: rustls::Error| Error::Identity(e.to_string());
    let provider = provider(groups);
    let pin = Arc::new(Pin {
        expected,
        seen: Mutex::new(None),
        provider: Arc::clone(&provider),
    });
    let verifier: Arc<dyn ServerCertVerifier> = pin.clone();
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(bad)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    // Resumption would skip the certificate check.
    config.resumption = rustls::client::Resumption::disabled();
    Ok((config, pin))
}

/// Accepts a certificate of the expected keys and no other.
#[derive(Debug)]
pub(crate) struct Pin {
    /// `None` accepts no certificate; what the server shows is recorded nevertheless.
    expected: Option<Pins>,
    seen: Mutex<Option<Pins>>,
    provider: Arc<CryptoProvider>,
}

impl Pin {
    /// The expected keys.
    pub fn expected(&self) -> Option<&Pins> {
        self.expected.as_ref()
    }

    /// The server's key and those that it announced, if the handshake got that far. They are
    /// proved once the handshake is complete.
    pub fn seen(&self) -> Option<Pins> {
        lock(&self.seen).clone()
    }
}

fn key_of(certificate: &CertificateDer<'_>) -> Result<Fingerprint, rustls::Error> {
    let parsed = ParsedCertificate::try_from(certificate)?;
    Ok(Fingerprint::of_key(&parsed.subject_public_key_info()))
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let key = key_of(end_entity)?;
        let announced = others.iter().take(Pins::MAX_ANNOUNCED);
        let announced = announced.map(key_of).collect::<Result<Vec<_>, _>>()?;
        let seen = Pins::new(key, announced);
        *lock(&self.seen) = Some(seen);
        if self.expected.as_ref().is_some_and(|pins| pins.contain(key)) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // Only TLS 1.3 is offered; QUIC has no other (RFC 9001 section 4.2).
        Err(rustls::PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::ServerName;
    use rustls::sign::CertifiedKey;
    use rustls::{ClientConnection, ServerConnection};

    /// A handshake in memory with a server that shows the certificate of one identity and signs with
    /// the key of another. The client expects the first.
    fn handshake(shown: &Identity, held: &Identity) -> Result<(), rustls::Error> {
        let groups = AcceptedGroups::default();
        let signer = provider(groups)
            .key_provider
            .load_private_key(held.key())
            .expect("a key");
        let certified = CertifiedKey::new(shown.certificates(), signer);
        let config = rustls::ServerConfig::builder_with_provider(provider(groups))
            .with_protocol_versions(&[&TLS13])
            .expect("TLS 1.3")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(certified)));
        let mut server = ServerConnection::new(Arc::new(config))?;
        let expected = Pins::from(shown.fingerprint());
        let (mut config, _) = tcp_client_config(Some(expected), groups).expect("a client");
        config.alpn_protocols.clear();
        let name = ServerName::try_from("whimbrel").expect("a name");
        let mut client = ClientConnection::new(Arc::new(config), name)?;
        while client.is_handshaking() || server.is_handshaking() {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).expect("memory");
            server.read_tls(&mut wire.as_slice()).expect("memory");
            server.process_new_packets()?;
            wire.clear();
            server.write_tls(&mut wire).expect("memory");
            client.read_tls(&mut wire.as_slice()).expect("memory");
            client.process_new_packets()?;
        }
        Ok(())
    }

    #[test]
    fn a_server_without_the_key_of_its_certificate_is_not_accepted() {
        let identity = Identity::ephemeral().expect("an identity");
        assert_eq!(handshake(&identity, &identity), Ok(()));
        let thief = Identity::ephemeral().expect("an identity");
        let bad = rustls::Error::InvalidCertificate(CertificateError::BadSignature);
        assert_eq!(handshake(&identity, &thief), Err(bad));
    }
}
