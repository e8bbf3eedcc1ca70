//! A client's attempt to connect.

use super::connecting::Connecting;
use super::prepared::Prepared;
use super::shared::EndpointShared;
use noq_proto::{ConnectionError, ConnectionId, ServerConfig};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A client wants to connect. Dropped undecided, the attempt is refused.
pub struct Incoming {
    /// `None` once it is decided.
    attempt: Option<noq_proto::Incoming>,
    endpoint: Arc<EndpointShared>,
    remote: SocketAddr,
}

impl Incoming {
    pub(super) fn new(attempt: noq_proto::Incoming, endpoint: Arc<EndpointShared>) -> Self {
        Self {
            remote: attempt.remote_address(),
            attempt: Some(attempt),
            endpoint,
        }
    }

    /// Accepts the connection with the configuration that the endpoint's [`Server`] prepares.
    ///
    /// # Errors
    /// If the client's first packet is too old or wrong, or the endpoint is closed.
    ///
    /// [`Server`]: super::Server
    pub fn accept(self) -> Result<Connecting, ConnectionError> {
        match self.endpoint.prepare.clone() {
            Some(prepare) => {
                let prepared = prepare(self.remote);
                self.accept_with(prepared)
            }
            // Without a server configuration noq reports no attempt.
            None => Err(ConnectionError::LocallyClosed),
        }
    }

    /// Accepts the connection with a configuration of its own.
    ///
    /// # Errors
    /// See [`Self::accept`].
    pub fn accept_with(
        mut self,
        prepared: impl Into<Prepared<Arc<ServerConfig>>>,
    ) -> Result<Connecting, ConnectionError> {
        let Prepared { config, feedback } = prepared.into();
        let Some(attempt) = self.attempt.take() else {
            return Err(ConnectionError::LocallyClosed);
        };
        feedback.several().set_utc(self.endpoint.clock.utc());
        let now = self.endpoint.clock.now();
        let connection = self
            .endpoint
            .call(|core| core.accept(now, attempt, config, feedback))?;
        Ok(Connecting::new(connection))
    }

    /// Refuses the connection: the client is notified.
    pub fn refuse(self) {
        drop(self);
    }

    /// Makes the client prove that it receives packets at its address, before the server spends
    /// memory on it.
    ///
    /// # Errors
    /// Returns the attempt if the client has done so already ([`Self::may_retry`]).
    pub fn retry(mut self) -> Result<(), RetryError> {
        let Some(attempt) = self.attempt.take() else {
            return Ok(());
        };
        match self.endpoint.call(|core| core.retry(attempt)) {
            Ok(()) => Ok(()),
            Err(attempt) => {
                self.attempt = Some(*attempt);
                Err(RetryError(Box::new(self)))
            }
        }
    }

    /// Drops the attempt without an answer.
    pub fn ignore(mut self) {
        if let Some(attempt) = self.attempt.take() {
            self.endpoint.call(|core| core.ignore(attempt));
        }
    }

    /// The client's address. It may be forged unless it is
    /// [validated](Self::remote_address_validated).
    pub fn remote_address(&self) -> SocketAddr {
        self.remote
    }

    /// The local address that the client sent to, if the system reports it.
    pub fn local_ip(&self) -> Option<IpAddr> {
        self.attempt.as_ref()?.local_ip()
    }

    /// Whether the client has proved that it receives packets at its address.
    pub fn remote_address_validated(&self) -> bool {
        self.attempt
            .as_ref()
            .is_some_and(noq_proto::Incoming::remote_address_validated)
    }

    /// Whether [`Self::retry`] is possible.
    pub fn may_retry(&self) -> bool {
        self.attempt
            .as_ref()
            .is_some_and(noq_proto::Incoming::may_retry)
    }

    /// The connection ID that the client chose first.
    pub fn orig_dst_cid(&self) -> Option<ConnectionId> {
        Some(self.attempt.as_ref()?.orig_dst_cid())
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(attempt) = self.attempt.take() {
            self.endpoint.call(|core| core.refuse(attempt));
        }
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}

/// The client has already proved its address, so there is nothing to retry.
#[derive(Debug, thiserror::Error)]
#[error("the client has already proved its address")]
pub struct RetryError(Box<Incoming>);

impl RetryError {
    /// The attempt, undecided.
    pub fn into_incoming(self) -> Incoming {
        *self.0
    }
}
