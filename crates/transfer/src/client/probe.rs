//! Measures the path to a server: sends data that the server discards, and samples the connection.
//!
//! A probe is a pipe to the target [`PROBE`], so it needs no message of its own: an older server
//! refuses it as a target that it does not know. The server bounds its bytes and its time.

use super::options::ClientOptions;
use super::pipe::PipeClient;
use crate::error::Error;
use crate::wire::PROBE;
use noq_proto::PathId;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{MissedTickBehavior, interval, timeout};
use whimbrel_units::{Bytes, Duration as Span};

/// Time between samples.
const SAMPLING: Duration = Duration::from_millis(10);
/// Time for the server's last answer after the time of the probe: what is in flight must arrive.
const GRACE: Duration = Duration::from_secs(10);

/// The state of the connection at one moment of a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeSample {
    /// Seconds since the request.
    pub at: f64,
    /// Bytes acknowledged, QUIC's overhead included.
    pub delivered: u64,
    /// Packets sent, acknowledgments included.
    pub sent_packets: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// The last round-trip time, seconds; 0 before the first.
    pub rtt: f64,
}

/// What a probe measured.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeReport {
    /// Samples, the first at the request.
    pub samples: Vec<ProbeSample>,
    /// The minimum round-trip time, seconds.
    pub min_rtt: f64,
    /// Path MTU as the maximum UDP payload, bytes.
    pub mtu: u16,
    /// Bytes that were handed to the connection; the server may have discarded fewer.
    pub bytes: u64,
}

/// Sends data to the server for this time, or until this many bytes are sent.
///
/// # Errors
/// If the server refuses it, or cannot be reached, or the connection is lost.
pub async fn probe(options: ClientOptions, most: Bytes, time: Span) -> Result<ProbeReport, Error> {
    let client = PipeClient::connect(options).await?;
    let result = measure(&client, most.get(), time.into()).await;
    client.close().await;
    result
}

async fn measure(client: &PipeClient, most: u64, time: Duration) -> Result<ProbeReport, Error> {
    let started = Instant::now();
    let mut source = Zeros {
        left: most,
        until: started + time,
    };
    let work = client.pipe(PROBE, &mut source, tokio::io::sink());
    let work = timeout(time + GRACE, work);
    let mut work = Box::pin(work);
    let mut ticks = interval(SAMPLING);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut samples = Vec::new();
    loop {
        tokio::select! {
            result = &mut work => match result {
                Ok(result) => {
                    result?;
                    break;
                }
                Err(_) => return Err(Error::Lost("the server did not end the probe".to_owned())),
            },
            _ = ticks.tick() => {
                // What leaves later is acknowledged after the time of the probe.
                if started.elapsed() <= time {
                    samples.push(sample(client, started));
                }
            }
        }
    }
    // The source is free again. A server that has enough ends the pipe before it has ended.
    drop(work);
    let bytes = most - source.left;
    let connection = client.connection();
    Ok(ProbeReport {
        samples,
        min_rtt: client.monitor().snapshot().state.min_rtt.as_secs_f64(),
        mtu: connection
            .path_stats(PathId::ZERO)
            .map_or(0, |path| path.current_mtu),
        bytes,
    })
}

fn sample(client: &PipeClient, started: Instant) -> ProbeSample {
    let now = client.monitor().snapshot().state;
    let path = client.connection().path_stats(PathId::ZERO);
    ProbeSample {
        at: started.elapsed().as_secs_f64(),
        delivered: now.delivered.get(),
        sent_packets: path.map_or(0, |path| path.sent_packets),
        lost_packets: path.map_or(0, |path| path.lost_packets),
        rtt: now.rtt.as_secs_f64(),
    }
}

/// Zeros until a number of bytes or a moment; QUIC encrypts them, so no path compresses them.
struct Zeros {
    left: u64,
    until: Instant,
}

impl AsyncRead for Zeros {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if Instant::now() < self.until {
            let room = u64::try_from(buffer.remaining()).unwrap_or(u64::MAX);
            let count = room.min(self.left);
            buffer.initialize_unfilled_to(count as usize).fill(0);
            buffer.advance(count as usize);
            self.left -= count;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn a_source_ends_after_its_bytes_or_its_time() {
        let source = |left, seconds| Zeros {
            left,
            until: Instant::now() + Duration::from_secs(seconds),
        };
        let mut all = Vec::new();
        source(100_000, 3600)
            .read_to_end(&mut all)
            .await
            .expect("zeros");
        assert_eq!(all, vec![0; 100_000]);
        all.clear();
        source(u64::MAX, 0)
            .read_to_end(&mut all)
            .await
            .expect("none");
        assert!(all.is_empty());
    }
}
