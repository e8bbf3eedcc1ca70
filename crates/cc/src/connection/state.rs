//! What is known of a connection.

use crate::interface::{LossResponse, Signal, Verdict};
use std::ops::AddAssign;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The state of a connection, or of one path of it, at one time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ConnectionState {
    /// The time of the last event: since the connection began, unless its owner says otherwise.
    pub time: Time,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow start threshold, if the algorithm has set one.
    pub ssthresh: Option<Bytes>,
    /// Pacing rate, if the algorithm sets one.
    pub pacing_rate: Option<Rate>,
    /// The algorithm's phase, in a word or two.
    pub phase: &'static str,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Last RTT sample; zero before the first one, or if it is unknown.
    pub rtt: Duration,
    /// Smoothed RTT (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// RTT variation (RFC 6298); zero before the first sample, or if it is unknown.
    pub rttvar: Duration,
    /// Minimum RTT; zero before the first sample, or if it is unknown.
    pub min_rtt: Duration,
    /// Last delivery rate sample.
    pub delivery_rate: Option<Rate>,
    /// Bytes acknowledged so far. In TCP, those acknowledged cumulatively; in QUIC, with its
    /// overhead.
    pub delivered: Bytes,
    /// Bytes declared lost so far.
    pub lost: Bytes,
}

/// One decision of a loss classifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The time of the decision.
    pub time: Time,
    /// Sequence number of the first lost segment, as on the wire.
    pub sequence: u32,
    /// The assumed cause.
    pub judged: Verdict,
    /// The true cause, where the path reports it.
    pub actual: Option<Verdict>,
}

/// How the loss classifier judged episodes of loss, and the truth where the path reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdicts {
    /// Episodes judged to be congestion.
    pub congestion: u64,
    /// Episodes judged to be random loss.
    pub random: u64,
    /// The episodes whose true cause is known: `truth[actual][judged]`, congestion first.
    pub truth: [[u64; 2]; 2],
}

impl AddAssign for Verdicts {
    fn add_assign(&mut self, other: Self) {
        self.congestion += other.congestion;
        self.random += other.random;
        let counts = self.truth.iter_mut().flatten();
        for (sum, count) in counts.zip(other.truth.iter().flatten()) {
            *sum += count;
        }
    }
}

impl Verdicts {
    /// Counts the true cause of an episode that was judged.
    pub fn count_truth(&mut self, judged: Verdict, actual: Verdict) {
        let index = |verdict| usize::from(verdict == Verdict::Random);
        self.truth[index(actual)][index(judged)] += 1;
    }
}

/// The episodes of a connection, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EpisodeCounts {
    /// Episodes of loss or of congestion marks, without timeouts.
    pub episodes: u64,
    /// Those of congestion marks (ECN).
    pub marked: u64,
    /// Those that reduced the window.
    pub reductions: u64,
    /// Retransmission timeouts; in QUIC, times that persistent congestion was established
    /// (RFC 9002 section 7.6).
    pub timeouts: u64,
    /// Episodes and timeouts that proved to be spurious.
    pub spurious: u64,
    /// How the episodes were judged, if the algorithm classifies losses.
    pub verdicts: Option<Verdicts>,
}

impl EpisodeCounts {
    /// No episode yet; verdicts are counted if the controller classifies losses.
    pub fn new(classifies_losses: bool) -> Self {
        Self {
            verdicts: classifies_losses.then(Verdicts::default),
            ..Self::default()
        }
    }

    /// Counts an episode and the response to it.
    pub fn count(&mut self, signal: Signal, response: &LossResponse) {
        self.episodes += 1;
        self.marked += u64::from(signal == Signal::Ecn);
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
