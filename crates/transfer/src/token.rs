//! The token with which a client authenticates: 160 random bits.

use crate::random::{self, NoRandomness};
use std::fmt;
use std::str::FromStr;
use zeroize::{Zeroize, Zeroizing};

/// A secret shared by server and client, written as 32 characters of base 32.
///
/// It is sent only inside the encrypted connection. Neither `Debug` nor an error shows it, and its
/// memory is overwritten when it is dropped.
#[derive(Clone)]
pub struct Token([u8; Token::LEN]);

impl Token {
    /// Length in bytes.
    pub const LEN: usize = 20;

    /// Creates a random token.
    ///
    /// # Errors
    /// If the system provides no random numbers.
    pub fn random() -> Result<Self, NoRandomness> {
        random::bytes().map(Self)
    }

    pub(crate) fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The secret as text, for the user.
    pub fn reveal(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(data_encoding::BASE32_NOPAD.encode(&self.0));
        text.make_ascii_lowercase();
        text
    }

    /// The hash by which a server knows the token. The token's 160 random bits cannot be guessed,
    /// so a fast hash is safe.
    pub fn hash(&self) -> TokenHash {
        TokenHash(blake3::derive_key("whimbrel 2026 server token", &self.0))
    }

    /// Whether both tokens are equal. BLAKE3 hashes compare in constant time, so the time does not
    /// reveal where they differ.
    pub fn matches(&self, other: &Self) -> bool {
        blake3::hash(&self.0) == blake3::hash(&other.0)
    }
}

/// What held a secret is overwritten.
impl Drop for Token {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

impl FromStr for Token {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = Zeroizing::new(text.trim().to_ascii_uppercase());
        let bytes = data_encoding::BASE32_NOPAD.decode(text.as_bytes()).ok();
        bytes
            .map(Zeroizing::new)
            .and_then(|bytes| bytes.as_slice().try_into().ok())
            .map(Self)
            .ok_or_else(|| {
                "a token is 32 letters and digits; the server has it in the file `token` of its \
                 identity directory"
                    .to_owned()
            })
    }
}

/// The hash of a token, written as `blake3:` and 64 hexadecimal digits. It does not reveal the
/// token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// What only those can compute who know the token or its hash.
    pub(crate) fn authenticate(&self, nonce: &[u8]) -> [u8; 32] {
        *blake3::keyed_hash(&self.0, nonce).as_bytes()
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blake3:{}", data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl FromStr for TokenHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.strip_prefix("blake3:")
            .and_then(|hex| {
                data_encoding::HEXLOWER_PERMISSIVE
                    .decode(hex.as_bytes())
                    .ok()
            })
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or_else(|| match text.parse::<Token>() {
                // It is not shown: it may be one that is in use.
                Ok(_) => {
                    "this is a token, and its hash is expected; `whimbrel token new` makes both"
                        .to_owned()
                }
                Err(_) => {
                    format!("`{text}` is not the hash of a token; `whimbrel token new` makes both")
                }
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_and_debug_does_not_show_it() {
        let token = Token::random().expect("randomness");
        let read: Token = token.reveal().parse().expect("as written");
        assert!(token.matches(&read));
        assert_eq!(token.reveal().len(), 32);
        assert!(!token.matches(&Token::random().expect("randomness")));
        assert!(!format!("{token:?}").contains(token.reveal().as_str()));
        assert!("too-short".parse::<Token>().is_err());
    }

    #[test]
    fn tokens_that_differ_in_one_bit_differ() {
        let token = Token::from_bytes([0x5a; Token::LEN]);
        for bit in 0..8 * Token::LEN {
            let mut bytes = *token.bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let other = Token::from_bytes(bytes);
            assert!(!token.matches(&other), "bit {bit}");
            assert_ne!(token.hash(), other.hash(), "bit {bit}");
        }
    }

    #[test]
    fn a_hash_reads_back_and_differs_from_the_token() {
        let token = Token::random().expect("randomness");
        let hash = token.hash();
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert!(!hash.to_string().contains(token.reveal().as_str()));
        assert_ne!(hash, Token::random().expect("randomness").hash());
        for wrong in ["", "blake3:", "blake3:00", token.reveal().as_str()] {
            assert!(wrong.parse::<TokenHash>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_error_shows_what_may_be_a_token() {
        let secret = Token::random().expect("randomness").reveal();
        for damaged in [
            &secret[1..],
            &format!("{}1", &secret[1..]),
            &format!("{}x", *secret),
        ] {
            let error = damaged.parse::<Token>().expect_err("damaged");
            let error = error.to_lowercase();
            assert!(!error.contains(&secret[1..]), "{error}");
        }
        // Somebody writes the token where its hash belongs.
        let error = secret.parse::<TokenHash>().expect_err("no hash");
        assert!(!error.contains(secret.as_str()), "{error}");
        let error = "x".parse::<TokenHash>().expect_err("no hash");
        assert!(error.contains("`x`"), "{error}");
    }
}
