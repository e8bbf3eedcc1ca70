//! Measures what a path to or from a server carries, as iperf3 does: for a time, in intervals.
//!
//! Data goes to the target [`PROBE`], which discards it, or comes from the target [`SOURCE`]. The
//! server bounds the bytes and the time of both. [`probe`](super::probe) sends in the same way.

mod source;

pub(in crate::client) use source::Valve;

use super::options::ClientOptions;
use super::pipe::PipeClient;
use super::summary::IntervalSample;
use crate::connection::over_tcp::Transport;
use crate::error::Error;
use crate::wire::{PROBE, SOURCE};
use futures::FutureExt;
use futures::future::BoxFuture;
use noq_proto::PathId;
use source::feed;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::AsyncWrite;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval_at, sleep, timeout};
use whimbrel_quic::Uncontrolled;
use whimbrel_units::{Bytes, Duration as Span, Rate};

/// Data that waits between the source and the connection, bytes.
const AHEAD: usize = 64 << 10;
/// Time for what is in flight to arrive when the measurement is over.
const GRACE: Duration = Duration::from_secs(5);
/// At a constant rate the pacer has so much more, for headers and what is sent again.
const HEADROOM: f64 = 1.1;

/// Which way the data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the server.
    Forward,
    /// From the server, under its congestion controller.
    Reverse,
}

/// Options of [`measure`].
#[derive(Debug, Clone)]
pub struct MeasureOptions {
    /// The server, and the congestion controller of what is sent from here.
    pub client: ClientOptions,
    /// Which way the data goes.
    pub direction: Direction,
    /// For how long.
    pub time: Span,
    /// Time between samples; at least 10 ms.
    pub interval: Span,
    /// Send at this rate whatever is lost, instead of under a congestion controller. Only forward.
    pub rate: Option<Rate>,
}

/// What was measured.
#[derive(Debug, Clone)]
pub struct MeasureReport {
    /// Which way the data went.
    pub direction: Direction,
    /// The congestion controller; of the reverse direction the server knows it.
    pub controller: Option<String>,
    /// What carried the data.
    pub transport: Transport,
    /// One sample at the end of each interval. Of the reverse direction, `acknowledged` is what
    /// arrived here, and losses, window and RTT variation are 0: the server knows them. At a
    /// constant rate there is no window: it is 0.
    pub samples: Vec<IntervalSample>,
    /// QUIC packets sent from here.
    pub sent_packets: u64,
    /// Minimum round-trip time.
    pub min_rtt: Span,
    /// The server had enough before the time was over: its `--max-probe`.
    pub ended_early: bool,
}

/// Sends or receives data for a time. `on_sample` gets each sample.
///
/// # Errors
/// If the server refuses it, or cannot be reached, or the connection is lost.
pub async fn measure(
    mut options: MeasureOptions,
    mut on_sample: impl FnMut(&IntervalSample),
) -> Result<MeasureReport, Error> {
    let controller = match (options.direction, options.rate) {
        (Direction::Reverse, _) => None,
        (_, Some(rate)) => Some(format!("constant rate of {rate}")),
        (_, None) => Some(options.client.controller.to_string()),
    };
    if let Some(rate) = options.rate {
        let pace = Rate::from_bits_per_sec((rate.as_bits_per_sec() as f64 * HEADROOM) as u64);
        let made = move |_: &_| Box::new(Uncontrolled { rate: Some(pace) }) as _;
        options.client.controller = options.client.controller.made_by(Arc::new(made));
    }
    let client = PipeClient::connect(options.client.clone()).await?;
    let result = run(&client, &options, &mut on_sample).await;
    let transport = client.transport().clone();
    let report = result.map(|(samples, ended_early)| MeasureReport {
        direction: options.direction,
        controller,
        transport,
        samples,
        sent_packets: client.connection().stats().sent_packets,
        min_rtt: client.monitor().snapshot().state.min_rtt,
        ended_early,
    });
    client.close().await;
    report
}

async fn run(
    client: &PipeClient,
    options: &MeasureOptions,
    on_sample: &mut impl FnMut(&IntervalSample),
) -> Result<(Vec<IntervalSample>, bool), Error> {
    let open = options.rate.map_or(Valve::Open, Valve::Rate);
    let (valve, watched) = watch::channel(open);
    let moved = AtomicU64::new(0);
    let (near, far) = tokio::io::duplex(1);
    let mut near = Some(near);
    let work = async {
        match options.direction {
            Direction::Forward => discarded(client, watched, u64::MAX, &moved).await,
            Direction::Reverse => {
                let pipe = client.pipe(SOURCE, far, Counting(&moved));
                pipe.await.map(|_| ())
            }
        }
    };
    let mut work = Box::pin(work);
    let started = Instant::now();
    let length = Duration::from(options.interval).max(Duration::from_millis(10));
    let mut ticks = interval_at(tokio::time::Instant::now() + length, length);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let end = sleep(options.time.into());
    tokio::pin!(end);
    let mut samples: Vec<IntervalSample> = Vec::new();
    let mut take = || {
        let bytes = match options.direction {
            Direction::Forward => None,
            Direction::Reverse => Some(moved.load(Ordering::Relaxed)),
        };
        let sample = sample(client, started, bytes, options.rate);
        // The end may fall on the end of an interval.
        let since = samples.last().map_or(Span::ZERO, |last| last.at);
        if sample.at - since > Span::from_millis(1) {
            on_sample(&sample);
            samples.push(sample);
        }
    };
    let ended_early = loop {
        tokio::select! {
            biased;
            () = &mut end => break false,
            _ = ticks.tick() => take(),
            result = &mut work => {
                result?;
                break true;
            }
        }
    };
    take();
    if !ended_early {
        valve.send_replace(Valve::Ended);
        drop(near.take());
        // What is still on its way has no place in the result.
        timeout(GRACE, work).await.ok();
    }
    Ok((samples, ended_early))
}

/// Sends what `valve` lets through, at most this many bytes, to the server, which discards it, until
/// the valve ends it or the server has enough. Counts in `fed`.
pub(super) fn discarded<'a>(
    client: &'a PipeClient,
    valve: watch::Receiver<Valve>,
    most: u64,
    fed: &'a AtomicU64,
) -> BoxFuture<'a, Result<(), Error>> {
    let work = async move {
        let (near, far) = tokio::io::duplex(AHEAD);
        let pipe = client.pipe(PROBE, far, tokio::io::sink());
        tokio::pin!(pipe);
        let result = tokio::select! {
            // A server that has enough ends the pipe before it is fed all.
            result = &mut pipe => result,
            () = feed(valve, near, most, fed) => pipe.await,
        };
        result.map(|_| ())
    };
    work.boxed()
}

fn sample(
    client: &PipeClient,
    started: Instant,
    received: Option<u64>,
    constant: Option<Rate>,
) -> IntervalSample {
    let now = client.monitor().snapshot().state;
    let path = client.connection().path_stats(PathId::ZERO);
    let is_sender = received.is_none();
    let over_quic = *client.transport() == Transport::Quic;
    IntervalSample {
        at: started.elapsed().into(),
        acknowledged: Bytes::new(received.unwrap_or(now.delivered.get())),
        lost_packets: match is_sender && over_quic {
            true => path.map_or(0, |path| path.lost_packets),
            false => 0,
        },
        cwnd: match is_sender && over_quic && constant.is_none() {
            true => now.cwnd,
            false => Bytes::ZERO,
        },
        srtt: match is_sender {
            true => now.srtt,
            false => path.map_or(Span::ZERO, |path| path.rtt.into()),
        },
        rttvar: if is_sender { now.rttvar } else { Span::ZERO },
        path_mtu: match over_quic {
            true => Bytes::new(path.map_or(0, |path| path.current_mtu).into()),
            false => Bytes::ZERO,
        },
        paths: Vec::new(),
    }
}

/// Counts bytes, and discards them.
struct Counting<'a>(&'a AtomicU64);

impl AsyncWrite for Counting<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.fetch_add(data.len() as u64, Ordering::Relaxed);
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
