//! The protocol side of an endpoint: noq's endpoint and its connections, without a clock, a socket
//! or a thread.
//!
//! The caller passes the time, datagrams that arrived and deadlines that passed, and takes what is
//! to be sent. What the application does to a connection arrives through the [`Inbox`]. The same
//! calls at the same times give the same results, so a test can run it in virtual time.

use super::contain::contain;
use super::inbox::Inbox;
use super::obstacle::Obstacle;
use super::outgoing::Outgoing;
use super::paths::Link;
use super::state::{ConnectionRef, NetworkChange, Shared, State};
use super::waiters::{HasWaiters, Topic, Waiters};
use crate::feedback::{Feedback, Stamps};
use bytes::{Bytes, BytesMut};
use noq_proto::{
    ClientConfig, ConnectError, ConnectionError, ConnectionHandle, DatagramEvent, EcnCodepoint,
    EndpointEvent, FourTuple, Incoming, PathId, ServerConfig, Transmit, VarInt,
};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;
use whimbrel_units::Time;

/// Maximum number of answers to unknown peers that wait to be sent. Further ones are dropped: the
/// peer repeats its packet.
const MAX_RESPONSES: usize = 64;

/// A datagram that arrived.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// The sender's address.
    pub source: SocketAddr,
    /// The local address it was sent to, if known.
    pub destination: Option<IpAddr>,
    /// The mark for explicit congestion notification.
    pub ecn: Option<EcnCodepoint>,
    /// When the kernel received it, by the kernel's clock.
    pub arrived: Time,
    /// Its bytes.
    pub data: BytesMut,
    /// The link that it came over: 0 is the endpoint's socket.
    pub link: usize,
}

/// When a core must be called again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadline {
    /// The time.
    pub at: Instant,
    /// The feedback needs the call then and not later.
    pub exact: bool,
}

/// An endpoint's protocol state.
pub(crate) struct Core {
    proto: noq_proto::Endpoint,
    connections: HashMap<ConnectionHandle, Entry>,
    /// Connections that may have something to send, in turn, each once.
    ready: VecDeque<ConnectionHandle>,
    deadlines: BTreeSet<(Instant, ConnectionHandle)>,
    /// Answers to peers that have no connection.
    responses: VecDeque<(Outgoing, Vec<u8>)>,
    /// Attempts to connect that the application has not accepted yet. noq bounds their number.
    incoming: VecDeque<Incoming>,
    inbox: Arc<Inbox>,
    /// Tasks that wait for an event of the endpoint.
    waiters: Waiters,
    woken: Vec<Waker>,
    /// The application closed the endpoint.
    closed: Option<(VarInt, Bytes)>,
    /// The application has no handle of the endpoint any more.
    abandoned: bool,
    /// The driver has stopped.
    stopped: bool,
    /// The socket is an IPv6 one, so IPv4 addresses must be written as IPv6.
    ipv6: bool,
    max_segments: NonZeroUsize,
    /// The links of a client that uses several, the socket's first. Empty: only the socket.
    links: Vec<Link>,
    /// Number of connections that need times of arrival, by which.
    stamps: [usize; Stamps::ALL.len()],
    buffers: Buffers,
}

#[derive(Default)]
struct Buffers {
    response: Vec<u8>,
    scratch: Vec<u8>,
    touched: Vec<ConnectionHandle>,
}

/// A connection, as the core sees it.
struct Entry {
    shared: Arc<Shared>,
    ready: bool,
    deadline: Option<Deadline>,
    stamps: Stamps,
    route: Route,
}

/// The way from this host to a peer, when it was last looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    /// Not looked at yet.
    Unknown,
    /// From this local address.
    From(IpAddr),
    /// There was none.
    None,
}

impl HasWaiters for Core {
    fn waiters(&mut self) -> &mut Waiters {
        &mut self.waiters
    }
}

impl Core {
    /// A core without connections. `ipv6`: the socket's family. `max_segments`: the maximum number
    /// of datagrams that the socket sends in one call.
    pub fn new(
        proto: noq_proto::Endpoint,
        inbox: Arc<Inbox>,
        ipv6: bool,
        max_segments: NonZeroUsize,
    ) -> Self {
        Self {
            proto,
            connections: HashMap::new(),
            ready: VecDeque::new(),
            deadlines: BTreeSet::new(),
            responses: VecDeque::new(),
            incoming: VecDeque::new(),
            inbox,
            waiters: Waiters::default(),
            woken: Vec::new(),
            closed: None,
            abandoned: false,
            stopped: false,
            ipv6,
            max_segments,
            links: Vec::new(),
            stamps: [0; Stamps::ALL.len()],
            buffers: Buffers::default(),
        }
    }

    // What the driver calls.

    /// A datagram arrived. Call [`Self::poll_transmit`] after the last of a batch.
    ///
    /// Returns whether it belongs to a connection.
    pub fn receive(&mut self, now: Instant, arrival: Arrival) -> bool {
        let path = FourTuple::new(arrival.source, arrival.destination);
        let from = (arrival.link, path.remote());
        let mut response = std::mem::take(&mut self.buffers.response);
        response.clear();
        let event = contain(|| {
            self.proto
                .handle(now, path, arrival.ecn, arrival.data, &mut response)
        });
        let known = match event.flatten() {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let Some(entry) = self.connections.get(&handle) else {
                    return false;
                };
                let received = contain(|| {
                    let mut state = entry.shared.lock();
                    state.receive(now, arrival.arrived, from, event);
                });
                match received {
                    Some(()) => self.make_ready(handle),
                    None => self.abandon(handle),
                }
                true
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if self.closed.is_some() || self.abandoned {
                    response.clear();
                    let transmit = self.proto.refuse(incoming, &mut response);
                    self.respond(&transmit, &response);
                } else {
                    self.incoming.push_back(incoming);
                    self.waiters.notify(Topic::Incoming, &mut self.woken);
                }
                false
            }
            Some(DatagramEvent::Response(transmit)) => {
                self.respond(&transmit, &response);
                false
            }
            None => false,
        };
        self.buffers.response = response;
        known
    }

    /// Handles all deadlines up to `now`.
    pub fn expire(&mut self, now: Instant) {
        while let Some(&(at, handle)) = self.deadlines.first()
            && at <= now
        {
            self.deadlines.pop_first();
            let Some(entry) = self.connections.get_mut(&handle) else {
                continue;
            };
            entry.deadline = None;
            match contain(|| entry.shared.lock().expire(now)) {
                Some(()) => self.make_ready(handle),
                None => self.abandon(handle),
            }
        }
    }

    /// Makes what leaves next: one datagram, or several for one system call. Its bytes replace
    /// those in `buffer`. Connections take turns. `None`: nothing before the next arrival, deadline
    /// or call of the application.
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        if let Some((outgoing, mut data)) = self.responses.pop_front() {
            std::mem::swap(buffer, &mut data);
            return Some(outgoing);
        }
        self.open_inbox();
        while let Some(handle) = self.ready.pop_front() {
            let Some(entry) = self.connections.get_mut(&handle) else {
                continue;
            };
            entry.ready = false;
            match contain(|| self.serve(now, handle, buffer)) {
                Some(None) => {}
                Some(outgoing) => {
                    self.make_ready(handle);
                    return outgoing;
                }
                None => self.abandon(handle),
            }
        }
        None
    }

    /// When [`Self::expire`] must be called.
    pub fn next_deadline(&self) -> Option<Deadline> {
        let (_, handle) = self.deadlines.first()?;
        self.connections.get(handle)?.deadline
    }

    /// Whether [`Self::poll_transmit`] has work to do now.
    pub fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.responses.is_empty() || !self.inbox.is_empty()
    }

    /// Which times of arrival the connections need.
    pub fn stamps(&self) -> Stamps {
        let wanted = |stamps: &Stamps| self.stamps[*stamps as usize] > 0;
        let most = Stamps::ALL.into_iter().rev().find(wanted);
        most.unwrap_or(Stamps::None)
    }

    /// Whether the driver may stop: no connection is left and none can come.
    pub fn is_finished(&self) -> bool {
        self.connections.is_empty()
            && self.responses.is_empty()
            && (self.abandoned || self.closed.is_some())
    }

    /// The driver stops, in an error if connections are left.
    pub fn stop(&mut self, why: &str) {
        self.stopped = true;
        for (_, entry) in self.connections.drain() {
            let mut state = entry.shared.lock();
            state.fail(why);
            self.woken.append(&mut state.woken);
        }
        self.waiters.notify_all(&mut self.woken);
    }

    /// The tasks to wake when the core's lock is released.
    pub fn take_woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    /// The socket was replaced, or the system's addresses changed: every connection checks that its
    /// peer still answers.
    pub fn network_changed(&mut self, ipv6: bool, max_segments: NonZeroUsize) {
        self.ipv6 = ipv6;
        self.max_segments = max_segments;
        self.change_network(|_, _| Some(NetworkChange::Moved));
    }

    /// This host's routes may have changed. `source`: the local address from which the system would
    /// now send to a peer, if it has a route.
    ///
    /// A client's connection whose local address is another one now moves to it; one whose route
    /// has come back probes it at once. A server's connections stay: QUIC knows a server by its
    /// address.
    pub fn routes_changed(&mut self, source: impl Fn(SocketAddr) -> Option<IpAddr>) {
        self.change_network(|entry, state| {
            if state.paths.is_some() {
                return None;
            }
            let path = state.proto.network_path(PathId::ZERO).ok()?;
            let now = source(path.remote()).map(|ip| ip.to_canonical());
            let now = now.map_or(Route::None, Route::From);
            let before = match (entry.route, path.local_ip()) {
                (Route::Unknown, Some(ip)) => Route::From(ip.to_canonical()),
                (route, _) => route,
            };
            entry.route = now;
            match (before, now) {
                (_, Route::None) => None,
                (before, now) if before == now => None,
                _ if state.proto.side().is_server() => Some(NetworkChange::Probe),
                // The system chooses the address when the connection's first packets leave.
                (Route::Unknown, _) => Some(NetworkChange::Probe),
                (_, Route::From(ip)) if path.local_ip().map(|ip| ip.to_canonical()) == Some(ip) => {
                    Some(NetworkChange::Probe)
                }
                _ => Some(NetworkChange::Moved),
            }
        });
    }

    /// The links over which the connections of a client may run, by number; 0 is the socket's. All
    /// connections open and close their paths accordingly.
    pub fn set_links(&mut self, links: Vec<Link>) {
        self.links = links;
        let mut all: Vec<_> = self.connections.keys().copied().collect();
        // Their turns must not depend on the order of a hash map.
        all.sort_unstable();
        for handle in all {
            self.make_ready(handle);
        }
    }

    /// The host slept: every connection checks at once that its peer still answers.
    pub fn host_slept(&mut self) {
        self.change_network(|_, _| Some(NetworkChange::Probe));
    }

    fn change_network(&mut self, change: impl Fn(&mut Entry, &State) -> Option<NetworkChange>) {
        let mut changed = Vec::new();
        for (handle, entry) in &mut self.connections {
            let shared = Arc::clone(&entry.shared);
            let mut state = shared.lock();
            if let Some(change) = change(entry, &state) {
                state.network_change = state.network_change.max(Some(change));
                changed.push(*handle);
            }
        }
        // Connections are in no particular order; their turns must not depend on it.
        changed.sort_unstable();
        for handle in changed {
            self.make_ready(handle);
        }
    }

    /// Packets to `remote` do not get there: attempts to connect to it fail. Established
    /// connections do not, since anybody may forge what the system reports.
    pub fn obstructed(&mut self, remote: SocketAddr, obstacle: Obstacle) {
        let canonical = |address: SocketAddr| (address.ip().to_canonical(), address.port());
        let mut ended = Vec::new();
        for (handle, entry) in &self.connections {
            let mut state = entry.shared.lock();
            let path = state.proto.network_path(PathId::ZERO);
            let concerned = path.is_ok_and(|path| canonical(path.remote()) == canonical(remote));
            if concerned && !state.connected && state.proto.side().is_client() {
                state.obstruct(obstacle);
                self.woken.append(&mut state.woken);
                ended.push(*handle);
            }
        }
        for handle in ended {
            self.make_ready(handle);
        }
    }

    /// The number of datagrams that the socket sends in one call, and its family.
    pub fn socket_properties(&self) -> (bool, NonZeroUsize) {
        (self.ipv6, self.max_segments)
    }

    /// The kernel no longer sends several datagrams in one call.
    pub fn set_max_segments(&mut self, max_segments: NonZeroUsize) {
        self.max_segments = max_segments;
    }

    // What the application's handles call.

    /// Starts a connection to a server.
    ///
    /// # Errors
    /// If the endpoint is closed, or the configuration or address cannot be used.
    pub fn connect(
        &mut self,
        now: Instant,
        config: ClientConfig,
        feedback: Feedback,
        server: SocketAddr,
        name: &str,
    ) -> Result<ConnectionRef, ConnectError> {
        if self.stopped || self.closed.is_some() {
            return Err(ConnectError::EndpointStopping);
        }
        let server = match server {
            SocketAddr::V6(_) if !self.ipv6 => {
                return Err(ConnectError::InvalidRemoteAddress(server));
            }
            SocketAddr::V4(v4) if self.ipv6 => {
                SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0).into()
            }
            server => server,
        };
        let (handle, proto) = self.proto.connect(now, config, server, name)?;
        Ok(self.insert(handle, proto, feedback))
    }

    /// The next attempt to connect, or `Some(None)` if there will be none.
    pub fn next_incoming(&mut self) -> Option<Option<Incoming>> {
        match self.incoming.pop_front() {
            Some(incoming) => Some(Some(incoming)),
            None if self.stopped || self.closed.is_some() => Some(None),
            None => None,
        }
    }

    /// Accepts a connection.
    ///
    /// # Errors
    /// If the client's first packet is too old or wrong.
    pub fn accept(
        &mut self,
        now: Instant,
        incoming: Incoming,
        config: Arc<ServerConfig>,
        feedback: Feedback,
    ) -> Result<ConnectionRef, ConnectionError> {
        if self.stopped || self.closed.is_some() {
            self.refuse(incoming);
            return Err(ConnectionError::LocallyClosed);
        }
        let mut response = Vec::new();
        let accepted = contain(|| {
            self.proto
                .accept(incoming, now, &mut response, Some(config))
        });
        match accepted {
            Some(Ok((handle, proto))) => Ok(self.insert(handle, proto, feedback)),
            Some(Err(error)) => {
                if let Some(transmit) = error.response {
                    self.respond(&transmit, &response);
                }
                Err(error.cause)
            }
            None => Err(ConnectionError::Reset),
        }
    }

    /// Refuses a connection: the client is notified.
    pub fn refuse(&mut self, incoming: Incoming) {
        let mut response = Vec::new();
        let transmit = self.proto.refuse(incoming, &mut response);
        self.respond(&transmit, &response);
    }

    fn refuse_all(&mut self) {
        while let Some(incoming) = self.incoming.pop_front() {
            self.refuse(incoming);
        }
    }

    /// Makes a client prove that it receives packets at its address.
    ///
    /// # Errors
    /// Returns the attempt if the client has done so already.
    pub fn retry(&mut self, incoming: Incoming) -> Result<(), Box<Incoming>> {
        let mut response = Vec::new();
        match self.proto.retry(incoming, &mut response) {
            Ok(transmit) => {
                self.respond(&transmit, &response);
                Ok(())
            }
            Err(error) => Err(Box::new(error.into_incoming())),
        }
    }

    /// Drops an attempt to connect without an answer.
    pub fn ignore(&mut self, incoming: Incoming) {
        self.proto.ignore(incoming);
    }

    /// Closes all connections and accepts no more.
    pub fn close(&mut self, code: VarInt, reason: Bytes) {
        self.closed = Some((code, reason.clone()));
        for entry in self.connections.values() {
            let mut state = entry.shared.lock();
            state.request_close(code, reason.clone());
            self.woken.append(&mut state.woken);
            drop(state);
            entry.shared.touch();
        }
        self.refuse_all();
        self.waiters.notify(Topic::Incoming, &mut self.woken);
        self.inbox.alarm().ring();
    }

    /// The application dropped its last handle of the endpoint. Connections go on.
    pub fn abandon_endpoint(&mut self) {
        self.abandoned = true;
        self.refuse_all();
        self.inbox.alarm().ring();
    }

    /// Number of connections, those that are being closed included.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Whether no connection is left.
    pub fn is_idle(&self) -> bool {
        self.connections.is_empty()
    }

    // Internals.

    fn insert(
        &mut self,
        handle: ConnectionHandle,
        proto: noq_proto::Connection,
        feedback: Feedback,
    ) -> ConnectionRef {
        let state = State::new(proto, feedback);
        let shared = Arc::new(Shared::new(handle, Arc::clone(&self.inbox), state));
        let entry = Entry {
            shared: Arc::clone(&shared),
            ready: false,
            deadline: None,
            stamps: Stamps::None,
            route: Route::Unknown,
        };
        self.stamps[entry.stamps as usize] += 1;
        self.connections.insert(handle, entry);
        self.make_ready(handle);
        self.inbox.alarm().ring();
        ConnectionRef::new(shared)
    }

    fn open_inbox(&mut self) {
        if self.inbox.is_empty() {
            return;
        }
        let mut touched = std::mem::take(&mut self.buffers.touched);
        self.inbox.take(&mut touched);
        for handle in &touched {
            if let Some(entry) = self.connections.get(handle) {
                entry.shared.untouch();
            }
            self.make_ready(*handle);
        }
        self.buffers.touched = touched;
    }

    fn make_ready(&mut self, handle: ConnectionHandle) {
        if let Some(entry) = self.connections.get_mut(&handle)
            && !std::mem::replace(&mut entry.ready, true)
        {
            self.ready.push_back(handle);
        }
    }

    /// One turn of a connection: its events, and one transmit.
    fn serve(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        buffer: &mut Vec<u8>,
    ) -> Option<Outgoing> {
        let entry = self.connections.get_mut(&handle)?;
        let shared = Arc::clone(&entry.shared);
        let mut state = shared.lock();
        state.carry_out_requests(now, &self.links);
        let mut drained = false;
        let outgoing = loop {
            drained |= self.exchange_events(handle, &mut state);
            state.forward_events(now);
            if drained {
                state.ended();
            }
            self.woken.append(&mut state.woken);
            if drained {
                self.remove(handle);
                return None;
            }
            let scratch = &mut self.buffers.scratch;
            let outgoing = state.next_transmit(now, self.max_segments, buffer, scratch);
            if outgoing.is_some() {
                break outgoing;
            }
            // To send nothing may take new connection IDs, which are then to be sent.
            let Some(event) = state.proto.poll_endpoint_events() else {
                break None;
            };
            drained |= self.exchange_event(handle, &mut state, event);
        };
        let stamps = state.feedback.stamps();
        let deadline = state.deadline();
        drop(state);
        self.update(handle, deadline, stamps);
        outgoing
    }

    /// Passes events between the connection and noq's endpoint. Returns whether the connection has
    /// ended.
    fn exchange_events(&mut self, handle: ConnectionHandle, state: &mut State) -> bool {
        let mut drained = false;
        while let Some(event) = state.proto.poll_endpoint_events() {
            drained |= self.exchange_event(handle, state, event);
        }
        drained
    }

    fn exchange_event(
        &mut self,
        handle: ConnectionHandle,
        state: &mut State,
        event: EndpointEvent,
    ) -> bool {
        let drained = event.is_drained();
        if let Some(answer) = self.proto.handle_event(handle, event) {
            state.proto.handle_event(answer);
        }
        drained
    }

    fn update(
        &mut self,
        handle: ConnectionHandle,
        deadline: Option<(Instant, bool)>,
        stamps: Stamps,
    ) {
        let Some(entry) = self.connections.get_mut(&handle) else {
            return;
        };
        let deadline = deadline.map(|(at, exact)| Deadline { at, exact });
        let old = std::mem::replace(&mut entry.deadline, deadline).map(|d| d.at);
        let new = deadline.map(|d| d.at);
        if old != new {
            if let Some(at) = old {
                self.deadlines.remove(&(at, handle));
            }
            if let Some(at) = new {
                self.deadlines.insert((at, handle));
            }
        }
        let before = std::mem::replace(&mut entry.stamps, stamps);
        if before != stamps {
            self.stamps[stamps as usize] += 1;
            self.stamps[before as usize] -= 1;
        }
    }

    fn remove(&mut self, handle: ConnectionHandle) {
        self.update(handle, None, Stamps::None);
        if self.connections.remove(&handle).is_some() {
            self.stamps[Stamps::None as usize] -= 1;
        }
        if self.connections.is_empty() {
            self.waiters.notify(Topic::Idle, &mut self.woken);
        }
    }

    /// Gives up a connection in which the program failed. The others go on.
    fn abandon(&mut self, handle: ConnectionHandle) {
        if let Some(entry) = self.connections.get(&handle) {
            let mut state = entry.shared.lock();
            state.fail("the connection's code failed");
            self.woken.append(&mut state.woken);
            drop(state);
            contain(|| self.proto.handle_event(handle, EndpointEvent::drained()));
        }
        self.remove(handle);
    }

    fn respond(&mut self, transmit: &Transmit, data: &[u8]) {
        if self.responses.len() < MAX_RESPONSES
            && let Some(data) = data.get(..transmit.size)
        {
            let outgoing = Outgoing::new(transmit, 0, false);
            self.responses.push_back((outgoing, data.to_vec()));
            self.inbox.alarm().ring();
        }
    }
}
