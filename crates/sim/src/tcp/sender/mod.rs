//! The sending half of a TCP endpoint: what to send, when, and what an acknowledgment means.
//!
//! What all recovery modes share is here and in [`acks`], [`losses`], [`marks`], [`nacks`] and [`transmit`]. How losses are
//! found is in [`newreno`] (RFC 6582), [`sack`] (RFC 6675) and [`rack`] (RFC 8985).
//!
//! A loss that the controller does not reduce for (a discriminator took it for random) is repaired, but is no
//! recovery in the sense of RFC 5681: the window goes on growing, and losses found meanwhile are judged
//! anew. Otherwise a flow at 1 % loss with a window of some hundreds of segments would be in recovery for ever
//! and its window would be frozen. Once it does reduce, losses of the same window are the same episode.

mod acks;
mod delivery;
mod losses;
mod marks;
mod nacks;
mod newreno;
mod pacer;
mod prr;
mod rack;
mod record;
mod sack;
mod scoreboard;
mod subflow;
mod transmit;

use crate::counters::SenderCounters;
use crate::network::{Nack, Oracle, Recovery, TcpSettings};
use crate::observe::{End, Stage, State};
use crate::outcome::{FlowSample, LossEpisode};
use crate::rtt::RttEstimator;
use crate::tcp::segments;
use losses::Eifel;
use marks::Marks;
use nacks::Nacks;
use newreno::DuplicateAcks;
use pacer::Pacer;
use prr::Prr;
use rack::Rack;
pub(crate) use record::Note;
use record::Record;
use sack::SackJudge;
use scoreboard::Scoreboard;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use subflow::Subflow;
pub(crate) use subflow::{Left, Mapping};
use whimbrel_cc::delivery_rate::RateEstimator;
use whimbrel_cc::{Controller, Setup, Spec};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Where the sender stands between losses.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Nothing is being repaired.
    Open,
    /// Losses are being repaired for which the window was not reduced.
    Repair {
        /// First segment that had not been sent when it began: it ends when all below is acknowledged.
        until: u32,
    },
    /// Losses are being repaired for which the window was reduced: fast recovery.
    Recovery {
        /// As above.
        until: u32,
        /// Lets the flight shrink to ssthresh; NewReno mode inflates instead.
        prr: Prr,
    },
    /// The window was reduced for marks, and nothing is missing.
    Marked {
        /// First segment that had not been sent when it began: it ends when that one is acknowledged.
        until: u32,
        /// As above.
        prr: Prr,
    },
    /// The retransmission timer fired, or the algorithm knows no fast recovery: everything is sent again in slow start.
    StartedAgain {
        /// As above.
        until: u32,
    },
}

impl Phase {
    /// Nothing is missing, as far as the sender knows.
    fn is_calm(self) -> bool {
        matches!(self, Self::Open | Self::Marked { .. })
    }

    /// The flight is shrinking to a window that was reduced.
    fn is_reducing(self) -> bool {
        matches!(self, Self::Recovery { .. } | Self::Marked { .. })
    }
}

/// The sending half of a TCP endpoint.
#[derive(Debug)]
pub(crate) struct Sender {
    controller: Box<dyn Controller>,
    board: Scoreboard,
    rtt: RttEstimator,
    phase: Phase,
    mode: Recovery,
    duplicates: DuplicateAcks,
    sack: SackJudge,
    rack: Rack,
    counters: SenderCounters,
    /// Segments marked lost, lowest first; entries go stale and are checked when taken.
    resend: BinaryHeap<Reverse<u32>>,
    /// Segments there are to send in all; `u32::MAX`: endless.
    total: u32,
    /// Payload of the last of them.
    last_payload: u32,
    mss: u32,
    header: u32,
    window: u32,
    limited_transmit: bool,
    timestamps: bool,
    oracle: Oracle,
    marks: Marks,
    /// If it knows NACKs.
    nacks: Option<Box<Nacks>>,
    /// When the oldest data times out.
    rto_at: Option<Time>,
    /// Data that already timed out once and is still not acknowledged: ssthresh stays (RFC 5681).
    timed_out_una: Option<u32>,
    /// The round trip of the RTT estimator ends when all below is acknowledged.
    rtt_round_ends: Option<u32>,
    /// Whether the last reduction may still prove to have been a mistake.
    eifel: Eifel,
    pacer: Pacer,
    /// The window, not the data, the peer or the pace, stopped the sender when it last stopped.
    cwnd_limited: bool,
    rate: RateEstimator,
    /// Transmissions so far, wrapping.
    transmissions: u32,
    /// The round trip ends when this transmission or a later one is acknowledged.
    round_ends: u32,
    /// What it has besides if its connection decides what it sends.
    subflow: Option<Box<Subflow>>,
    record: Record,
}

impl Sender {
    /// A sender of `size` bytes (endless when `None`).
    pub fn new(
        spec: &Spec,
        size: Option<Bytes>,
        settings: &TcpSettings,
        nack: Nack,
        seed: u64,
    ) -> Self {
        let mss = settings.mss;
        let setup = Setup {
            mss,
            initial_window: mss.times(u64::from(settings.initial_window.max(1))),
            paced: settings.pacing.is_some(),
            ssthresh: None,
            seed,
        };
        let (total, last_payload) = segments(size, mss);
        let controller = spec.build(&setup);
        let marks = Marks::new(
            settings
                .ecn
                .unwrap_or_else(|| controller.transport_features().marks),
        );
        Self {
            counters: SenderCounters::new(&*controller),
            controller,
            board: Scoreboard::new(),
            rtt: RttEstimator::new(settings),
            phase: Phase::Open,
            mode: settings.recovery,
            duplicates: DuplicateAcks::default(),
            sack: SackJudge::default(),
            rack: Rack::new(settings.recovery == Recovery::Rack && settings.tail_loss_probe),
            resend: BinaryHeap::new(),
            total,
            last_payload,
            mss: mss.get() as u32,
            header: settings.header.get() as u32,
            window: settings.window(),
            limited_transmit: settings.limited_transmit,
            timestamps: settings.timestamps,
            oracle: settings.oracle,
            marks,
            nacks: Nacks::new(nack),
            rto_at: None,
            timed_out_una: None,
            rtt_round_ends: None,
            eifel: Eifel::Off,
            pacer: Pacer::new(settings.pacing),
            cwnd_limited: false,
            rate: RateEstimator::default(),
            transmissions: 0,
            round_ends: 0,
            subflow: None,
            record: Record::default(),
        }
    }

    /// What was counted so far.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// Smoothed RTT, zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.rtt.srtt()
    }

    /// The first segment that is not acknowledged.
    pub fn una(&self) -> u32 {
        self.board.una()
    }

    /// Bytes in flight.
    pub fn in_flight(&self) -> Bytes {
        self.bytes(self.board.in_flight())
    }

    /// The window as the transport applies it: the controller's, with NewReno's inflation.
    pub fn effective_cwnd(&self) -> Bytes {
        match (self.mode, self.phase) {
            (Recovery::NewReno, Phase::Repair { .. } | Phase::Recovery { .. }) => {
                self.bytes(self.duplicates.inflated(self.cwnd()))
            }
            _ => self.controller.cwnd(),
        }
    }

    /// How it stands, while its data is delivered at this rate. How much was delivered is for the caller to know.
    pub fn sample(&self, now: Time, rate: Rate) -> FlowSample {
        FlowSample {
            at: now,
            cwnd: self.controller.cwnd(),
            ssthresh: self.controller.ssthresh(),
            in_flight: self.in_flight(),
            srtt: self.srtt(),
            rttvar: self.rtt.rttvar(),
            rate,
            delivered: Bytes::ZERO,
            retransmits: self.counters.retransmits,
            sent: Bytes::new(self.counters.wire_bytes),
            ack_spacing: self.record.ack_spacing(),
            path_changes: self.path_changes(),
            pacing_rate: self.controller.pacing_rate(),
            phase: self.controller.phase(),
        }
    }

    /// Notes episodes of loss from now on.
    pub fn record_episodes(&mut self) {
        self.record.with_episodes();
    }

    /// The noted episodes of loss, in order of time.
    pub fn episodes(&self) -> &[LossEpisode] {
        self.record.episodes()
    }

    /// It is watched from now on: it notes what it finds.
    pub fn watch(&mut self) {
        self.record.with_notes();
    }

    /// What it found since this was last asked.
    pub fn take_notes(&mut self) -> impl Iterator<Item = Note> + '_ {
        self.record.take_notes()
    }

    /// How it stands, as those see it who watch a run.
    pub fn state(&self, end: End) -> State {
        State {
            end,
            cwnd: self.controller.cwnd(),
            ssthresh: self.controller.ssthresh(),
            in_flight: self.in_flight(),
            latest_rtt: self.rtt.latest(),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            min_rtt: self.rtt.min_rtt(),
            pacing_rate: self.controller.pacing_rate(),
            stage: match self.phase {
                Phase::Open => Stage::Open,
                Phase::Repair { .. } => Stage::Repair,
                Phase::Recovery { .. } => Stage::Recovery,
                Phase::Marked { .. } => Stage::Marked,
                Phase::StartedAgain { .. } => Stage::StartedAgain,
            },
            phase: self.controller.phase(),
        }
    }

    /// How often the controller found that the path itself had changed; `None` if it does not look.
    pub fn path_changes(&self) -> Option<u64> {
        self.controller.path_changes()
    }

    /// Payload of so many segments from the first on: the last one may be short.
    pub fn payload(&self, segments: u32) -> u64 {
        let full = u64::from(segments) * u64::from(self.mss);
        if segments == self.total {
            full - u64::from(self.mss - self.last_payload)
        } else {
            full
        }
    }

    /// How many segments there are to send; `None`: endless.
    pub fn total(&self) -> Option<u32> {
        (self.total != u32::MAX).then_some(self.total)
    }

    /// No new data from now on: what was sent is still delivered.
    pub fn stop(&mut self) {
        if self.board.next() < self.total {
            self.total = self.board.next();
            self.last_payload = self.mss;
        }
    }

    /// When a timer is due, if any runs.
    #[inline]
    pub fn deadline(&self, now: Time) -> Option<Time> {
        let timers = earliest(self.rto_at, self.rack.deadline());
        if self.pacer.until() > now && self.has_something_to_send() {
            earliest(timers, Some(self.pacer.until()))
        } else {
            timers
        }
    }

    /// The handshake's round trip.
    pub fn on_handshake(&mut self, rtt: Option<Duration>) {
        if let Some(rtt) = rtt {
            self.rtt.add(rtt, true);
        }
    }

    fn bytes(&self, segments: u32) -> Bytes {
        Bytes::new(u64::from(segments) * u64::from(self.mss))
    }

    /// The controller's window in segments, at least one.
    #[inline]
    fn cwnd(&self) -> u32 {
        let segments = self.controller.cwnd().get() / u64::from(self.mss);
        segments.clamp(1, u64::from(u32::MAX / 2)) as u32
    }
}

/// A segment that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transmission {
    pub seg: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// It may be marked.
    pub ect: bool,
    /// It tells that marks were answered for.
    pub cwr: bool,
}

/// The earlier of two times, either of which may be never.
pub(crate) fn earliest(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
