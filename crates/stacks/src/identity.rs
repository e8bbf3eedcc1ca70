//! The server's certificate and its key, for connections that never leave the process. RSA: its
//! signatures have a fixed size, so that the same seed gives packets of the same sizes.

/// A self-signed certificate for the name `server`, PEM.
pub(crate) const CERTIFICATE: &[u8] = include_bytes!("identity/certificate.pem");
/// Its private key, PEM. It protects nothing.
pub(crate) const KEY: &[u8] = include_bytes!("identity/key.pem");
