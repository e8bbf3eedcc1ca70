//! The token with which a client authenticates: 160 random bits.

use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::str::FromStr;

/// A secret shared by server and client, written as 32 characters of base 32.
///
/// It is sent only inside the encrypted connection. Neither `Debug` nor an error shows it.
#[derive(Clone)]
pub struct Token([u8; Token::LEN]);

impl Token {
    /// Length in bytes.
    pub const LEN: usize = 20;

    /// Creates a random token.
    ///
    /// # Errors
    /// If the system provides no random numbers.
    pub fn random() -> Result<Self, crate::Error> {
        let mut bytes = [0; Self::LEN];
        SystemRandom::new().fill(&mut bytes).map_err(|_| {
            crate::Error::Identity("the system provided no random numbers".to_owned())
        })?;
        Ok(Self(bytes))
    }

    pub(crate) fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The secret as text, for the user.
    pub fn reveal(&self) -> String {
        data_encoding::BASE32_NOPAD.encode(&self.0).to_lowercase()
    }

    /// Whether both tokens are equal. BLAKE3 hashes compare in constant time, so the time does not
    /// reveal where they differ.
    pub fn matches(&self, other: &Self) -> bool {
        blake3::hash(&self.0) == blake3::hash(&other.0)
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
        data_encoding::BASE32_NOPAD
            .decode(text.trim().to_uppercase().as_bytes())
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or_else(|| {
                "a token is 32 letters and digits, as `whimbrel serve` prints it".to_owned()
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
        assert!(!format!("{token:?}").contains(&token.reveal()));
        assert!("too-short".parse::<Token>().is_err());
    }
}
