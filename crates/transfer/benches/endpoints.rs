//! The speed of QUIC endpoints over loopback, both ends in one process: noq's and quinn's own
//! drivers, this project's, and a whole file transfer on it.
//!
//! `cargo bench -p whimbrel-transfer --bench endpoints` prints one JSON object a line. `stream-*`
//! moves `bytes` bytes from memory to memory on streams of 1 MiB: same cipher (AES-128-GCM of
//! ring), same maximum datagram (1452 bytes), same windows, each library's own CUBIC;
//! `stream-endpoint-cubic` has this project's CUBIC. `file` sends a file as `whimbrel send` does,
//! with its hash, from and to `/dev/shm`. Candidates take turns, so that all meet the same machine.
//! Reported is the run with the median rate of `runs`: `goodput_bps` (bits per second) and
//! `cpu_s_per_gb` (seconds of CPU, user and system, both ends together, per 10^9 bytes). A virtual
//! machine pays for memory when it touches it for the first time, as only `file` would, so twice as
//! much as a run takes is touched before.
//!
//! `WHIMBREL_BENCH_BYTES` sets the size, `WHIMBREL_BENCH_RUNS` the number of runs,
//! `WHIMBREL_BENCH_ONLY` the candidates whose name contains it, `WHIMBREL_BENCH_DIR` the directory.

#[path = "common/mod.rs"]
mod common;

use bytes::Bytes;
use common::{cpu_seconds, fill};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::RootCertStore;
use rustls::crypto::ring::{cipher_suite, default_provider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::TLS13;
use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use whimbrel_quic::Factory;
use whimbrel_transfer::{
    ClientOptions, Identity, SendOptions, SendSource, ServeOptions, Server, ServerAddress, send,
};

type Failure = Box<dyn Error + Send + Sync>;

/// Size of one stream, bytes: noq closes a stream with more than 1,024 gaps.
const CHUNK: usize = 1 << 20;
/// Pieces read at once from a stream of noq or quinn.
const CHUNKS: usize = 64;
/// Maximum data in flight, bytes.
const WINDOW: u32 = 64 << 20;
/// Maximum size of a datagram, bytes.
const MTU: u16 = 1452;
/// Buffer of each socket and direction, bytes.
const BUFFER: usize = 8 << 20;

fn main() -> Result<(), Failure> {
    let setting = |name: &str| std::env::var(format!("WHIMBREL_BENCH_{name}")).ok();
    let bytes: u64 = setting("BYTES").map_or(Ok(1_000_000_000), |b| b.parse())?;
    let runs: usize = setting("RUNS").map_or(Ok(3), |r| r.parse())?;
    let only = setting("ONLY").unwrap_or_default();
    let base = setting("DIR").map_or_else(|| "/dev/shm".into(), PathBuf::from);
    let base = base.join(format!("whimbrel-bench-{}", std::process::id()));
    std::fs::create_dir_all(base.join("stored"))?;
    let result = compare(&base, bytes, runs, &only);
    std::fs::remove_dir_all(&base)?;
    result
}

fn compare(base: &std::path::Path, bytes: u64, runs: usize, only: &str) -> Result<(), Failure> {
    let names = [
        "stream-noq",
        "stream-quinn",
        "stream-endpoint",
        "stream-endpoint-cubic",
        "file",
    ];
    let names: Vec<_> = names.into_iter().filter(|n| n.contains(only)).collect();
    if names.contains(&"file") {
        // The file and its copy are there at once.
        let touched = base.join("touched");
        fill(&touched, 4 * bytes).map_err(|e| e.to_string())?;
        std::fs::remove_file(touched)?;
        fill(&base.join("file"), bytes).map_err(|e| e.to_string())?;
    }
    let identity = Identity::load_or_create(&base.join("identity"))?;
    let tls = Tls::new()?;
    let mut results = vec![Vec::new(); names.len()];
    for _ in 0..runs {
        for (name, results) in names.iter().zip(&mut results) {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()?;
            let before = cpu_seconds().map_err(|e| e.to_string())?;
            let took = runtime.block_on(async {
                match *name {
                    "stream-noq" => stream_noq(&tls, bytes).await,
                    "stream-quinn" => stream_quinn(&tls, bytes).await,
                    "stream-endpoint" => stream_endpoint(&tls, bytes, None).await,
                    "stream-endpoint-cubic" => {
                        let factory = Factory::new("cubic".parse()?)?;
                        stream_endpoint(&tls, bytes, Some(factory)).await
                    }
                    _ => file(base, &identity).await,
                }
            })?;
            runtime.shutdown_timeout(Duration::from_secs(1));
            let cpu = cpu_seconds().map_err(|e| e.to_string())? - before;
            let goodput = bytes as f64 * 8.0 / took.as_secs_f64();
            results.push((goodput, cpu / (bytes as f64 / 1e9)));
        }
    }
    for (name, results) in names.iter().zip(&mut results) {
        results.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (goodput, cpu) = results[results.len() / 2];
        println!(
            "{{\"benchmark\":\"{name}\",\"bytes\":{bytes},\"runs\":{runs},\
             \"goodput_bps\":{goodput:.0},\"cpu_s_per_gb\":{cpu:.3}}}"
        );
    }
    Ok(())
}

/// A certificate, and TLS of both sides with one cipher.
struct Tls {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Tls {
    fn new() -> Result<Self, Failure> {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()])?;
        Ok(Self {
            certificate: cert.der().clone(),
            key: PrivateKeyDer::try_from(signing_key.serialize_der())?,
        })
    }

    fn provider() -> Arc<rustls::crypto::CryptoProvider> {
        let mut provider = default_provider();
        provider.cipher_suites = vec![cipher_suite::TLS13_AES_128_GCM_SHA256];
        Arc::new(provider)
    }

    fn server(&self) -> Result<rustls::ServerConfig, Failure> {
        Ok(
            rustls::ServerConfig::builder_with_provider(Self::provider())
                .with_protocol_versions(&[&TLS13])?
                .with_no_client_auth()
                .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())?,
        )
    }

    fn client(&self) -> Result<rustls::ClientConfig, Failure> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone())?;
        Ok(
            rustls::ClientConfig::builder_with_provider(Self::provider())
                .with_protocol_versions(&[&TLS13])?
                .with_root_certificates(roots)
                .with_no_client_auth(),
        )
    }
}

fn socket() -> Result<UdpSocket, Failure> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER).ok();
    rustix::net::sockopt::set_socket_send_buffer_size_force(&socket, BUFFER).ok();
    Ok(socket)
}

/// noq's transport parameters and quinn's have the same names.
macro_rules! transport {
    ($library:ident) => {{
        let mut transport = $library::TransportConfig::default();
        let mut mtu = $library::MtuDiscoveryConfig::default();
        mtu.upper_bound(MTU);
        transport
            .mtu_discovery_config(Some(mtu))
            .send_window(WINDOW.into())
            .receive_window($library::VarInt::from_u32(WINDOW))
            .stream_receive_window($library::VarInt::from_u32(WINDOW));
        transport
    }};
}

/// Sends `bytes` bytes on streams of any of the libraries, and waits until the receiver closes.
macro_rules! write {
    ($connection:expr, $bytes:expr) => {{
        let chunk = Bytes::from(vec![0x5a; CHUNK]);
        let mut left = $bytes;
        while left > 0 {
            let length = left.min(CHUNK as u64);
            let mut stream = $connection.open_uni().await?;
            stream.write_chunk(chunk.slice(..length as usize)).await?;
            stream.finish()?;
            left -= length;
        }
        $connection.closed().await;
    }};
}

/// Reads `bytes` bytes from streams of any of the libraries. Returns when the last one arrived.
macro_rules! read {
    ($connection:expr, $bytes:expr, $read:expr) => {{
        let mut read = 0;
        while read < $bytes {
            let mut stream = $connection.accept_uni().await?;
            while let Some(length) = $read(&mut stream).await? {
                read += length;
            }
        }
        let end = Instant::now();
        $connection.close(0u32.into(), b"");
        Ok::<_, Failure>((read, end))
    }};
}

/// Runs a client and a server of noq or quinn with their own drivers.
macro_rules! stream {
    ($function:ident, $library:ident, $read:expr) => {
        async fn $function(tls: &Tls, bytes: u64) -> Result<Duration, Failure> {
            use $library::crypto::rustls::{QuicClientConfig, QuicServerConfig};
            use $library::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TokioRuntime};
            let runtime = Arc::new(TokioRuntime);
            let crypto = QuicServerConfig::try_from(tls.server()?)?;
            let mut config = ServerConfig::with_crypto(Arc::new(crypto));
            config.transport_config(Arc::new(transport!($library)));
            let (options, listen) = (EndpointConfig::default(), socket()?);
            let server = Endpoint::new(options, Some(config), listen, runtime.clone())?;
            let address: SocketAddr = server.local_addr()?;
            let serving = tokio::spawn(async move {
                let connection = server.accept().await.ok_or("closed")?.await?;
                let result = read!(connection, bytes, $read);
                server.wait_idle().await;
                result
            });
            let crypto = QuicClientConfig::try_from(tls.client()?)?;
            let mut config = ClientConfig::new(Arc::new(crypto));
            config.transport_config(Arc::new(transport!($library)));
            let client = Endpoint::new(EndpointConfig::default(), None, socket()?, runtime)?;
            let connection = client.connect_with(config, address, "localhost")?.await?;
            let begin = Instant::now();
            write!(connection, bytes);
            let (read, end) = serving.await??;
            assert_eq!(read, bytes);
            Ok(end - begin)
        }
    };
}

stream!(stream_noq, noq, async |stream: &mut noq::RecvStream| {
    let mut chunks = [const { Bytes::new() }; CHUNKS];
    let count = stream.read_many_chunks(&mut chunks).await?;
    Ok::<_, Failure>(count.map(|count| total(&chunks[..count])))
});
stream!(
    stream_quinn,
    quinn,
    async |stream: &mut quinn::RecvStream| {
        let mut chunks = [const { Bytes::new() }; CHUNKS];
        let count = stream.read_chunks(&mut chunks).await?;
        Ok::<_, Failure>(count.map(|count| total(&chunks[..count])))
    }
);

fn total(chunks: &[Bytes]) -> u64 {
    chunks.iter().map(|chunk| chunk.len() as u64).sum()
}

async fn stream_endpoint(
    tls: &Tls,
    bytes: u64,
    factory: Option<Factory>,
) -> Result<Duration, Failure> {
    use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
    use noq_proto::{ClientConfig, EndpointConfig, ServerConfig};
    use whimbrel_quic::endpoint::{Endpoint, RecvStream, Server};
    let crypto = QuicServerConfig::try_from(tls.server()?)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport!(noq_proto)));
    let (options, listen) = (EndpointConfig::default(), socket()?);
    let server = Endpoint::new(options, Some(Server::new(config)), listen)?;
    let address = server.local_addr()?;
    let serving = tokio::spawn(async move {
        let connection = server.accept().await.ok_or("closed")?.accept()?.await?;
        let result = read!(connection, bytes, async |stream: &mut RecvStream| {
            let mut chunks = Vec::new();
            let length = stream.read_many(&mut chunks, CHUNK).await?;
            Ok::<_, Failure>(length.map(|length| length as u64))
        });
        server.wait_idle().await;
        result
    });
    let crypto = QuicClientConfig::try_from(tls.client()?)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    let mut transport = transport!(noq_proto);
    if let Some(factory) = factory {
        transport.congestion_controller_factory(Arc::new(factory));
    }
    config.transport_config(Arc::new(transport));
    let client = Endpoint::new(EndpointConfig::default(), None, socket()?)?;
    let connection = client.connect(config, address, "localhost")?.await?;
    let begin = Instant::now();
    write!(connection, bytes);
    let (read, end) = serving.await??;
    assert_eq!(read, bytes);
    Ok(end - begin)
}

/// Sends a file as `whimbrel send` does. Returns the time from the request to the confirmation.
async fn file(base: &std::path::Path, identity: &Identity) -> Result<Duration, Failure> {
    let stored = base.join("stored");
    let options = ServeOptions {
        overwrite: true,
        ..ServeOptions::new(stored.clone(), ([127, 0, 0, 1], 0).into())
    };
    let server = Server::bind(options, identity)?;
    let address = ServerAddress {
        host: "127.0.0.1".to_owned(),
        port: server.local_addr()?.port(),
    };
    let spec = "cubic".parse()?;
    let token = identity.token().clone();
    let client = ClientOptions::new(address, token, spec);
    let mut options = SendOptions::new(client, SendSource::File(base.join("file")));
    options.client.fingerprint = Some(identity.fingerprint());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let stopped = async { stopped.await.unwrap_or_default() };
        server.run(|_| (), stopped).await;
    });
    let summary = send(options, |_| (), std::future::pending()).await?;
    stop.send(()).ok();
    serving.await?;
    std::fs::remove_file(stored.join("file"))?;
    Ok(Duration::from_secs_f64(summary.seconds))
}
