//! How a client that has a token is told from strangers before it can show the token.
//!
//! Over TCP the same number stands in the first message of TLS, as the name of a further
//! application protocol (RFC 7301), which no server selects.
//!
//! The first packet of a connection has a connection ID that the client chooses (RFC 9000 section
//! 7.2): at least 8 bytes that nobody can predict. Ours is a random number and an authenticator of
//! it under the token's hash, so a server can tell whose packet it is before it spends a place on
//! it. Who overhears one can repeat it, and is then a stranger that others do not displace, no
//! more.

use crate::random::{self, NoRandomness};
use crate::token::{Token, TokenHash};

/// Length of the random number, bytes.
const NONCE: usize = 8;
/// Length of a connection ID, bytes: the maximum of QUIC.
const LENGTH: usize = 20;

/// A connection ID for the first packet of a client with this token.
///
/// # Errors
/// If the system provides no random numbers.
pub(crate) fn connection_id(token: &Token) -> Result<[u8; LENGTH], NoRandomness> {
    let nonce = random::bytes::<NONCE>()?;
    let mut id = [0; LENGTH];
    id[..NONCE].copy_from_slice(&nonce);
    id[NONCE..].copy_from_slice(&token.hash().authenticate(&nonce)[..LENGTH - NONCE]);
    Ok(id)
}

/// Whether a connection ID is of a client whose token has this hash.
pub(crate) fn is_of(id: &[u8], hash: &TokenHash) -> bool {
    id.len() == LENGTH && hash.authenticate(&id[..NONCE])[..LENGTH - NONCE] == id[NONCE..]
}

/// The beginning of the name of an application protocol that is an introduction.
const PROTOCOL: &[u8] = b"whimbrel-introduction/";

/// The name of an application protocol for the first message over TCP of a client with this token.
///
/// # Errors
/// If the system provides no random numbers.
pub(crate) fn protocol(token: &Token) -> Result<Vec<u8>, NoRandomness> {
    Ok([PROTOCOL, &connection_id(token)?].concat())
}

/// What the name of an application protocol has that is an introduction: what [`is_of`] takes.
pub(crate) fn of_protocol(name: &[u8]) -> Option<&[u8]> {
    name.strip_prefix(PROTOCOL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_makes_its_introductions() {
        let token = || Token::random().expect("randomness");
        let (ours, other) = (token(), token());
        let id = connection_id(&ours).expect("randomness");
        assert!(is_of(&id, &ours.hash()) && !is_of(&id, &other.hash()));
        assert_ne!(id, connection_id(&ours).expect("randomness"));
        let mut changed = id;
        changed[0] ^= 1;
        assert!(!is_of(&changed, &ours.hash()) && !is_of(&id[..19], &ours.hash()));
        let name = protocol(&ours).expect("randomness");
        assert!(of_protocol(&name).is_some_and(|id| is_of(id, &ours.hash())));
        assert_eq!(of_protocol(b"whimbrel/4"), None);
    }
}
