//! Connects to the server of a transfer.

use super::SendOptions;
use crate::connect::{Connected, Dial};
use crate::{Error, transport};
use std::sync::Arc;
use whimbrel_quic::Factory;

/// Connects to the server and checks its fingerprint. `factory` makes what builds the congestion
/// controller of one attempt.
pub(super) async fn connect(
    options: &SendOptions,
    factory: impl Fn() -> Factory,
) -> Result<Connected, Error> {
    let mut transport = transport::client(options.idle);
    if let Some(qlog) = &options.qlog {
        transport.qlog_factory(Arc::new(qlog.clone()));
    }
    let dial = Dial {
        server: &options.server,
        fingerprint: options.fingerprint,
        known_hosts: options.known_hosts.as_ref(),
        timeout: options.connect,
        transport,
        priority: options.priority,
        choice: options.transport,
        algorithm: options.tcp_algorithm.as_ref(),
    };
    dial.connect(factory).await
}
