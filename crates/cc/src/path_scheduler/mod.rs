//! Which path of a connection over several paths sends next.
//!
//! **The rule.** Data goes where it arrives first. Among the paths that may send now that is the
//! one with the lowest smoothed RTT, in which its queue is contained: acknowledgments of all paths
//! come back over the same one, so RTTs differ as the ways forth do. When the faster paths are
//! full, a slower one sends only if its data arrives before the faster ones could have delivered
//! everything that waits. With *k* bytes waiting, they have delivered it at the time *T* for which
//!
//! ```text
//! sum over the faster paths f of  rate_f * max(0, T - rtt_f)  =  k
//! ```
//!
//! and the slower path sends if `rtt_s + delta <= T`. While a transfer has much to send, *k* and so
//! *T* are large and all paths send; at its end the slow ones fall silent first, so that the last
//! byte does not wait for the slowest path.
//!
//! This is ECF (Y. Lim et al., "ECF: An MPTCP Path Scheduler to Manage Heterogeneous Paths", ACM
//! CoNEXT 2017, algorithm 1) for any number of paths. `delta`, the larger of the two deviations of
//! the RTT, and the hysteresis `beta` of 1/4 for a path that has been told to wait are the paper's.
//! The paper compares with one faster path and counts in windows, `n * rtt_f` with `n = 1 + k /
//! cwnd_f`; a rate is the same and adds up.
//!
//! **What it does not do.** BLEST (S. Ferlin et al., IFIP Networking 2016) also keeps a slow path
//! from filling the receive window of the connection. Here the window is the application's: 64 MiB
//! in a transfer, which holds 5 s at 100 Mbit/s. Data is not sent twice on purpose: that of a dead
//! path is, by the transport.

use whimbrel_units::{Bytes, Duration, Rate};

/// ECF's hysteresis: a path that waits goes on waiting until its data would arrive so much earlier,
/// as a part of its RTT.
const BETA: f64 = 0.25;

/// A path is left for another one only if that gains so much.
const GAIN: Duration = Duration::from_millis(20);

/// What the scheduler knows of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathView {
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// RTT variation (RTTVAR of RFC 6298).
    pub rttvar: Duration,
    /// What the path carries: its window over its RTT, or its pacing rate if that is lower.
    pub rate: Rate,
}

/// Schedules the paths of one connection.
#[derive(Debug, Clone, Default)]
pub struct Scheduler {
    /// The paths that were told to wait, by index.
    waiting: Vec<bool>,
}

impl Scheduler {
    /// Puts the indices of the paths that may be used in the order in which they are to be tried:
    /// the lowest RTT first, paths without a sample last.
    pub fn order(order: &mut [usize], view: impl Fn(usize) -> PathView) {
        order.sort_unstable_by_key(|path| {
            let srtt = view(*path).srtt;
            (srtt.is_zero(), srtt, *path)
        });
    }

    /// Whether `path` is to send, when the `faster` ones are full and so many bytes wait.
    pub fn sends(
        &mut self,
        path: usize,
        view: &PathView,
        faster: &[PathView],
        waiting: Bytes,
    ) -> bool {
        if self.waiting.len() <= path {
            self.waiting.resize(path + 1, false);
        }
        let deviation = faster.iter().map(|f| f.rttvar).fold(view.rttvar, Ord::max);
        let arrives = view.srtt + deviation;
        let hysteresis = if self.waiting[path] { 1.0 + BETA } else { 1.0 };
        let sends = match time_to_deliver(faster, waiting) {
            Some(all) => arrives.as_secs_f64() * hysteresis <= all,
            None => true,
        };
        self.waiting[path] = !sends;
        sends
    }
}

/// Whether a path that is idle would bring again what is in flight on another one, `in_flight`
/// bytes, clearly before the last acknowledgment for it is expected, after `kept`. A round trip
/// passes until the peer knows, another until the data is acknowledged. For the end of a transfer,
/// when nothing else waits.
pub fn overtakes(idle: &PathView, in_flight: Bytes, kept: Duration) -> bool {
    let again = idle.rate.time_for(in_flight);
    let known = !idle.srtt.is_zero() && again < kept;
    known && again + idle.srtt * 2 + GAIN < kept
}

/// When the paths have delivered so many bytes and that has been acknowledged, seconds; `None` if
/// they deliver nothing, or nothing is known of them.
fn time_to_deliver(paths: &[PathView], bytes: Bytes) -> Option<f64> {
    let mut known: Vec<(f64, f64)> = paths
        .iter()
        .filter(|path| path.rate > Rate::ZERO && !path.srtt.is_zero())
        .map(|path| (path.srtt.as_secs_f64(), path.rate.as_bytes_per_sec() as f64))
        .collect();
    known.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut rate, mut head_start) = (0.0, 0.0);
    let mut at = None;
    for (rtt, of_path) in known {
        // With the paths before this one alone, all has arrived before this one brings anything.
        if at.is_some_and(|at: f64| at <= rtt) {
            break;
        }
        rate += of_path;
        head_start += of_path * rtt;
        at = Some((bytes.get() as f64 + head_start) / rate);
    }
    at
}

#[cfg(test)]
mod tests;
