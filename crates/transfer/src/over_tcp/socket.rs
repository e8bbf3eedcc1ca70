//! The options of TCP sockets.

use super::{TcpAlgorithm, TcpControl};
use rustix::net::sockopt;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};

/// Data that waits in the kernel and that TCP has not sent yet, at most, bytes. What is written
/// later can be more urgent.
const NOT_SENT: u32 = 128 << 10;
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

/// Prepares a connection, and puts it under `algorithm` if that is possible. Returns what controls
/// it.
pub(crate) fn control(stream: &TcpStream, algorithm: Option<&TcpAlgorithm>) -> TcpControl {
    // Slower without, but it works.
    stream.set_nodelay(true).ok();
    SockRef::from(stream).set_tcp_notsent_lowat(NOT_SENT).ok();
    let registered = algorithm.map(TcpAlgorithm::register);
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
        let none = control(&stream, None);
        assert!(none.algorithm.starts_with("the kernel's ") && none.why.is_none());
        let refused = TcpAlgorithm::new(|| Err("it needs root".to_owned()));
        let kernel = control(&stream, Some(&refused));
        assert_eq!(kernel.why.as_deref(), Some("it needs root"));
        let unknown = TcpAlgorithm::new(|| Ok(("no_such_name".to_owned(), "cerl".to_owned())));
        let kernel = control(&stream, Some(&unknown));
        assert!(kernel.why.is_some_and(|why| why.contains("refuses")));
        let own = TcpAlgorithm::new(|| Ok(("reno".to_owned(), "newreno".to_owned())));
        let own = control(&stream, Some(&own));
        assert_eq!((&*own.algorithm, own.why), ("newreno", None));
    }
}
