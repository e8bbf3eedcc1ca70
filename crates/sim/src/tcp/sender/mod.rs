//! The sending half of a TCP endpoint: what to send and when, and how to process acknowledgments.
//!
//! This file, [`acks`], [`losses`], [`marks`], [`nacks`] and [`transmit`] are common to all
//! recovery modes. The modes that detect losses are in [`newreno`] (RFC 6582), [`sack`] (RFC 6675)
//! and [`rack`] (RFC 8985).
//!
//! When an episode of loss begins and ends, and what the controller learns of it, is decided by
//! [`LossEpisodes`], as in every transport.

mod acks;
#[cfg(test)]
mod contract_tests;
mod delivery;
mod losses;
mod lost_queue;
mod marks;
mod nacks;
mod newreno;
mod pacer;
mod prr;
mod rack;
mod record;
#[cfg(test)]
mod rfc_tests;
mod sack;
mod scoreboard;
mod segment;
mod subflow;
mod transmit;

use crate::counters::SenderCounters;
use crate::network::{Nack, Oracle, Recovery, SsthreshFrom, TcpSettings};
use crate::observe::{End, SenderState};
use crate::outcome::{FlowSample, LossEpisode};
use crate::rtt::RttEstimator;
use crate::seed::Draw;
use crate::tcp::segments;
use losses::Eifel;
use lost_queue::LostQueue;
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
use subflow::Subflow;
pub(crate) use subflow::{Departed, Mapping};
use whimbrel_cc::connection::{LossEpisodes, RecoveryStage, Silence};
use whimbrel_cc::delivery_rate::RateEstimator;
use whimbrel_cc::shared_bottleneck::PathSample;
use whimbrel_cc::{Controller, Growth, Setup, Spec};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The sending half of a TCP endpoint.
///
/// The fields are in this order in memory: what each packet needs comes first, and what is only
/// needed to repair losses last. See [`Endpoint`](crate::tcp::Endpoint).
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Sender {
    board: Scoreboard,
    rack: Rack,
    rtt: RttEstimator,
    controller: Box<dyn Controller>,
    /// When the retransmission timer expires; [`Time::MAX`]: it does not run.
    rto_at: Time,
    /// The timer of probes in silence; `None`: there are no such probes.
    silence: Option<Silence>,
    /// The segment for which the timer already expired and which is still not acknowledged: a
    /// further timeout leaves ssthresh unchanged (RFC 5681).
    timed_out_una: Option<u32>,
    /// The round trip of the RTT estimator ends when all segments below are acknowledged.
    rtt_round_ends: Option<u32>,
    pacer: Pacer,
    /// Total number of segments to send; `u32::MAX`: endless.
    total: u32,
    /// Payload of the last segment.
    last_payload: u32,
    mss: u32,
    header: u32,
    window: u32,
    /// Number of transmissions so far, wrapping.
    transmissions: u32,
    /// The round trip ends when this or a later transmission is acknowledged.
    round_ends: u32,
    mode: Recovery,
    limited_transmit: bool,
    timestamps: bool,
    /// The congestion window stopped the sender when it last stopped, not lack of data, the receive
    /// window or pacing.
    cwnd_limited: bool,
    /// When pacing would allow the next segment, the window would not.
    waits_for_window: bool,
    /// The receiver's window is zero.
    frozen: bool,
    marks: Marks,
    episodes: LossEpisodes,
    /// Shrinks the flight to ssthresh while [`LossEpisodes::stage`] is reducing. NewReno mode
    /// inflates the window instead.
    prr: Prr,
    /// State of NACKs; `None`: they are off.
    nacks: Option<Box<Nacks>>,
    /// State of a subflow of a multipath connection.
    subflow: Option<Box<Subflow>>,
    /// Segments marked lost, lowest first. Entries may be stale and are checked when taken.
    lost_queue: LostQueue,
    /// Whether the last reduction may still turn out to be spurious.
    eifel: Eifel,
    duplicates: DuplicateAcks,
    counters: SenderCounters,
    rate: RateEstimator,
    record: Record,
    sack: SackJudge,
    ssthresh_from: SsthreshFrom,
    /// A reduction is computed from the window with its fraction of a segment.
    fractions: bool,
    growth_at_recovery_end: bool,
    oracle: Oracle,
    /// The segment that a helper reported as lost on its link.
    notified: Option<u32>,
}

impl Sender {
    /// A sender of `size` bytes (endless when `None`).
    pub fn new(
        spec: &Spec,
        size: Option<Bytes>,
        settings: &TcpSettings,
        nack: Nack,
        draw: Draw,
    ) -> Self {
        let mss = settings.mss;
        let setup = Setup {
            mss,
            initial_window: mss.times(u64::from(settings.initial_window.max(1))),
            paced: settings.pacing.is_some(),
            ssthresh: None,
            growth: settings.growth,
            seed: draw.seed,
            time_of_day: draw.time_of_day,
            saved: settings.saved_path,
        };
        let (total, last_payload) = segments(size, mss);
        let built = spec.build(&setup);
        let controller = built.expect("a TCP flow has an algorithm that is fed acknowledgments");
        let marks = Marks::new(
            settings
                .ecn
                .unwrap_or_else(|| controller.transport_features().marks),
        );
        let features = controller.transport_features();
        let delayed = features.delayed_response;
        let probes = settings
            .probes_in_silence
            .unwrap_or(features.probes_in_silence)
            && settings.recovery == Recovery::Rack;
        Self {
            counters: SenderCounters::new(controller.classifies_losses()),
            episodes: LossEpisodes::new(true),
            prr: Prr::begin(0, 0),
            controller,
            board: Scoreboard::new(),
            rtt: RttEstimator::new(settings),
            mode: settings.recovery,
            duplicates: DuplicateAcks::default(),
            sack: SackJudge::default(),
            rack: Rack::new(
                settings.recovery == Recovery::Rack && settings.tail_loss_probe,
                delayed,
            ),
            lost_queue: LostQueue::default(),
            total,
            last_payload,
            mss: mss.get() as u32,
            header: settings.header.get() as u32,
            window: settings.window(),
            limited_transmit: settings.limited_transmit,
            timestamps: settings.timestamps,
            ssthresh_from: settings.ssthresh_from,
            fractions: settings.growth == Growth::Fractions,
            growth_at_recovery_end: settings.growth_at_recovery_end
                && settings.recovery == Recovery::NewReno,
            oracle: settings.oracle,
            marks,
            nacks: Nacks::new(nack),
            rto_at: Time::MAX,
            silence: probes.then(Silence::default),
            timed_out_una: None,
            rtt_round_ends: None,
            eifel: Eifel::Off,
            pacer: Pacer::new(settings.pacing),
            cwnd_limited: false,
            waits_for_window: false,
            rate: RateEstimator::default(),
            transmissions: 0,
            round_ends: 0,
            subflow: None,
            record: Record::default(),
            notified: None,
            frozen: false,
        }
    }

    /// Its counters.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// Smoothed RTT, zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.rtt.srtt()
    }

    /// RTT variation (RFC 6298).
    pub fn rttvar(&self) -> Duration {
        self.rtt.rttvar()
    }

    /// What the last acknowledgment said of the path.
    pub fn path_sample(&self, now: Time) -> PathSample {
        PathSample {
            at: now,
            rtt: self.rtt.latest(),
            min_rtt: self.rtt.min_rtt(),
            cwnd: self.controller.cwnd(),
            rate: Rate::over(self.controller.cwnd(), self.rtt.srtt()),
        }
    }

    /// The first segment that is not acknowledged.
    pub fn una(&self) -> u32 {
        self.board.una()
    }

    /// Bytes in flight.
    pub fn in_flight(&self) -> Bytes {
        self.bytes(self.board.in_flight())
    }

    /// The window that the transport applies: the controller's, with NewReno's inflation.
    pub fn effective_cwnd(&self) -> Bytes {
        match (self.mode, self.episodes.stage()) {
            (Recovery::NewReno, RecoveryStage::Repair | RecoveryStage::Recovery) => {
                self.bytes(self.duplicates.inflated(self.cwnd()))
            }
            _ => self.controller.cwnd(),
        }
    }

    /// A sample of its state; `rate` is the current delivery rate. The caller fills in `delivered`.
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

    /// Records loss episodes from now on.
    pub fn record_episodes(&mut self) {
        self.record.with_episodes();
    }

    /// The recorded loss episodes, in time order.
    pub fn episodes(&self) -> &[LossEpisode] {
        self.record.episodes()
    }

    /// Records notes of its findings from now on, for an observer.
    pub fn watch(&mut self) {
        self.record.with_notes();
    }

    /// Takes the notes since the last call.
    pub fn take_notes(&mut self) -> impl Iterator<Item = Note> + '_ {
        self.record.take_notes()
    }

    /// Its state as observers see it.
    pub fn state(&self, end: End) -> SenderState {
        SenderState {
            end,
            cwnd: self.controller.cwnd(),
            ssthresh: self.controller.ssthresh(),
            in_flight: self.in_flight(),
            latest_rtt: self.rtt.latest(),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            min_rtt: self.rtt.min_rtt(),
            pacing_rate: self.controller.pacing_rate(),
            stage: self.episodes.stage(),
            phase: self.controller.phase(),
        }
    }

    /// Number of path changes that the controller detected; `None`: it does not detect them.
    pub fn path_changes(&self) -> Option<u64> {
        self.controller.path_changes()
    }

    /// Payload of the first `segments` segments, in bytes. The last one may be short.
    pub fn payload(&self, segments: u32) -> u64 {
        let full = u64::from(segments) * u64::from(self.mss);
        if segments == self.total {
            full - u64::from(self.mss - self.last_payload)
        } else {
            full
        }
    }

    /// Total number of segments to send; `None`: endless.
    pub fn total(&self) -> Option<u32> {
        (self.total != u32::MAX).then_some(self.total)
    }

    /// Sends no new data from now on; sent data is still delivered.
    pub fn stop(&mut self) {
        if self.board.next() < self.total {
            self.total = self.board.next();
            self.last_payload = self.mss;
        }
    }

    /// When its next timer expires; [`Time::MAX`]: none runs.
    #[inline]
    pub fn deadline(&self, now: Time) -> Time {
        let silence = self.silence.map_or(Time::MAX, |silence| silence.deadline());
        let timers = self.rto_at.min(self.rack.deadline()).min(silence);
        let paced = self.pacer.until() > now && !self.waits_for_window;
        if paced && self.has_something_to_send() {
            timers.min(self.pacer.until())
        } else {
            timers
        }
    }

    /// Invoked when the handshake completes; `rtt` is its round trip.
    pub fn on_handshake(&mut self, rtt: Option<Duration>) {
        if let Some(rtt) = rtt {
            self.rtt.add_handshake(rtt);
            if let Some(silence) = &mut self.silence {
                silence.on_rtt(rtt, rtt);
            }
        }
    }

    fn bytes(&self, segments: u32) -> Bytes {
        Bytes::new(u64::from(segments) * u64::from(self.mss))
    }

    /// The controller's window in segments, at least one.
    #[inline]
    fn cwnd(&self) -> u32 {
        self.in_segments(self.controller.cwnd())
    }

    /// A window in segments, at least one.
    #[inline]
    fn in_segments(&self, cwnd: Bytes) -> u32 {
        let segments = cwnd.get() / u64::from(self.mss);
        segments.clamp(1, u64::from(u32::MAX / 2)) as u32
    }
}

/// A segment to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transmission {
    pub seg: u32,
    /// Size on the wire in bytes.
    pub size: u32,
    /// It may be marked (ECT).
    pub ect: bool,
    /// It reports that the sender has responded to marks (CWR).
    pub cwr: bool,
}

/// What is known within one call that sends segments, until it ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sending {
    /// The controller's window after the last segment that was sent.
    cwnd: Option<Bytes>,
    /// A new segment was sent, so the probe timer must be armed again.
    new: bool,
}

/// A deadline as an option: [`Time::MAX`] means none.
pub(crate) fn if_finite(deadline: Time) -> Option<Time> {
    (deadline < Time::MAX).then_some(deadline)
}
