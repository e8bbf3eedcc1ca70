//! Fingerprint of a server: SHA-256 of its certificate, as printed by `openssl x509 -fingerprint
//! -sha256`.

use ring::digest;
use std::fmt;
use std::str::FromStr;

/// SHA-256 of a certificate in DER. Written as 64 hexadecimal digits; colons are ignored when read.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a certificate in DER.
    pub fn of_certificate(der: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest::digest(&digest::SHA256, der).as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits: String = text.trim().chars().filter(|c| *c != ':').collect();
        data_encoding::HEXLOWER_PERMISSIVE
            .decode(digits.as_bytes())
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or_else(|| {
                "a fingerprint is 64 hexadecimal digits, as `whimbrel serve` prints it".to_owned()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-2 appendix B.1.
    #[test]
    fn the_fingerprint_is_sha_256() {
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Fingerprint::of_certificate(b"abc").to_string(), hex);
    }

    #[test]
    fn the_formats_of_whimbrel_and_openssl_are_read() {
        let print = Fingerprint::of_certificate(b"x");
        let plain = print.to_string();
        let pairs: Vec<&str> = (0..32).map(|i| &plain[2 * i..2 * i + 2]).collect();
        assert_eq!(plain.parse(), Ok(print));
        assert_eq!(pairs.join(":").to_uppercase().parse(), Ok(print));
        for wrong in ["", "abc", &plain[1..], "zz"] {
            assert!(wrong.parse::<Fingerprint>().is_err());
        }
    }
}
