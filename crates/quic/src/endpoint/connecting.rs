//! A connection during its handshake.

use super::connection::Connection;
use super::obstacle::Obstacle;
use super::state::{ConnectionRef, State};
use super::waiters::Topic;
use noq_proto::{ConnectionError, FourTuple, PathId};
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A connection whose handshake is not complete. It is a future of the connection. Dropped, it
/// closes the connection.
pub struct Connecting {
    connection: ConnectionRef,
    work: Pin<Box<dyn Future<Output = Result<Connection, ConnectionError>> + Send>>,
}

impl Connecting {
    pub(super) fn new(connection: ConnectionRef) -> Self {
        let waiting = connection.clone();
        Self {
            connection,
            work: Box::pin(async move {
                waiting.wait(Topic::Connected, connected).await?;
                Ok(Connection::new(waiting))
            }),
        }
    }

    /// What the peers agreed on. With rustls, a `Box<crypto::rustls::HandshakeData>`.
    ///
    /// # Errors
    /// If the connection fails before.
    pub async fn handshake_data(&mut self) -> Result<Box<dyn Any>, ConnectionError> {
        let attempt = |state: &mut State| match &state.error {
            Some(error) => Some(Err(error.clone())),
            None if !state.has_handshake_data => None,
            None => state.proto.crypto_session().handshake_data().map(Ok),
        };
        self.connection.wait(Topic::HandshakeData, attempt).await
    }

    /// The peer's address.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        Some(self.path()?.remote())
    }

    /// The local address that the peer sent to, if it is known.
    pub fn local_ip(&self) -> Option<IpAddr> {
        self.path()?.local_ip()
    }

    /// Why the connection failed, if the system or a router said so. Ask after the future has
    /// failed.
    pub fn obstacle(&self) -> Option<Obstacle> {
        self.connection.lock().obstacle
    }

    fn path(&self) -> Option<FourTuple> {
        self.connection.lock().proto.network_path(PathId::ZERO).ok()
    }
}

fn connected(state: &mut State) -> Option<Result<(), ConnectionError>> {
    match &state.error {
        Some(error) => Some(Err(error.clone())),
        None => state.connected.then_some(Ok(())),
    }
}

impl Future for Connecting {
    type Output = Result<Connection, ConnectionError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.work.as_mut().poll(cx)
    }
}

impl fmt::Debug for Connecting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connecting").field(&self.connection).finish()
    }
}
