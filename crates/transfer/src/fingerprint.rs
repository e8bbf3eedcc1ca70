//! Fingerprint of a server: SHA-256 of its public key, as printed by `openssl pkey -pubout
//! -outform DER | sha256sum`. It is the pin of RFC 7469 section 2.4, in hexadecimal digits: a
//! certificate may be renewed, the key stays.

use ring::digest;
use std::fmt;
use std::str::FromStr;

/// SHA-256 of a public key (SubjectPublicKeyInfo of RFC 5280, DER). Written as 64 hexadecimal
/// digits; colons are ignored when read.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a public key in DER.
    pub fn of_key(der: &[u8]) -> Self {
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
                "a fingerprint is 64 hexadecimal digits, as `whimbrel serve` and `whimbrel key show` \
                 print it"
                    .to_owned()
            })
    }
}

/// The keys by which a client knows a server: the present one, and those that the server has
/// announced. Written with spaces between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pins(Vec<Fingerprint>);

impl Pins {
    /// Keys that a server may announce beside its own.
    pub const MAX_ANNOUNCED: usize = 2;

    /// A server that showed this key, and announced others.
    pub fn new(key: Fingerprint, announced: impl IntoIterator<Item = Fingerprint>) -> Self {
        let announced = announced.into_iter().take(Self::MAX_ANNOUNCED);
        Self(std::iter::once(key).chain(announced).collect())
    }

    /// The key that the server showed last.
    pub fn key(&self) -> Option<Fingerprint> {
        self.0.first().copied()
    }

    /// Whether the server may show this key.
    pub fn contain(&self, key: Fingerprint) -> bool {
        self.0.contains(&key)
    }
}

impl From<Fingerprint> for Pins {
    fn from(key: Fingerprint) -> Self {
        Self(vec![key])
    }
}

impl fmt::Display for Pins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(Fingerprint::to_string).collect();
        f.pad(&all.join(" "))
    }
}

impl FromStr for Pins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let keys: Vec<Fingerprint> = text
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        match keys.split_first() {
            Some((key, announced)) => Ok(Self::new(*key, announced.iter().copied())),
            None => "".parse::<Fingerprint>().map(Self::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-2 appendix B.1.
    #[test]
    fn the_fingerprint_is_sha_256() {
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Fingerprint::of_key(b"abc").to_string(), hex);
    }

    #[test]
    fn the_formats_of_whimbrel_and_openssl_are_read() {
        let print = Fingerprint::of_key(b"x");
        let plain = print.to_string();
        let pairs: Vec<&str> = (0..32).map(|i| &plain[2 * i..2 * i + 2]).collect();
        assert_eq!(plain.parse(), Ok(print));
        assert_eq!(pairs.join(":").to_uppercase().parse(), Ok(print));
        for wrong in ["", "abc", &plain[1..], "zz"] {
            assert!(wrong.parse::<Fingerprint>().is_err());
        }
    }

    #[test]
    fn pins_are_one_key_or_several() {
        let [a, b, c] = [b"a", b"b", b"c"].map(|key| Fingerprint::of_key(key));
        let pins = Pins::new(a, [b]);
        assert_eq!(pins.to_string().parse(), Ok(pins.clone()));
        assert_eq!(a.to_string().parse(), Ok(Pins::from(a)));
        assert!(pins.contain(a) && pins.contain(b) && !pins.contain(c));
        assert_eq!(pins.key(), Some(a));
        // However many a server announces, few are kept.
        assert_eq!(Pins::new(a, [b, c, c, c]), Pins::new(a, [b, c]));
        assert!("".parse::<Pins>().is_err() && "abc".parse::<Pins>().is_err());
    }
}
