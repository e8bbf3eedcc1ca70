//! `whimbrel tcp status --watch`: all instances over time.

use crate::{Screen, View, until};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use whimbrel_linux::status::{ConnectionRecord, Found, instances};
use whimbrel_study::tcp::status;

/// Shows the view until `stopped` is set, drawn each `interval`. `none` is its title while no
/// instance runs.
///
/// # Errors
/// If standard error is not a terminal, or the sockets cannot be listed.
pub fn show(stopped: &AtomicBool, interval: Duration, none: &str) -> anyhow::Result<()> {
    let curves = [
        "acknowledged, Mbit/s",
        "longest queueing delay, ms",
        "lost, segments/s",
    ];
    let mut view = View::new(String::new(), &curves);
    let mut counts = Counts::default();
    let update = |view: &mut View, now| {
        let found = instances()?;
        if let Some(values) = counts.since_last(&found, now) {
            view.push(values);
        }
        view.title = match found.snapshots.len() {
            0 => none.to_owned(),
            1 => "1 instance of whimbrel tcp".to_owned(),
            n => format!("{n} instances of whimbrel tcp"),
        };
        view.table = status(&found, Some(24));
        anyhow::Ok(())
    };
    until(stopped, interval, &mut Screen::open()?, &mut view, update)
}

/// The ends of a connection, and its process: which one it is.
type Key = (u32, SocketAddr, SocketAddr);

/// What the curves need of the last look.
#[derive(Default)]
struct Counts {
    before: Option<Instant>,
    /// Bytes acknowledged and segments lost.
    counts: HashMap<Key, (u64, u64)>,
}

impl Counts {
    /// The values of the curves; `None` at first. A connection that was not there before adds
    /// nothing to rates: when its data was sent is not known.
    fn since_last(&mut self, found: &Found, now: Instant) -> Option<[f64; 3]> {
        let before = std::mem::take(&mut self.counts);
        let (mut bytes, mut lost, mut queue) = (0, 0, 0.0_f64);
        for snapshot in &found.snapshots {
            for c in &snapshot.connections {
                let key = (snapshot.pid, c.local, c.remote);
                if let Some((acked, losses)) = before.get(&key) {
                    bytes += c.acked_bytes.saturating_sub(*acked);
                    lost += c.lost.saturating_sub(*losses);
                }
                self.counts.insert(key, (c.acked_bytes, c.lost));
                queue = queue.max(queueing_ms(c));
            }
        }
        let then = self.before.replace(now)?;
        let seconds = now.saturating_duration_since(then).as_secs_f64();
        let values = [bytes as f64 * 8e-6 / seconds, queue, lost as f64 / seconds];
        (seconds > 0.0).then_some(values)
    }
}

/// The round-trip time above its minimum, of a connection that is open.
fn queueing_ms(c: &ConnectionRecord) -> f64 {
    let rtt = c.srtt_ms.zip(c.min_rtt_ms).filter(|_| !c.ended);
    rtt.map_or(0.0, |(now, minimum)| now - minimum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use whimbrel_linux::status::Snapshot;
    use whimbrel_linux::{ClockRecord, ClockState};

    /// A connection from this port that has had so many bytes acknowledged and segments lost.
    fn connection(port: u16, acked_bytes: u64, lost: u64) -> ConnectionRecord {
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        ConnectionRecord {
            local: address(port),
            remote: address(443),
            goodput_bps: 0,
            acked_bytes,
            received_bytes: 0,
            began_s: 0.0,
            active_s: 0.0,
            segments: 0,
            retransmits: 0,
            lost,
            timeouts: 0,
            episodes: 0,
            reductions: 0,
            spurious: 0,
            verdicts: None,
            fallback: false,
            ended: false,
            dropped_events: 0,
            cwnd_bytes: 0,
            ssthresh_bytes: None,
            pacing_bps: None,
            delivery_bps: None,
            phase: String::new(),
            in_flight_bytes: 0,
            rtt_ms: None,
            srtt_ms: Some(50.0),
            min_rtt_ms: Some(20.0),
            nacks: 0,
            nacks_refused: 0,
            receiver_clock: ClockRecord {
                state: ClockState::Absent,
                tick_ms: None,
            },
        }
    }

    fn found(connections: Vec<ConnectionRecord>) -> Found {
        Found {
            snapshots: vec![Snapshot {
                pid: 1,
                controller: String::new(),
                fallback_controller: String::new(),
                what: String::new(),
                elapsed_s: 0.0,
                connections_total: 0,
                fallbacks: 0,
                dropped_events: 0,
                clamped: 0,
                connections,
            }],
            refused: Vec::new(),
        }
    }

    #[test]
    fn curves_show_what_happened_since_the_last_look() {
        let mut counts = Counts::default();
        let start = Instant::now();
        let first = found(vec![connection(1000, 5_000_000, 7)]);
        assert_eq!(counts.since_last(&first, start), None);
        // 1 MB and 4 losses in two seconds. What a connection had that is new to the view, and an
        // ended one's queue, do not count.
        let ended = ConnectionRecord {
            ended: true,
            srtt_ms: Some(900.0),
            ..connection(3000, 0, 0)
        };
        let known = connection(1000, 6_000_000, 11);
        let second = found(vec![known, connection(2000, 9_000_000, 99), ended]);
        let now = start + Duration::from_secs(2);
        assert_eq!(counts.since_last(&second, now), Some([4.0, 30.0, 2.0]));
    }
}
