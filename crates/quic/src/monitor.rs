//! The state of a connection for the application, because noq does not expose its controller.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use whimbrel_cc::connection::{ConnectionState, EpisodeCounts};
use whimbrel_cc::{SavedPath, Spans, Verdict};
use whimbrel_units::{Duration, Rate, Time};

/// Maximum number of samples kept: 100 minutes at ten per second. A longer trace becomes coarser,
/// not larger.
const MAX_SAMPLES: usize = 60_000;

/// The state of the controller that received the last event, and counts over all controllers.
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

#[derive(Debug, Default)]
struct Observed {
    snapshot: Snapshot,
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
        self.lock().snapshot
    }

    /// The trace so far; empty unless [`Factory::sampling`](crate::Factory::sampling) was called.
    pub fn samples(&self) -> Vec<ConnectionState> {
        self.lock().samples.clone()
    }

    /// Updates the state after an acknowledgment or a loss.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Snapshot)) {
        let mut state = self.lock();
        change(&mut state.snapshot);
        let Some(interval) = state.interval else {
            return;
        };
        let now = state.snapshot.state;
        if now.time < state.next_sample {
            return;
        }
        if state.samples.len() >= MAX_SAMPLES {
            let mut keep = false;
            state.samples.retain(|_| {
                keep = !keep;
                keep
            });
            state.interval = Some(interval * 2);
        }
        state.next_sample = now.time + interval;
        state.samples.push(now);
    }

    // A panic while the lock was held can leave a count at most one too low.
    fn lock(&self) -> MutexGuard<'_, Observed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
