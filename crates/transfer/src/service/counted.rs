//! What the metrics of a server count, and the events that they count.

use super::metrics::{Kind, Metrics};
use crate::{Error, Event, Reason, Server};
use std::time::{SystemTime, UNIX_EPOCH};

const TRANSFERS: &str = "whimbrel_transfers_total";
const BYTES: &str = "whimbrel_transfer_bytes_total";
const REFUSALS: &str = "whimbrel_refusals_total";
const PIPES: &str = "whimbrel_pipes_total";
const PIPE_BYTES: &str = "whimbrel_pipe_bytes_total";
const CONNECTIONS: &str = "whimbrel_connections";
const ATTEMPTS: &str = "whimbrel_connections_total";
const SENT: &str = "whimbrel_packets_sent_total";
const LOST: &str = "whimbrel_packets_lost_total";
const RUNNING: &str = "whimbrel_transfers_running";
const STARTED: &str = "whimbrel_start_time_seconds";

/// The metrics of a server that starts now.
pub fn metrics() -> Metrics {
    let metrics = Metrics::default();
    for (name, help) in [
        (TRANSFERS, "Transfers that ended, by result."),
        (BYTES, "Bytes of files, by direction."),
        (REFUSALS, "Requests that were refused, by reason."),
        (PIPES, "Pipes that ended, by target."),
        (PIPE_BYTES, "Bytes in pipes, by direction."),
        (ATTEMPTS, "Attempts to connect, by result."),
        (SENT, "Packets sent by ended connections."),
        (LOST, "Packets lost of ended connections."),
    ] {
        metrics.define(name, Kind::Counter, help);
    }
    for (name, help) in [
        (CONNECTIONS, "Open connections, by kind."),
        (RUNNING, "Transfers in progress."),
        (STARTED, "When the server started, s since 1970."),
    ] {
        metrics.define(name, Kind::Gauge, help);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    metrics.set(STARTED, &[], now.unwrap_or_default().as_secs_f64());
    metrics
}

/// Counts an event.
pub fn count(metrics: &Metrics, event: &Event) {
    let ended = |result| metrics.add(TRANSFERS, &[("result", result)], 1.0);
    let bytes = |name, direction, bytes: whimbrel_units::Bytes| {
        metrics.add(name, &[("direction", direction)], bytes.get() as f64);
    };
    match event {
        Event::Stored { bytes: size, .. } | Event::StoredTree { bytes: size, .. } => {
            ended("stored");
            bytes(BYTES, "received", *size);
        }
        Event::Sent { bytes: size, .. } | Event::SentTree { bytes: size, .. } => {
            ended("sent");
            bytes(BYTES, "sent", *size);
        }
        Event::Piped {
            target,
            sent,
            received,
            ..
        } => {
            metrics.add(PIPES, &[("target", target)], 1.0);
            bytes(PIPE_BYTES, "sent", *sent);
            bytes(PIPE_BYTES, "received", *received);
        }
        Event::Failed { error, .. } => match error {
            Error::Refused(refusal) => {
                metrics.add(REFUSALS, &[("reason", label(refusal.reason))], 1.0);
            }
            _ => ended("failed"),
        },
        Event::Removed { .. } | Event::Introduced { .. } => {}
    }
}

/// Sets what is read from the server.
pub fn refresh(metrics: &Metrics, server: &Server) {
    let counts = server.counts();
    for (kind, count) in [("stranger", counts.strangers), ("user", counts.clients)] {
        metrics.set(CONNECTIONS, &[("kind", kind)], count as f64);
    }
    for (result, count) in [
        ("accepted", counts.accepted),
        ("replaced", counts.replaced),
        ("ignored", counts.ignored),
    ] {
        metrics.set(ATTEMPTS, &[("result", result)], count as f64);
    }
    metrics.set(SENT, &[], counts.sent_packets as f64);
    metrics.set(LOST, &[], counts.lost_packets as f64);
    metrics.set(RUNNING, &[], server.receiving().transfers.len() as f64);
}

/// The label of a reason.
fn label(reason: Reason) -> &'static str {
    match reason {
        Reason::Token => "token",
        Reason::Name => "name",
        Reason::Exists => "exists",
        Reason::TooLarge => "too-large",
        Reason::DiskFull => "disk-full",
        Reason::Busy => "busy",
        Reason::Corrupt => "corrupt",
        Reason::Protocol => "protocol",
        Reason::Stalled => "stalled",
        Reason::Stopping => "stopping",
        Reason::Version => "version",
        Reason::Rights => "rights",
        Reason::Quota => "quota",
        Reason::Missing => "missing",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RemoteUser;
    use whimbrel_units::{Bytes, Duration};

    #[test]
    fn a_pipe_counts_in_both_directions() {
        let metrics = metrics();
        let event = Event::Piped {
            peer: RemoteUser {
                address: ([192, 0, 2, 7], 4433).into(),
                user: None,
            },
            key_exchange: None,
            target: "ssh".to_owned(),
            sent: Bytes::new(5),
            received: Bytes::new(70),
            took: Duration::from_secs(1),
        };
        count(&metrics, &event);
        let text = metrics.render();
        for line in [
            "whimbrel_pipes_total{target=\"ssh\"} 1\n",
            "whimbrel_pipe_bytes_total{direction=\"sent\"} 5\n",
            "whimbrel_pipe_bytes_total{direction=\"received\"} 70\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
