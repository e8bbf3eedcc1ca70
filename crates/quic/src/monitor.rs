//! The state of a connection for the application, because noq does not expose its controller.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use whimbrel_cc::connection::{ConnectionState, EpisodeCounts};
use whimbrel_cc::{SavedPath, Spans, Verdict};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Maximum number of samples kept: 100 minutes at ten per second. A longer trace becomes coarser,
/// not larger.
const MAX_SAMPLES: usize = 60_000;

/// The state of a connection, and counts over all its controllers. Over several paths, data,
/// windows and rates are sums and the RTT is that of the fastest path.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Snapshot {
    /// The state of the connection.
    pub state: ConnectionState,
    /// Episodes of loss and of congestion marks. After one that reduced the window, at most one
    /// per round trip.
    pub episodes: EpisodeCounts,
    /// What the path was seen to carry, if data was sent for some round trips
    /// ([`Observer`](whimbrel_cc::careful_resume::Observer)).
    pub path: Option<SavedPath>,
    /// It was seen for long enough to replace what an earlier connection saw.
    pub path_is_settled: bool,
    /// What only a sender of bursts has.
    pub bursts: Option<Bursts>,
}

/// The state of a sender of bursts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bursts {
    /// The bandwidth of the path as its trains measured it, headers included; zero before that.
    pub bandwidth: Rate,
    /// The priority that the receiving node granted, 1 to 8; `None` before its answer.
    pub priority: Option<u8>,
    /// Weighted fairness of the node's flows (WF), 0 to 1, by the newest report.
    pub fairness: Option<f64>,
    /// The rate that the node allocates to the flow (Vm), by the newest report.
    pub allocated: Option<Rate>,
    /// The noise of a Jitter Ratio on this path, a fraction of a burst.
    pub noise: f64,
    /// Packets arrive in lumps, so that jitter says nothing: losses are judged by the queue's
    /// level.
    pub lumps: bool,
    /// Bursts that were reported.
    pub reported: u64,
    /// Times that silence halted the sender.
    pub halts: u64,
}

/// A burst, when its report has arrived.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burst {
    /// Its number.
    pub number: u32,
    /// When the report arrived, since the connection began.
    pub reported: Time,
    /// Packets sent in it.
    pub packets: u32,
    /// Packets of it that arrived.
    pub received: u32,
    /// Packets of earlier bursts that are lost with it: they were never reported.
    pub lost_before: u32,
    /// From its first to its last packet that arrived, as planned.
    pub planned: Duration,
    /// The same packets, as they left and as they arrived, if there are two.
    pub spans: Option<Spans>,
    /// The noise of Jitter Ratios then.
    pub noise: f64,
    /// The algorithm's phase after it.
    pub phase: &'static str,
    /// What the algorithm took its losses for, if it had any.
    pub verdict: Option<Verdict>,
}

/// What the controller of one path reported. Its [`PathMonitor`] shares it, while there is one.
#[derive(Debug)]
struct OfPath {
    shared: Arc<Mutex<Snapshot>>,
    /// How many reports there were of all paths when the last controller of this one ended.
    ended_after: Option<u64>,
}

impl OfPath {
    fn snapshot(&self) -> Snapshot {
        *lock(&self.shared)
    }

    /// Whether there is still a controller.
    fn is_alive(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }
}

#[derive(Debug, Default)]
struct Observed {
    /// The paths; the first one also has what is reported without a path.
    paths: Vec<OfPath>,
    /// What controllers of former paths counted.
    ended: Snapshot,
    /// Reports of all paths so far.
    reports: u64,
    /// Bursts, if they are to be kept.
    bursts: Option<Vec<Burst>>,
    samples: Vec<ConnectionState>,
    /// Time between samples; `None` takes no samples.
    interval: Option<Duration>,
    next_sample: Time,
}

/// A view of the controllers of one [`Factory`](crate::Factory). Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Monitor(Arc<Mutex<Observed>>);

impl Monitor {
    pub(crate) fn sampling(interval: Duration) -> Self {
        let interval = Some(interval.max(Duration::from_millis(1)));
        Self(Arc::new(Mutex::new(Observed {
            interval,
            ..Observed::default()
        })))
    }

    /// Keeps a record of each burst from now on, up to 60,000.
    pub(crate) fn keep_bursts(&self) {
        self.lock().bursts.get_or_insert_default();
    }

    /// The bursts so far; empty unless [`Factory::recording`](crate::Factory::recording) was
    /// called.
    pub fn bursts(&self) -> Vec<Burst> {
        self.lock().bursts.clone().unwrap_or_default()
    }

    /// A burst was reported. `record` is called if records are kept.
    pub(crate) fn burst(&self, record: impl FnOnce() -> Burst) {
        let mut state = self.lock();
        if let Some(bursts) = state.bursts.as_mut().filter(|b| b.len() < MAX_SAMPLES) {
            bursts.push(record());
        }
    }

    /// The current state.
    pub fn snapshot(&self) -> Snapshot {
        self.lock().merged()
    }

    /// A new path, whose controller reports here.
    pub(crate) fn open_path(&self) -> PathMonitor {
        let snapshot = Arc::default();
        let mut state = self.lock();
        state.forget_ended();
        state.paths.push(OfPath {
            shared: Arc::clone(&snapshot),
            ended_after: None,
        });
        PathMonitor {
            monitor: self.clone(),
            snapshot,
        }
    }

    /// The trace so far; empty unless [`Factory::sampling`](crate::Factory::sampling) was called.
    pub fn samples(&self) -> Vec<ConnectionState> {
        self.lock().samples.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Observed> {
        lock(&self.0)
    }
}

// A panic while the lock was held can leave a count at most one too low.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the controller of one path reports. Clones report as the same path.
#[derive(Debug, Clone)]
pub(crate) struct PathMonitor {
    monitor: Monitor,
    snapshot: Arc<Mutex<Snapshot>>,
}

impl PathMonitor {
    /// Updates the state after an acknowledgment or a loss.
    pub fn update(&self, change: impl FnOnce(&mut Snapshot)) {
        let now = {
            let mut snapshot = lock(&self.snapshot);
            change(&mut snapshot);
            snapshot.state.time
        };
        let mut state = self.monitor.lock();
        state.reports += 1;
        state.sample(now);
    }

    /// A burst was reported. `record` is called if records are kept.
    pub fn burst(&self, record: impl FnOnce() -> Burst) {
        self.monitor.burst(record);
    }
}

impl Drop for PathMonitor {
    fn drop(&mut self) {
        // The list's and this one: no other controller reports of this path any more.
        if Arc::strong_count(&self.snapshot) > 2 {
            return;
        }
        let mut state = self.monitor.lock();
        let reports = state.reports;
        let mut paths = state.paths.iter_mut();
        if let Some(path) = paths.find(|path| Arc::ptr_eq(&path.shared, &self.snapshot)) {
            path.ended_after = Some(reports);
        }
    }
}

impl Observed {
    /// The paths that are alive; after the end of the connection, those that ended with it: no path
    /// has reported since.
    fn present(&self) -> Vec<&OfPath> {
        let alive = |path: &&OfPath| path.is_alive();
        let last = |path: &&OfPath| path.ended_after == Some(self.reports);
        let paths: Vec<&OfPath> = self.paths.iter().filter(alive).collect();
        match paths.is_empty() {
            true => self.paths.iter().filter(last).collect(),
            false => paths,
        }
    }

    /// Adds up the paths that have ended.
    fn forget_ended(&mut self) {
        let ended = &mut self.ended;
        self.paths.retain(|path| {
            let alive = path.is_alive();
            if !alive {
                add(ended, &path.snapshot());
            }
            alive
        });
    }

    fn merged(&self) -> Snapshot {
        let present = self.present();
        let one = match present[..] {
            [one] => Some(one),
            [] => self.paths.last(),
            _ => None,
        };
        let mut merged = match one.map(OfPath::snapshot) {
            Some(one) => Snapshot {
                episodes: EpisodeCounts::default(),
                state: ConnectionState {
                    delivered: Bytes::ZERO,
                    lost: Bytes::ZERO,
                    ..one.state
                },
                ..one
            },
            None => self.side_by_side(&present),
        };
        add(&mut merged, &self.ended);
        for path in &self.paths {
            add(&mut merged, &path.snapshot());
        }
        merged
    }

    /// The present state of several paths.
    fn side_by_side(&self, paths: &[&OfPath]) -> Snapshot {
        let mut merged = Snapshot::default();
        merged.state.phase = "several paths";
        merged.state.pacing_rate = Some(Rate::ZERO);
        let sum = |a: Rate, b: Rate| {
            Rate::from_bits_per_sec(a.as_bits_per_sec().saturating_add(b.as_bits_per_sec()))
        };
        for path in paths {
            let (all, of_path) = (&mut merged.state, path.snapshot().state);
            all.time = all.time.max(of_path.time);
            all.cwnd += of_path.cwnd;
            all.in_flight += of_path.in_flight;
            all.pacing_rate = all
                .pacing_rate
                .zip(of_path.pacing_rate)
                .map(|(a, b)| sum(a, b));
            all.delivery_rate = match (all.delivery_rate, of_path.delivery_rate) {
                (Some(a), Some(b)) => Some(sum(a, b)),
                (a, b) => a.or(b),
            };
            let faster = all.srtt.is_zero() || of_path.srtt < all.srtt;
            if faster && !of_path.srtt.is_zero() {
                (all.srtt, all.rttvar) = (of_path.srtt, of_path.rttvar);
                (all.rtt, all.min_rtt) = (of_path.rtt, of_path.min_rtt);
            }
        }
        // What is saved of a path is that of the first, on which connections begin.
        if let Some(first) = self.paths.first() {
            let first = first.snapshot();
            merged.path = first.path;
            merged.path_is_settled = first.path_is_settled;
        }
        merged
    }

    fn sample(&mut self, now: Time) {
        let Some(interval) = self.interval else {
            return;
        };
        if now < self.next_sample {
            return;
        }
        if self.samples.len() >= MAX_SAMPLES {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.interval = Some(interval * 2);
        }
        self.next_sample = now + interval;
        let state = self.merged().state;
        self.samples.push(state);
    }
}

/// Adds what is counted of a path.
fn add(sum: &mut Snapshot, path: &Snapshot) {
    sum.state.delivered += path.state.delivered;
    sum.state.lost += path.state.lost;
    let (all, of_path) = (&mut sum.episodes, &path.episodes);
    all.episodes += of_path.episodes;
    all.marked += of_path.marked;
    all.reductions += of_path.reductions;
    all.timeouts += of_path.timeouts;
    all.spurious += of_path.spurious;
    if let Some(verdicts) = of_path.verdicts {
        *all.verdicts.get_or_insert_default() += verdicts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_add_up_and_the_fastest_has_the_rtt() {
        let monitor = Monitor::default();
        let report = |path: &PathMonitor, delivered: u64, rtt: u64| {
            path.update(|s| {
                s.state.delivered = Bytes::new(delivered);
                s.state.cwnd = Bytes::new(10);
                s.state.srtt = Duration::from_millis(rtt);
                s.episodes.episodes = 1;
            });
        };
        let first = monitor.open_path();
        report(&first, 100, 600);
        assert_eq!(monitor.snapshot().state.srtt, Duration::from_millis(600));
        let second = monitor.open_path();
        report(&second, 50, 30);
        let both = monitor.snapshot();
        assert_eq!(both.state.delivered, Bytes::new(150));
        assert_eq!(
            (both.state.cwnd, both.episodes.episodes),
            (Bytes::new(20), 2)
        );
        assert_eq!(both.state.srtt, Duration::from_millis(30));
        drop(second);
        let third = monitor.open_path();
        let after = monitor.snapshot().state;
        assert_eq!(
            (after.delivered, after.cwnd),
            (Bytes::new(150), Bytes::new(10))
        );
        drop((first, third));
        assert_eq!(monitor.snapshot().state.delivered, Bytes::new(150));
    }

    #[test]
    fn after_the_end_the_state_is_that_of_the_paths_that_ended_with_the_connection() {
        let monitor = Monitor::default();
        let report = |path: &PathMonitor, rtt: u64| {
            path.update(|s| {
                s.state.cwnd = Bytes::new(10);
                s.state.srtt = Duration::from_millis(rtt);
                s.state.min_rtt = Duration::from_millis(rtt);
            });
        };
        let [closed, slow, fast, slowest] = [10, 600, 30, 900].map(|rtt| {
            let path = monitor.open_path();
            report(&path, rtt);
            path
        });
        drop(closed);
        report(&slow, 600);
        let alive = monitor.snapshot().state;
        assert_eq!(alive.min_rtt, Duration::from_millis(30));
        assert_eq!(alive.cwnd, Bytes::new(30));
        // A controller has copies.
        let copy = fast.clone();
        drop((slow, fast, slowest));
        drop(copy);
        let ended = monitor.snapshot().state;
        assert_eq!(ended.min_rtt, Duration::from_millis(30));
        assert_eq!(ended.cwnd, Bytes::new(30));
    }
}
