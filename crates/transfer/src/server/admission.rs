//! Which connections the server accepts.

use super::session::Peer;
use super::{OnEvent, Server, Shared};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use whimbrel_quic::endpoint::Incoming;

/// Connections that wait for a place, at most.
const WAITING: usize = 1000;

impl Server {
    /// Decides whether to accept a connection.
    pub(super) fn admit(
        &self,
        incoming: Incoming,
        on_event: &OnEvent,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let shared = Arc::clone(&self.shared);
        let peer = incoming.remote_address();
        let open = shared.connections.load(Ordering::Relaxed);
        // Connections beyond the places wait for their turn.
        let most = shared.limits.connections + WAITING;
        if open >= most || shared.guard().blocks(peer.ip(), Instant::now()) {
            incoming.refuse();
            return None;
        }
        // At half the maximum, verify that the address is not forged before spending memory on it.
        if 2 * open >= most && incoming.may_retry() {
            incoming.retry().ok();
            return None;
        }
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let on_event = Arc::clone(on_event);
        Some(async move {
            let counted = ConnectionSlot(shared);
            let peer = Peer {
                shared: Arc::clone(&counted.0),
                address: peer,
                on_event,
            };
            peer.serve(incoming).await;
        })
    }
}

/// Releases the connection's place in the count when it is dropped.
struct ConnectionSlot(Arc<Shared>);

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
