//! Standard output that is really closed when the target has ended.
//!
//! ssh, whose `ProxyCommand` this is, waits for that end before it closes the input, and the pipe
//! waits for the end of the input.

use nix::sys::socket::{Shutdown, shutdown};
use nix::unistd::dup2_stdout;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncWrite, Stdout};
use tokio::sync::oneshot;

/// Standard output. Shut down, its reader sees the end, and further output disappears.
pub struct Output(Stdout, Option<oneshot::Sender<()>>);

impl Output {
    /// Standard output, and what completes when it is shut down.
    pub fn new() -> (Self, oneshot::Receiver<()>) {
        let (ended, receiver) = oneshot::channel();
        (Self(tokio::io::stdout(), Some(ended)), receiver)
    }
}

impl AsyncWrite for Output {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A reader that is gone misses nothing.
        std::task::ready!(Pin::new(&mut self.0).poll_flush(cx)).ok();
        if let Some(ended) = self.1.take() {
            ended.send(()).ok();
        }
        // Somebody else may have a copy of a socket; of a pipe we have the only one.
        shutdown(io::stdout().as_raw_fd(), Shutdown::Write).ok();
        let nothing = File::options().write(true).open("/dev/null")?;
        Poll::Ready(dup2_stdout(&nothing).map_err(io::Error::from))
    }
}
