//! The two ends of a transfer over QUIC.

use super::measurement::{Measurement, OnPath, SAMPLING, Sample};
use std::future::pending;
use std::path::Path;
use std::time::Duration as Span;
use tokio::runtime::Runtime;
use whimbrel_cc::Spec;
use whimbrel_link::FAR;
use whimbrel_transfer::{
    ClientOptions, DEFAULT_PORT, Identity, IntervalSample, Measurement as Recording, Retry,
    SendOptions, SendSource, ServeOptions, Server, ServerAddress, TracePoint, TransportChoice, Via,
    transfer,
};
use whimbrel_units::Duration;

/// Receives files into a directory until the process ends.
pub fn serve(directory: &Path, identity: &Identity) -> Result<(), String> {
    let runtime = Runtime::new().map_err(|e| e.to_string())?;
    runtime.block_on(async {
        let options = ServeOptions {
            tcp: false,
            ..ServeOptions::new(directory, ([0_u8; 4], DEFAULT_PORT).into())
        };
        let server = Server::bind(options, identity).map_err(|e| e.to_string())?;
        server.run(|_| {}, pending()).await;
        Ok(())
    })
}

/// Sends a file to the far end, over these network interfaces if there are any. Samples are taken
/// at this interval.
pub fn send(
    file: &Path,
    identity: &Identity,
    controller: &Spec,
    via: &[Via],
    sampling: Span,
) -> Result<Measurement, String> {
    let server = ServerAddress {
        host: FAR.to_string(),
        port: DEFAULT_PORT,
    };
    let client = ClientOptions {
        fingerprint: Some(identity.fingerprint()),
        transport: TransportChoice::Quic,
        via: via.to_vec(),
        // An outage does not end it.
        retry: Some(Retry {
            limit: Some(Duration::from_secs(24 * 3600)),
            from_start: false,
        }),
        ..ClientOptions::new(server, identity.token().clone(), controller.clone())
    };
    let options = SendOptions {
        measurement: Recording {
            trace: Some(sampling.into()),
            interval: (!via.is_empty()).then(|| SAMPLING.into()),
            ..Recording::default()
        },
        ..SendOptions::new(client, SendSource::File(file.to_owned()))
    };
    let runtime = Runtime::new().map_err(|e| e.to_string())?;
    let report = runtime.block_on(transfer(options, |_| {}, pending()));
    let summary = report.result.map_err(|e| e.to_string())?;
    let samples = summary.samples.iter().flatten();
    let sample = |p: &TracePoint| Sample {
        t_s: p.t_s,
        delivered_bytes: p.delivered_bytes,
        rtt_ms: p.rtt_ms,
    };
    Ok(Measurement {
        seconds: summary.seconds,
        goodput_bps: summary.goodput_bps,
        sent_packets: summary.sent_packets,
        lost_packets: summary.lost_packets,
        blake3: summary.blake3.clone(),
        samples: samples.map(sample).collect(),
        paths: on_paths(&summary.intervals),
        ..Measurement::default()
    })
}

/// Each path over time.
fn on_paths(samples: &[IntervalSample]) -> Vec<OnPath> {
    let mut all: Vec<OnPath> = Vec::new();
    for sample in samples {
        for path in &sample.paths {
            let via = path.via.clone().unwrap_or_default();
            let index = all.iter().position(|known| known.via == via);
            let index = index.unwrap_or_else(|| {
                all.push(OnPath {
                    via,
                    sent: Vec::new(),
                });
                all.len() - 1
            });
            let point = (sample.at.as_secs_f64(), path.sent_bytes as f64);
            all[index].sent.push(point);
        }
    }
    all
}
