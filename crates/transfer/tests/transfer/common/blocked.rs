//! A path on which UDP is blocked, from the start or later, and TCP is not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A path to a server. UDP packets disappear; TCP connections are passed on.
pub struct Blocked {
    /// Where clients connect.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

struct Shared {
    /// UDP passes.
    open: AtomicBool,
    /// Bytes from clients to the server, by UDP and by TCP.
    udp: AtomicU64,
    tcp: AtomicU64,
    /// UDP is blocked once clients have sent this many bytes by it.
    udp_ends: AtomicU64,
    /// All TCP connections end each time that clients have sent this many bytes more by TCP.
    cut_every: AtomicU64,
    /// How often at most.
    cut_times: AtomicU64,
    /// Ends all TCP connections.
    cuts: watch::Sender<u32>,
}

impl Blocked {
    /// A path to the server at `server`. UDP is blocked from the start, unless it is `open`.
    pub async fn to(server: SocketAddr, open: bool) -> Self {
        let (listener, udp) = loop {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("bound");
            if let Ok(udp) = UdpSocket::bind(address).await {
                break (listener, udp);
            }
        };
        let address = listener.local_addr().expect("bound");
        let shared = Arc::new(Shared {
            open: AtomicBool::new(open),
            udp: AtomicU64::new(0),
            tcp: AtomicU64::new(0),
            udp_ends: AtomicU64::new(u64::MAX),
            cut_every: AtomicU64::new(u64::MAX),
            cut_times: AtomicU64::new(0),
            cuts: watch::Sender::new(0),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(tcp(listener, server, Arc::clone(&shared)));
        tasks.spawn(datagrams(udp, server, Arc::clone(&shared)));
        Self {
            address,
            shared,
            _tasks: tasks,
        }
    }

    /// UDP packets disappear once clients have sent this many bytes by UDP.
    pub fn block_udp_after(&self, bytes: u64) {
        self.shared.udp_ends.store(bytes, Ordering::Relaxed);
    }

    /// Ends all TCP connections so many times, each time that clients have sent this many bytes
    /// more by TCP.
    pub fn cut_tcp(&self, times: u64, every: u64) {
        self.shared.cut_every.store(every, Ordering::Relaxed);
        self.shared.cut_times.store(times, Ordering::Relaxed);
    }

    /// Bytes that clients sent by UDP and by TCP.
    pub fn sent(&self) -> (u64, u64) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (read(&self.shared.udp), read(&self.shared.tcp))
    }
}

async fn tcp(listener: TcpListener, server: SocketAddr, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(pass(client, server, Arc::clone(&shared)));
    }
}

async fn pass(client: TcpStream, server: SocketAddr, shared: Arc<Shared>) {
    let mut cuts = shared.cuts.subscribe();
    cuts.mark_unchanged();
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    let ((mut from, mut to), (mut back, mut forth)) = (client.into_split(), server.into_split());
    let there = async {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            let before = shared.tcp.fetch_add(read as u64, Ordering::Relaxed);
            let every = shared.cut_every.load(Ordering::Relaxed);
            let (old, new) = (before / every, (before + read as u64) / every);
            if old < new && new <= shared.cut_times.load(Ordering::Relaxed) {
                shared.cuts.send_modify(|cuts| *cuts += 1);
                return;
            }
            if forth.write_all(&buffer[..read]).await.is_err() {
                break;
            }
        }
        forth.shutdown().await.ok();
    };
    let here = async {
        tokio::io::copy(&mut back, &mut to).await.ok();
        to.shutdown().await.ok();
    };
    tokio::select! {
        _ = async { tokio::join!(there, here) } => {}
        _ = cuts.changed() => {}
    }
}

/// Passes the datagrams of one client on.
async fn datagrams(socket: UdpSocket, server: SocketAddr, shared: Arc<Shared>) {
    let onward = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    onward.connect(server).await.expect("an address");
    let (mut out, mut back) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut client = None;
    loop {
        tokio::select! {
            Ok((length, from)) = socket.recv_from(&mut out) => {
                client = Some(from);
                if shared.open.load(Ordering::Relaxed) {
                    let sent = shared.udp.fetch_add(length as u64, Ordering::Relaxed);
                    if sent >= shared.udp_ends.load(Ordering::Relaxed) {
                        shared.open.store(false, Ordering::Relaxed);
                        continue;
                    }
                    onward.send(&out[..length]).await.ok();
                }
            }
            Ok(length) = onward.recv(&mut back) => {
                if let (Some(client), true) = (client, shared.open.load(Ordering::Relaxed)) {
                    socket.send_to(&back[..length], client).await.ok();
                }
            }
        }
    }
}
