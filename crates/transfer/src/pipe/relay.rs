//! Joins a pipe to something local: a terminal, a program, a TCP connection.

use super::stream::{PipeReader, PipeWriter};
use crate::error::Error;
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Data read at once at most, bytes.
const PIECE: usize = 64 << 10;

/// Bytes that a pipe carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// From here to the peer.
    pub sent: u64,
    /// From the peer to here.
    pub received: u64,
}

/// Copies in both directions until both have ended. The end of one direction is passed on and
/// leaves the other open.
///
/// # Errors
/// If the connection is lost. That a local reader is gone is no error: the peer is told to stop.
pub(crate) async fn relay(
    from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
    writer: &mut PipeWriter,
    reader: &mut PipeReader,
) -> Result<Carried, Error> {
    let never = std::future::pending();
    let outward = outward(from, never, writer);
    let (sent, received) = tokio::try_join!(outward, inward(to, reader))?;
    Ok(Carried { sent, received })
}

/// Copies what is read here to the peer, until either end has enough, or `ended` completes and
/// nothing more is there to be read.
pub(crate) async fn outward(
    mut from: impl AsyncRead + Unpin,
    ended: impl Future<Output = ()>,
    writer: &mut PipeWriter,
) -> Result<u64, Error> {
    let mut sent = 0;
    let mut space = BytesMut::new();
    let mut over = false;
    tokio::pin!(ended);
    loop {
        space.reserve(PIECE);
        let read = tokio::select! {
            biased;
            // A local end that fails has nothing more to say.
            read = from.read_buf(&mut space) => read.unwrap_or(0),
            () = async {}, if over => 0,
            () = &mut ended, if !over => {
                over = true;
                continue;
            }
        };
        if read == 0 {
            writer.finish().await?;
            return Ok(sent);
        }
        if !writer.write(space.split().freeze()).await? {
            return Ok(sent);
        }
        sent += read as u64;
    }
}

/// Copies what the peer sends to a local writer.
pub(crate) async fn inward(
    mut to: impl AsyncWrite + Unpin,
    reader: &mut PipeReader,
) -> Result<u64, Error> {
    let mut received = 0;
    while let Some(data) = reader.read().await? {
        received += data.len() as u64;
        if write(&mut to, &data).await.is_err() {
            reader.stop();
            break;
        }
    }
    to.shutdown().await.ok();
    Ok(received)
}

async fn write(to: &mut (impl AsyncWrite + Unpin), data: &Bytes) -> std::io::Result<()> {
    to.write_all(data).await?;
    to.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::pair::Pair;
    use crate::connection::routes::Routes;
    use crate::wire::CHUNK_HEADER;
    use noq_proto::VarInt;
    use std::future::pending;
    use std::time::Duration;
    use tokio::io::duplex;

    #[test]
    fn what_the_peer_does_not_take_does_not_count() {
        Pair::play(1_000_000_000, async |pair: Pair| {
            let mut writer = PipeWriter::new(pair.client.clone(), 1);
            let (mut input, from) = duplex(64);
            let taking = async {
                input.write_all(b"hello").await.expect("read");
                let mut stream = pair.server.accept_uni().await.expect("a stream");
                let mut taken = [0; CHUNK_HEADER + 5];
                stream.read_exact(&mut taken).await.expect("sent");
                stream.stop(VarInt::from_u32(0)).expect("open");
                tokio::time::sleep(Duration::from_secs(1)).await;
                input.write_all(b"no more").await.expect("read");
                pending::<()>().await;
            };
            tokio::select! {
                sent = outward(from, pending(), &mut writer) => assert_eq!(sent.ok(), Some(5)),
                () = taking => unreachable!("it has no end"),
            }
        });
    }

    /// A terminal, for one, has a buffer.
    #[test]
    fn what_comes_is_not_kept_in_a_buffer() {
        Pair::play(1_000_000_000, async |pair: Pair| {
            let routes = Routes::default();
            let (route, streams) = routes.open(1).expect("the first");
            let mut reader = PipeReader::new(streams);
            let (to, mut output) = duplex(64);
            let to = tokio::io::BufWriter::new(to);
            let mut writer = PipeWriter::new(pair.client.clone(), route.transfer);
            let talking = async {
                for word in ["one", "two"] {
                    let taken = writer.write(Bytes::from(word)).await.expect("sent");
                    assert!(taken);
                    let mut read = [0; 3];
                    let second = Duration::from_secs(1);
                    let arrived = tokio::time::timeout(second, output.read_exact(&mut read)).await;
                    arrived.expect("in time").expect("open");
                    assert_eq!(read, word.as_bytes());
                }
            };
            tokio::select! {
                () = talking => {}
                received = inward(to, &mut reader) => panic!("it has no end: {received:?}"),
                error = routes.accept(&pair.server, Duration::from_secs(10)) => panic!("{error}"),
            }
        });
    }
}
