//! The data of a probe: zeros, as fast as the connection takes them, at a rate, or none.

use crate::file_sender::Pace;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use whimbrel_units::Rate;

/// Bytes written at once at most.
const PIECE: usize = 16 << 10;
static ZEROS: [u8; PIECE] = [0; PIECE];

/// What may leave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::client) enum Valve {
    /// As much as the connection takes.
    Open,
    /// Data at this rate.
    Rate(Rate),
    /// Nothing for now.
    Shut,
    /// Nothing any more.
    Ended,
}

/// Writes zeros to `to` as the valve allows, until it ends or `most` bytes are written; then closes
/// `to`. Counts in `fed`. QUIC encrypts the zeros, so no path compresses them.
pub(super) async fn feed(
    mut valve: watch::Receiver<Valve>,
    mut to: impl AsyncWrite + Unpin,
    most: u64,
    fed: &AtomicU64,
) {
    let mut left = most;
    while left > 0 {
        let now = *valve.borrow_and_update();
        let pace = match now {
            Valve::Open => None,
            Valve::Rate(rate) => Some(Pace::new(rate)),
            Valve::Shut => {
                if valve.changed().await.is_err() {
                    break;
                }
                continue;
            }
            Valve::Ended => break,
        };
        let open = async {
            while left > 0 {
                let piece = pace.as_ref().map_or(PIECE, |pace| pace.slice().min(PIECE));
                let piece = usize::try_from(left).map_or(piece, |left| piece.min(left));
                if let Some(pace) = &pace {
                    pace.pass(piece).await;
                }
                let Ok(written) = to.write(&ZEROS[..piece]).await else {
                    left = 0;
                    return;
                };
                left = left.saturating_sub(written as u64);
                fed.fetch_add(written as u64, Ordering::Relaxed);
            }
        };
        tokio::select! {
            () = open => {}
            changed = valve.changed() => if changed.is_err() { break },
        }
    }
    to.shutdown().await.ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::AsyncReadExt;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn data_follows_the_valve() {
        let (valve, watched) = watch::channel(Valve::Shut);
        let (near, mut far) = tokio::io::duplex(PIECE);
        let fed = AtomicU64::new(0);
        let mut all = vec![0; 10 << 20];
        let reading = async {
            let second = Duration::from_secs(1);
            assert!(timeout(second, far.read(&mut all)).await.is_err(), "shut");
            valve.send_replace(Valve::Rate(Rate::from_bits_per_sec(8_000_000)));
            timeout(second, far.read_exact(&mut all)).await.ok();
            let paced = fed.load(Ordering::Relaxed);
            assert!((950_000..1_100_000).contains(&paced), "{paced}");
            valve.send_replace(Valve::Open);
            far.read_exact(&mut all).await.expect("without a limit");
            valve.send_replace(Valve::Ended);
            let mut rest = Vec::new();
            far.read_to_end(&mut rest).await.expect("it ends");
        };
        tokio::join!(feed(watched, near, u64::MAX, &fed), reading);
    }

    #[tokio::test]
    async fn no_more_than_the_limit_is_sent() {
        let (_valve, watched) = watch::channel(Valve::Open);
        let (near, mut far) = tokio::io::duplex(PIECE);
        let (fed, mut all) = (AtomicU64::new(0), Vec::new());
        let (_, read) = tokio::join!(
            feed(watched, near, 100_000, &fed),
            far.read_to_end(&mut all)
        );
        read.expect("zeros");
        assert_eq!((all.len(), fed.into_inner()), (100_000, 100_000));
    }
}
