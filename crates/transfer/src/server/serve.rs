//! The server's socket, and the loop that accepts connections.

use super::admission::{admit, admit_tcp};
use super::counts::Counts;
use super::incoming::{Receiving, Share};
use super::known_clients::KnownClients;
use super::meetings::Meetings;
use super::options::{Event, ServeOptions};
use super::reset::endpoint_config;
use super::shared::{OnEvent, Shared};
use super::strangers;
use super::tcp::{self, Tcp};
use super::users::{User, Users};
use crate::connection::{close, datagrams, over_tcp, parameters, udp};
use crate::credentials::identity::Identity;
use crate::credentials::tls;
use crate::error::Error;
use crate::storage::{Side, Storage, StorageOptions};
use noq_proto::{ServerConfig, VarInt};
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use whimbrel_quic::endpoint::{self, Endpoint};
use whimbrel_quic::{Factory, SharedNode};

/// Ports that are tried until one is free for both UDP and TCP.
const FREE_PORTS: u32 = 16;

/// A server with an open socket.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    tcp: Option<Arc<Tcp>>,
    shared: Arc<Shared>,
}

impl Server {
    /// Opens the directory and the socket. Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// If either cannot be opened, or the identity does not work.
    pub fn bind(options: ServeOptions, identity: &Identity) -> Result<Self, Error> {
        let ServeOptions {
            directory,
            listen,
            overwrite,
            limits,
            max_priority,
            keep_free,
            keep_partial,
            controller,
            resume_rate,
            rights,
            qlog,
            tcp,
            tcp_algorithm,
            groups,
            users,
            code,
            meet,
        } = options;
        let owner = || User::owner(identity.token(), rights, max_priority);
        let users = users.unwrap_or_else(|| Users::new([owner()]));
        let storage_options = StorageOptions {
            overwrite,
            keep_free,
            keep_partial: keep_partial.into(),
            side: Side::Server,
        };
        let storage = Storage::open(&directory, storage_options)?;
        for directory in users.written() {
            storage.check_writable(directory)?;
        }
        let crypto = Arc::new(tls::server_config(identity, groups)?);
        let mut config = ServerConfig::with_crypto(crypto.clone());
        let mut transport = parameters::server(limits.idle);
        if let Some(qlog) = qlog {
            transport.qlog_factory(Arc::new(qlog));
        }
        config
            .transport_config(Arc::new(transport.clone()))
            .max_incoming(4 * strangers::PLACES)
            .incoming_buffer_size(64 << 10)
            .incoming_buffer_size_total(4 << 20);
        let (socket, listener) = sockets(listen, tcp)?;
        let tcp = match listener {
            Some(listener) => {
                let settings = tcp::Settings {
                    crypto,
                    transport: transport.clone(),
                    algorithm: tcp_algorithm,
                    groups,
                };
                Some(Arc::new(Tcp::new(listener, identity, settings)?))
            }
            None => None,
        };
        let accepted = config.clone();
        let node = SharedNode::default();
        let shared_node = node.clone();
        let known = resume_rate.then(KnownClients::default);
        let config = endpoint::Server::with_prepare(config, move |client| {
            let mut transport = transport.clone();
            datagrams::seek_largest(&mut transport, client);
            // Each connection has a monitor of its own.
            let factory = Factory::for_endpoint(controller.clone());
            let monitor = factory.monitor();
            let saved = known
                .as_ref()
                .and_then(|known| known.begin(client.ip(), monitor, Instant::now()));
            let factory = factory.resuming(saved);
            factory.server(accepted.clone(), transport, shared_node.clone())
        });
        let endpoint_config = datagrams::accept(endpoint_config(identity));
        let endpoint = udp::endpoint(endpoint_config, Some(config), socket, listen)?;
        let shared = Arc::new(Shared {
            node,
            code: Mutex::new(code),
            meetings: meet.then(Meetings::default),
            ..Shared::new(storage, users, limits)
        });
        Ok(Self {
            endpoint,
            tcp,
            shared,
        })
    }

    /// The local address.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn local_addr(&self) -> Result<SocketAddr, Error> {
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        self.endpoint.local_addr().map_err(|cause| Error::Socket {
            address: unknown,
            cause,
        })
    }

    /// The endpoint of its UDP socket, from which the program may also connect.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Replaces the users. Connections whose token is not valid any more, or permits something
    /// else, end at once; those of other users go on.
    pub fn set_users(&self, users: Users) {
        self.shared.users.send_replace(Arc::new(users));
    }

    /// What the server has counted.
    pub fn counts(&self) -> Counts {
        let strangers = self.shared.strangers().len();
        let clients = self.shared.connections.len();
        self.shared.counts.at(strangers, clients)
    }

    /// The transfers in progress.
    pub fn receiving(&self) -> Receiving {
        let now = Instant::now();
        let (members, fairness) = self.shared.node.members(now);
        let share = |flow| {
            let member = members.iter().find(|member| member.key == flow)?;
            Some(Share {
                priority: member.priority,
                delivered: member.delivered,
                allocated: member.allocated,
            })
        };
        Receiving {
            transfers: self.shared.incoming.at(now, share),
            fairness: (!members.is_empty()).then_some(fairness),
        }
    }

    /// Serves until `stop` completes. Then it cancels transfers in progress, notifies their
    /// clients. Incomplete files stay for the next attempt.
    pub async fn run(
        &self,
        on_event: impl Fn(Event) + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) {
        let on_event: OnEvent = Arc::new(on_event);
        let mut connections = JoinSet::new();
        tokio::pin!(stop);
        loop {
            tokio::select! {
                incoming = self.endpoint.accept() => {
                    let Some(incoming) = incoming else { break };
                    if let Some(work) = admit(&self.shared, incoming, &on_event) {
                        connections.spawn(work);
                    }
                }
                (tcp, stream, address) = tcp::accept(self.tcp.as_ref()) => {
                    if let Some(work) = admit_tcp(&self.shared, tcp, stream, address, &on_event) {
                        connections.spawn(work);
                    }
                }
                Some(_) = connections.join_next() => {}
                () = &mut stop => break,
            }
        }
        self.endpoint.close(
            VarInt::from_u32(close::STOPPING),
            b"the server is being stopped",
        );
        if let Some(tcp) = &self.tcp {
            tcp.stop();
        }
        // Each connection's task sees the close and ends by itself. Aborted, it would report a
        // wrong reason.
        let ended = async { while connections.join_next().await.is_some() {} };
        timeout(Duration::from_secs(5), ended).await.ok();
        connections.shutdown().await;
        // The server does not wait for peers that do not answer.
        timeout(Duration::from_secs(1), self.endpoint.wait_idle())
            .await
            .ok();
    }
}

/// The UDP socket, and the TCP one at the same port.
fn sockets(listen: SocketAddr, tcp: bool) -> Result<(UdpSocket, Option<TcpListener>), Error> {
    let mut tries = if listen.port() == 0 { FREE_PORTS } else { 1 };
    loop {
        tries -= 1;
        let socket = udp::open(listen)?;
        if !tcp {
            return Ok((socket, None));
        }
        let failed = |address| move |cause| Error::Listen { address, cause };
        let port = socket.local_addr().map_err(failed(listen))?.port();
        let address = SocketAddr::new(listen.ip(), port);
        match over_tcp::listen(address) {
            Ok(listener) => return Ok((socket, Some(listener))),
            Err(cause) if tries == 0 => return Err(failed(address)(cause)),
            // A port that is free for UDP need not be for TCP.
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TransportChoice;
    use crate::client::{ClientOptions, ClientSession, ServerAddress};
    use crate::lock::lock;
    use crate::scratch_directory::ScratchDirectory;
    use whimbrel_units::Duration as Span;

    /// Many of one network may have a connection, and few may have said nothing.
    #[tokio::test(flavor = "multi_thread")]
    async fn who_has_said_something_over_tcp_leaves_that_place_to_others() {
        let scratch = ScratchDirectory::new();
        let identity = Identity::ephemeral().expect("an identity");
        let listen = ([127, 0, 0, 1], 0).into();
        let options = ServeOptions::new(scratch.path(), listen);
        let server = Arc::new(Server::bind(options, &identity).expect("a server"));
        let running = Arc::clone(&server);
        let serving =
            tokio::spawn(async move { running.run(|_| (), std::future::pending()).await });
        let address = server.local_addr().expect("bound");
        let to = ServerAddress {
            host: address.ip().to_string(),
            port: address.port(),
        };
        let token = identity.token().clone();
        let options = ClientOptions {
            fingerprint: Some(identity.fingerprint()),
            transport: TransportChoice::Tls,
            ..ClientOptions::new(to, token, crate::defaults::default_controller())
        };
        let idle = parameters::client(Span::from_secs(60));
        let session = ClientSession::open(&options, idle, &|| options.factory()).await;
        let session = session.expect("connected");
        session.welcomed().await.expect("the token is right");
        assert_eq!(lock(&server.shared.half_open).len(), 0);
        serving.abort();
    }
}
