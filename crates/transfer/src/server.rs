//! The service: takes files from those who have the token into one directory.

use crate::chunks::{Chunks, MOST_CHUNKS};
use crate::framing;
use crate::guard::Guard;
use crate::receive::{Arrival, ChunkStream};
use crate::send::why;
use crate::spool::Spool;
use crate::transport::STREAMS;
use crate::wire::{CHUNK_HEADER, Message, Put, Reason, VERSION, read_chunk_header};
use crate::{CHUNK, Error, FileName, Identity, QlogFolder, Token, socket, tls, transport};
use noq::{
    Connection, Endpoint, EndpointConfig, Incoming, RecvStream, SendStream, TokioRuntime, VarInt,
};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use whimbrel_units::{Bytes, Duration as Span};

/// What a peer may take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest file taken; never more than 16 TiB.
    pub file: Bytes,
    /// Connections at once. Each may hold up to 64 MiB of data that has gaps, once it has shown the token.
    pub connections: usize,
    /// Files at once on one connection.
    pub transfers: usize,
    /// Time to make a connection and say what is wanted.
    pub handshake: Span,
    /// A peer silent for so long is gone.
    pub idle: Span,
    /// A peer that is there but sends no data for so long is sent away.
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

/// How to serve.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Where files are stored. Nothing is ever written outside it.
    pub directory: PathBuf,
    /// Where to listen (UDP). Port 0 takes any.
    pub listen: SocketAddr,
    /// Replace files of the same name. Even then a file is whole or not there.
    pub overwrite: bool,
    /// What peers may take up.
    pub limits: Limits,
    /// Where to log what becomes of every packet.
    pub qlog: Option<QlogFolder>,
}

/// Something that happened, to be shown to whoever runs the server.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A file stands under its name.
    Stored {
        /// From whom.
        peer: SocketAddr,
        /// Its name.
        name: FileName,
        /// Its size.
        bytes: Bytes,
        /// From the request to the answer.
        took: Span,
        /// Its hash.
        hash: blake3::Hash,
    },
    /// A file was not stored.
    Failed {
        /// From whom.
        peer: SocketAddr,
        /// Its name, if it came to that.
        name: Option<FileName>,
        /// Why.
        error: Error,
    },
}

/// A listening service.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    shared: Arc<Shared>,
}

struct Shared {
    spool: Spool,
    token: Token,
    limits: Limits,
    guard: Mutex<Guard>,
    connections: AtomicUsize,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("spool", &self.spool)
            .finish_non_exhaustive()
    }
}

type OnEvent = Arc<dyn Fn(Event) + Send + Sync>;

impl Server {
    /// Opens the directory and the socket. To be called inside a Tokio runtime.
    ///
    /// # Errors
    /// If either cannot be opened, or the identity does not work.
    pub fn bind(options: ServeOptions, identity: &Identity) -> Result<Self, Error> {
        let ServeOptions {
            directory,
            listen,
            overwrite,
            limits,
            qlog,
        } = options;
        let spool = Spool::open(&directory, overwrite)?;
        let mut config = noq::ServerConfig::with_crypto(Arc::new(tls::server_config(identity)?));
        let mut transport = transport::server(limits.idle);
        if let Some(qlog) = qlog {
            transport.qlog_factory(Arc::new(qlog));
        }
        config
            .transport_config(Arc::new(transport))
            .max_incoming(4 * limits.connections.max(1))
            .incoming_buffer_size(64 << 10)
            .incoming_buffer_size_total(4 << 20);
        let socket = socket::open(listen)?;
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime)
            .map_err(|cause| Error::Socket {
                address: listen,
                cause,
            })?;
        let shared = Arc::new(Shared {
            spool,
            token: identity.token().clone(),
            limits,
            guard: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        Ok(Self { endpoint, shared })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn local_addr(&self) -> Result<SocketAddr, Error> {
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        self.endpoint.local_addr().map_err(|cause| Error::Socket {
            address: unknown,
            cause,
        })
    }

    /// Serves until `stop` completes. Then transfers under way are given up, their peers told, and what
    /// they had brought is removed.
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
        // Each client's task sees that and ends by itself; cut off, it would tell its peer a wrong reason.
        let ended = async { while connections.join_next().await.is_some() {} };
        timeout(Duration::from_secs(5), ended).await.ok();
        connections.shutdown().await;
        // Peers that do not answer are not waited for.
        timeout(Duration::from_secs(1), self.endpoint.wait_idle())
            .await
            .ok();
    }

    /// Whether to talk to this peer at all.
    fn admit(
        &self,
        incoming: Incoming,
        on_event: &OnEvent,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let shared = Arc::clone(&self.shared);
        let peer = incoming.remote_address();
        let open = shared.connections.load(Ordering::Relaxed);
        if open >= shared.limits.connections || shared.guard().shuts_out(peer.ip(), Instant::now())
        {
            incoming.refuse();
            return None;
        }
        // Half full: make sure that addresses are not forged before spending memory on them.
        if 2 * open >= shared.limits.connections && incoming.may_retry() {
            incoming.retry().ok();
            return None;
        }
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let on_event = Arc::clone(on_event);
        Some(async move {
            let counted = Counted(shared);
            let peer = Peer {
                shared: Arc::clone(&counted.0),
                address: peer,
                on_event,
            };
            peer.serve(incoming).await;
        })
    }
}

/// Takes a connection off the count however it ends.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn guard(&self) -> MutexGuard<'_, Guard> {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Application error codes a connection is closed with.
pub(crate) mod close {
    /// All is done.
    pub const DONE: u32 = 0;
    /// The protocol was broken.
    pub const PROTOCOL: u32 = 1;
    /// The token was wrong.
    pub const TOKEN: u32 = 2;
    /// The server is being stopped.
    pub const STOPPING: u32 = 3;
    /// Nothing was asked for.
    pub const IDLE: u32 = 4;
}

/// One client.
#[derive(Clone)]
struct Peer {
    shared: Arc<Shared>,
    address: SocketAddr,
    on_event: OnEvent,
}

/// The transfers of one connection: where the streams of each go.
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
        let mut patience: Duration = limits.handshake.into();
        loop {
            tokio::select! {
                stream = connection.accept_bi() => {
                    let Ok(streams) = stream else { break };
                    number += 1;
                    let routes = Arc::clone(&shared_routes);
                    requests.spawn(self.clone().request(connection.clone(), streams, number, routes));
                }
                stream = connection.accept_uni() => {
                    let Ok(stream) = stream else { break };
                    data.spawn(route(stream, Arc::clone(&shared_routes), limits.stall.into()));
                }
                Some(_) = requests.join_next() => patience = limits.idle.into(),
                Some(_) = data.join_next() => {}
                () = tokio::time::sleep(patience), if requests.is_empty() => {
                    connection.close(VarInt::from_u32(close::IDLE), b"nothing was asked for");
                    return;
                }
            }
        }
        // The connection is gone; each request sees that too, and has something to report.
        while requests.join_next().await.is_some() {}
    }

    /// One file, from the request to the answer.
    async fn request(
        self,
        connection: Connection,
        (mut send, mut receive): (SendStream, RecvStream),
        number: u64,
        shared_routes: Routes,
    ) {
        let begun = Instant::now();
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
            // The file's name matters to whoever reads the log, so the loss is told here.
            reason = connection.closed() => Err(Error::Lost(why(&reason))),
        };
        routes(&shared_routes).remove(&number);
        let (answer, event) = match (result, name) {
            (Ok((bytes, hash)), Some(name)) => {
                let took = begun.elapsed().into();
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
        let answered = async {
            framing::write(&mut send, &answer).await.ok();
            send.finish().ok();
            send.stopped().await.ok();
        };
        // So that the answer has arrived when the server is stopped upon the event.
        timeout(Duration::from_secs(5), answered).await.ok();
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
        let late = |_| Error::refused(Reason::Stalled, "the request did not come in time");
        let asked = timeout(limits.handshake.into(), framing::read(receive))
            .await
            .map_err(late)??;
        let Message::Put(put) = asked else {
            return Err(Error::Protocol("a message out of turn".to_owned()));
        };
        let size = put.size;
        let file_name = self.check(put)?;
        transport::admit(connection);
        let spool = self.shared.spool.clone();
        spool.check(name.insert(file_name.clone()))?;
        // Streams beyond this wait for the transfer to take them.
        let (route, streams) = mpsc::channel(STREAMS as usize);
        {
            let mut routes = routes(shared_routes);
            if routes.len() >= limits.transfers {
                let text = format!(
                    "{} files at once are the most on a connection",
                    limits.transfers
                );
                return Err(Error::refused(Reason::Busy, text));
            }
            routes.insert(number, route);
        }
        let room = spool.clone();
        let part = tokio::task::spawn_blocking(move || room.create(size))
            .await
            .map_err(|_| Error::Stopped)??;
        framing::write(send, &Message::Accepted { transfer: number }).await?;
        let arrival = Arrival {
            spool,
            name: file_name,
            part: Arc::new(part),
            chunks: Chunks::of(size),
            stall: limits.stall.into(),
        };
        Ok((size, arrival.run(receive, streams).await?))
    }

    /// Whether this client may store this file. The token is looked at before anything else.
    fn check(&self, put: Put) -> Result<FileName, Error> {
        if !put.token.matches(&self.shared.token) {
            self.shared.guard().wrong(self.address.ip(), Instant::now());
            let text = "the token is wrong; `whimbrel serve` prints the right one when it starts";
            return Err(Error::refused(Reason::Token, text));
        }
        if put.version != VERSION {
            let text = format!(
                "this server speaks version {VERSION}, not {}; update the older",
                put.version
            );
            return Err(Error::refused(Reason::Version, text));
        }
        let name =
            FileName::new(&put.name).map_err(|e| Error::refused(Reason::Name, e.to_string()))?;
        let most = self.shared.limits.file.get().min(MOST_CHUNKS * CHUNK);
        if put.size > most {
            let (size, most) = (Bytes::new(put.size), Bytes::new(most));
            let text = format!("the file is {size}, this server takes up to {most} (--max-size)");
            return Err(Error::refused(Reason::TooLarge, text));
        }
        Ok(name)
    }
}

/// Reads what a stream is for and hands it to its transfer. One that is for no transfer is dropped, which
/// tells its sender to stop: a transfer that just failed may have streams on their way.
async fn route(mut stream: RecvStream, shared_routes: Routes, patience: Duration) {
    let mut header = [0; CHUNK_HEADER];
    let Ok(Ok(())) = timeout(patience, stream.read_exact(&mut header)).await else {
        return;
    };
    let (transfer, index) = read_chunk_header(header);
    let route = routes(&shared_routes).get(&transfer).cloned();
    if let Some(route) = route {
        route.send((index, stream)).await.ok();
    }
}
