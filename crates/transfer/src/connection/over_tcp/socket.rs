//! The options of TCP sockets.

use super::{TcpAlgorithm, TcpControl};
use rustix::net::sockopt;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Timeout, timeout};

/// Data that waits in the kernel and that TCP has not sent yet, at most, bytes. What is written
/// later can be more urgent.
const NOT_SENT: u32 = 128 << 10;
/// A connection waits for its algorithm at most this long: it can go on without.
const READY: Duration = Duration::from_millis(500);
/// Connections that the kernel has accepted and we have not, at most.
const BACKLOG: i32 = 256;

/// Listens on `address`. An IPv6 socket accepts IPv4 too where the system allows it.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address.is_ipv6() {
        // Where this is not allowed, the socket serves IPv6 only.
        socket.set_only_v6(false).ok();
    }
    // A server that starts again does not wait for the end of old connections.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Our algorithm, which the kernel gets to know meanwhile.
pub(crate) struct Control(Option<Pin<Box<Registered>>>);

type Registered = Timeout<JoinHandle<Result<(String, String), String>>>;

impl Control {
    /// Prepares a connection, and begins to register the algorithm that it shall have.
    pub fn prepare(stream: &TcpStream, algorithm: Option<&TcpAlgorithm>) -> Self {
        // Slower without, but it works.
        stream.set_nodelay(true).ok();
        SockRef::from(stream).set_tcp_notsent_lowat(NOT_SENT).ok();
        let register = |algorithm: TcpAlgorithm| spawn_blocking(move || algorithm.register());
        Self(algorithm.map(|algorithm| Box::pin(timeout(READY, register(algorithm.clone())))))
    }

    /// Puts the connection under the algorithm, if it is ready in time. Returns what controls it.
    pub async fn take(self, stream: &TcpStream) -> TcpControl {
        let registered = match self.0 {
            Some(registering) => Some(match registering.await {
                Ok(registered) => registered.unwrap_or_else(|e| Err(e.to_string())),
                Err(_) => Err("ours was not ready in time".to_owned()),
            }),
            None => None,
        };
        apply(stream, registered)
    }
}

fn apply(stream: &TcpStream, registered: Option<Result<(String, String), String>>) -> TcpControl {
    let why = match registered {
        Some(Ok((name, algorithm))) => match sockopt::set_tcp_congestion(stream, &name) {
            Ok(()) => {
                return TcpControl {
                    algorithm,
                    why: None,
                };
            }
            Err(error) => Some(format!(
                "the kernel refuses it for this connection: {error}"
            )),
        },
        Some(Err(why)) => Some(why),
        None => None,
    };
    let name = sockopt::tcp_congestion(stream);
    let name = name.unwrap_or_else(|_| "the default".to_owned());
    TcpControl {
        algorithm: format!("the kernel's {name}"),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_kernels_algorithm_is_named_with_the_reason() {
        let listener = listen("127.0.0.1:0".parse().expect("an address")).expect("listens");
        let address = listener.local_addr().expect("bound");
        let stream = TcpStream::connect(address).await.expect("connected");
        let control = async |stream, algorithm| {
            let preparing: Control = Control::prepare(stream, algorithm);
            preparing.take(stream).await
        };
        let none = control(&stream, None).await;
        assert!(none.algorithm.starts_with("the kernel's ") && none.why.is_none());
        let refused = TcpAlgorithm::new(|| Err("it needs root".to_owned()));
        let kernel = control(&stream, Some(&refused)).await;
        assert_eq!(kernel.why.as_deref(), Some("it needs root"));
        let unknown = TcpAlgorithm::new(|| Ok(("no_such_name".to_owned(), "cerl".to_owned())));
        let kernel = control(&stream, Some(&unknown)).await;
        assert!(kernel.why.is_some_and(|why| why.contains("refuses")));
        let own = TcpAlgorithm::new(|| Ok(("reno".to_owned(), "newreno".to_owned())));
        let own = control(&stream, Some(&own)).await;
        assert_eq!((&*own.algorithm, own.why), ("newreno", None));
        let (_wait, waiting) = std::sync::mpsc::channel::<()>();
        let waiting = std::sync::Mutex::new(waiting);
        let slow = TcpAlgorithm::new(move || {
            let waiting = waiting.lock().expect("no panic");
            Err(format!(
                "{:?}",
                waiting.recv_timeout(Duration::from_secs(60))
            ))
        });
        let kernel = control(&stream, Some(&slow)).await;
        assert!(kernel.why.is_some_and(|why| why.contains("in time")));
    }
}
