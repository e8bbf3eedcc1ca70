//! What a loss means: the episode it begins, the controller's verdict and the truth, mistakes that are taken
//! back, and the retransmission timer.

use super::prr::Prr;
use super::record::Note;
use super::{Phase, Sender};
use crate::engine::packet::Packet;
use crate::network::Recovery;
use crate::outcome::{LossEpisode, Truth};
use std::cmp::Reverse;
use whimbrel_cc::{FastRecovery, Loss, LostPacket, Signal, Timeout};
use whimbrel_net::DropCause;
use whimbrel_units::Time;

/// Eifel detection (RFC 3522): an acknowledgment that echoes a time before the first retransmission was
/// caused by the original, so nothing had been lost.
#[derive(Debug, Clone, Copy)]
pub(super) enum Eifel {
    /// Nothing was reduced, or it is known that it was right.
    Off,
    /// The window was reduced for the first unacknowledged segment, which was sent once so far.
    Armed,
    /// That segment was sent again then.
    Resent(Time),
}

impl Sender {
    /// Takes a segment for lost and will send it again.
    pub(super) fn mark_lost(&mut self, now: Time, seg: u32) -> bool {
        let new = self.board.mark_lost(seg);
        if new {
            self.resend.push(Reverse(seg));
            self.tell_lost(now, seg);
        }
        new
    }

    /// Counts a segment's last transmission as lost, and tells the controller.
    pub(super) fn tell_lost(&mut self, now: Time, seg: u32) {
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

    /// Losses were found (the lowest is `lost_seg`; `truth` is what really became of them): asks the controller, and
    /// begins a recovery or a repair. Called only when no recovery is under way.
    pub(super) fn begin_episode(&mut self, now: Time, lost_seg: u32, truth: Truth, flight: u32) {
        if let Phase::Marked { prr, .. } = self.phase {
            // The window was reduced for this window of data (RFC 3168 section 6.1.2).
            let until = self.board.next();
            self.phase = Phase::Recovery { until, prr };
            return;
        }
        self.marks.forget_kept();
        let lost = self.board.lost().max(1);
        let loss = Loss {
            now,
            signal: Signal::Loss,
            in_flight: self.bytes(flight),
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
    }

    /// An episode that is found now, before the controller knows of it.
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

    /// Everything from the first unacknowledged segment on is sent again in slow start: after a timeout, and where the
    /// algorithm has no fast recovery.
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
        self.phase = Phase::StartedAgain {
            until: self.board.next(),
        };
        self.duplicates.on_start_again(self.board.next());
    }

    /// Only the segment that was believed lost proves anything, and only if it was not sent again before.
    fn arm_eifel(&mut self, lost_seg: u32) {
        let usable = self.timestamps && self.mode == Recovery::Rack;
        let first = lost_seg == self.board.una() && !self.board.get(lost_seg).retransmitted();
        self.eifel = if usable && first {
            Eifel::Armed
        } else {
            Eifel::Off
        };
    }

    /// The first acknowledgment that advances after a reduction settles whether it was a mistake. As Linux,
    /// which runs with RACK, does; the other modes stand for simulators that do not.
    #[inline(always)]
    pub(super) fn check_spurious(&mut self, now: Time, packet: &Packet) {
        let Eifel::Resent(resent) = self.eifel else {
            return;
        };
        self.eifel = Eifel::Off;
        if packet.echo >= resent {
            return;
        }
        self.counters.spurious += 1;
        self.controller.on_spurious(now);
        self.record.note(Note::TakenBack);
        self.record.end(now);
        self.phase = Phase::Open;
        self.timed_out_una = None;
        for seg in self.board.una()..self.board.next() {
            // What was NACKed, and waits to be sent again for that, is not taken back.
            let owed = self.nacks.as_ref().is_some_and(|nacks| nacks.waits(seg));
            if !owed {
                self.board.unmark_lost(seg);
            }
        }
        self.resend.clear();
        self.rack.watch_again(&self.board);
    }

    /// A tail loss probe repaired a loss before it was noticed: the window answers for it all the same
    /// (RFC 8985 section 7.4.2).
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

    /// Notes what really became of a transmission.
    pub fn note_drop(&mut self, seg: u32, sent: Time, cause: DropCause) {
        self.board.note_drop(seg, sent, cause);
    }

    /// Does what timers ask for at `now`.
    pub fn on_timer(&mut self, now: Time) {
        self.marks.echoed = false;
        if self.rto_at.is_some_and(|at| at <= now) {
            self.on_rto(now);
        } else if self.rack.deadline().is_some_and(|at| at <= now) {
            self.rack_on_timer(now);
        }
    }

    /// The retransmission timer fired (RFC 6298 section 5.4 to 5.7; RFC 5681 section 3.1).
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
            in_flight: self.bytes(flight),
            repeated,
            next_order: u64::from(self.board.next()),
        });
        self.start_again(now);
        self.rtt.back_off();
        self.rack.on_timeout();
        self.rto_at = Some(now + self.rtt.rto());
    }
}
