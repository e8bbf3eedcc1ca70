//! Which connections the server accepts.

use super::serve::Server;
use super::session::Peer;
use super::shared::{OnEvent, Shared};
use super::shares::Held;
use super::strangers::Newcomer;
use super::tcp::Tcp;
use crate::error::Error;
use crate::wire::Reason;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::Instant;
use whimbrel_quic::endpoint::Incoming;

/// Completes when a stranger must leave.
pub(super) type Leave = oneshot::Receiver<()>;

impl Server {
    /// Decides whether to accept a TCP connection.
    pub(super) fn admit_tcp(
        &self,
        tcp: Arc<Tcp>,
        stream: TcpStream,
        address: SocketAddr,
        on_event: &OnEvent,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let (stay, leave) = oneshot::channel();
        // TCP's handshake has proved the address.
        let newcomer =
            self.shared
                .strangers()
                .arrive(address.ip(), true, || false, Instant::now(), || stay);
        let peer = self.peer(newcomer, address, on_event)?;
        Some(peer.serve_tcp(tcp, stream, leave))
    }

    /// Decides whether to accept a connection.
    pub(super) fn admit(
        &self,
        incoming: Incoming,
        on_event: &OnEvent,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let address = incoming.remote_address();
        let proven = incoming.remote_address_validated() || !incoming.may_retry();
        let (stay, leave) = oneshot::channel();
        let id = incoming.orig_dst_cid();
        let users = self.shared.users();
        let known = || id.is_some_and(|id| users.know(&id));
        let newcomer =
            self.shared
                .strangers()
                .arrive(address.ip(), proven, known, Instant::now(), || stay);
        if let Newcomer::Prove = newcomer {
            incoming.retry().ok();
            return None;
        }
        let Some(peer) = self.peer(newcomer, address, on_event) else {
            incoming.ignore();
            return None;
        };
        let deadline = peer.deadline();
        Some(peer.serve(incoming, leave, deadline))
    }

    /// The slot of a newcomer, if it gets one.
    fn peer(
        &self,
        newcomer: Newcomer<oneshot::Sender<()>>,
        address: SocketAddr,
        on_event: &OnEvent,
    ) -> Option<Peer> {
        let shared = Arc::clone(&self.shared);
        let Newcomer::Accept(number, replaced) = newcomer else {
            shared.counts.ignored.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        shared.counts.accepted.fetch_add(1, Ordering::Relaxed);
        if replaced.is_some() {
            shared.counts.replaced.fetch_add(1, Ordering::Relaxed);
        }
        let slot = Arc::new(Slot {
            shared: Arc::clone(&shared),
            number,
            admitted: OnceLock::new(),
        });
        Some(Peer {
            shared,
            address,
            on_event: Arc::clone(on_event),
            slot,
        })
    }
}

/// The slot of a connection: among the strangers, and then among the authenticated clients.
/// Dropped, it is free.
pub(super) struct Slot {
    shared: Arc<Shared>,
    /// Its number among the strangers.
    number: u64,
    admitted: OnceLock<Held>,
}

impl Slot {
    /// The client is authenticated as `user`. Fails if too many are connected.
    pub fn admit(&self, user: &str) -> Result<(), Error> {
        let several = self.shared.users().are_several();
        let held = self.shared.connections.take(user, several).ok_or_else(|| {
            let text = "too many clients are connected; try again later";
            Error::refused(Reason::Busy, text)
        })?;
        self.admitted.set(held).ok();
        self.shared.strangers().leave(self.number);
        Ok(())
    }

    /// Whether the client is authenticated.
    pub fn is_admitted(&self) -> bool {
        self.admitted.get().is_some()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.strangers().leave(self.number);
    }
}
