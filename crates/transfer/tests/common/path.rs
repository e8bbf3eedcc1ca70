//! A network between a client and a server that loses datagrams.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::UdpSocket;

/// A path to a server that drops every `n`-th datagram in each direction, and all after it is cut.
pub struct Path {
    pub address: SocketAddr,
    pub cut: Arc<AtomicBool>,
}

impl Path {
    pub async fn to(server: SocketAddr, every: u64) -> Self {
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("a socket"));
        let address = front.local_addr().expect("bound");
        let cut = Arc::new(AtomicBool::new(false));
        let is_cut = Arc::clone(&cut);
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
                if count % every != 0 && !is_cut.load(Ordering::Relaxed) {
                    behind[&from].send(&buffer[..length]).await.ok();
                }
            }
        });
        Self { address, cut }
    }
}
