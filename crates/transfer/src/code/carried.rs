//! Datagrams between two ends over the stream of a meeting.
//!
//! Each end has a socket on loopback that stands for the other end, so the connections between them
//! are QUIC as on any path, encrypted end to end. A frame is
//!
//! ```text
//! flow u8, length u16 (big-endian), datagram
//! ```
//!
//! A flow is one socket of the sender: an attempt to connect has its own. If the stream takes no
//! more, datagrams are dropped, which the congestion controller of the two ends sees.

use super::meeting::Meeting;
use bytes::{BufMut, Bytes, BytesMut};
use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use whimbrel_quic::endpoint::{RecvStream, SendStream};

/// Flows, at most; a newer one takes the number of the oldest.
const FLOWS: usize = 16;
/// The largest datagram, bytes: those of QUIC have up to 9,000.
const DATAGRAM: usize = 9216;
/// Datagrams that wait for the stream.
const WAITING: usize = 512;
/// Bytes of a frame before the datagram.
const HEADER: usize = 3;

/// Carries datagrams between the stream and the sockets of the sender, which reach the receiver at
/// `socket`, until the meeting ends.
pub(super) async fn for_sender(meeting: Meeting, socket: UdpSocket) {
    let Meeting { send, receive, .. } = &mut { meeting };
    let socket = Arc::new(socket);
    let (frames, waiting) = mpsc::channel(WAITING);
    let mut flows: Vec<SocketAddr> = Vec::new();
    let mut oldest = 0;
    let mut frame = Reader::default();
    let mut buffer = vec![0; DATAGRAM];
    let writing = write(send, waiting);
    tokio::pin!(writing);
    loop {
        tokio::select! {
            arrived = socket.recv_from(&mut buffer) => {
                // An error of an earlier datagram, such as a closed port.
                let Ok((length, from)) = arrived else { continue };
                let known = flows.iter().position(|flow| *flow == from);
                let flow = known.unwrap_or_else(|| {
                    if flows.len() < FLOWS {
                        flows.push(from);
                        return flows.len() - 1;
                    }
                    oldest = (oldest + 1) % FLOWS;
                    flows[oldest] = from;
                    oldest
                });
                frames.try_send(framed(flow as u8, &buffer[..length])).ok();
            }
            next = frame.next(receive) => {
                let Some((flow, datagram)) = next else { return };
                if let Some(to) = flows.get(usize::from(flow)) {
                    socket.send_to(&datagram, to).await.ok();
                }
            }
            () = &mut writing => return,
        }
    }
}

/// Carries datagrams between the stream and the receiver's server at `server`, until the meeting
/// ends. `carried` tells whether there were any.
pub(super) async fn for_receiver(
    meeting: Meeting,
    server: SocketAddr,
    carried: &AtomicBool,
) -> io::Result<()> {
    let Meeting { send, receive, .. } = &mut { meeting };
    let (frames, waiting) = mpsc::channel(WAITING);
    let mut flows: HashMap<u8, Arc<UdpSocket>> = HashMap::new();
    // Dropped with this future.
    let mut reading = JoinSet::new();
    let mut frame = Reader::default();
    let writing = write(send, waiting);
    tokio::pin!(writing);
    loop {
        tokio::select! {
            next = frame.next(receive) => {
                let Some((flow, datagram)) = next else { return Ok(()) };
                if usize::from(flow) >= FLOWS {
                    return Ok(());
                }
                carried.store(true, Ordering::Relaxed);
                let socket = match flows.get(&flow) {
                    Some(socket) => Arc::clone(socket),
                    None => {
                        let socket = loopback().await?;
                        socket.connect(server).await?;
                        let socket = Arc::new(socket);
                        reading.spawn(read(flow, Arc::clone(&socket), frames.clone()));
                        flows.insert(flow, Arc::clone(&socket));
                        socket
                    }
                };
                socket.send(&datagram).await.ok();
            }
            () = &mut writing => return Ok(()),
        }
    }
}

/// A socket that nothing outside this machine reaches.
pub(super) async fn loopback() -> io::Result<UdpSocket> {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await
}

async fn read(flow: u8, socket: Arc<UdpSocket>, frames: mpsc::Sender<Bytes>) {
    let mut buffer = vec![0; DATAGRAM];
    while !frames.is_closed() {
        if let Ok(length) = socket.recv(&mut buffer).await {
            frames.try_send(framed(flow, &buffer[..length])).ok();
        }
    }
}

fn framed(flow: u8, datagram: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEADER + datagram.len());
    frame.put_u8(flow);
    frame.put_u16(datagram.len() as u16);
    frame.put_slice(datagram);
    frame.freeze()
}

async fn write(stream: &mut SendStream, mut frames: mpsc::Receiver<Bytes>) {
    while let Some(frame) = frames.recv().await {
        if stream.write_chunk(frame).await.is_err() {
            return;
        }
    }
}

/// Reads frames; a read survives that its future is dropped.
#[derive(Default)]
struct Reader(BytesMut);

impl Reader {
    /// The next frame; `None` at the end, or after a frame of no datagram.
    async fn next(&mut self, stream: &mut RecvStream) -> Option<(u8, Bytes)> {
        loop {
            match take(&mut self.0) {
                Ok(Some(frame)) => return Some(frame),
                Ok(None) => {}
                Err(TooLong) => return None,
            }
            let more = stream.read_chunk(1 << 16).await.ok()??;
            self.0.extend_from_slice(&more);
        }
    }
}

/// A frame that is longer than any datagram.
#[derive(Debug, PartialEq, Eq)]
struct TooLong;

/// Removes the first frame, if it is complete.
fn take(buffer: &mut BytesMut) -> Result<Option<(u8, Bytes)>, TooLong> {
    let Some([flow, high, low]) = buffer.first_chunk::<HEADER>().copied() else {
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > DATAGRAM {
        return Err(TooLong);
    }
    if buffer.len() < HEADER + length {
        return Ok(None);
    }
    let mut frame = buffer.split_to(HEADER + length).freeze();
    Ok(Some((flow, frame.split_off(HEADER))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_read_back_however_they_are_cut(
            datagrams in prop::collection::vec(
                (any::<u8>(), prop::collection::vec(any::<u8>(), 0..DATAGRAM)), 0..20),
            piece in 1..5000usize,
        ) {
            let bytes: Vec<u8> = datagrams.iter().flat_map(|(f, d)| framed(*f, d)).collect();
            let (mut buffer, mut found) = (BytesMut::new(), Vec::new());
            for piece in bytes.chunks(piece) {
                buffer.extend_from_slice(piece);
                while let Some((flow, datagram)) = take(&mut buffer).expect("frames") {
                    found.push((flow, datagram.to_vec()));
                }
            }
            prop_assert_eq!(found, datagrams);
            prop_assert!(buffer.is_empty());
        }
    }

    #[test]
    fn a_frame_of_no_datagram_ends_the_meeting() {
        assert_eq!(
            take(&mut BytesMut::from(&[0, 0xff, 0xff][..])),
            Err(TooLong)
        );
    }
}
