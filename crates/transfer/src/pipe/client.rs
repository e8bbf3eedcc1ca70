//! The client's end of pipes.

use super::relay::{Carried, inward, outward};
use super::stream::{PipeReader, PipeWriter};
use crate::connect::{Connected, Dial};
use crate::routes::ChunkStream;
use crate::wire::{CHUNK_HEADER, ChunkHeader, Message, VERSION};
use crate::{
    Error, Fingerprint, KnownHosts, ServerAddress, TcpAlgorithm, Token, Transport, TransportChoice,
    close, framing, transport,
};
use noq_proto::VarInt;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use whimbrel_cc::Spec;
use whimbrel_cc::fairness::Priority;
use whimbrel_quic::endpoint::{Connection, Endpoint, RecvStream};
use whimbrel_quic::{Factory, Monitor};
use whimbrel_units::Duration as Span;

/// Timeout of a data stream's header.
const HEADER: Duration = Duration::from_secs(60);

/// Options of [`PipeClient::connect`].
#[derive(Debug, Clone)]
pub struct PipeOptions {
    /// The server.
    pub server: ServerAddress,
    /// The token.
    pub token: Token,
    /// The server's fingerprint; `None` uses the pinned one.
    pub fingerprint: Option<Fingerprint>,
    /// The file of pinned servers.
    pub known_hosts: Option<KnownHosts>,
    /// The congestion controller of what is sent from here. The server chooses its own.
    pub controller: Spec,
    /// The priority that controllers that share by priority request.
    pub priority: Priority,
    /// Timeout of a connection attempt to one address of the server.
    pub connect: Span,
    /// The connection is lost if the server is silent for this long.
    pub idle: Span,
    /// Which transport is used.
    pub transport: TransportChoice,
    /// The algorithm of a TCP connection, where UDP is blocked; `None`: the kernel's.
    pub tcp_algorithm: Option<TcpAlgorithm>,
}

impl PipeOptions {
    /// Options with the defaults: 10 s to connect, 3 minutes of silence, so that a laptop may change
    /// its network or sleep for a while.
    pub fn new(server: ServerAddress, token: Token, controller: Spec) -> Self {
        Self {
            server,
            token,
            fingerprint: None,
            known_hosts: None,
            controller,
            priority: Priority::default(),
            connect: Span::from_secs(10),
            idle: Span::from_secs(180),
            transport: TransportChoice::default(),
            tcp_algorithm: None,
        }
    }
}

/// For each pipe, the channel for its data streams.
type Routes = Arc<Mutex<HashMap<u64, mpsc::Sender<ChunkStream>>>>;

fn lock(routes: &Routes) -> MutexGuard<'_, HashMap<u64, mpsc::Sender<ChunkStream>>> {
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection to a server that carries pipes.
#[derive(Debug)]
pub struct PipeClient {
    endpoint: Endpoint,
    connection: Connection,
    transport: Transport,
    monitor: Monitor,
    routes: Routes,
    /// The number of the next pipe.
    next: AtomicU64,
    routing: AbortHandle,
}

impl PipeClient {
    /// Connects. Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// If the server cannot be reached, or is unknown or has another fingerprint.
    pub async fn connect(options: PipeOptions) -> Result<Self, Error> {
        let factory = || Factory::for_endpoint(options.controller.clone());
        let dial = Dial {
            server: &options.server,
            fingerprint: options.fingerprint,
            known_hosts: options.known_hosts.as_ref(),
            timeout: options.connect,
            transport: transport::piping_client(options.idle),
            priority: options.priority,
            choice: options.transport,
            algorithm: options.tcp_algorithm.as_ref(),
        };
        let Connected {
            endpoint,
            connection,
            transport,
            monitor,
        } = dial.connect(factory).await?;
        hello(&connection, &options.token).await?;
        let routes = Routes::default();
        let routing = tokio::spawn(route_all(connection.clone(), Arc::clone(&routes)));
        Ok(Self {
            endpoint,
            connection,
            transport,
            monitor,
            routes,
            next: AtomicU64::new(0),
            routing: routing.abort_handle(),
        })
    }

    /// What carries the connection.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Opens a pipe to `target` and copies what `from` provides to it, and what comes from it to
    /// `to`, until the target has ended. An empty target is the only one that the server permits.
    ///
    /// Returns what was carried, and the exit status of a program; 0 for a port.
    ///
    /// # Errors
    /// If the server refuses the target, or the connection is lost.
    pub async fn pipe(
        &self,
        target: &str,
        from: impl AsyncRead + Unpin,
        to: impl AsyncWrite + Unpin,
    ) -> Result<(Carried, u8), Error> {
        let lost = |e| Error::Lost(close::text(&e));
        let (mut send, mut receive) = self.connection.open_bi().await.map_err(lost)?;
        send.set_priority(i32::MAX).ok();
        // The server's data may arrive before its answer, so it is addressed by a number of ours.
        let own = self.next.fetch_add(1, Ordering::Relaxed);
        let (route, streams) = mpsc::channel(transport::STREAMS as usize);
        lock(&self.routes).insert(own, route);
        let mut reader = PipeReader::new(streams);
        let work = async {
            let request = Message::Pipe {
                answers: own,
                target: target.to_owned(),
            };
            framing::write(&mut send, &request).await?;
            let number = match framing::read(&mut receive).await? {
                Message::Accepted { transfer, .. } => transfer,
                Message::Refused(refusal) => return Err(Error::Refused(refusal)),
                _ => return Err(Error::Protocol("an unexpected message".to_owned())),
            };
            let mut writer = PipeWriter::new(self.connection.clone(), number);
            carry(&mut receive, from, to, &mut writer, &mut reader).await
        };
        let result = work.await;
        lock(&self.routes).remove(&own);
        // A stream error says only that the connection is lost; the connection knows the reason.
        result.map_err(|error| match (error, self.connection.close_reason()) {
            (Error::Lost(_), Some(reason)) => Error::Lost(close::text(&reason)),
            (error, _) => error,
        })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The state of what is sent from here.
    pub(crate) fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Waits until the connection is lost. Returns the reason.
    pub async fn closed(&self) -> Error {
        Error::Lost(close::text(&self.connection.closed().await))
    }

    /// Whether the connection is still open.
    pub fn is_open(&self) -> bool {
        self.connection.close_reason().is_none()
    }

    /// Closes the connection and waits, for at most a second, until the server knows.
    pub async fn close(&self) {
        self.connection.close(VarInt::from_u32(close::DONE), b"");
        timeout(Duration::from_secs(1), self.endpoint.wait_idle())
            .await
            .ok();
    }
}

impl Drop for PipeClient {
    fn drop(&mut self) {
        self.routing.abort();
        self.connection.close(VarInt::from_u32(close::DONE), b"");
    }
}

/// Shows the token and waits until the server has accepted it.
async fn hello(connection: &Connection, token: &Token) -> Result<(), Error> {
    let work = async {
        let (mut send, mut receive) = connection
            .open_bi()
            .await
            .map_err(|e| Error::Lost(close::text(&e)))?;
        let hello = Message::Hello {
            version: VERSION,
            token: token.clone(),
        };
        framing::write(&mut send, &hello).await?;
        send.finish().ok();
        match framing::read(&mut receive).await? {
            Message::Welcome { .. } => Ok(()),
            Message::Refused(refusal) => Err(Error::Refused(refusal)),
            _ => Err(Error::Protocol("an unexpected message".to_owned())),
        }
    };
    // A stream error says only that the connection is lost; the connection knows the reason.
    work.await
        .map_err(|error| match (error, connection.close_reason()) {
            (Error::Lost(_), Some(reason)) => Error::Lost(close::text(&reason)),
            (error, _) => error,
        })
}

/// Copies in both directions until the target has ended.
async fn carry(
    control: &mut RecvStream,
    from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
    writer: &mut PipeWriter,
    reader: &mut PipeReader,
) -> Result<(Carried, u8), Error> {
    let output = async {
        let received = inward(to, reader).await?;
        match framing::read(control).await? {
            Message::Exited { status } => Ok((received, status)),
            Message::Refused(refusal) => Err(Error::Refused(refusal)),
            _ => Err(Error::Protocol("an unexpected message".to_owned())),
        }
    };
    let input = outward(from, std::future::pending(), writer);
    tokio::pin!(output, input);
    let mut sent = None;
    loop {
        tokio::select! {
            // The target has ended: what is still read here has no reader any more.
            ended = &mut output => {
                let (received, status) = ended?;
                let sent = sent.unwrap_or(0);
                return Ok((Carried { sent, received }, status));
            }
            result = &mut input, if sent.is_none() => sent = Some(result?),
        }
    }
}

/// Passes each data stream to its pipe.
async fn route_all(connection: Connection, routes: Routes) {
    while let Ok(stream) = connection.accept_uni().await {
        tokio::spawn(route(stream, Arc::clone(&routes)));
    }
    lock(&routes).clear();
}

async fn route(mut stream: RecvStream, routes: Routes) {
    let mut header = [0; CHUNK_HEADER];
    let Ok(Ok(())) = timeout(HEADER, stream.read_exact(&mut header)).await else {
        return;
    };
    let header = ChunkHeader::decode(header);
    let route = lock(&routes).get(&header.transfer).cloned();
    if let Some(route) = route {
        route.send((header, stream)).await.ok();
    }
}
