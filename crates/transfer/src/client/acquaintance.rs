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
