//! Sends one file.

use crate::chunks::Chunks;
use crate::interval_statistics::IntervalStatistics;
use crate::summary::{BurstSummary, Summary, TracePoint, VerdictCounts, goodput};
use crate::wire::{self, Message, Put};
use crate::{
    Error, FileName, Fingerprint, KnownHosts, QlogFolder, Token, framing, server, socket, tls,
    transport,
};
use bytes::Bytes;
use noq_proto::{
    ClientConfig, ConnectionError, EndpointConfig, PathId, TransportErrorCode, VarInt,
};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{interval, timeout};
use whimbrel_cc::Spec;
use whimbrel_cc::fairness::Priority;
use whimbrel_quic::endpoint::{Connection, Endpoint};
use whimbrel_quic::{Factory, Monitor, PacketLog};
use whimbrel_units::Duration as Span;

/// Number of chunks read ahead of what noq has accepted.
const READ_AHEAD: usize = 4;
/// Time between calls of `on_progress`.
const TICK: Duration = Duration::from_millis(100);

/// A server as the user names it: `host`, `host:port` or `[v6]:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// Host name or address.
    pub host: String,
    /// UDP port.
    pub port: u16,
}

impl FromStr for ServerAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a server address; write host, host:port or [IPv6 address]:port"
            )
        };
        let named = |host: &str, port| Self {
            host: host.to_owned(),
            port,
        };
        if text.parse::<Ipv6Addr>().is_ok() {
            return Ok(named(text, crate::DEFAULT_PORT));
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (host, port) = rest.split_once(']').ok_or_else(wrong)?;
            host.parse::<Ipv6Addr>().map_err(|_| wrong())?;
            let port = match port.strip_prefix(':') {
                Some(port) => port.parse().map_err(|_| wrong())?,
                None if port.is_empty() => crate::DEFAULT_PORT,
                None => return Err(wrong()),
            };
            return Ok(named(host, port));
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| wrong())?),
            None => (text, crate::DEFAULT_PORT),
        };
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '/' || c == '@') {
            return Err(wrong());
        }
        Ok(named(host, port))
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Options of [`send()`].
#[derive(Debug, Clone)]
pub struct SendOptions {
    /// The file to send.
    pub file: PathBuf,
    /// The name on the server; `None` uses the file's own name.
    pub name: Option<String>,
    /// The server.
    pub server: ServerAddress,
    /// The server's token.
    pub token: Token,
    /// The server's fingerprint; `None` uses the pinned one.
    pub fingerprint: Option<Fingerprint>,
    /// The file of pinned servers. A server given with `fingerprint` is pinned after a successful
    /// handshake.
    pub known_hosts: Option<KnownHosts>,
    /// The congestion controller.
    pub controller: Spec,
    /// The requested priority against other transfers to the same server; the server may grant a
    /// lower one. Only controllers that share by priority use it.
    pub priority: Priority,
    /// Time between the points of a trace; `None` takes no trace.
    pub trace: Option<Span>,
    /// Time between the [samples](crate::IntervalSample) in the summary; `None` takes none.
    pub interval: Option<Span>,
    /// Where to log every packet.
    pub qlog: Option<QlogFolder>,
    /// A CSV file for every packet and every decision on a loss, for comparison with what the path
    /// did ([`PacketLog`]).
    pub packet_log: Option<PathBuf>,
    /// Timeout of a connection attempt to one address of the server.
    pub connect: Span,
    /// The connection is lost if the server is silent for this long.
    pub idle: Span,
}

impl SendOptions {
    /// Options with the defaults: no trace, 10 s to connect, 30 s of silence.
    pub fn new(
        file: impl Into<PathBuf>,
        server: ServerAddress,
        token: Token,
        controller: Spec,
    ) -> Self {
        Self {
            file: file.into(),
            name: None,
            server,
            token,
            fingerprint: None,
            known_hosts: None,
            controller,
            priority: Priority::default(),
            trace: None,
            interval: None,
            qlog: None,
            packet_log: None,
            connect: Span::from_secs(10),
            idle: Span::from_secs(30),
        }
    }
}

/// Progress of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the file that the server has acknowledged. Approximate: QUIC's overhead is
    /// included.
    pub bytes: u64,
    /// Bytes of the file.
    pub size: u64,
}

/// Sends one file and waits until the server has stored it on disk under its name. `on_progress` is
/// called ten times per second. When `stop` completes, the transfer is cancelled and the server
/// notified.
///
/// # Errors
/// If the file cannot be read, the server cannot be reached, has another fingerprint, or refuses
/// the file, or the connection is lost. The server has then not stored the file, with one
/// exception: if the connection is lost after the last byte and before the confirmation, it may
/// have.
pub async fn send(
    options: SendOptions,
    mut on_progress: impl FnMut(Progress),
    stop: impl Future<Output = ()>,
) -> Result<Summary, Error> {
    let (file, size) = open(&options.file)?;
    let name = server_file_name(&options)?;
    let mut factory = Factory::for_endpoint(options.controller.clone());
    if let Some(interval) = options.trace {
        factory = factory.sampling(interval);
    }
    let log = match &options.packet_log {
        Some(path) => Some(PacketLog::create(path).map_err(Error::file(path, "create"))?),
        None => None,
    };
    if let Some(log) = &log {
        factory = factory.logging(log.clone());
    }
    let monitor = factory.monitor();
    tokio::pin!(stop);
    let started = Instant::now();
    let (endpoint, connection) = tokio::select! {
        connected = connect(&options, factory) => connected?,
        () = &mut stop => return Err(Error::Stopped),
    };
    let connected = Instant::now();
    let transfer = put(&connection, &options, &name, file, size);
    tokio::pin!(transfer);
    let mut tick = interval(TICK);
    let mut intervals = IntervalStatistics::new(options.interval, connected);
    let result = loop {
        tokio::select! {
            result = &mut transfer => break result,
            () = &mut stop => break Err(Error::Stopped),
            () = intervals.due() => intervals.take(&connection, &monitor),
            _ = tick.tick() => {
                let bytes = monitor.snapshot().delivered.get().min(size);
                on_progress(Progress { bytes, size });
            }
        }
    };
    let took = connected.elapsed();
    // A stream error says only that the connection is lost; the connection knows the reason.
    let result = result.map_err(|error| match (error, connection.close_reason()) {
        (Error::Lost(_), Some(reason)) => Error::Lost(close_text(&reason)),
        (error, _) => error,
    });
    if result.is_ok() {
        on_progress(Progress { bytes: size, size });
    }
    let summary = result.map(|hash| {
        let times = (connected - started, took);
        intervals.end(&connection, &monitor);
        Summary {
            intervals: intervals.samples(),
            ..summarize(&connection, &monitor, &options, &name, size, hash, times)
        }
    });
    connection.close(VarInt::from_u32(server::close::DONE), b"");
    // Let the close reach the server now. If the network prevents it, the server times out.
    timeout(Duration::from_secs(1), endpoint.wait_idle())
        .await
        .ok();
    if let (Some(log), Some(path)) = (log, &options.packet_log) {
        log.finish().map_err(Error::file(path, "write"))?;
    }
    summary
}

fn open(path: &Path) -> Result<(File, u64), Error> {
    let file = File::open(path).map_err(Error::file(path, "open"))?;
    let meta = file.metadata().map_err(Error::file(path, "inspect"))?;
    if !meta.is_file() {
        let cause = std::io::Error::other("it is not a regular file");
        return Err(Error::file(path, "send")(cause));
    }
    Ok((file, meta.len()))
}

fn server_file_name(options: &SendOptions) -> Result<FileName, Error> {
    let file_name = || {
        options
            .file
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
    };
    let name = options.name.clone().or_else(file_name).unwrap_or_default();
    FileName::new(&name)
        .map_err(|e| Error::file(&options.file, "send")(std::io::Error::other(e.to_string())))
}

/// Connects to the server and checks its fingerprint.
async fn connect(options: &SendOptions, factory: Factory) -> Result<(Endpoint, Connection), Error> {
    let host = options.server.to_string();
    let failed = |why: String| Error::Connect {
        host: host.clone(),
        why,
    };
    let pinned = match &options.known_hosts {
        Some(known) => known.get(&host)?,
        None => None,
    };
    let expected = options.fingerprint.or(pinned);
    let mut transport = transport::client(options.idle);
    if let Some(qlog) = &options.qlog {
        transport.qlog_factory(Arc::new(qlog.clone()));
    }
    let addresses: Vec<SocketAddr> =
        tokio::net::lookup_host((options.server.host.as_str(), options.server.port))
            .await
            .map_err(|e| failed(format!("its name cannot be resolved: {e}")))?
            .collect();
    let mut why = "its name has no address".to_owned();
    for address in addresses {
        let (crypto, pin) = tls::client_config(expected)?;
        let config = ClientConfig::new(Arc::new(crypto));
        let prepared = factory.client(config, transport.clone(), options.priority);
        let any: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let local = SocketAddr::new(any, 0);
        let socket = socket::open(local)?;
        let endpoint = Endpoint::new(EndpointConfig::default(), None, socket).map_err(|cause| {
            Error::Socket {
                address: local,
                cause,
            }
        })?;
        let connecting = endpoint
            .connect(prepared, address, tls::SERVER_NAME)
            .map_err(|e| failed(e.to_string()))?;
        match timeout(options.connect.into(), connecting).await {
            Ok(Ok(connection)) => {
                if let (Some(known), Some(print)) = (&options.known_hosts, options.fingerprint)
                    && pinned != Some(print)
                {
                    known.set(&host, print)?;
                }
                return Ok((endpoint, connection));
            }
            Ok(Err(error)) => match (pin.seen(), expected) {
                (Some(found), None) => return Err(Error::UnknownServer { host, found }),
                (Some(found), Some(expected)) if found != expected => {
                    return Err(Error::FingerprintMismatch {
                        host,
                        expected,
                        found,
                    });
                }
                _ => why = connect_error_text(&error, address),
            },
            Err(_) => {
                why = format!(
                    "{address} did not answer for {}; is `whimbrel serve` running there, and does \
                     a firewall let UDP port {} through?",
                    options.connect, options.server.port
                );
            }
        }
    }
    Err(failed(why))
}

fn connect_error_text(error: &ConnectionError, address: SocketAddr) -> String {
    match error {
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            format!(
                "{address} accepts no connections now, or none from this host; try again in a \
                 minute"
            )
        }
        error => format!("{address}: {}", close_text(error)),
    }
}

/// Describes why a connection was lost. Text from a peer is stripped of control characters.
pub(crate) fn close_text(reason: &ConnectionError) -> String {
    match reason {
        ConnectionError::LocallyClosed => "it was closed locally".to_owned(),
        ConnectionError::TimedOut => "the peer is silent".to_owned(),
        ConnectionError::ApplicationClosed(closed) => {
            match u32::try_from(closed.error_code.into_inner()) {
                Ok(server::close::DONE) => "the peer closed it".to_owned(),
                Ok(server::close::STOPPING) => "the server was stopped".to_owned(),
                _ => wire::Refusal::new(wire::Reason::Internal, closed.to_string()).text,
            }
        }
        other => wire::Refusal::new(wire::Reason::Internal, other.to_string()).text,
    }
}

/// Runs the protocol for one file. Returns the hash, which both sides have computed.
async fn put(
    connection: &Connection,
    options: &SendOptions,
    name: &FileName,
    file: File,
    size: u64,
) -> Result<blake3::Hash, Error> {
    let lost = |e: ConnectionError| Error::Lost(close_text(&e));
    let (mut send, mut receive) = connection.open_bi().await.map_err(lost)?;
    // Control messages go before data.
    send.set_priority(i32::MAX).ok();
    let put = Put {
        version: wire::VERSION,
        token: options.token.clone(),
        size,
        name: name.as_str().to_owned(),
    };
    framing::write(&mut send, &Message::Put(put)).await?;
    let transfer = match framing::read(&mut receive).await? {
        Message::Accepted { transfer } => transfer,
        Message::Refused(refusal) => return Err(Error::Refused(refusal)),
        _ => return Err(Error::Protocol("an unexpected message".to_owned())),
    };
    let all = async {
        let hash = send_chunks(connection, transfer, &options.file, file, size).await?;
        framing::write(&mut send, &Message::Finish { hash }).await?;
        send.finish().ok();
        Ok::<_, Error>(hash)
    };
    tokio::pin!(all);
    let answer = framing::read(&mut receive);
    tokio::pin!(answer);
    let mut sent = None;
    loop {
        tokio::select! {
            // Prefer an answer: a refusal says more than the streams that stop because of it.
            biased;
            message = &mut answer => return match (message?, sent) {
                (Message::Stored { bytes, hash }, Some(sent))
                    if bytes == size && hash == sent => Ok(hash),
                (Message::Refused(refusal), _) => Err(Error::Refused(refusal)),
                _ => {
                    let text = "the server's answer does not match the file sent";
                    Err(Error::Protocol(text.to_owned()))
                }
            },
            hash = &mut all, if sent.is_none() => match hash {
                Ok(hash) => sent = Some(hash),
                // The server stopped the streams: its reason is on the way.
                Err(Error::Lost(why)) => {
                    let answer = timeout(Duration::from_secs(2), &mut answer).await;
                    return match answer {
                        Ok(Ok(Message::Refused(refusal))) => Err(Error::Refused(refusal)),
                        _ => Err(Error::Lost(why)),
                    };
                }
                Err(error) => return Err(error),
            },
        }
    }
}

/// Sends every chunk on its own stream. Returns when noq has accepted the last one; noq's send
/// window limits how much it accepts before it is acknowledged.
async fn send_chunks(
    connection: &Connection,
    transfer: u64,
    path: &Path,
    file: File,
    size: u64,
) -> Result<blake3::Hash, Error> {
    let (read, mut chunks) = mpsc::channel(READ_AHEAD);
    let reader_path = path.to_owned();
    let reader = spawn_blocking(move || read_chunks(file, &reader_path, size, &read));
    let mut index = 0;
    while let Some(data) = chunks.recv().await {
        let mut stream = connection
            .open_uni()
            .await
            .map_err(|e| Error::Lost(close_text(&e)))?;
        // Retransmissions of old chunks go before new chunks.
        stream
            .set_priority(-i32::try_from(index).unwrap_or(i32::MAX))
            .ok();
        let header = Bytes::copy_from_slice(&wire::chunk_header(transfer, index));
        let sent = stream.write_all_chunks(&mut [header, data]).await;
        sent.map_err(|e| Error::Lost(e.to_string()))?;
        stream.finish().ok();
        index += 1;
    }
    reader.await.map_err(|_| Error::Stopped)?
}

/// Reads and hashes the file from beginning to end, and sends each chunk to the channel.
fn read_chunks(
    mut file: File,
    path: &Path,
    size: u64,
    to: &mpsc::Sender<Bytes>,
) -> Result<blake3::Hash, Error> {
    let mut hasher = blake3::Hasher::new();
    let chunks = Chunks::of(size);
    for (_, length) in (0..).map_while(|index| chunks.range(index)) {
        let mut data = Vec::with_capacity(length as usize);
        let read = Read::by_ref(&mut file).take(length).read_to_end(&mut data);
        if read.map_err(Error::file(path, "read"))? as u64 != length {
            return Err(Error::Changed(path.to_owned()));
        }
        hasher.update(&data);
        if to.blocking_send(data.into()).is_err() {
            return Err(Error::Stopped);
        }
    }
    Ok(hasher.finalize())
}

fn summarize(
    connection: &Connection,
    monitor: &Monitor,
    options: &SendOptions,
    name: &FileName,
    size: u64,
    hash: blake3::Hash,
    (connecting, took): (Duration, Duration),
) -> Summary {
    let stats = connection.stats();
    let path = connection.path_stats(PathId::ZERO);
    let now = monitor.snapshot();
    Summary {
        name: name.as_str().to_owned(),
        bytes: size,
        seconds: took.as_secs_f64(),
        connect_seconds: connecting.as_secs_f64(),
        goodput_bps: goodput(size, took.into()),
        lost_packets: stats.lost_packets,
        sent_packets: stats.sent_packets,
        rtt_ms: now.srtt.as_millis_f64(),
        min_rtt_ms: now.min_rtt.as_millis_f64(),
        cwnd_bytes: now.cwnd.get(),
        mtu_bytes: path.map_or(0, |p| p.current_mtu),
        controller: options.controller.to_string(),
        blake3: hash.to_hex().to_string(),
        loss_episodes: now.episodes,
        reductions: now.reductions,
        timeouts: now.timeouts,
        spurious: now.spurious,
        verdicts: VerdictCounts::of(&now),
        bursts: now.bursts.map(BurstSummary::from),
        samples: options.trace.map(|_| {
            monitor
                .samples()
                .into_iter()
                .map(TracePoint::from)
                .collect()
        }),
        intervals: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn server_addresses_are_parsed() {
        for (text, host, port, shown) in [
            ("example.org", "example.org", 4440, "example.org:4440"),
            ("example.org:99", "example.org", 99, "example.org:99"),
            ("192.0.2.1:99", "192.0.2.1", 99, "192.0.2.1:99"),
            ("::1", "::1", 4440, "[::1]:4440"),
            ("[::1]", "::1", 4440, "[::1]:4440"),
            ("[::1]:99", "::1", 99, "[::1]:99"),
        ] {
            let address: ServerAddress = text.parse().expect(text);
            assert_eq!((&*address.host, address.port), (host, port));
            assert_eq!(address.to_string(), shown);
        }
        for wrong in [
            "",
            ":99",
            "a:b",
            "a:99999",
            "[::1",
            "[::1]99",
            "[a]:9",
            "a b",
            "user@host",
        ] {
            assert!(wrong.parse::<ServerAddress>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_parses_to_an_address_or_an_error(text in ".*") {
            if let Ok(address) = text.parse::<ServerAddress>() {
                prop_assert_eq!(address.to_string().parse(), Ok(address));
            }
        }
    }
}
