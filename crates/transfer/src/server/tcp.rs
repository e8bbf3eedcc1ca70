//! Connections over TCP, from clients to which UDP is blocked.
//!
//! Such a client takes a stranger's slot as soon as its first message has arrived, and has the same
//! time as any other until it must have shown its token. Its TLS connection carries one QUIC
//! connection, which then is served as one over UDP is.

use super::peer::{Leave, Peer};
use super::reset::endpoint_config;
use super::shared::Deadline;
use crate::connection::over_tcp::TcpAlgorithm;
use crate::connection::{close, over_tcp};
use crate::credentials::identity::Identity;
use crate::credentials::tls;
use crate::error::Error;
use crate::introduction;
use noq_proto::crypto::rustls::QuicServerConfig;
use noq_proto::{EndpointConfig, ServerConfig, TransportConfig, VarInt};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout, timeout_at};
use tokio_rustls::{LazyConfigAcceptor, StartHandshake};
use whimbrel_quic::endpoint::{self, Endpoint};
use whimbrel_quic::key_exchange::AcceptedGroups;
use whimbrel_quic::{Factory, SharedNode};

/// QUIC connections that one TCP connection may attempt at a time.
const ATTEMPTS: usize = 4;
/// Data of an attempt that is kept before it is accepted, bytes.
const ATTEMPT: u64 = 64 << 10;
/// Pause when the system accepts nothing, such as without file descriptors.
const PAUSE: Duration = Duration::from_millis(50);
/// Time for the end of a connection to reach the client.
const END: Duration = Duration::from_secs(1);

/// What connections over TCP need.
pub(super) struct Settings {
    pub crypto: Arc<QuicServerConfig>,
    pub transport: TransportConfig,
    pub algorithm: Option<TcpAlgorithm>,
    pub groups: AcceptedGroups,
}

/// The server's TCP side.
pub(super) struct Tcp {
    listener: TcpListener,
    config: Arc<rustls::ServerConfig>,
    endpoint: EndpointConfig,
    server: ServerConfig,
    transport: TransportConfig,
    algorithm: Option<TcpAlgorithm>,
    stopping: watch::Sender<bool>,
}

impl std::fmt::Debug for Tcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tcp").finish_non_exhaustive()
    }
}

impl Tcp {
    /// The TCP side of a server with this identity.
    pub fn new(
        listener: TcpListener,
        identity: &Identity,
        settings: Settings,
    ) -> Result<Self, Error> {
        let Settings {
            crypto,
            mut transport,
            algorithm,
            groups,
        } = settings;
        over_tcp::adapt(&mut transport);
        let mut server = ServerConfig::with_crypto(crypto);
        server
            .transport_config(Arc::new(transport.clone()))
            // TCP's end is the connection's.
            .migration(false)
            .max_incoming(ATTEMPTS)
            .incoming_buffer_size(ATTEMPT)
            .incoming_buffer_size_total(ATTEMPT);
        Ok(Self {
            listener,
            config: Arc::new(tls::tcp_server_config(identity, groups)?),
            endpoint: over_tcp::endpoint(endpoint_config(identity)),
            server,
            transport,
            algorithm,
            stopping: watch::Sender::new(false),
        })
    }

    /// Closes all connections, which their clients learn.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Waits for the first message of a TCP connection. `None` if it does not arrive in time, is
    /// none of TLS, or the connection must leave.
    pub async fn hello(
        &self,
        stream: TcpStream,
        leave: Leave,
        deadline: Deadline,
    ) -> Option<Hello> {
        let control = over_tcp::Control::prepare(&stream, self.algorithm.as_ref());
        let arriving = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream);
        let start = tokio::select! {
            start = timeout_at(deadline, arriving) => start.ok()?.ok()?,
            _ = leave => return None,
        };
        Some(Hello { start, control })
    }

    /// The endpoint of one TCP connection.
    fn endpoint(&self, peer: SocketAddr) -> Endpoint {
        let (accepted, transport) = (self.server.clone(), self.transport.clone());
        let factory = Factory::uncontrolled();
        let server = endpoint::Server::with_prepare(self.server.clone(), move |_| {
            factory.server(accepted.clone(), transport.clone(), SharedNode::default())
        });
        Endpoint::carried(self.endpoint.clone(), Some(server), peer)
    }
}

/// A TCP connection whose first message has arrived.
pub(super) struct Hello {
    start: StartHandshake<TcpStream>,
    control: over_tcp::Control,
}

impl Hello {
    /// What introduces a client with a token, if it is there.
    pub fn introduction(&self) -> Option<Vec<u8>> {
        let hello = self.start.client_hello();
        let found = hello.alpn()?.find_map(introduction::of_protocol)?;
        Some(found.to_vec())
    }
}

/// The next TCP connection; never without a TCP side. Cancel safe.
pub(super) async fn accept(tcp: Option<&Arc<Tcp>>) -> (Arc<Tcp>, TcpStream, SocketAddr) {
    let Some(tcp) = tcp else {
        return std::future::pending().await;
    };
    loop {
        match tcp.listener.accept().await {
            Ok((stream, address)) => return (Arc::clone(tcp), stream, address),
            Err(_) => sleep(PAUSE).await,
        }
    }
}

impl Peer {
    /// Serves the client of a TCP connection.
    pub async fn serve_tcp(
        self,
        tcp: Arc<Tcp>,
        hello: Hello,
        mut leave: Leave,
        deadline: Deadline,
    ) {
        let Hello { start, control } = hello;
        let accepting = timeout_at(deadline, start.into_stream(Arc::clone(&tcp.config)));
        let accepted = tokio::select! {
            accepted = accepting => accepted,
            _ = &mut leave => return,
        };
        let Ok(Ok(stream)) = accepted else {
            return;
        };
        control.take(stream.get_ref().0).await;
        let endpoint = tcp.endpoint(self.address);
        // Dropped, it ends the TCP connection.
        let mut carrying = JoinSet::new();
        carrying.spawn(over_tcp::run(endpoint.carrier(), stream));
        let mut stopping = tcp.stopping.subscribe();
        let closing = async {
            stopping.wait_for(|stopping| *stopping).await.ok();
            let reason = b"the server is being stopped";
            endpoint.close(VarInt::from_u32(close::STOPPING), reason);
            std::future::pending().await
        };
        tokio::select! {
            () = self.serve_carried(&endpoint, leave, deadline) => {}
            () = closing => {}
        }
        endpoint.close(VarInt::from_u32(close::DONE), b"");
        timeout(END, carrying.join_next()).await.ok();
    }

    async fn serve_carried(self, endpoint: &Endpoint, mut leave: Leave, deadline: Deadline) {
        let incoming = tokio::select! {
            incoming = timeout_at(deadline, endpoint.accept()) => incoming,
            _ = &mut leave => return,
        };
        if let Ok(Some(incoming)) = incoming {
            self.serve(incoming, leave, deadline).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::over_tcp::testing::attempt;

    /// QUIC drops further attempts without an answer, so their client does not learn it.
    #[tokio::test]
    async fn a_tcp_connection_has_a_bounded_number_of_quic_connections() {
        let identity = Identity::ephemeral().expect("an identity");
        let groups = AcceptedGroups::default();
        let settings = Settings {
            crypto: Arc::new(tls::server_config(&identity, groups).expect("TLS")),
            transport: TransportConfig::default(),
            algorithm: None,
            groups,
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let tcp = Tcp::new(listener, &identity, settings).expect("a configuration");
        let peer = ([127, 0, 0, 1], 1).into();
        let endpoint = tcp.endpoint(peer);
        let carrier = endpoint.carrier();
        for _ in 0..3 * ATTEMPTS {
            let (client, _connecting) = attempt(peer);
            let (sender, mut datagram) = (client.carrier(), Vec::new());
            while sender.send(&mut datagram) {
                carrier.receive(&datagram);
            }
        }
        let mut waiting = Vec::new();
        while let Ok(Some(incoming)) = timeout(Duration::ZERO, endpoint.accept()).await {
            waiting.push(incoming);
        }
        assert_eq!(waiting.len(), ATTEMPTS);
    }
}
