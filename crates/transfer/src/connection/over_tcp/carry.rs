//! Carries the datagrams of an endpoint as frames of a byte stream.

use super::DATAGRAM;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until, timeout};
use whimbrel_quic::endpoint::Carrier;

/// Bytes of a frame before the datagram.
const LENGTH: usize = 2;
/// Size of the buffer for what arrives: at least two frames.
const INPUT: usize = 2 * (LENGTH + DATAGRAM as usize);
/// Datagrams are added to what waits for TCP up to this, bytes. More would delay what is urgent.
const OUTPUT: usize = 64 << 10;
/// Rounds before other tasks have their turn.
const ROUNDS: usize = 32;
/// Time for the end of the stream to leave.
const END: Duration = Duration::from_secs(1);
/// The driver looks at least this often.
const IDLE: Duration = Duration::from_secs(3600);

/// Carries datagrams until the endpoint is closed or dropped and no connection is left, or the
/// stream ends, which ends all connections.
pub(crate) async fn run(carrier: Carrier, mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut frames = Frames {
        carrier: &carrier,
        input: Input::default(),
        output: Vec::new(),
        written: 0,
        flushed: true,
        datagram: Vec::new(),
        sleep: Box::pin(sleep_until(Instant::now())),
    };
    match poll_fn(|cx| frames.poll(&mut stream, cx)).await {
        Ok(()) => {
            timeout(END, stream.shutdown()).await.ok();
        }
        Err(error) => carrier.stop(&format!("the TCP connection was lost: {error}")),
    }
}

struct Frames<'a> {
    carrier: &'a Carrier,
    input: Input,
    /// Frames for TCP, of which it has taken `written` bytes.
    output: Vec<u8>,
    written: usize,
    /// TLS keeps nothing back.
    flushed: bool,
    datagram: Vec<u8>,
    sleep: Pin<Box<Sleep>>,
}

impl Frames<'_> {
    fn poll<S>(&mut self, stream: &mut S, cx: &mut Context<'_>) -> Poll<io::Result<()>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        for _ in 0..ROUNDS {
            let read = self.poll_read(stream, cx)?;
            self.carrier.expire();
            let wrote = self.poll_write(stream, cx)?;
            let sent_all = self.output.is_empty() && self.flushed;
            if sent_all && self.carrier.is_finished() {
                return Poll::Ready(Ok(()));
            }
            if read || wrote {
                continue;
            }
            // While TCP has no room, nothing can be done about new work.
            if sent_all && self.carrier.poll_work(cx).is_ready() {
                continue;
            }
            let deadline = self.carrier.deadline().map(Instant::from_std);
            let deadline = deadline.unwrap_or_else(|| Instant::now() + IDLE);
            self.sleep.as_mut().reset(deadline);
            if self.sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Passes on what has arrived. Returns whether there was anything.
    fn poll_read<S>(&mut self, stream: &mut S, cx: &mut Context<'_>) -> io::Result<bool>
    where
        S: AsyncRead + Unpin,
    {
        let mut space = ReadBuf::new(self.input.space());
        let Poll::Ready(read) = Pin::new(stream).poll_read(cx, &mut space) else {
            return Ok(false);
        };
        read?;
        let read = space.filled().len();
        if read == 0 {
            let text = "the peer ended it";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        self.input.add(read);
        let carrier = self.carrier;
        self.input
            .take_frames(|datagram| carrier.receive(datagram))?;
        Ok(true)
    }

    /// Passes what leaves to TCP. Returns whether it took anything.
    fn poll_write<S>(&mut self, stream: &mut S, cx: &mut Context<'_>) -> io::Result<bool>
    where
        S: AsyncWrite + Unpin,
    {
        let mut wrote = false;
        if self.output.is_empty() {
            while self.output.len() < OUTPUT && self.carrier.send(&mut self.datagram) {
                let Ok(length) = u16::try_from(self.datagram.len()) else {
                    continue;
                };
                self.output.extend_from_slice(&length.to_be_bytes());
                self.output.extend_from_slice(&self.datagram);
            }
        }
        while let Some(rest) = self.output.get(self.written..).filter(|r| !r.is_empty()) {
            let Poll::Ready(written) = Pin::new(&mut *stream).poll_write(cx, rest) else {
                return Ok(wrote);
            };
            let written = written?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.written += written;
            self.flushed = false;
            wrote = true;
        }
        self.output.clear();
        self.written = 0;
        if !self.flushed && Pin::new(stream).poll_flush(cx)?.is_ready() {
            self.flushed = true;
            wrote = true;
        }
        Ok(wrote)
    }
}

/// What has arrived of frames.
pub(crate) struct Input {
    buffer: Box<[u8]>,
    filled: usize,
}

impl Default for Input {
    fn default() -> Self {
        Self {
            buffer: vec![0; INPUT].into_boxed_slice(),
            filled: 0,
        }
    }
}

impl Input {
    /// Adds bytes and passes on the datagrams that are complete. Returns false, and is of no more
    /// use, after a frame of a length that no datagram has.
    pub fn feed(&mut self, mut bytes: &[u8], mut datagram: impl FnMut(&[u8])) -> bool {
        while !bytes.is_empty() {
            let space = self.space();
            assert!(!space.is_empty(), "there is always room");
            let (now, later) = bytes.split_at(bytes.len().min(space.len()));
            space[..now.len()].copy_from_slice(now);
            self.add(now.len());
            if self.take_frames(&mut datagram).is_err() {
                return false;
            }
            bytes = later;
        }
        true
    }

    /// Where the next bytes go. Never empty after [`Self::take_frames`].
    fn space(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.filled..).unwrap_or_default()
    }

    /// So many bytes were added.
    fn add(&mut self, bytes: usize) {
        self.filled = (self.filled + bytes).min(INPUT);
    }

    /// Passes on the datagrams that are complete.
    ///
    /// # Errors
    /// If a frame has a length that no datagram has.
    fn take_frames(&mut self, mut datagram: impl FnMut(&[u8])) -> io::Result<()> {
        let mut rest = &self.buffer[..self.filled];
        while let Some((length, data)) = rest.split_first_chunk::<LENGTH>() {
            let length = u16::from_be_bytes(*length);
            if !(1..=DATAGRAM).contains(&length) {
                let text = format!("a frame of {length} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            let Some((one, after)) = data.split_at_checked(length.into()) else {
                break;
            };
            datagram(one);
            rest = after;
        }
        let (left, end) = (rest.len(), self.filled);
        self.buffer.copy_within(end - left..end, 0);
        self.filled = left;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::over_tcp::testing::attempt;
    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt, BufWriter, duplex};

    /// Feeds `bytes` in pieces of these sizes. Returns the datagrams, or `None` after an error.
    fn feed(bytes: &[u8], pieces: &[usize]) -> Option<Vec<Vec<u8>>> {
        let (mut input, mut found) = (Input::default(), Vec::new());
        let (mut rest, mut sizes) = (bytes, pieces.iter().cycle());
        while !rest.is_empty() {
            let size = sizes.next().map_or(1, |s| *s).clamp(1, rest.len());
            let (piece, after) = rest.split_at(size);
            if !input.feed(piece, |d| found.push(d.to_vec())) {
                return None;
            }
            rest = after;
        }
        Some(found)
    }

    /// TLS keeps what is written until it is flushed, where TCP has no room.
    #[tokio::test]
    async fn what_leaves_is_flushed() {
        let (endpoint, _connecting) = attempt(([127, 0, 0, 1], 1).into());
        let (near, mut far) = duplex(1 << 20);
        let carrying = run(endpoint.carrier(), BufWriter::with_capacity(1 << 20, near));
        let arriving = async {
            let length = far.read_u16().await.expect("a frame");
            far.read_exact(&mut vec![0; length.into()])
                .await
                .expect("all of it");
        };
        tokio::select! {
            () = carrying => panic!("it ends"),
            arrived = timeout(Duration::from_secs(5), arriving) => arrived.expect("it leaves"),
        }
    }

    #[test]
    fn a_frame_of_no_datagram_is_an_error() {
        assert_eq!(feed(&[0, 0], &[2]), None);
        assert_eq!(feed(&[0xff, 0xff], &[1]), None);
        assert_eq!(feed(&(DATAGRAM + 1).to_be_bytes(), &[2]), None);
        assert_eq!(feed(&[0, 2, 7], &[1]), Some(vec![]));
    }

    proptest! {
        #[test]
        fn datagrams_arrive_as_they_were_sent(
            datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..2000), 0..20),
            large in any::<bool>(),
            pieces in prop::collection::vec(1..40_000usize, 1..8),
        ) {
            let mut datagrams = datagrams;
            if large {
                datagrams.push(vec![9; DATAGRAM.into()]);
            }
            let mut bytes = Vec::new();
            for datagram in &datagrams {
                bytes.extend_from_slice(&(datagram.len() as u16).to_be_bytes());
                bytes.extend_from_slice(datagram);
            }
            prop_assert_eq!(feed(&bytes, &pieces), Some(datagrams));
        }

        #[test]
        fn arbitrary_bytes_are_bounded(
            bytes in prop::collection::vec(any::<u8>(), 0..100_000),
            pieces in prop::collection::vec(1..40_000usize, 1..8),
        ) {
            if let Some(found) = feed(&bytes, &pieces) {
                let size: usize = found.iter().map(|d| d.len() + LENGTH).sum();
                prop_assert!(size <= bytes.len());
            }
        }
    }
}
