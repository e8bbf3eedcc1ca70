//! An endpoint whose datagrams the application carries, instead of a thread with a socket: over a
//! TCP connection, for example, where UDP is blocked.
//!
//! Call [`Carrier::receive`] with each datagram that arrives, [`Carrier::send`] as long as there is
//! room for what leaves, [`Carrier::expire`] when [`Carrier::deadline`] has passed, and wait with
//! [`Carrier::poll_work`].

use super::core::Arrival;
use super::shared::EndpointShared;
use bytes::BytesMut;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use whimbrel_units::{Duration, Time};

/// Carries the datagrams of one endpoint, to and from one peer; in a simulation, to and from all.
pub struct Carrier {
    endpoint: Arc<EndpointShared>,
    peer: SocketAddr,
    began: Instant,
}

impl Carrier {
    pub(super) fn new(endpoint: Arc<EndpointShared>) -> Self {
        Self {
            peer: endpoint.local_addr(),
            began: endpoint.clock.now(),
            endpoint,
        }
    }

    /// A datagram arrived from the peer.
    pub fn receive(&self, datagram: &[u8]) {
        self.receive_from(self.peer, BytesMut::from(datagram));
    }

    /// A datagram arrived from `source`.
    pub fn receive_from(&self, source: SocketAddr, datagram: BytesMut) {
        let now = self.endpoint.clock.now();
        let arrival = Arrival {
            source,
            destination: None,
            ecn: None,
            arrived: Time::ZERO + Duration::from(now - self.began),
            data: datagram,
            link: 0,
        };
        self.endpoint.call(|core| core.receive(now, arrival));
    }

    /// Makes the next datagram for the peer, which replaces what is in `buffer`. Returns false if
    /// there is none now.
    pub fn send(&self, buffer: &mut Vec<u8>) -> bool {
        self.send_to(buffer).is_some()
    }

    /// The same for a datagram for anybody. Returns where it goes.
    pub fn send_to(&self, buffer: &mut Vec<u8>) -> Option<SocketAddr> {
        let now = self.endpoint.clock.now();
        let outgoing = self.endpoint.call(|core| core.poll_transmit(now, buffer));
        outgoing.map(|outgoing| outgoing.destination)
    }

    /// When [`Self::expire`] must be called.
    pub fn deadline(&self) -> Option<Instant> {
        self.endpoint.lock().next_deadline().map(|next| next.at)
    }

    /// Handles the deadlines that have passed.
    pub fn expire(&self) {
        let now = self.endpoint.clock.now();
        self.endpoint.call(|core| core.expire(now));
    }

    /// Ready when [`Self::send`] may have something to do, or the endpoint is
    /// [finished](Self::is_finished). One task at a time may wait.
    pub fn poll_work(&self, cx: &Context<'_>) -> Poll<()> {
        let alarm = self.endpoint.inbox.alarm();
        alarm.set_task(cx.waker());
        alarm.arm();
        let core = self.endpoint.lock();
        if core.has_work() || core.is_finished() {
            alarm.disarm();
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Whether the endpoint is closed or dropped and no connection is left.
    pub fn is_finished(&self) -> bool {
        self.endpoint.lock().is_finished()
    }

    /// Nothing can be carried any more: all connections are lost for this reason.
    pub fn stop(&self, why: &str) {
        self.endpoint.call(|core| core.stop(why));
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.stop("nothing carries the connection any more");
    }
}

impl fmt::Debug for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carrier")
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{client_config, server_config, transport};
    use super::super::{Endpoint, Server};
    use super::*;
    use noq_proto::{EndpointConfig, VarInt};
    use std::collections::VecDeque;
    use std::sync::Mutex;

    type Queue = Arc<Mutex<VecDeque<Vec<u8>>>>;

    /// Carries datagrams through memory until the endpoint is finished.
    async fn carry(carrier: Carrier, out: Queue, input: Queue) {
        while !carrier.is_finished() {
            let arrived = std::mem::take(&mut *input.lock().expect("no panic"));
            arrived
                .iter()
                .for_each(|datagram| carrier.receive(datagram));
            carrier.expire();
            let mut datagram = Vec::new();
            while carrier.send(&mut datagram) {
                out.lock().expect("no panic").push_back(datagram.clone());
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn an_echo_over_carried_endpoints() {
        let address: SocketAddr = "192.0.2.1:4433".parse().expect("an address");
        let server = Server::new(server_config(transport()));
        let client = Endpoint::carried(EndpointConfig::default(), None, address);
        let server = Endpoint::carried(EndpointConfig::default(), Some(server), address);
        let (a, b) = (Queue::default(), Queue::default());
        let (c, s) = (client.carrier(), server.carrier());
        let carried = tokio::spawn(carry(c, Arc::clone(&a), Arc::clone(&b)));
        tokio::spawn(carry(s, b, a));
        let connecting = client
            .connect(client_config(transport()), address, "server")
            .expect("valid");
        let serve = tokio::spawn(async move {
            let incoming = server.accept().await.expect("open");
            let connection = incoming.accept().expect("valid").await.expect("connected");
            let (mut send, mut receive) = connection.accept_bi().await.expect("a stream");
            let data = receive.read_to_end(1 << 20).await.expect("read");
            send.write_all(&data).await.expect("written");
            send.finish().expect("open");
            connection.closed().await;
        });
        let connection = connecting.await.expect("connected");
        let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
        send.write_all(&[7; 100_000]).await.expect("written");
        send.finish().expect("open");
        let echo = receive.read_to_end(1 << 20).await.expect("read");
        assert_eq!(echo, vec![7; 100_000]);
        connection.close(VarInt::from_u32(0), b"");
        serve.await.expect("no panic");
        drop((client, connection, send, receive));
        carried.await.expect("it ends with the endpoint");
    }

    #[tokio::test]
    async fn a_lost_carrier_ends_the_connection() {
        let address: SocketAddr = "192.0.2.1:4433".parse().expect("an address");
        let client = Endpoint::carried(EndpointConfig::default(), None, address);
        let carrier = client.carrier();
        let connect = || client.connect(client_config(transport()), address, "server");
        let connecting = connect().expect("valid");
        let mut datagram = Vec::new();
        assert!(carrier.send(&mut datagram) && datagram.len() >= 1200);
        carrier.receive(b"no QUIC at all");
        carrier.stop("the cable is cut");
        let error = connecting.await.expect_err("stopped");
        assert!(error.to_string().contains("the cable is cut"), "{error}");
        assert!(connect().is_err());
    }
}
