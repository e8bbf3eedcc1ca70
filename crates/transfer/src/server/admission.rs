//! Which connections the server accepts.

use super::peer::{Leave, Peer};
use super::shared::{OnEvent, Shared};
use super::strangers::Newcomer;
use super::tcp::Tcp;
use crate::lock::lock;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::Instant;
use whimbrel_quic::endpoint::Incoming;

/// Accepts a TCP connection. Decides whether to serve it when its first message has arrived:
/// that may show that the client has a token.
pub(super) fn admit_tcp(
    shared: &Arc<Shared>,
    tcp: Arc<Tcp>,
    stream: TcpStream,
    address: SocketAddr,
    on_event: &OnEvent,
) -> Option<BoxFuture<'static, ()>> {
    let (shared, on_event) = (Arc::clone(shared), Arc::clone(on_event));
    let (half_open, leave) = HalfOpen::arrive(&shared, address)?;
    let work = async move {
        let deadline = shared.deadline();
        let Some(hello) = tcp.hello(stream, leave, deadline).await else {
            return;
        };
        drop(half_open);
        let (stay, leave) = oneshot::channel();
        let users = shared.users();
        let known = || hello.introduction().is_some_and(|id| users.know(&id));
        let now = Instant::now();
        // TCP's handshake has proved the address.
        let newcomer = shared
            .strangers()
            .arrive(address.ip(), true, known, now, || stay);
        if let Some(peer) = peer(&shared, newcomer, address, &on_event) {
            peer.serve_tcp(tcp, hello, leave, deadline).await;
        }
    };
    Some(work.boxed())
}

/// Decides whether to accept a connection.
pub(super) fn admit(
    shared: &Arc<Shared>,
    incoming: Incoming,
    on_event: &OnEvent,
) -> Option<BoxFuture<'static, ()>> {
    let address = incoming.remote_address();
    let proven = incoming.remote_address_validated() || !incoming.may_retry();
    let (stay, leave) = oneshot::channel();
    let id = incoming.orig_dst_cid();
    let users = shared.users();
    let known = || id.is_some_and(|id| users.know(&id));
    let newcomer = shared
        .strangers()
        .arrive(address.ip(), proven, known, Instant::now(), || stay);
    if let Newcomer::Prove = newcomer {
        incoming.retry().ok();
        return None;
    }
    let Some(peer) = peer(shared, newcomer, address, on_event) else {
        incoming.ignore();
        return None;
    };
    Some(peer.serve(incoming, leave, shared.deadline()).boxed())
}

/// The connection of a newcomer, if it gets a slot.
fn peer(
    shared: &Arc<Shared>,
    newcomer: Newcomer<oneshot::Sender<()>>,
    address: SocketAddr,
    on_event: &OnEvent,
) -> Option<Peer> {
    let shared = Arc::clone(shared);
    let Newcomer::Accept(number, replaced) = newcomer else {
        shared.counts.ignored.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    shared.counts.accepted.fetch_add(1, Ordering::Relaxed);
    if replaced.is_some() {
        shared.counts.replaced.fetch_add(1, Ordering::Relaxed);
    }
    Some(Peer::new(shared, number, address, Arc::clone(on_event)))
}

/// The place of a TCP connection whose first message has not arrived. Dropped, it is free.
struct HalfOpen {
    shared: Arc<Shared>,
    number: u64,
}

impl HalfOpen {
    /// A place for a connection from this address; the oldest one of its network may have to leave.
    fn arrive(shared: &Arc<Shared>, address: SocketAddr) -> Option<(Self, Leave)> {
        let (stay, leave) = oneshot::channel();
        let (now, mut places) = (Instant::now(), lock(&shared.half_open));
        match places.arrive(address.ip(), true, || false, now, || stay) {
            Newcomer::Accept(number, _) => {
                let shared = Arc::clone(shared);
                Some((Self { shared, number }, leave))
            }
            Newcomer::Prove | Newcomer::Ignore => None,
        }
    }
}

impl Drop for HalfOpen {
    fn drop(&mut self) {
        lock(&self.shared.half_open).leave(self.number);
    }
}
