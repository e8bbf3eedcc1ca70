//! `whimbrel tcp status --watch`: all instances over time.

use super::find::Found;
use super::{NO_INSTANCE, REFRESH, find, show};
use crate::tcp::record::ConnectionRecord;
use crate::watch::{Curve, Screen, View};
use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time between looks for a signal.
const POLL: Duration = Duration::from_millis(50);

/// Shows the view until a signal.
///
/// # Errors
/// If standard error is not a terminal, or the sockets cannot be listed.
pub fn run() -> anyhow::Result<ExitCode> {
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stopped))
            .context("cannot handle signals")?;
    }
    let mut screen = Screen::open()?;
    let mut watch = Watch::default();
    while !stopped.load(Ordering::Relaxed) {
        let began = Instant::now();
        screen.show(&watch.view(&find::instances()?, began))?;
        while began.elapsed() < REFRESH && !stopped.load(Ordering::Relaxed) {
            sleep(POLL);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The ends of a connection, and its process: which one it is.
type Key = (u32, SocketAddr, SocketAddr);

/// What the curves need of the last look.
struct Watch {
    before: Option<Instant>,
    /// Bytes acknowledged and segments lost.
    counts: HashMap<Key, (u64, u64)>,
    curves: [Curve; 3],
}

impl Default for Watch {
    fn default() -> Self {
        let names = [
            "acknowledged, Mbit/s",
            "longest queueing delay, ms",
            "lost, segments/s",
        ];
        Self {
            before: None,
            counts: HashMap::new(),
            curves: names.map(Curve::new),
        }
    }
}

impl Watch {
    /// The view at this time. A connection that was not there before adds nothing to rates: when its
    /// data was sent is not known.
    fn view(&mut self, found: &Found, now: Instant) -> View {
        let mut counts = HashMap::new();
        let (mut bytes, mut lost, mut queue) = (0, 0, 0.0_f64);
        for snapshot in &found.snapshots {
            for c in &snapshot.connections {
                let key = (snapshot.pid, c.local, c.remote);
                if let Some((acked, losses)) = self.counts.get(&key) {
                    bytes += c.acked_bytes.saturating_sub(*acked);
                    lost += c.lost.saturating_sub(*losses);
                }
                counts.insert(key, (c.acked_bytes, c.lost));
                queue = queue.max(queueing_ms(c));
            }
        }
        let passed = self
            .before
            .map(|before| now.saturating_duration_since(before));
        if let Some(seconds) = passed
            .map(|passed| passed.as_secs_f64())
            .filter(|s| *s > 0.0)
        {
            let values = [bytes as f64 * 8e-6 / seconds, queue, lost as f64 / seconds];
            for (curve, value) in self.curves.iter_mut().zip(values) {
                curve.push(value);
            }
        }
        self.before = Some(now);
        self.counts = counts;
        let title = match found.snapshots.len() {
            0 => NO_INSTANCE.to_owned(),
            1 => "1 instance of whimbrel tcp".to_owned(),
            n => format!("{n} instances of whimbrel tcp"),
        };
        View {
            title,
            curves: self.curves.to_vec(),
            table: show::text(found, Some(24)),
            output: Vec::new(),
        }
    }
}

/// The round-trip time above its minimum, of a connection that is open.
fn queueing_ms(c: &ConnectionRecord) -> f64 {
    let rtt = c.srtt_ms.zip(c.min_rtt_ms).filter(|_| !c.ended);
    rtt.map_or(0.0, |(now, least)| now - least)
}
