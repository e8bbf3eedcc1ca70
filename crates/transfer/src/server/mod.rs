//! The server: stores files from clients that have a token in one directory.
//!
//! | part | content |
//! |---|---|
//! | `options` | options, limits and events |
//! | `admission` | which connections are accepted |
//! | `tcp` | connections over TCP |
//! | `session` | one connection: its requests and data streams |
//! | `put` | one file, from the request to the answer |
//! | `tree` | many small files |
//! | `files` | get, list, remove |
//! | `many` | get many small files |
//! | `pipe` | one pipe |
//! | `queue` | places for transfers, and who waits for one |
//! | `claims` | which transfer stores which file, and what was stored last |
//! | `usage` | quotas |
//! | `counts` | what is counted for metrics |

mod admission;
mod claims;
mod counts;
mod files;
mod many;
mod options;
mod pipe;
mod put;
mod queue;
mod session;
mod tcp;
mod tree;
mod usage;

use crate::blocks::{CHUNK, MAX_BLOCKS};
use crate::incoming::{List, Receiving, Share};
use crate::storage::{Side, Storage, StorageOptions};
use crate::strangers::{self, Strangers};
use crate::users::{User, Users};
use crate::{Error, Identity, close, over_tcp, socket, tls, transport};
use claims::Claims;
use counts::Counters;
pub use counts::Counts;
use noq_proto::{EndpointConfig, HashedConnectionIdGenerator, ServerConfig, VarInt};
pub use options::{Event, Limits, ServeOptions};
use queue::Places;
use ring::hmac;
use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tcp::Tcp;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use usage::Usage;
use whimbrel_quic::endpoint::{self, Endpoint};
use whimbrel_quic::{Factory, SharedNode};

/// Ports that are tried until one is free for both UDP and TCP.
const FREE_PORTS: u32 = 16;
/// Maximum number of pipes of all clients.
const MAX_PIPES: usize = 256;

/// A server with an open socket.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    tcp: Option<Arc<Tcp>>,
    shared: Arc<Shared>,
}

struct Shared {
    storage: Storage,
    users: RwLock<Arc<Users>>,
    limits: Limits,
    strangers: Mutex<Strangers<oneshot::Sender<()>>>,
    counts: Counters,
    connections: AtomicUsize,
    /// Where the flows that share by priority arrive.
    node: SharedNode,
    incoming: Arc<List>,
    places: Arc<Places>,
    claims: Arc<Claims>,
    usage: Usage,
    /// Directories of users below the server's.
    directories: Mutex<HashMap<PathBuf, Storage>>,
    /// Pipes that may be opened.
    pipes: Semaphore,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("storage", &self.storage)
            .finish_non_exhaustive()
    }
}

type OnEvent = Arc<dyn Fn(Event) + Send + Sync>;

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
            rights,
            qlog,
            tcp,
            tcp_algorithm,
            users,
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
        let crypto = Arc::new(tls::server_config(identity)?);
        let mut config = ServerConfig::with_crypto(crypto.clone());
        let mut transport = transport::server(limits.idle);
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
                };
                Some(Arc::new(Tcp::new(listener, identity, settings)?))
            }
            None => None,
        };
        let accepted = config.clone();
        let (factory, node) = (Factory::for_endpoint(controller), SharedNode::default());
        let shared_node = node.clone();
        let config = endpoint::Server::with_prepare(config, move || {
            factory.server(accepted.clone(), transport.clone(), shared_node.clone())
        });
        let endpoint =
            Endpoint::new(endpoint_config(identity), Some(config), socket).map_err(|cause| {
                Error::Socket {
                    address: listen,
                    cause,
                }
            })?;
        let shared = Arc::new(Shared {
            storage,
            users: RwLock::new(Arc::new(users)),
            limits,
            strangers: Mutex::default(),
            counts: Counters::default(),
            connections: AtomicUsize::new(0),
            node,
            incoming: Arc::default(),
            places: Places::new(limits.connections),
            claims: Arc::default(),
            usage: Usage::default(),
            directories: Mutex::default(),
            pipes: Semaphore::new(MAX_PIPES),
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

    /// Replaces the users. Connections that are open keep the rights that they had.
    pub fn set_users(&self, users: Users) {
        let mut present = self
            .shared
            .users
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *present = Arc::new(users);
    }

    /// What the server has counted.
    pub fn counts(&self) -> Counts {
        let strangers = self.shared.strangers().len();
        let clients = self.shared.connections.load(Ordering::Relaxed);
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
                    if let Some(work) = self.admit(incoming, &on_event) {
                        connections.spawn(work);
                    }
                }
                (tcp, stream, address) = tcp::accept(self.tcp.as_ref()) => {
                    if let Some(work) = self.admit_tcp(tcp, stream, address, &on_event) {
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
        let socket = socket::open(listen)?;
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

/// A server that starts again with the same identity answers packets of connections that it does not
/// know any more with stateless resets that their clients recognize (RFC 9000 section 10.3). So a
/// client learns of the restart at its next packet and not after the idle timeout.
fn endpoint_config(identity: &Identity) -> EndpointConfig {
    let key = identity.secret("whimbrel stateless reset");
    let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &key)));
    // Connection IDs must be recognized as the server's own.
    let [a, b, c, d, e, f, g, h, ..] = identity.secret("whimbrel connection IDs");
    let key = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    config.cid_generator(Arc::new(move || {
        Box::new(HashedConnectionIdGenerator::from_key(key))
    }));
    config
}

impl Shared {
    /// The largest file that is accepted, bytes.
    fn max_file(&self) -> u64 {
        self.limits.file.get().min(MAX_BLOCKS * CHUNK)
    }

    /// Where a user's files are. The directory is created if it does not exist.
    fn storage_of(&self, user: &User) -> Result<Storage, Error> {
        if user.directory.as_os_str().is_empty() {
            return Ok(self.storage.clone());
        }
        let mut known = lock(&self.directories);
        if let Some(storage) = known.get(&user.directory) {
            return Ok(storage.clone());
        }
        let storage = self.storage.below(&user.directory)?;
        known.insert(user.directory.clone(), storage.clone());
        Ok(storage)
    }

    fn users(&self) -> Arc<Users> {
        Arc::clone(&self.users.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn strangers(&self) -> MutexGuard<'_, Strangers<oneshot::Sender<()>>> {
        lock(&self.strangers)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
