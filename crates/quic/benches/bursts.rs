//! How exactly bursts leave and arrive: real endpoints over loopback, one `enhanced-aatp` flow at a
//! fixed rate.
//!
//! `cargo bench -p whimbrel-quic --bench bursts -- [rate]` prints one JSON object: `rate_bps`,
//! `bursts`, `packets`, and the relative errors of the spans between the first and the last packet
//! of a burst, median and 99th percentile: `sent_p50`, `sent_p99` (as it left, against the plan),
//! `received_p50`, `received_p99` (as it arrived, against the plan), with the `cpu_s` of both ends.
//! `rate` is that of the bursts, 1 Gbit/s by default, headers included.

use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{ClientConfig, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use rcgen::generate_simple_self_signed;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::version::TLS13;
use std::error::Error;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;
use whimbrel_cc::fairness::{Adapter, Priority};
use whimbrel_quic::endpoint::{Connection, Endpoint, Server};
use whimbrel_quic::{Factory, SharedNode};
use whimbrel_units::Rate;

/// Data of a run: five seconds at 1 Gbit/s.
const SECONDS: u64 = 5;
const WINDOW: u32 = 64 << 20;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let given = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    let rate: Rate = given.as_deref().unwrap_or("1 Gbit/s").parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let report = runtime.block_on(run(rate))?;
    println!("{report}");
    Ok(())
}

async fn run(rate: Rate) -> Result<String, Failure> {
    let (client, server) = configurations()?;
    let node = SharedNode::new(Adapter::default(), Some(rate));
    let receiving = Factory::for_endpoint("newreno".parse()?);
    // Nobody lowers the rate: the first loss, if there is one, is not congestion.
    let spec = "enhanced-aatp?initial_share=1&ltd_floor=1&fairness=false";
    let sending = Factory::for_endpoint(spec.parse()?).recording();
    let monitor = sending.monitor();
    let config = server.clone();
    let accepting = Server::with_prepare(server, move |_| {
        receiving.server(config.clone(), windows(), node.clone())
    });
    let accepting = Endpoint::new(EndpointConfig::default(), Some(accepting), socket()?)?;
    let address = accepting.local_addr()?;
    let received = tokio::task::spawn(async move {
        let incoming = accepting.accept().await.ok_or("closed")?;
        let connection = incoming.accept()?.await?;
        connection.admit(Priority::HIGHEST);
        drain(&connection).await?;
        Ok::<(), Failure>(())
    });
    let endpoint = Endpoint::new(EndpointConfig::default(), None, socket()?)?;
    let prepared = sending.client(client, windows(), Priority::LOWEST);
    let connection = endpoint.connect(prepared, address, "localhost")?.await?;
    let before = cpu()?;
    let bytes = rate.bytes_in(whimbrel_units::Duration::from_secs(SECONDS));
    let chunk = bytes::Bytes::from(vec![7; 1 << 20]);
    let mut last = None;
    // A stream for each chunk, as file transfers have: a stream has few gaps at a time.
    for _ in 0..bytes.get() >> 20 {
        let mut stream = connection.open_uni().await?;
        stream.write_chunk(chunk.clone()).await?;
        stream.finish()?;
        last = Some(stream);
    }
    if let Some(stream) = last {
        stream.stopped().await?;
    }
    let cpu_s = cpu()? - before;
    connection.close(VarInt::from_u32(0), b"done");
    received.await??;

    let bursts = monitor.bursts();
    let errors = |of: &dyn Fn(&whimbrel_quic::Burst) -> Option<f64>| {
        let mut errors: Vec<f64> = bursts.iter().filter_map(of).map(f64::abs).collect();
        errors.sort_by(f64::total_cmp);
        let at = |q: f64| errors.get((errors.len() as f64 * q) as usize).copied();
        (at(0.5).unwrap_or(f64::NAN), at(0.99).unwrap_or(f64::NAN))
    };
    // The first and the last bursts may be short.
    let whole = |b: &whimbrel_quic::Burst| b.packets >= 5;
    let against = |span: whimbrel_units::Duration, b: &whimbrel_quic::Burst| {
        span.as_secs_f64() / b.planned.as_secs_f64() - 1.0
    };
    let sent = errors(&|b| b.spans.filter(|_| whole(b)).map(|s| against(s.sent, b)));
    let arrived = errors(&|b| b.spans.filter(|_| whole(b)).map(|s| against(s.received, b)));
    let packets: u64 = bursts.iter().map(|b| u64::from(b.packets)).sum();
    Ok(format!(
        "{{\"rate_bps\": {}, \"bursts\": {}, \"packets\": {packets}, \"sent_p50\": {:.4}, \
         \"sent_p99\": {:.4}, \"received_p50\": {:.4}, \"received_p99\": {:.4}, \"cpu_s\": {:.2}}}",
        rate.as_bits_per_sec(),
        bursts.len(),
        sent.0,
        sent.1,
        arrived.0,
        arrived.1,
        cpu_s,
    ))
}

/// Reads all that the peer sends.
async fn drain(connection: &Connection) -> Result<(), Failure> {
    let mut reading = tokio::task::JoinSet::new();
    while let Ok(mut stream) = connection.accept_uni().await {
        reading
            .spawn(async move { while let Ok(Some(_)) = stream.read_chunk(usize::MAX).await {} });
    }
    Ok(())
}

fn windows() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .send_window(WINDOW.into())
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .max_idle_timeout(Some(VarInt::from_u32(10_000).into()))
        .keep_alive_interval(Some(Duration::from_secs(1)));
    transport
}

fn socket() -> Result<UdpSocket, Failure> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    // The system's limit may be lower.
    let buffers = socket2::SockRef::from(&socket);
    buffers.set_recv_buffer_size(8 << 20)?;
    buffers.set_send_buffer_size(8 << 20)?;
    Ok(socket)
}

/// A client and a server that trust each other.
fn configurations() -> Result<(ClientConfig, ServerConfig), Failure> {
    let identity = generate_simple_self_signed(["localhost".to_owned()])?;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(identity.cert.der().clone())?;
    let provider = Arc::new(default_provider());
    let client = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![identity.cert.der().clone()], key.into())?;
    let client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(client)?));
    let server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server)?));
    Ok((client, server))
}

/// CPU seconds of this process so far.
fn cpu() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = |n: usize| {
        fields
            .split_whitespace()
            .nth(n)
            .and_then(|f| f.parse::<f64>().ok())
    };
    let (user, system) = (ticks(11).ok_or("no time")?, ticks(12).ok_or("no time")?);
    Ok((user + system) / 100.0)
}
