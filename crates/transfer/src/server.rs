//! The server: stores files from clients that have the token in one directory.

use crate::chunks::{Chunks, MAX_CHUNKS};
use crate::framing;
use crate::guard::Guard;
use crate::incoming::{Entry, List, Receiving, Share};
use crate::receive::{ChunkStream, Upload};
use crate::send::close_text;
use crate::transport::STREAMS;
use crate::upload_directory::UploadDirectory;
use crate::wire::{CHUNK_HEADER, Message, Put, Reason, VERSION, read_chunk_header};
use crate::{CHUNK, Error, FileName, Identity, QlogFolder, Token, socket, tls, transport};
use noq_proto::{EndpointConfig, ServerConfig, VarInt};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use whimbrel_cc::fairness::Priority;
use whimbrel_quic::endpoint::{self, Connection, Endpoint, Incoming, RecvStream, SendStream};
use whimbrel_quic::{Factory, SharedNode};
use whimbrel_units::{Bytes, Duration as Span};

/// Limits on the resources of peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum file size; never more than 16 TiB.
    pub file: Bytes,
    /// Maximum number of connections. Each may hold up to 64 MiB of data behind gaps, after the
    /// client has shown the token.
    pub connections: usize,
    /// Maximum number of concurrent files per connection.
    pub transfers: usize,
    /// Timeout of the handshake and of the request.
    pub handshake: Span,
    /// A connection is closed when the peer is silent for this long.
    pub idle: Span,
    /// A transfer fails when no data arrives for this long, although the peer is alive.
    pub stall: Span,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file: Bytes::new(1 << 40),
            connections: 16,
            transfers: 4,
            handshake: Span::from_secs(10),
            idle: Span::from_secs(30),
            stall: Span::from_secs(60),
        }
    }
}

/// Options of a server.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Directory in which files are stored. The server writes nowhere else.
    pub directory: PathBuf,
    /// Local UDP address. Port 0 selects a free port.
    pub listen: SocketAddr,
    /// Replace files of the same name. A file is replaced atomically.
    pub overwrite: bool,
    /// Limits on the resources of peers.
    pub limits: Limits,
    /// The highest priority that a client gets. One that requests a higher priority gets this one.
    /// Only controllers that share by priority use it.
    pub max_priority: Priority,
    /// Where to log every packet.
    pub qlog: Option<QlogFolder>,
}

/// An event, to be shown to the operator of the server.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A file was stored under its name.
    Stored {
        /// The client.
        peer: SocketAddr,
        /// The file's name.
        name: FileName,
        /// The file's size.
        bytes: Bytes,
        /// Time from the request to the answer.
        took: Span,
        /// The file's hash.
        hash: blake3::Hash,
    },
    /// A file was not stored.
    Failed {
        /// The client.
        peer: SocketAddr,
        /// The file's name, if the request got that far.
        name: Option<FileName>,
        /// The reason.
        error: Error,
    },
}

/// A server with an open socket.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    shared: Arc<Shared>,
}

struct Shared {
    uploads: UploadDirectory,
    token: Token,
    limits: Limits,
    max_priority: Priority,
    guard: Mutex<Guard>,
    connections: AtomicUsize,
    /// Where the flows that share by priority arrive.
    node: SharedNode,
    incoming: Arc<List>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("uploads", &self.uploads)
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
            qlog,
        } = options;
        let uploads = UploadDirectory::open(&directory, overwrite)?;
        let mut config = ServerConfig::with_crypto(Arc::new(tls::server_config(identity)?));
        let mut transport = transport::server(limits.idle);
        if let Some(qlog) = qlog {
            transport.qlog_factory(Arc::new(qlog));
        }
        config
            .transport_config(Arc::new(transport.clone()))
            .max_incoming(4 * limits.connections.max(1))
            .incoming_buffer_size(64 << 10)
            .incoming_buffer_size_total(4 << 20);
        let socket = socket::open(listen)?;
        let accepted = config.clone();
        let (factory, node) = (server_controller(), SharedNode::default());
        let shared_node = node.clone();
        let config = endpoint::Server::with_prepare(config, move || {
            factory.server(accepted.clone(), transport.clone(), shared_node.clone())
        });
        let endpoint =
            Endpoint::new(EndpointConfig::default(), Some(config), socket).map_err(|cause| {
                Error::Socket {
                    address: listen,
                    cause,
                }
            })?;
        let shared = Arc::new(Shared {
            uploads,
            token: identity.token().clone(),
            limits,
            max_priority,
            guard: Mutex::default(),
            connections: AtomicUsize::new(0),
            node,
            incoming: Arc::default(),
        });
        Ok(Self { endpoint, shared })
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
    /// clients, and removes incomplete files.
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
                Some(_) = connections.join_next() => {}
                () = &mut stop => break,
            }
        }
        self.endpoint.close(
            VarInt::from_u32(close::STOPPING),
            b"the server is being stopped",
        );
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

    /// Decides whether to accept a connection.
    fn admit(
        &self,
        incoming: Incoming,
        on_event: &OnEvent,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let shared = Arc::clone(&self.shared);
        let peer = incoming.remote_address();
        let open = shared.connections.load(Ordering::Relaxed);
        if open >= shared.limits.connections || shared.guard().blocks(peer.ip(), Instant::now()) {
            incoming.refuse();
            return None;
        }
        // At half the maximum, verify that the address is not forged before spending memory on it.
        if 2 * open >= shared.limits.connections && incoming.may_retry() {
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

/// The controller of what the server sends: answers, and reports on what it receives.
fn server_controller() -> Factory {
    Factory::for_endpoint("cubic".parse().expect("the registry has CUBIC"))
}

/// Releases the connection's place in the count when it is dropped.
struct ConnectionSlot(Arc<Shared>);

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn guard(&self) -> MutexGuard<'_, Guard> {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Application error codes of closed connections.
pub(crate) mod close {
    /// The transfer is complete.
    pub const DONE: u32 = 0;
    /// The peer violated the protocol.
    pub const PROTOCOL: u32 = 1;
    /// The token was wrong.
    pub const TOKEN: u32 = 2;
    /// The server is stopping.
    pub const STOPPING: u32 = 3;
    /// The client sent no request.
    pub const IDLE: u32 = 4;
}

/// The connection of one client.
#[derive(Clone)]
struct Peer {
    shared: Arc<Shared>,
    address: SocketAddr,
    on_event: OnEvent,
}

/// For each transfer of a connection, the channel for its chunk streams.
type Routes = Arc<Mutex<HashMap<u64, mpsc::Sender<ChunkStream>>>>;

fn routes(routes: &Routes) -> MutexGuard<'_, HashMap<u64, mpsc::Sender<ChunkStream>>> {
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Peer {
    async fn serve(self, incoming: Incoming) {
        let limits = self.shared.limits;
        let Ok(connecting) = incoming.accept() else {
            return;
        };
        let Ok(Ok(connection)) = timeout(limits.handshake.into(), connecting).await else {
            return;
        };
        let shared_routes = Routes::default();
        let mut requests = JoinSet::new();
        let mut data = JoinSet::new();
        let mut number = 0;
        let mut request_timeout: Duration = limits.handshake.into();
        loop {
            tokio::select! {
                stream = connection.accept_bi() => {
                    let Ok(streams) = stream else { break };
                    number += 1;
                    let routes = Arc::clone(&shared_routes);
                    let connection = connection.clone();
                    requests.spawn(self.clone().request(connection, streams, number, routes));
                }
                stream = connection.accept_uni() => {
                    let Ok(stream) = stream else { break };
                    data.spawn(route(stream, Arc::clone(&shared_routes), limits.stall.into()));
                }
                Some(_) = requests.join_next() => request_timeout = limits.idle.into(),
                Some(_) = data.join_next() => {}
                () = tokio::time::sleep(request_timeout), if requests.is_empty() => {
                    connection.close(VarInt::from_u32(close::IDLE), b"no request arrived");
                    return;
                }
            }
        }
        // The connection is closed. Each request notices that too and has an event to report.
        while requests.join_next().await.is_some() {}
    }

    /// Handles one file, from the request to the answer.
    async fn request(
        self,
        connection: Connection,
        (mut send, mut receive): (SendStream, RecvStream),
        number: u64,
        shared_routes: Routes,
    ) {
        let started = Instant::now();
        let mut name = None;
        let work = self.put(
            &connection,
            &mut send,
            &mut receive,
            number,
            &shared_routes,
            &mut name,
        );
        let result = tokio::select! {
            result = work => result,
            // Report the lost connection here, so that the log shows the file's name.
            reason = connection.closed() => Err(Error::Lost(close_text(&reason))),
        };
        routes(&shared_routes).remove(&number);
        let (answer, event) = match (result, name) {
            (Ok((bytes, hash)), Some(name)) => {
                let took = started.elapsed().into();
                let event = Event::Stored {
                    peer: self.address,
                    name,
                    bytes: Bytes::new(bytes),
                    took,
                    hash,
                };
                (Message::Stored { bytes, hash }, event)
            }
            (Ok(_), None) => return,
            (Err(error), name) => {
                let answer = Message::Refused(error.for_peer());
                (
                    answer,
                    Event::Failed {
                        peer: self.address,
                        name,
                        error,
                    },
                )
            }
        };
        let send_answer = async {
            framing::write(&mut send, &answer).await.ok();
            send.finish().ok();
            send.stopped().await.ok();
        };
        // Wait until the answer has arrived: the operator may stop the server upon the event.
        timeout(Duration::from_secs(5), send_answer).await.ok();
        let code = match &event {
            Event::Failed {
                error: Error::Refused(r),
                ..
            } if r.reason == Reason::Token => Some(close::TOKEN),
            Event::Failed {
                error: Error::Protocol(_),
                ..
            } => Some(close::PROTOCOL),
            _ => None,
        };
        if let Some(code) = code {
            connection.close(VarInt::from_u32(code), b"");
        }
        (self.on_event)(event);
    }

    async fn put(
        &self,
        connection: &Connection,
        send: &mut SendStream,
        receive: &mut RecvStream,
        number: u64,
        shared_routes: &Routes,
        name: &mut Option<FileName>,
    ) -> Result<(u64, blake3::Hash), Error> {
        let limits = &self.shared.limits;
        let too_late = |_| Error::refused(Reason::Stalled, "the request did not arrive in time");
        let request = timeout(limits.handshake.into(), framing::read(receive))
            .await
            .map_err(too_late)??;
        let Message::Put(put) = request else {
            return Err(Error::Protocol("an unexpected message".to_owned()));
        };
        let size = put.size;
        let file_name = self.authorize(put)?;
        transport::admit(connection);
        connection.admit(self.shared.max_priority);
        let uploads = self.shared.uploads.clone();
        uploads.check(name.insert(file_name.clone()))?;
        // Further streams wait until the transfer accepts them.
        let (route, streams) = mpsc::channel(STREAMS as usize);
        {
            let mut routes = routes(shared_routes);
            if routes.len() >= limits.transfers {
                let text = format!("a connection may carry {} files at once", limits.transfers);
                return Err(Error::refused(Reason::Busy, text));
            }
            routes.insert(number, route);
        }
        let directory = uploads.clone();
        let part = tokio::task::spawn_blocking(move || directory.create(size))
            .await
            .map_err(|_| Error::Stopped)??;
        framing::write(send, &Message::Accepted { transfer: number }).await?;
        let received = Arc::new(AtomicU64::new(0));
        let _listed = self.shared.incoming.add(Entry {
            peer: self.address,
            flow: Box::new({
                let connection = connection.clone();
                move || connection.flow()
            }),
            name: file_name.clone(),
            size,
            received: Arc::clone(&received),
            started: Instant::now(),
        });
        let upload = Upload {
            uploads,
            received,
            name: file_name,
            part: Arc::new(part),
            chunks: Chunks::of(size),
            stall: limits.stall.into(),
        };
        Ok((size, upload.run(receive, streams).await?))
    }

    /// Whether this client may store this file. The token is checked first.
    fn authorize(&self, put: Put) -> Result<FileName, Error> {
        if !put.token.matches(&self.shared.token) {
            self.shared
                .guard()
                .record_failure(self.address.ip(), Instant::now());
            let text = "the token is wrong; `whimbrel serve` prints the right one when it starts";
            return Err(Error::refused(Reason::Token, text));
        }
        if put.version != VERSION {
            let text = format!(
                "this server speaks version {VERSION}, not {}; update the older program",
                put.version
            );
            return Err(Error::refused(Reason::Version, text));
        }
        let name =
            FileName::new(&put.name).map_err(|e| Error::refused(Reason::Name, e.to_string()))?;
        let max = self.shared.limits.file.get().min(MAX_CHUNKS * CHUNK);
        if put.size > max {
            let (size, max) = (Bytes::new(put.size), Bytes::new(max));
            let text = format!("the file is {size}, this server accepts up to {max} (--max-size)");
            return Err(Error::refused(Reason::TooLarge, text));
        }
        Ok(name)
    }
}

/// Reads the header of a stream and passes the stream to its transfer. A stream for an unknown
/// transfer is dropped, which makes its sender stop: streams of a transfer that has just failed may
/// still arrive.
async fn route(mut stream: RecvStream, shared_routes: Routes, header_timeout: Duration) {
    let mut header = [0; CHUNK_HEADER];
    let Ok(Ok(())) = timeout(header_timeout, stream.read_exact(&mut header)).await else {
        return;
    };
    let (transfer, index) = read_chunk_header(header);
    let route = routes(&shared_routes).get(&transfer).cloned();
    if let Some(route) = route {
        route.send((index, stream)).await.ok();
    }
}
