//! A view of the controller's state for the application, because noq does not expose it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use whimbrel_cc::{LossResponse, Spans, Verdict};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Maximum number of samples kept: 100 minutes at ten per second. A longer trace becomes coarser,
/// not larger.
const MAX_SAMPLES: usize = 60_000;

/// How many loss episodes the loss classifier judged as congestion and as random loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdicts {
    /// Episodes judged to be congestion.
    pub congestion: u64,
    /// Episodes judged to be random loss.
    pub random: u64,
}

/// The state of the controller that received the last event, and counts over all controllers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Snapshot {
    /// Time since the connection began.
    pub time: Time,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow start threshold, if one is set.
    pub ssthresh: Option<Bytes>,
    /// Pacing rate, if the algorithm sets one.
    pub pacing_rate: Option<Rate>,
    /// The algorithm's phase, in a word or two.
    pub phase: &'static str,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Last round-trip time; zero before the first sample.
    pub rtt: Duration,
    /// Smoothed round-trip time (SRTT of RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// Round-trip time variation (RTTVAR of RFC 6298); zero before the first sample.
    pub rttvar: Duration,
    /// Minimum round-trip time; zero before the first sample.
    pub min_rtt: Duration,
    /// Last delivery rate sample.
    pub delivery_rate: Option<Rate>,
    /// Bytes acknowledged, QUIC's overhead included.
    pub delivered: Bytes,
    /// Bytes declared lost.
    pub lost: Bytes,
    /// Episodes of loss or of congestion marks. After one that reduced the window, at most one per
    /// round trip.
    pub episodes: u64,
    /// Episodes of congestion marks (ECN).
    pub marked: u64,
    /// Episodes that reduced the window.
    pub reductions: u64,
    /// How the episodes were classified, if the algorithm classifies losses.
    pub verdicts: Option<Verdicts>,
    /// Number of times persistent congestion was established (RFC 9002 section 7.6).
    pub timeouts: u64,
    /// Episodes that turned out to be reordering.
    pub spurious: u64,
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

/// One point of a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Time since the connection began.
    pub time: Time,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Last round-trip time.
    pub rtt: Duration,
    /// Bytes acknowledged so far.
    pub delivered: Bytes,
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
struct State {
    snapshot: Snapshot,
    /// Bursts, if they are to be kept.
    bursts: Option<Vec<Burst>>,
    samples: Vec<Sample>,
    /// Time between samples; `None` takes no samples.
    interval: Option<Duration>,
    next_sample: Time,
}

/// A view of the controllers of one [`Factory`](crate::Factory). Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Monitor(Arc<Mutex<State>>);

impl Monitor {
    pub(crate) fn sampling(interval: Duration) -> Self {
        let interval = Some(interval.max(Duration::from_millis(1)));
        Self(Arc::new(Mutex::new(State {
            interval,
            ..State::default()
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
    pub fn samples(&self) -> Vec<Sample> {
        self.lock().samples.clone()
    }

    /// Updates the state after an acknowledgment or a loss.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Snapshot)) {
        let mut state = self.lock();
        change(&mut state.snapshot);
        let Some(interval) = state.interval else {
            return;
        };
        let now = state.snapshot;
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
        state.samples.push(Sample {
            time: now.time,
            cwnd: now.cwnd,
            in_flight: now.in_flight,
            rtt: now.rtt,
            delivered: now.delivered,
        });
    }

    // A panic while the lock was held can leave a count at most one too low.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot {
    /// Counts an episode and the response to it.
    pub(crate) fn episode(&mut self, response: LossResponse, marked: bool) {
        self.episodes += 1;
        self.marked += u64::from(marked);
        self.reductions += u64::from(response.reduced);
        if let Some(verdict) = response.verdict {
            let verdicts = self.verdicts.get_or_insert_default();
            match verdict {
                Verdict::Congestion => verdicts.congestion += 1,
                Verdict::Random => verdicts.random += 1,
            }
        }
    }
}
