//! The application's handle of a connection.

use super::paths::PathReport;
use super::receive_stream::RecvStream;
use super::send_stream::SendStream;
use super::state::{ConnectionRef, State};
use super::waiters::Topic;
use bytes::Bytes;
use noq_proto::congestion::Controller;
use noq_proto::{
    ConnectionError, ConnectionStats, Dir, FourTuple, PathId, PathStats, Side, StreamId, VarInt,
};
use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use whimbrel_cc::fairness::Priority;

/// A QUIC connection. Clones are handles of the same connection, and so are its streams. When the
/// last one is dropped, the connection is closed with code 0.
#[derive(Debug, Clone)]
pub struct Connection(ConnectionRef);

impl Connection {
    pub(super) fn new(connection: ConnectionRef) -> Self {
        Self(connection)
    }

    /// Opens a stream to the peer as soon as the peer allows one. The peer learns of it with the
    /// first data. Cancel safe.
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn open_uni(&self) -> Result<SendStream, ConnectionError> {
        let id = self.open(Dir::Uni).await?;
        Ok(SendStream::new(self.0.clone(), id))
    }

    /// Opens a stream in both directions as soon as the peer allows one. The peer learns of it with
    /// the first data. Cancel safe.
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn open_bi(&self) -> Result<(SendStream, RecvStream), ConnectionError> {
        let id = self.open(Dir::Bi).await?;
        Ok(self.both(id))
    }

    /// The next stream that the peer opened. Cancel safe.
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn accept_uni(&self) -> Result<RecvStream, ConnectionError> {
        let id = self.accept(Dir::Uni).await?;
        Ok(RecvStream::new(self.0.clone(), id))
    }

    /// The next stream in both directions that the peer opened. Cancel safe.
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn accept_bi(&self) -> Result<(SendStream, RecvStream), ConnectionError> {
        let id = self.accept(Dir::Bi).await?;
        Ok(self.both(id))
    }

    /// Waits until the connection is closed, by either side or an error.
    pub async fn closed(&self) -> ConnectionError {
        let reason = |state: &mut State| state.error.clone();
        self.0.wait(Topic::Closed, reason).await
    }

    /// Why the connection is closed; `None` while it is open.
    pub fn close_reason(&self) -> Option<ConnectionError> {
        self.0.lock().error.clone()
    }

    /// Closes the connection at once. Data that is not acknowledged may be lost. The peer gets
    /// `code` and `reason`, which is cut if it does not fit a packet.
    pub fn close(&self, code: VarInt, reason: &[u8]) {
        self.0.close(code, Bytes::copy_from_slice(reason));
    }

    /// Waits until the handshake is confirmed: the peer has proved what it must (RFC 9001 section
    /// 4.1.2).
    ///
    /// # Errors
    /// If the connection is closed before.
    pub async fn handshake_confirmed(&self) -> Result<(), ConnectionError> {
        let confirmed = |state: &mut State| match &state.error {
            Some(error) => Some(Err(error.clone())),
            None => state.confirmed.then_some(Ok(())),
        };
        self.0.wait(Topic::Confirmed, confirmed).await
    }

    /// What the peers agreed on in the handshake. With rustls, a
    /// `Box<crypto::rustls::HandshakeData>`.
    pub fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.0.lock().proto.crypto_session().handshake_data()
    }

    /// The peer's proof of identity. With rustls, a `Vec<CertificateDer>`.
    pub fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.0.lock().proto.crypto_session().peer_identity()
    }

    /// Keying material that both ends of this session export under a label, and nobody else can
    /// compute (RFC 5705, RFC 8446 section 7.5). `None` before the handshake is complete.
    pub fn export_keying_material(&self, label: &[u8]) -> Option<[u8; 32]> {
        let mut material = [0; 32];
        let state = self.0.lock();
        let session = state.proto.crypto_session();
        session
            .export_keying_material(&mut material, label, b"")
            .ok()?;
        Some(material)
    }

    /// Which end of the connection this is.
    pub fn side(&self) -> Side {
        self.0.lock().proto.side()
    }

    /// The peer's present address on the first path that there still is; `None` once all are gone.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        Some(self.first_path()?.remote())
    }

    /// The local address of that path, if it is known.
    pub fn local_ip(&self) -> Option<IpAddr> {
        self.first_path()?.local_ip()
    }

    fn first_path(&self) -> Option<FourTuple> {
        let proto = &self.0.lock().proto;
        proto.network_path(*proto.paths().first()?).ok()
    }

    /// The smoothed round-trip time of a path.
    pub fn rtt(&self, path: PathId) -> Option<Duration> {
        self.0.lock().proto.rtt(path)
    }

    /// Counters of the connection.
    pub fn stats(&self) -> ConnectionStats {
        self.0.lock().proto.stats()
    }

    /// Counters and estimates of a path; if it is gone, of the first that there still is.
    pub fn path_stats(&self, path: PathId) -> Option<PathStats> {
        let proto = &mut self.0.lock().proto;
        let first = proto.paths().first().copied();
        proto.path_stats(path).or_else(|| proto.path_stats(first?))
    }

    /// What was done on each path, those that are closed included; `None` if the peers did not
    /// agree on several.
    pub fn paths(&self) -> Option<Vec<PathReport>> {
        let state = &mut *self.0.lock();
        let paths = state.paths.as_ref()?;
        Some(paths.reports(&mut state.proto))
    }

    /// The peer can use what this end sends in order only. So what is in flight on a path that
    /// falls silent is sent again over another at once, which closes the path; otherwise only when
    /// nothing else waits, or after a while.
    pub fn send_in_order(&self) {
        if let Some(paths) = &mut self.0.lock().paths {
            paths.in_order = true;
        }
    }

    /// A copy of a path's congestion controller.
    pub fn congestion_state(&self, path: PathId) -> Option<Box<dyn Controller>> {
        let state = self.0.lock();
        let controller = state.proto.congestion_state(path)?;
        Some(state.feedback.look_at(controller))
    }

    /// Sets how many streams to us the peer may have open at once.
    pub fn set_max_concurrent_uni_streams(&self, count: VarInt) {
        self.change(|state| state.proto.set_max_concurrent_streams(Dir::Uni, count));
    }

    /// Sets how many streams in both directions the peer may have open at once.
    pub fn set_max_concurrent_bi_streams(&self, count: VarInt) {
        self.change(|state| state.proto.set_max_concurrent_streams(Dir::Bi, count));
    }

    /// Sets the maximum data that is accepted from the application before it is acknowledged,
    /// bytes.
    pub fn set_send_window(&self, bytes: u64) {
        self.change(|state| state.proto.set_send_window(bytes));
    }

    /// Sets the maximum data that the peer may send before the application has read it, bytes,
    /// together with what the application [keeps](RecvStream::keep) of it.
    pub fn set_receive_window(&self, bytes: VarInt) {
        self.change(|state| {
            if let Some(window) = state.window.set(bytes) {
                state.proto.set_receive_window(window);
            }
        });
    }

    /// Trusts the peer: the bursts that it sends join this end's
    /// [`SharedNode`](crate::SharedNode), with the priority that it requests, but at most
    /// `highest`. Until then nothing is answered to a sender of bursts.
    pub fn admit(&self, highest: Priority) {
        self.change(|state| state.feedback.admit(highest));
    }

    /// Which flow of this end's [`SharedNode`](crate::SharedNode) the peer's bursts are
    /// ([`Member::key`](crate::Member::key)); `None` if the peer sends none, or is not admitted.
    pub fn flow(&self) -> Option<u64> {
        self.0.lock().feedback.flow()
    }

    /// What a peer does that does not keep to the rules.
    #[cfg(test)]
    pub(super) fn misbehave<T>(&self, act: impl FnOnce(&mut noq_proto::Connection) -> T) -> T {
        let result = act(&mut self.0.lock().proto);
        self.0.touch();
        result
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let open = {
            let mut state = self.0.lock();
            let open = state.error.is_none();
            if open {
                change(&mut state);
            }
            open
        };
        if open {
            self.0.touch();
        }
    }

    async fn open(&self, dir: Dir) -> Result<StreamId, ConnectionError> {
        let open = |state: &mut State| match &state.error {
            Some(error) => Some(Err(error.clone())),
            None => state.proto.streams().open(dir).map(Ok),
        };
        self.0.wait(Topic::Budget(dir), open).await
    }

    async fn accept(&self, dir: Dir) -> Result<StreamId, ConnectionError> {
        // A stream that arrived before the close is still accepted.
        let accept = |state: &mut State| match state.proto.streams().accept(dir) {
            Some(id) => Some(Ok(id)),
            None => state.error.clone().map(Err),
        };
        let id = self.0.wait(Topic::Opened(dir), accept).await?;
        // The peer may be allowed another one now.
        self.0.touch();
        Ok(id)
    }

    fn both(&self, id: StreamId) -> (SendStream, RecvStream) {
        (
            SendStream::new(self.0.clone(), id),
            RecvStream::new(self.0.clone(), id),
        )
    }
}
