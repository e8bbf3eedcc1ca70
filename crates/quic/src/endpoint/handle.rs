//! The application's handle of an endpoint.

use super::carrier::Carrier;
use super::clock::Clock;
use super::connecting::Connecting;
use super::core::Core;
use super::driver;
use super::inbox::{Alarm, Inbox};
use super::incoming::Incoming;
use super::links::{LinkOptions, Links};
use super::prepared::Prepared;
use super::shared::{EndpointShared, Prepare};
use super::socket::Socket;
use super::waiters::Topic;
use super::watch::NetworkWatch;
use bytes::Bytes;
use noq_proto::{ClientConfig, ConnectError, EndpointConfig, ServerConfig, VarInt};
use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

/// What a server needs.
pub struct Server {
    /// The configuration of the endpoint: keys of tokens, limits on attempts to connect.
    config: Arc<ServerConfig>,
    prepare: Arc<Prepare>,
}

impl Server {
    /// All connections have the same configuration.
    pub fn new(config: ServerConfig) -> Self {
        let config = Arc::new(config);
        let same = Arc::clone(&config);
        Self {
            config,
            prepare: Arc::new(move |_| Prepared::from(Arc::clone(&same))),
        }
    }

    /// `prepare` makes the configuration of each connection when it is accepted, from the client's
    /// address.
    pub fn with_prepare(
        config: ServerConfig,
        prepare: impl Fn(SocketAddr) -> Prepared<Arc<ServerConfig>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            config: Arc::new(config),
            prepare: Arc::new(prepare),
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

/// A QUIC endpoint: one UDP socket with any number of connections, as client, server or both.
///
/// One thread of its own, not an async runtime, does all the work; the futures of this module run
/// on any executor. Clones are handles of the same endpoint. When the last one is dropped,
/// connections go on and no new ones are accepted.
#[derive(Debug, Clone)]
pub struct Endpoint(Arc<Owner>);

#[derive(Debug)]
struct Owner(Arc<EndpointShared>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.call(Core::abandon_endpoint);
    }
}

impl Endpoint {
    /// Opens an endpoint on `socket` and starts its thread. `server`: what it needs to accept
    /// connections.
    ///
    /// # Errors
    /// If the system refuses the socket's options, a file descriptor or the thread.
    pub fn new(
        config: EndpointConfig,
        server: Option<Server>,
        socket: UdpSocket,
    ) -> io::Result<Self> {
        let socket = Socket::new(socket)?;
        let local = socket.local_addr()?;
        let (base, prepare) = match server {
            Some(server) => (Some(server.config), Some(server.prepare)),
            None => (None, None),
        };
        let proto = noq_proto::Endpoint::new(Arc::new(config), base, !socket.may_fragment());
        let inbox = Arc::new(Inbox::new(Alarm::new()?));
        let core = Core::new(
            proto,
            Arc::clone(&inbox),
            local.is_ipv6(),
            socket.max_segments(),
        );
        let endpoint = Self::over(core, inbox, Clock::System, prepare, local);
        driver::start(Arc::clone(&endpoint.0.0), socket, NetworkWatch::new())?;
        Ok(endpoint)
    }

    /// An endpoint without a socket and a thread: the caller carries its datagrams to one peer,
    /// for example over a TCP connection.
    pub fn carried(config: EndpointConfig, server: Option<Server>, peer: SocketAddr) -> Self {
        Self::without_socket(config, server, peer, Clock::System)
    }

    /// An endpoint at the address `local` of a simulated network, whose datagrams the simulation
    /// carries to and from any address ([`Carrier::receive_from`], [`Carrier::send_to`]), by its
    /// own clock `now`, which shows midnight of UTC at the instant `midnight`.
    pub fn simulated(
        config: EndpointConfig,
        server: Option<Server>,
        local: SocketAddr,
        now: impl Fn() -> Instant + Send + Sync + 'static,
        midnight: Instant,
    ) -> Self {
        Self::without_socket(config, server, local, Clock::Of(Arc::new(now), midnight))
    }

    fn without_socket(
        config: EndpointConfig,
        server: Option<Server>,
        address: SocketAddr,
        clock: Clock,
    ) -> Self {
        let (base, prepare) = match server {
            Some(server) => (Some(server.config), Some(server.prepare)),
            None => (None, None),
        };
        let proto = noq_proto::Endpoint::new(Arc::new(config), base, false);
        let inbox = Arc::new(Inbox::default());
        let core = Core::new(
            proto,
            Arc::clone(&inbox),
            address.is_ipv6(),
            NonZeroUsize::MIN,
        );
        Self::over(core, inbox, clock, prepare, address)
    }

    /// What carries the datagrams of an endpoint made by [`Self::carried`] or [`Self::simulated`].
    pub fn carrier(&self) -> Carrier {
        Carrier::new(Arc::clone(&self.0.0))
    }

    /// A handle of a core that somebody else drives.
    pub(super) fn over(
        core: Core,
        inbox: Arc<Inbox>,
        clock: Clock,
        prepare: Option<Arc<Prepare>>,
        local: SocketAddr,
    ) -> Self {
        let shared = EndpointShared::new(core, inbox, clock, prepare, local);
        Self(Arc::new(Owner(Arc::new(shared))))
    }

    /// What the driver needs.
    #[cfg(test)]
    pub(super) fn shared(&self) -> &Arc<EndpointShared> {
        &self.0.0
    }

    /// Connects to a server. `name` must be in the server's certificate.
    ///
    /// # Errors
    /// If the endpoint is closed, or the configuration or address cannot be used. That the server
    /// does not answer is an error of the future.
    pub fn connect(
        &self,
        prepared: impl Into<Prepared<ClientConfig>>,
        server: SocketAddr,
        name: &str,
    ) -> Result<Connecting, ConnectError> {
        let Prepared { config, feedback } = prepared.into();
        feedback.several().set_utc(self.0.0.clock.utc());
        let now = self.0.0.clock.now();
        let connection = self
            .0
            .0
            .call(|core| core.connect(now, config, feedback, server, name))?;
        Ok(Connecting::new(connection))
    }

    /// The next client that wants to connect; `None` if the endpoint is closed. Cancel safe.
    pub async fn accept(&self) -> Option<Incoming> {
        let attempt = self.0.0.wait(Topic::Incoming, Core::next_incoming).await?;
        Some(Incoming::new(attempt, Arc::clone(&self.0.0)))
    }

    /// Closes all connections at once with this code and reason, and accepts no more.
    pub fn close(&self, code: VarInt, reason: &[u8]) {
        let reason = Bytes::copy_from_slice(reason);
        self.0.0.call(|core| core.close(code, reason));
    }

    /// Waits until no connection is left. A closed connection stays for three probe timeouts, so
    /// that its peer hears of the close (RFC 9000 section 10.2).
    pub async fn wait_idle(&self) {
        let idle = |core: &mut Core| core.is_idle().then_some(());
        self.0.0.wait(Topic::Idle, idle).await;
    }

    /// The address of the socket.
    ///
    /// # Errors
    /// None at present; the system reported it when the socket was opened.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.0.local_addr())
    }

    /// Number of connections, those that are being closed included.
    pub fn open_connections(&self) -> usize {
        self.0.0.lock().connections()
    }

    /// Moves all connections to another socket. Packets on the old one are still received until the
    /// first arrives on the new one. Clients notify their servers; a server's clients are lost
    /// unless they find the new address.
    ///
    /// # Errors
    /// If the system refuses the socket's options. The old socket then remains.
    pub fn rebind(&self, socket: UdpSocket) -> io::Result<()> {
        let socket = Socket::new(socket)?;
        self.0.0.replace(socket.local_addr()?, socket);
        self.0.0.inbox.alarm().ring();
        Ok(())
    }

    /// Lets this client's connections run over several links. A connection opens a path over each
    /// link that has a route to the server, if the server agrees to several paths.
    ///
    /// # Errors
    /// If a socket cannot be opened.
    pub fn use_links(&self, options: LinkOptions) -> io::Result<()> {
        let links = Links::new(options)?;
        self.0.0.use_links(links);
        self.0.0.inbox.alarm().ring();
        Ok(())
    }

    /// The interfaces of the links in use, by [number](super::PathReport::link); empty without
    /// [`Self::use_links`].
    pub fn links(&self) -> Vec<String> {
        self.0.0.link_names()
    }

    /// Tells all connections that the addresses of this host changed: they check that their peers
    /// still answer.
    pub fn handle_network_change(&self) {
        self.0.0.call(|core| {
            let (ipv6, segments) = core.socket_properties();
            core.network_changed(ipv6, segments);
        });
        self.0.0.inbox.alarm().ring();
    }
}
