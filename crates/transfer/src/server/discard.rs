//! Where the data of a probe goes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;

/// Discards bytes, and fails after a number of them.
#[derive(Debug)]
pub(super) struct Discard {
    left: u64,
}

impl Discard {
    /// Discards at most this many bytes.
    pub fn new(most: u64) -> Self {
        Self { left: most }
    }
}

impl AsyncWrite for Discard {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = data.len() as u64;
        Poll::Ready(match self.left.checked_sub(count) {
            Some(left) => {
                self.left = left;
                Ok(data.len())
            }
            None => Err(io::Error::from(io::ErrorKind::QuotaExceeded)),
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn a_server_discards_no_more_than_its_limit() {
        let mut to = Discard::new(10);
        to.write_all(&[0; 10]).await.expect("within the limit");
        assert!(to.write_all(&[0]).await.is_err());
    }
}
