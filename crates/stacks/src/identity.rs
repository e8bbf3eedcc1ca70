//! The server's certificate and its key, for connections that never leave the process. RSA: its
//! signatures have a fixed size, so that the same seed gives packets of the same sizes.

/// A self-signed certificate for the name `server`, PEM.
pub(crate) const CERTIFICATE: &[u8] = include_bytes!("identity/certificate.pem");
/// Its private key, PEM. It protects nothing.
pub(crate) const KEY: &[u8] = include_bytes!("identity/key.pem");

/// The certificate and the key as files, for stacks that read nothing else. They are removed when
/// this is dropped.
#[cfg(any(feature = "quiche", feature = "tquic"))]
pub(crate) struct Files(tempfile::TempDir);

#[cfg(any(feature = "quiche", feature = "tquic"))]
impl Files {
    /// Writes them.
    ///
    /// # Errors
    /// If the system's directory for temporary files cannot be written.
    pub fn new() -> std::io::Result<Self> {
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("certificate.pem"), CERTIFICATE)?;
        std::fs::write(directory.path().join("key.pem"), KEY)?;
        Ok(Self(directory))
    }

    /// The paths of the certificate and of the key.
    pub fn paths(&self) -> [String; 2] {
        let path = |name: &str| self.0.path().join(name).to_string_lossy().into_owned();
        [path("certificate.pem"), path("key.pem")]
    }
}
