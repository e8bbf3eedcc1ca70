//! A view of the controller's state for the application, because noq does not expose it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use whimbrel_cc::{LossResponse, Verdict};
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

#[derive(Debug, Default)]
struct State {
    snapshot: Snapshot,
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
