//! How clients learn that a server has started again.

use crate::credentials::identity::Identity;
use noq_proto::{EndpointConfig, HashedConnectionIdGenerator};
use ring::hmac;
use std::sync::Arc;

/// A server that starts again with the same identity answers packets of connections that it does
/// not know any more with stateless resets that their clients recognize (RFC 9000 section 10.3). So
/// a client learns of the restart at its next packet and not after the idle timeout.
pub(super) fn endpoint_config(identity: &Identity) -> EndpointConfig {
    let key = identity.secret("whimbrel stateless reset");
    let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &key)));
    // Connection IDs must be recognized as the server's own.
    let [a, b, c, d, e, f, g, h, ..] = identity.secret("whimbrel connection IDs");
    let key = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    config.cid_generator(Arc::new(move || {
        Box::new(HashedConnectionIdGenerator::from_key(key))
    }));
    config
}
