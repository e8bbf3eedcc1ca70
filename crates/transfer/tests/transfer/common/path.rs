//! A network between a client and a server that loses datagrams.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::net::UdpSocket;

/// A path to a server that drops every `n`-th datagram in each direction, and all after it is cut.
pub struct Path {
    pub address: SocketAddr,
    pub cut: Arc<AtomicBool>,
    /// Bytes that clients may still send.
    left: Arc<AtomicU64>,
}

impl Path {
    pub async fn to(server: SocketAddr, every: u64) -> Self {
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("a socket"));
        let address = front.local_addr().expect("bound");
        let cut = Arc::new(AtomicBool::new(false));
        let is_cut = Arc::clone(&cut);
        let left = Arc::new(AtomicU64::new(u64::MAX));
        let may_pass = Arc::clone(&left);
        tokio::spawn(async move {
            let mut behind: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
            let mut buffer = vec![0; 65_536];
            for count in 1u64.. {
                let Ok((length, from)) = front.recv_from(&mut buffer).await else {
                    return;
                };
                if let Entry::Vacant(unknown) = behind.entry(from) {
                    let back = Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("a socket"));
                    back.connect(server).await.expect("a route");
                    let (out, front, is_cut) =
                        (Arc::clone(&back), Arc::clone(&front), Arc::clone(&is_cut));
                    tokio::spawn(async move {
                        let mut buffer = vec![0; 65_536];
                        for count in 1u64.. {
                            let Ok(length) = out.recv(&mut buffer).await else {
                                return;
                            };
                            if count % every != 0 && !is_cut.load(Ordering::Relaxed) {
                                front.send_to(&buffer[..length], from).await.ok();
                            }
                        }
                    });
                    unknown.insert(back);
                }
                let passes = count % every != 0 && !is_cut.load(Ordering::Relaxed);
                if passes && take(&may_pass, length as u64) {
                    behind[&from].send(&buffer[..length]).await.ok();
                }
            }
        });
        Self { address, cut, left }
    }

    /// A path on which a transfer cannot end before the test has acted: once clients have sent this
    /// many bytes, nothing of theirs passes until [`Self::release`]. What the server sends does.
    pub async fn held(server: SocketAddr, bytes: u64) -> Self {
        let path = Self::to(server, u64::MAX).await;
        path.left.store(bytes, Ordering::Relaxed);
        path
    }

    /// Everything passes from now on.
    pub fn release(&self) {
        self.left.store(u64::MAX, Ordering::Relaxed);
    }
}

/// Takes some of what is left. Returns whether there was enough.
fn take(left: &AtomicU64, bytes: u64) -> bool {
    let less = |left: u64| left.checked_sub(bytes);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
        .is_ok()
}
