//! Sends one file.

mod connect;
mod options;
mod put;

use crate::connect::Connected;
use crate::interval_statistics::IntervalStatistics;
use crate::summary::{BurstSummary, Summary, TracePoint, VerdictCounts, goodput};
use crate::{Error, FileName, close};
use connect::connect;
use noq_proto::{PathId, VarInt};
pub use options::{Progress, SendOptions};
use put::put;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::time::{interval, timeout};
use whimbrel_quic::endpoint::Connection;
use whimbrel_quic::{Factory, Monitor, PacketLog};

/// Time between calls of `on_progress`.
const TICK: Duration = Duration::from_millis(100);

/// Sends one file and waits until the server has stored it on disk under its name. `on_progress` is
/// called ten times per second. When `stop` completes, the transfer is cancelled and the server
/// notified.
///
/// # Errors
/// If the file cannot be read, the server cannot be reached, has another fingerprint, or refuses
/// the file, or the connection is lost. The server has then not stored the file, with one
/// exception: if the connection is lost after the last byte and before the confirmation, it may
/// have.
pub async fn send(
    options: SendOptions,
    mut on_progress: impl FnMut(Progress),
    stop: impl Future<Output = ()>,
) -> Result<Summary, Error> {
    let (file, size) = open(&options.file)?;
    let name = server_file_name(&options)?;
    let log = match &options.packet_log {
        Some(path) => Some(PacketLog::create(path).map_err(Error::file(path, "create"))?),
        None => None,
    };
    let factory = || {
        let mut factory = Factory::for_endpoint(options.controller.clone());
        if let Some(interval) = options.trace {
            factory = factory.sampling(interval);
        }
        match &log {
            Some(log) => factory.logging(log.clone()),
            None => factory,
        }
    };
    tokio::pin!(stop);
    let started = Instant::now();
    let Connected {
        endpoint,
        connection,
        monitor,
    } = tokio::select! {
        connected = connect(&options, factory) => connected?,
        () = &mut stop => return Err(Error::Stopped),
    };
    let connected = Instant::now();
    let transfer = put(&connection, &options, &name, file, size);
    tokio::pin!(transfer);
    let mut tick = interval(TICK);
    let mut intervals = IntervalStatistics::new(options.interval, connected);
    let result = loop {
        tokio::select! {
            result = &mut transfer => break result,
            () = &mut stop => break Err(Error::Stopped),
            () = intervals.due() => intervals.take(&connection, &monitor),
            _ = tick.tick() => {
                let bytes = monitor.snapshot().delivered.get().min(size);
                on_progress(Progress { bytes, size });
            }
        }
    };
    let took = connected.elapsed();
    // A stream error says only that the connection is lost; the connection knows the reason.
    let result = result.map_err(|error| match (error, connection.close_reason()) {
        (Error::Lost(_), Some(reason)) => Error::Lost(close::text(&reason)),
        (error, _) => error,
    });
    if result.is_ok() {
        on_progress(Progress { bytes: size, size });
    }
    let summary = result.map(|hash| {
        let times = (connected - started, took);
        intervals.end(&connection, &monitor);
        Summary {
            intervals: intervals.samples(),
            ..summarize(&connection, &monitor, &options, &name, size, hash, times)
        }
    });
    connection.close(VarInt::from_u32(close::DONE), b"");
    // Let the close reach the server now. If the network prevents it, the server times out.
    timeout(Duration::from_secs(1), endpoint.wait_idle())
        .await
        .ok();
    if let (Some(log), Some(path)) = (log, &options.packet_log) {
        log.finish().map_err(Error::file(path, "write"))?;
    }
    summary
}

fn open(path: &Path) -> Result<(File, u64), Error> {
    let file = File::open(path).map_err(Error::file(path, "open"))?;
    let meta = file.metadata().map_err(Error::file(path, "inspect"))?;
    if !meta.is_file() {
        let cause = std::io::Error::other("it is not a regular file");
        return Err(Error::file(path, "send")(cause));
    }
    Ok((file, meta.len()))
}

fn server_file_name(options: &SendOptions) -> Result<FileName, Error> {
    let file_name = || {
        options
            .file
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
    };
    let name = options.name.clone().or_else(file_name).unwrap_or_default();
    FileName::new(&name)
        .map_err(|e| Error::file(&options.file, "send")(std::io::Error::other(e.to_string())))
}

fn summarize(
    connection: &Connection,
    monitor: &Monitor,
    options: &SendOptions,
    name: &FileName,
    size: u64,
    hash: blake3::Hash,
    (connecting, took): (Duration, Duration),
) -> Summary {
    let stats = connection.stats();
    let path = connection.path_stats(PathId::ZERO);
    let now = monitor.snapshot();
    Summary {
        name: name.as_str().to_owned(),
        bytes: size,
        seconds: took.as_secs_f64(),
        connect_seconds: connecting.as_secs_f64(),
        goodput_bps: goodput(size, took.into()),
        lost_packets: stats.lost_packets,
        sent_packets: stats.sent_packets,
        rtt_ms: now.srtt.as_millis_f64(),
        min_rtt_ms: now.min_rtt.as_millis_f64(),
        cwnd_bytes: now.cwnd.get(),
        mtu_bytes: path.map_or(0, |p| p.current_mtu),
        controller: options.controller.to_string(),
        blake3: hash.to_hex().to_string(),
        loss_episodes: now.episodes,
        reductions: now.reductions,
        timeouts: now.timeouts,
        spurious: now.spurious,
        verdicts: VerdictCounts::of(&now),
        bursts: now.bursts.map(BurstSummary::from),
        samples: options.trace.map(|_| {
            monitor
                .samples()
                .into_iter()
                .map(TracePoint::from)
                .collect()
        }),
        intervals: Vec::new(),
    }
}
