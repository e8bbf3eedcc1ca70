//! What the application can see of a controller that noq keeps to itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use whimbrel_cc::{LossResponse, Verdict};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Most samples kept: 100 minutes at ten a second. A longer trace gets coarser, not larger.
const MOST_SAMPLES: usize = 60_000;

/// How a discriminator judged the episodes of loss so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdicts {
    /// Episodes taken for congestion.
    pub congestion: u64,
    /// Episodes taken for random loss.
    pub random: u64,
}

/// The state of the controller last told something, and counts over all of them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Snapshot {
    /// Time since the connection began.
    pub time: Time,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow start threshold, if there is one.
    pub ssthresh: Option<Bytes>,
    /// Pacing rate, if the algorithm sets one.
    pub pacing_rate: Option<Rate>,
    /// What the algorithm is doing, in a word.
    pub phase: &'static str,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Last round-trip time; zero before the first.
    pub rtt: Duration,
    /// Smoothed round-trip time (RFC 6298); zero before the first.
    pub srtt: Duration,
    /// How much round-trip times vary (RTTVAR of RFC 6298); zero before the first.
    pub rttvar: Duration,
    /// Least round-trip time; zero before the first.
    pub min_rtt: Duration,
    /// Last delivery rate that could be measured.
    pub delivery_rate: Option<Rate>,
    /// Bytes acknowledged, with QUIC's own overhead.
    pub delivered: Bytes,
    /// Bytes found lost.
    pub lost: Bytes,
    /// Episodes of loss or of congestion marks: after one that reduced the window, at most one per
    /// round trip.
    pub episodes: u64,
    /// Those of them that were congestion marks (ECN).
    pub marked: u64,
    /// Those of them that reduced the window.
    pub reductions: u64,
    /// How they were judged, if the algorithm tells random loss from congestion.
    pub verdicts: Option<Verdicts>,
    /// Times persistent congestion was established (RFC 9002 section 7.6).
    pub timeouts: u64,
    /// Episodes that proved to have been reordering.
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
    /// Time between samples; none are taken if it is not set.
    interval: Option<Duration>,
    next_sample: Time,
}

/// A window on the controllers of one [`Factory`](crate::Factory). Clones look at the same ones.
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

    /// How things stand.
    pub fn snapshot(&self) -> Snapshot {
        self.lock().snapshot
    }

    /// The trace so far; empty unless the factory was told to take samples.
    pub fn samples(&self) -> Vec<Sample> {
        self.lock().samples.clone()
    }

    /// Takes in the present state, after an acknowledgment or a loss.
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
        if state.samples.len() >= MOST_SAMPLES {
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

    // A panic while the lock was held cannot have left counts worse than one short.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot {
    /// Counts an episode and what was done about it.
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
