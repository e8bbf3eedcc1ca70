//! Processing of losses: what becomes an episode, the verdict of the controller and the truth, the
//! detection of spurious reductions, and the retransmission timer.

use super::Sender;
use super::prr::Prr;
use super::record::Note;
use crate::network::{Recovery, SsthreshFrom};
use crate::outcome::{LossEpisode, Truth};
use crate::packet::Packet;
use whimbrel_cc::connection::RecoveryStage;
use whimbrel_cc::{Loss, LostPacket, Signal, Timeout, Verdict};
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Time};

/// State of Eifel detection (RFC 3522): an acknowledgment that echoes a time before the first
/// retransmission was caused by the original, so no segment had been lost.
#[derive(Debug, Clone, Copy)]
pub(super) enum Eifel {
    /// The window was not reduced, or the reduction was right.
    Off,
    /// The window was reduced for the first unacknowledged segment, which was sent once.
    Armed,
    /// That segment was retransmitted at this time.
    Retransmitted(Time),
}

/// A loss that the controller is to judge.
struct FoundLoss {
    /// The lowest lost segment.
    seg: u32,
    /// When it was sent.
    sent: Time,
    /// The true cause.
    truth: Truth,
    /// The flight before the acknowledgment that revealed it, in segments.
    flight: u32,
}

impl Sender {
    /// Marks a segment lost and queues it for retransmission. Returns whether it was not marked
    /// yet.
    pub(super) fn mark_lost(&mut self, now: Time, seg: u32) -> bool {
        let new = self.board.mark_lost(seg);
        if new {
            self.lost_queue.add(seg);
            self.report_lost(now, seg);
        }
        new
    }

    /// Counts a segment's last transmission as lost and notifies the controller.
    pub(super) fn report_lost(&mut self, now: Time, seg: u32) {
        let size = self.bytes(1);
        self.rate.on_lost(size);
        let segment = self.board.get(seg);
        self.record.note(Note::Lost(seg, segment.dropped.into()));
        self.controller.on_packet_lost(&LostPacket {
            now,
            size,
            lost: self.rate.lost(),
            at: self.rate.at_sending(&segment.tag, segment.sent),
        });
    }

    /// Invoked when losses are found: queries the controller and begins a recovery or a repair,
    /// unless they belong to an open reduction. `lost_seg` is the lowest lost segment, `truth` the
    /// true cause. Returns whether they did not belong to a reduction for losses.
    pub(super) fn begin_episode(
        &mut self,
        now: Time,
        lost_seg: u32,
        truth: Truth,
        flight: u32,
    ) -> bool {
        let stage = self.episodes.stage();
        let until = self.board.next();
        match stage {
            RecoveryStage::Open | RecoveryStage::Repair => {}
            RecoveryStage::Recovery | RecoveryStage::StartedAgain => return false,
            RecoveryStage::Marked => {
                self.episodes.repair_marked(until.into());
                return true;
            }
        }
        let found = FoundLoss {
            seg: lost_seg,
            sent: self.board.get(lost_seg).sent,
            truth,
            flight,
        };
        let lost = self.board.lost().max(1);
        if self.judge(now, found, self.reduced_from(flight), lost, false) {
            self.marks.answered(until);
        }
        match self.episodes.stage() {
            RecoveryStage::StartedAgain => {
                self.start_again(now);
                return true;
            }
            RecoveryStage::Recovery => {
                self.arm_eifel(lost_seg);
                self.prr = Prr::begin(self.cwnd(), flight);
            }
            RecoveryStage::Open | RecoveryStage::Repair | RecoveryStage::Marked => {}
        }
        self.rtt.on_loss();
        if self.rtt.is_coarse() && stage == RecoveryStage::Open {
            // `reset_rtx_timer()` of ns-2; RFC 6298 restarts the timer for new data only. The next
            // hole of a repair is a partial acknowledgment, which does not (RFC 6582 section 4).
            self.restart_rto(now);
        }
        true
    }

    /// Queries the controller about an episode of loss, and records it. `in_flight` and `lost`
    /// segments are what the controller is told. `repaired`: the loss was repaired before it was
    /// detected. Returns whether the controller reduced the window.
    fn judge(
        &mut self,
        now: Time,
        found: FoundLoss,
        in_flight: Bytes,
        lost: u32,
        repaired: bool,
    ) -> bool {
        let FoundLoss { seg, truth, .. } = found;
        let (una, next) = (self.board.una().into(), self.board.next().into());
        let loss = Loss {
            now,
            signal: Signal::Loss,
            in_flight,
            lost: self.bytes(lost),
            lost_order: seg.into(),
            next_order: next,
            sent: found.sent,
            ece: self.marks.echoed,
            truth: self.oracle.verdict(truth).or_else(|| {
                // What a helper knows is no guess: the link lost it.
                (self.notified == Some(seg)).then_some(Verdict::Random)
            }),
        };
        let episode = self.episode(now, found.flight);
        let controller = &mut *self.controller;
        let response = if repaired {
            self.episodes.on_repaired_loss(controller, &loss, una)
        } else {
            self.episodes.on_loss(controller, &loss, next)
        };
        self.counters.count_episode(&response, truth);
        self.record.note(Note::Judged(seg, truth, response));
        self.record.begin(LossEpisode {
            reduced: response.reduced,
            ended: repaired.then_some(now),
            ..episode
        });
        response.reduced
    }

    /// From how many bytes a reduction is computed.
    fn reduced_from(&self, flight: u32) -> Bytes {
        match self.ssthresh_from {
            // FlightSize includes segments that were SACKed (RFC 5681 section 2). Limited transmit
            // has replaced them by new ones; without it they are missing from `flight`.
            SsthreshFrom::Flight if !self.limited_transmit => {
                self.bytes(flight + self.board.sacked())
            }
            SsthreshFrom::Flight => self.bytes(flight),
            SsthreshFrom::Window if self.fractions => {
                self.controller.cwnd().min(self.bytes(self.window))
            }
            SsthreshFrom::Window => self.bytes(self.cwnd().min(self.window)),
        }
    }

    /// An episode that begins now, before the controller is notified.
    fn episode(&self, now: Time, flight: u32) -> LossEpisode {
        LossEpisode {
            at: now,
            cwnd: self.controller.cwnd(),
            in_flight: self.bytes(flight),
            srtt: self.rtt.srtt(),
            reduced: false,
            timeout: false,
            ended: None,
        }
    }

    /// Retransmits all segments from the first unacknowledged one on in slow start: after a
    /// timeout, or if the algorithm has no fast recovery.
    fn start_again(&mut self, now: Time) {
        let una = self.board.una();
        self.arm_eifel(una);
        for seg in una..self.board.next() {
            let segment = self.board.get(seg);
            let overdue =
                self.mode != Recovery::Rack || seg == una || self.rack.overdue(now, segment);
            if overdue {
                self.mark_lost(now, seg);
            }
        }
        self.rtt.on_loss();
        self.duplicates.on_start_again(self.board.next());
    }

    /// Arms Eifel detection if possible: the lost segment must be the first unacknowledged one and
    /// must not have been retransmitted before.
    fn arm_eifel(&mut self, lost_seg: u32) {
        let usable = self.timestamps && self.mode == Recovery::Rack;
        let first = lost_seg == self.board.una() && !self.board.get(lost_seg).retransmitted();
        self.eifel = if usable && first {
            Eifel::Armed
        } else {
            Eifel::Off
        };
    }

    /// Checks with the first acknowledgment that advances after a reduction whether the reduction
    /// was spurious. Linux does so with RACK; the other modes stand for simulators that do not.
    #[inline(always)]
    pub(super) fn check_spurious(&mut self, now: Time, packet: &Packet) {
        let Eifel::Retransmitted(retransmitted) = self.eifel else {
            return;
        };
        self.eifel = Eifel::Off;
        if packet.echo >= retransmitted {
            return;
        }
        let una = self.board.una();
        self.counters.episodes.spurious += 1;
        self.episodes
            .on_spurious(&mut *self.controller, now, una.into());
        self.record.note(Note::TakenBack);
        self.record.end(now);
        for seg in una..self.board.next() {
            // A NACKed segment that waits for its retransmission stays marked.
            let owed = self.nacks.as_ref().is_some_and(|nacks| nacks.waits(seg));
            if !owed {
                self.board.unmark_lost(seg);
            }
        }
        self.lost_queue.clear();
        self.rack.watch_again(&self.board);
    }

    /// Invoked when a tail loss probe has repaired a loss before it was detected: the controller is
    /// notified of the loss (RFC 8985 section 7.4.2).
    pub(super) fn loss_repaired_by_probe(&mut self, now: Time, seg: u32, sent: Time, truth: Truth) {
        if self.episodes.stage() != RecoveryStage::Open {
            return;
        }
        let flight = self.board.in_flight() + 1;
        let found = FoundLoss {
            seg,
            sent,
            truth,
            flight,
        };
        if self.judge(now, found, self.bytes(flight), 1, true) {
            self.marks.answered(self.board.next());
        }
    }

    /// Records the true cause of the drop of a transmission.
    pub fn note_drop(&mut self, seg: u32, sent: Time, cause: DropCause) {
        self.board.note_drop(seg, sent, cause);
    }

    /// Invoked when a timer may have expired.
    pub fn on_timer(&mut self, now: Time) {
        self.meet_pacing(now);
        self.marks.echoed = false;
        if self.rto_at <= now {
            self.on_rto(now);
        } else if self.rack.deadline() <= now {
            self.rack_on_timer(now);
        }
        if self
            .silence
            .as_mut()
            .is_some_and(|silence| silence.take(now))
        {
            self.rack.ask_for_probe();
        }
    }

    /// Invoked when the retransmission timer expires (RFC 6298 section 5.4 to 5.7; RFC 5681
    /// section 3.1).
    fn on_rto(&mut self, now: Time) {
        self.frozen = false;
        let una = self.board.una();
        let flight = self.board.in_flight().max(1);
        self.counters.episodes.timeouts += 1;
        let repeated = self.episodes.times_out_again(una.into());
        self.record.note(Note::TimedOut);
        self.record.begin(LossEpisode {
            reduced: true,
            timeout: true,
            ..self.episode(now, flight)
        });
        self.marks.answered(self.board.next());
        let timeout = Timeout {
            now,
            in_flight: self.reduced_from(flight),
            repeated: repeated && self.ssthresh_from == SsthreshFrom::Flight,
            next_order: u64::from(self.board.next()),
        };
        self.episodes.on_timeout(&mut *self.controller, &timeout);
        self.start_again(now);
        self.rtt.back_off();
        self.rack.on_timeout();
        self.rto_at = now + self.rtt.rto();
    }
}
