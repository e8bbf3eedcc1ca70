//! Processing of losses: episodes, the verdict of the controller and the truth, undoing of spurious
//! reductions, and the retransmission timer.

use super::prr::Prr;
use super::record::Note;
use super::{Phase, Sender};
use crate::engine::packet::Packet;
use crate::network::{Recovery, SsthreshFrom};
use crate::outcome::{LossEpisode, Truth};
use std::cmp::Reverse;
use whimbrel_cc::{FastRecovery, Loss, LostPacket, Signal, Timeout};
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

impl Sender {
    /// Marks a segment lost and queues it for retransmission. Returns whether it was not marked
    /// yet.
    pub(super) fn mark_lost(&mut self, now: Time, seg: u32) -> bool {
        let new = self.board.mark_lost(seg);
        if new {
            self.lost_queue.push(Reverse(seg));
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

    /// Invoked when losses are found outside of a recovery: queries the controller and begins a
    /// recovery or a repair. `lost_seg` is the lowest lost segment, `truth` the true cause.
    pub(super) fn begin_episode(&mut self, now: Time, lost_seg: u32, truth: Truth, flight: u32) {
        if let Phase::Marked { prr, .. } = self.phase {
            // The window was already reduced for this window of data (RFC 3168 section 6.1.2).
            let until = self.board.next();
            self.phase = Phase::Recovery { until, prr };
            return;
        }
        self.marks.forget_kept();
        let again = matches!(self.phase, Phase::Repair { .. });
        let lost = self.board.lost().max(1);
        let loss = Loss {
            now,
            signal: Signal::Loss,
            in_flight: self.reduced_from(flight),
            lost: self.bytes(lost),
            lost_order: u64::from(lost_seg),
            next_order: u64::from(self.board.next()),
            sent: self.board.get(lost_seg).sent,
            ece: self.marks.echoed,
            truth: self.oracle.verdict(truth),
        };
        let episode = self.episode(now, flight);
        let response = self.controller.on_loss(&loss);
        self.counters.count_episode(&response, truth);
        self.record.note(Note::Judged(lost_seg, truth, response));
        self.record.begin(LossEpisode {
            reduced: response.reduced,
            ..episode
        });
        let until = self.board.next();
        self.phase = match (response.reduced, self.controller.fast_recovery()) {
            (false, _) => Phase::Repair { until },
            (true, FastRecovery::Never) => {
                self.marks.answered(until);
                self.start_again(now);
                return;
            }
            (true, FastRecovery::UntilRepaired | FastRecovery::UntilFirstAck) => {
                self.marks.answered(until);
                self.arm_eifel(lost_seg);
                Phase::Recovery {
                    until,
                    prr: Prr::begin(self.cwnd(), flight),
                }
            }
        };
        self.rtt.on_loss();
        if self.rtt.is_coarse() && !again {
            // `reset_rtx_timer()` of ns-2; RFC 6298 restarts the timer for new data only. The next
            // hole of a repair is a partial acknowledgment, which does not (RFC 6582 section 4).
            self.restart_rto(now);
        }
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
        self.phase = Phase::StartedAgain {
            until: self.board.next(),
        };
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
        self.counters.spurious += 1;
        self.controller.on_spurious(now);
        self.record.note(Note::TakenBack);
        self.record.end(now);
        self.phase = Phase::Open;
        self.timed_out_una = None;
        for seg in self.board.una()..self.board.next() {
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
        if !matches!(self.phase, Phase::Open) {
            return;
        }
        let flight = self.board.in_flight() + 1;
        let episode = self.episode(now, flight);
        let response = self.controller.on_loss(&Loss {
            now,
            signal: Signal::Loss,
            in_flight: self.bytes(flight),
            lost: self.bytes(1),
            lost_order: u64::from(seg),
            next_order: u64::from(self.board.next()),
            sent,
            ece: self.marks.echoed,
            truth: self.oracle.verdict(truth),
        });
        self.counters.count_episode(&response, truth);
        self.record.note(Note::Judged(seg, truth, response));
        self.record.begin(LossEpisode {
            reduced: response.reduced,
            ended: Some(now),
            ..episode
        });
        if response.reduced {
            self.marks.answered(self.board.next());
        }
        self.controller.on_recovery_end(now);
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
    }

    /// Invoked when the retransmission timer expires (RFC 6298 section 5.4 to 5.7; RFC 5681
    /// section 3.1).
    fn on_rto(&mut self, now: Time) {
        let una = self.board.una();
        let flight = self.board.in_flight().max(1);
        let repeated = self.timed_out_una == Some(una);
        self.timed_out_una = Some(una);
        self.counters.timeouts += 1;
        self.record.note(Note::TimedOut);
        self.record.begin(LossEpisode {
            reduced: true,
            timeout: true,
            ..self.episode(now, flight)
        });
        self.marks.answered(self.board.next());
        self.controller.on_timeout(&Timeout {
            now,
            in_flight: self.reduced_from(flight),
            repeated: repeated && self.ssthresh_from == SsthreshFrom::Flight,
            next_order: u64::from(self.board.next()),
        });
        self.start_again(now);
        self.rtt.back_off();
        self.rack.on_timeout();
        self.rto_at = now + self.rtt.rto();
    }
}
