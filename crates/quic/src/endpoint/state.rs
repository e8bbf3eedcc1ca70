//! The state of one connection, shared by the core and the application's handles.

use super::inbox::{Inbox, Touched};
use super::obstacle::Obstacle;
use super::outgoing::Held;
use super::paths::{Link, Paths, TooManyPaths};
use super::quantum::Quantum;
use super::receive_window::ReceiveWindow;
use super::waiters::{self, HasWaiters, Topic, Waiters};
use crate::feedback::{Feedback, Permission};
use bytes::Bytes;
use noq_proto::{
    ConnectionError, ConnectionHandle, Event, PathEvent, StreamEvent, StreamId, TransportError,
    TransportErrorCode, VarInt,
};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use std::time::Instant;
use whimbrel_units::Time;

/// One connection. Its lock is held for microseconds at a time, by the core and by the application.
pub(crate) struct Shared {
    handle: ConnectionHandle,
    inbox: Arc<Inbox>,
    touched: Touched,
    state: Mutex<State>,
}

impl Shared {
    pub fn new(handle: ConnectionHandle, inbox: Arc<Inbox>, state: State) -> Self {
        Self {
            handle,
            inbox,
            touched: Touched::default(),
            state: Mutex::new(state),
        }
    }

    /// After a panic in a connection its state is not used again, but the lock must not spread it.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        waiters::lock(&self.state)
    }

    /// Asks the core to look at this connection.
    pub fn touch(&self) {
        self.touched.set(&self.inbox, self.handle);
    }

    /// The core is about to look at this connection.
    pub fn untouch(&self) {
        self.touched.clear();
    }

    /// Closes the connection on behalf of the application.
    pub fn close(&self, code: VarInt, reason: Bytes) {
        let woken = {
            let mut state = self.lock();
            state.request_close(code, reason);
            std::mem::take(&mut state.woken)
        };
        self.touch();
        woken.into_iter().for_each(Waker::wake);
    }

    /// Waits until `attempt` returns something. It is called first at once, then after each `topic`
    /// event.
    pub async fn wait<T>(&self, topic: Topic, attempt: impl FnMut(&mut State) -> Option<T>) -> T {
        waiters::wait(&self.state, topic, attempt).await
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

/// How this host's network changed, as far as it concerns one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NetworkChange {
    /// The path may be back: the peer is probed at once.
    Probe,
    /// The local address changed: packets leave from another one from now on.
    Moved,
}

/// What the lock of a connection protects.
pub(crate) struct State {
    pub proto: noq_proto::Connection,
    pub feedback: Feedback,
    /// Why the connection is closed. Set once; noq must not be called for streams any more.
    pub error: Option<ConnectionError>,
    /// The handshake is complete.
    pub connected: bool,
    /// The handshake is confirmed.
    pub confirmed: bool,
    /// The peer's handshake data is known.
    pub has_handshake_data: bool,
    pub waiters: Waiters,
    /// Tasks to wake when no lock is held.
    pub woken: Vec<Waker>,
    /// The application closed the connection; noq does not know yet.
    close: Option<(VarInt, Bytes)>,
    /// The network changed; noq does not know yet.
    pub network_change: Option<NetworkChange>,
    /// Why the attempt to connect failed, as far as the system said so.
    pub obstacle: Option<Obstacle>,
    /// The answer of `before_transmit` for a packet that has not been made yet.
    pub permission: Option<Permission>,
    /// Packets that could not leave together with those before them.
    pub held: VecDeque<Held>,
    /// Number of datagrams since the last arrival that said that the connection was closed.
    pub farewells: usize,
    /// Where the algorithm paces a fast path, packets wait for others to leave with.
    pub quantum: Quantum,
    /// Free space of noq's queue of outgoing DATAGRAM frames when it is empty, bytes.
    pub full_space: usize,
    /// What the peer may send, and what the application keeps.
    pub window: ReceiveWindow,
    /// Finished streams that the application has dropped and the peer does not have yet.
    pub dropped: BTreeSet<StreamId>,
    /// Its paths, if the peers agreed on several.
    pub paths: Option<Box<Paths>>,
}

impl HasWaiters for State {
    fn waiters(&mut self) -> &mut Waiters {
        &mut self.waiters
    }
}

impl State {
    pub fn new(mut proto: noq_proto::Connection, feedback: Feedback) -> Self {
        let full_space = proto.datagrams().send_buffer_space();
        Self {
            proto,
            feedback,
            error: None,
            connected: false,
            confirmed: false,
            has_handshake_data: false,
            waiters: Waiters::default(),
            woken: Vec::new(),
            close: None,
            network_change: None,
            obstacle: None,
            permission: None,
            held: VecDeque::new(),
            farewells: 0,
            quantum: Quantum::default(),
            full_space,
            window: ReceiveWindow::default(),
            dropped: BTreeSet::new(),
            paths: None,
        }
    }

    /// Closes the connection for the application at once, and for the peer when the core looks at
    /// it.
    pub fn request_close(&mut self, code: VarInt, reason: Bytes) {
        if self.error.is_none() {
            self.close = Some((code, reason));
            self.terminate(ConnectionError::LocallyClosed);
        }
    }

    /// The connection failed for a reason of this program.
    pub fn fail(&mut self, why: &str) {
        let error = TransportError::new(TransportErrorCode::INTERNAL_ERROR, why.to_owned());
        self.terminate(ConnectionError::TransportError(error));
    }

    /// The attempt to connect failed: packets do not reach the peer.
    pub fn obstruct(&mut self, obstacle: Obstacle) {
        if self.error.is_none() {
            self.obstacle = Some(obstacle);
            self.close = Some((VarInt::from_u32(0), Bytes::new()));
            self.fail(&obstacle.to_string());
        }
    }

    /// noq has forgotten the connection. It has reported why before.
    pub fn ended(&mut self) {
        if self.error.is_none() {
            self.fail("the connection ended without a reason");
        }
    }

    fn terminate(&mut self, error: ConnectionError) {
        self.error.get_or_insert(error);
        self.waiters.notify_all(&mut self.woken);
    }

    /// Passes what the application asked for to noq, and does what is due on several paths over
    /// these links.
    pub fn carry_out_requests(&mut self, now: Instant, links: &[Link]) {
        if let Some((code, reason)) = self.close.take() {
            self.proto.close(now, code, reason);
        }
        if let Some(paths) = &mut self.paths {
            paths.attend(now, &mut self.proto, links);
        }
        match self.network_change.take() {
            // Links come and go; the connection stays.
            Some(_) if self.paths.is_some() => {}
            Some(NetworkChange::Moved) => {
                self.proto.handle_network_change(None, now);
                self.feedback.on_network_change(true);
            }
            // noq probes on a client's call of the same kind: it forgets the local address, which
            // the system then chooses as before. A server must answer from the same address.
            Some(NetworkChange::Probe) if self.proto.side().is_client() => {
                self.proto.handle_network_change(None, now);
                self.feedback.on_network_change(false);
            }
            Some(NetworkChange::Probe) => {
                self.proto.ping();
                self.feedback.on_network_change(false);
            }
            None => {}
        }
    }

    /// Passes a packet that has arrived to noq, and the DATAGRAM frames in it to the feedback.
    pub fn receive(
        &mut self,
        now: Instant,
        arrived: Time,
        (link, source): (usize, SocketAddr),
        event: noq_proto::ConnectionEvent,
    ) {
        self.proto.handle_event(event);
        self.farewells = 0;
        self.feedback.on_packet(now);
        while let Some(data) = self.proto.datagrams().recv() {
            self.feedback.on_datagram(now, arrived, &data);
        }
        if let Some(paths) = &mut self.paths {
            paths.on_arrival(now, &self.proto, link, source);
        }
    }

    /// The earlier of noq's deadline and the feedback's, and whether the wait must be exact.
    pub fn deadline(&self) -> Option<(Instant, bool)> {
        if self.proto.is_closed() {
            // Nothing else sends any more, so nothing else would be done in time.
            return self.proto.poll_timeout().map(|at| (at, false));
        }
        let timer = self.quantum.after(self.proto.poll_timeout());
        let paths = self.paths.as_ref().and_then(|paths| paths.deadline());
        let timer = timer.into_iter().chain(paths).min().map(|at| (at, false));
        let feedback = self.feedback.deadline().map(|at| (at, true));
        match (timer, feedback) {
            (Some(a), Some(b)) => Some(if b.0 <= a.0 { b } else { a }),
            (a, b) => a.or(b),
        }
    }

    /// Handles the deadlines that have passed.
    pub fn expire(&mut self, now: Instant) {
        if self.proto.poll_timeout().is_some_and(|at| at <= now) {
            self.proto.handle_timeout(now);
        }
        if self.feedback.deadline().is_some_and(|at| at <= now) {
            self.feedback.on_deadline(now);
        }
    }

    /// Passes noq's events on to the waiting tasks.
    pub fn forward_events(&mut self, now: Instant) {
        while let Some(event) = self.proto.poll() {
            let topic = match event {
                Event::HandshakeDataReady => {
                    self.has_handshake_data = true;
                    Topic::HandshakeData
                }
                Event::Connected => {
                    if !std::mem::replace(&mut self.connected, true) {
                        self.feedback.on_established(now);
                        self.begin_paths(now);
                    }
                    Topic::Connected
                }
                Event::HandshakeConfirmed => {
                    self.confirmed = true;
                    Topic::Confirmed
                }
                Event::ConnectionLost { reason } => {
                    self.terminate(reason);
                    continue;
                }
                Event::Stream(StreamEvent::Opened { dir }) => Topic::Opened(dir),
                Event::Stream(StreamEvent::Available { dir }) => Topic::Budget(dir),
                Event::Stream(StreamEvent::Readable { id }) => Topic::Readable(id),
                Event::Stream(StreamEvent::Writable { id }) => Topic::Writable(id),
                Event::Stream(StreamEvent::Finished { id }) => {
                    self.dropped.remove(&id);
                    Topic::Stopped(id)
                }
                Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                    // RFC 9000 section 3.5 requires a reset, and the application has dropped the
                    // stream.
                    if self.dropped.remove(&id) {
                        self.proto.send_stream(id).reset(error_code).ok();
                    }
                    self.waiters.notify(Topic::Stopped(id), &mut self.woken);
                    Topic::Writable(id)
                }
                Event::Path(event) => {
                    self.on_path_event(now, event);
                    continue;
                }
                // Datagrams are taken as they arrive; NAT traversal is not used.
                Event::DatagramReceived | Event::DatagramsUnblocked | Event::NatTraversal(_) => {
                    continue;
                }
            };
            self.waiters.notify(topic, &mut self.woken);
        }
    }
}

impl State {
    /// The handshake is over: there may be several paths, if both ends want that and the sender of
    /// bursts is none.
    fn begin_paths(&mut self, now: Instant) {
        if self.proto.is_multipath_negotiated() && !self.feedback.has_bursts() {
            let several = self.feedback.several().clone();
            self.paths = Paths::new(&self.proto, several, now).map(Box::new);
        }
    }

    fn on_path_event(&mut self, now: Instant, event: PathEvent) {
        let Some(paths) = &mut self.paths else { return };
        if let Err(TooManyPaths) = paths.on_event(now, &mut self.proto, event) {
            let reason = Bytes::from_static(b"paths are opened and closed too often");
            self.request_close(VarInt::from_u32(0), reason);
        }
    }
}

/// A handle of the application. The connection is closed when the last one is dropped.
#[derive(Debug, Clone)]
pub(super) struct ConnectionRef(Arc<Owner>);

#[derive(Debug)]
struct Owner(Arc<Shared>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.close(VarInt::from_u32(0), Bytes::new());
    }
}

impl ConnectionRef {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self(Arc::new(Owner(shared)))
    }

    /// The connection, which this does not keep open.
    pub fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.0.0)
    }
}

impl std::ops::Deref for ConnectionRef {
    type Target = Shared;
    fn deref(&self) -> &Shared {
        &self.0.0
    }
}
