//! Measures the path to a server: sends data that the server discards, and samples the connection.
//!
//! A probe first sends as fast as BBR does, which loses no rate to random loss, then lets the queue
//! drain, and then sends below the measured rate: what is lost then is lost with an empty queue.
//!
//! A probe is a pipe to the target [`PROBE`](crate::wire::PROBE), so it needs no message of its own: an older server
//! refuses it as a target that it does not know. The server bounds its bytes and its time.

mod stage;

pub use stage::ProbeStage;

use super::measure::{Valve, discarded};
use super::options::ClientOptions;
use super::pipe::PipeClient;
use crate::error::Error;
use noq_proto::PathId;
use stage::Stages;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};
use whimbrel_cc::Spec;
use whimbrel_units::{Bytes, Duration as Span};

/// The algorithm that finds the rate, and the name of its phase in which it has found it.
const CONTROLLER: (&str, &str) = ("bbr", "probe bandwidth");
/// Time between samples. A sample that comes late delays those after it.
pub const PROBE_SAMPLING: Duration = Duration::from_millis(10);
/// Time for the server's last answer after the time of the probe: what is in flight must arrive.
const GRACE: Duration = Duration::from_secs(10);

/// The state of the connection at one moment of a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeSample {
    /// Seconds since the request.
    pub at: f64,
    /// What the probe does.
    pub stage: ProbeStage,
    /// Whether the sender has found the rate: it no longer rises.
    pub has_found_rate: bool,
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

impl ProbeReport {
    /// The samples of a stage.
    pub fn of(&self, stage: ProbeStage) -> impl Iterator<Item = &ProbeSample> {
        self.samples
            .iter()
            .filter(move |sample| sample.stage == stage)
    }

    /// Rates of delivery, bit/s, in windows of a round trip or more in which the path was the
    /// limit, until the queue was drained; without those in which the sender held back.
    pub fn full_rates(&self) -> Vec<f64> {
        let is_open = |s: &ProbeSample| matches!(s.stage, ProbeStage::Startup | ProbeStage::Full);
        let end = self.samples.iter().position(|sample| !is_open(sample));
        let open = &self.samples[..end.unwrap_or(self.samples.len())];
        stage::rates(open, self.min_rtt)
    }
}

/// Sends data to the server until the path is measured, for at most this time and this many bytes.
/// `options` chooses the server; the congestion controller is the probe's own. `progress` gets each
/// sample.
///
/// # Errors
/// If the server refuses it, or cannot be reached, or the connection is lost.
pub async fn probe(
    mut options: ClientOptions,
    most: Bytes,
    time: Span,
    progress: impl Fn(&ProbeSample),
) -> Result<ProbeReport, Error> {
    options.controller = controller();
    let client = PipeClient::connect(options).await?;
    let result = measure(&client, most.get(), time.into(), progress).await;
    client.close().await;
    result
}

async fn measure(
    client: &PipeClient,
    most: u64,
    time: Duration,
    progress: impl Fn(&ProbeSample),
) -> Result<ProbeReport, Error> {
    let started = Instant::now();
    let mut stages = Stages::new(time.as_secs_f64());
    let (valve, watched) = watch::channel(Valve::Open);
    let fed = AtomicU64::new(0);
    let sending = discarded(client, watched, most, &fed);
    let mut work = Box::pin(timeout(time + GRACE, sending));
    let mut ticks = interval(PROBE_SAMPLING);
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
                let sample = sample(client, started, stages.stage());
                progress(&sample);
                samples.push(sample);
                let exhausted = fed.load(Ordering::Relaxed) >= most;
                if let Some(next) = stages.advance(&samples, min_rtt(client), exhausted) {
                    valve.send_replace(next);
                }
            }
        }
    }
    drop(work);
    Ok(ProbeReport {
        samples,
        min_rtt: min_rtt(client),
        mtu: client
            .connection()
            .path_stats(PathId::ZERO)
            .map_or(0, |path| path.current_mtu),
        bytes: fed.into_inner(),
    })
}

fn controller() -> Spec {
    CONTROLLER.0.parse().expect("the registry has BBR")
}

fn min_rtt(client: &PipeClient) -> f64 {
    client.monitor().snapshot().state.min_rtt.as_secs_f64()
}

fn sample(client: &PipeClient, started: Instant, stage: ProbeStage) -> ProbeSample {
    let now = client.monitor().snapshot().state;
    let path = client.connection().path_stats(PathId::ZERO);
    ProbeSample {
        at: started.elapsed().as_secs_f64(),
        stage,
        has_found_rate: now.phase == CONTROLLER.1,
        delivered: now.delivered.get(),
        sent_packets: path.map_or(0, |path| path.sent_packets),
        lost_packets: path.map_or(0, |path| path.lost_packets),
        rtt: now.rtt.as_secs_f64(),
    }
}
