//! Who answers at a server's address, before anything is shown to it.

use super::connect::Dial;
use super::options::ClientOptions;
use crate::connection::parameters;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::token::Token;
use futures::FutureExt;
use futures::future::BoxFuture;

/// The fingerprint of the server that answers. The server sees neither the token of these options
/// nor a trace of it: the connection ends when the server has shown its certificate.
///
/// # Errors
/// If no server answers, or it has no key exchange in common with this end.
pub fn fingerprint_of(options: &ClientOptions) -> BoxFuture<'_, Result<Fingerprint, Error>> {
    let work = async move {
        let stranger = ClientOptions {
            token: Token::random()?,
            fingerprint: None,
            known_hosts: None,
            ..options.clone()
        };
        let dial = Dial::new(&stranger, parameters::client(stranger.idle));
        match dial.connect(&|| stranger.factory()).await {
            Err(Error::UnknownServer { found, .. }) => Ok(found),
            Err(error) => Err(error),
            Ok(_) => Err(Error::Protocol("the server has no certificate".to_owned())),
        }
    };
    work.boxed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ServerAddress;
    use crate::connection::over_tcp::TransportChoice;
    use crate::connection::pair::{link, play_over};
    use crate::credentials::identity::Identity;
    use crate::credentials::tls;
    use crate::defaults::default_controller;
    use crate::introduction;
    use crate::scratch_directory::ScratchDirectory;
    use crate::simulated::network::{self, CLIENT, HOST, PORT, SERVER};
    use noq_proto::{EndpointConfig, ServerConfig};
    use std::net::SocketAddr;
    use std::sync::Arc;
    use whimbrel_quic::endpoint;
    use whimbrel_quic::key_exchange::AcceptedGroups;

    #[test]
    fn who_asks_for_a_fingerprint_shows_nothing_of_its_token() {
        play_over(link(10_000_000, 10, 1 << 20), async || {
            let scratch = ScratchDirectory::in_memory();
            let identity = Identity::load_or_create(&scratch.path().join("identity"));
            let identity = identity.expect("an identity");
            let crypto = tls::server_config(&identity, AcceptedGroups::default());
            let config = ServerConfig::with_crypto(Arc::new(crypto.expect("a configuration")));
            let at = SocketAddr::new(network::address_of(SERVER), PORT);
            let server = Some(endpoint::Server::new(config));
            let open = || network::endpoint(EndpointConfig::default(), server, at);
            let serving = HOST.sync_scope(SERVER, open);
            let address = ServerAddress {
                host: at.ip().to_string(),
                port: PORT,
            };
            let token = Token::random().expect("randomness");
            let options = ClientOptions {
                transport: TransportChoice::Quic,
                ..ClientOptions::new(address, token.clone(), default_controller())
            };
            let mut shown = Vec::new();
            let answering = async {
                loop {
                    let incoming = serving.accept().await.expect("a client");
                    shown.extend(incoming.orig_dst_cid());
                    incoming.accept().expect("it waits").await.ok();
                }
            };
            tokio::select! {
                found = HOST.scope(CLIENT, fingerprint_of(&options)) => {
                    assert_eq!(found.expect("it answers"), identity.fingerprint());
                }
                () = answering => unreachable!("it has no end"),
            }
            assert!(!shown.is_empty());
            let is_of = |id: &noq_proto::ConnectionId| introduction::is_of(id, &token.hash());
            assert!(!shown.iter().any(is_of));
        });
    }
}
