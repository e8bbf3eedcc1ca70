//! Which segment is sent next, and whether it may be sent.

use super::losses::Eifel;
use super::segment::{Again, Segment};
use super::{Sender, Sending, Transmission};
use crate::network::Recovery;
use crate::outcome::Truth;
use whimbrel_cc::connection::RecoveryStage;
use whimbrel_units::{Bytes, Time};

impl Sender {
    pub(super) fn has_something_to_send(&self) -> bool {
        if self.frozen {
            return false;
        }
        !self.lost_queue.is_empty()
            || self.may_send_new()
            || self.duplicates.has_retransmission()
            || self.nacks.as_ref().is_some_and(|n| n.has_retransmission())
    }

    #[inline]
    pub(super) fn may_send_new(&self) -> bool {
        self.board.next() < self.total && self.board.outstanding() < self.window
    }

    /// Whether the congestion window, `cwnd`, lets one more segment out now.
    #[inline(always)]
    fn window_open(&self, cwnd: Bytes) -> bool {
        let in_flight = self.board.in_flight();
        match self.mode {
            Recovery::NewReno => self.newreno_window_open(in_flight, cwnd),
            Recovery::Sack | Recovery::Fack | Recovery::Rack => match self.episodes.stage() {
                RecoveryStage::Recovery | RecoveryStage::Marked => self.prr.allowance() > 0,
                RecoveryStage::Open if !self.limited_transmit => {
                    self.is_below(cwnd, in_flight + self.board.sacked())
                }
                RecoveryStage::Open | RecoveryStage::Repair | RecoveryStage::StartedAgain => {
                    self.is_below(cwnd, in_flight)
                }
            },
        }
    }

    /// Whether there are fewer segments than [`Self::in_segments`] of this window, without its
    /// division.
    #[inline(always)]
    fn is_below(&self, cwnd: Bytes, segments: u32) -> bool {
        let one_more = (u64::from(segments) + 1) * u64::from(self.mss);
        segments == 0 || one_more <= cwnd.get()
    }

    /// The same in NewReno's mode.
    fn newreno_window_open(&self, in_flight: u32, cwnd: Bytes) -> bool {
        let cwnd = self.in_segments(cwnd);
        match self.episodes.stage() {
            RecoveryStage::Repair | RecoveryStage::Recovery => {
                in_flight < self.duplicates.inflated(cwnd)
            }
            RecoveryStage::Open | RecoveryStage::Marked => {
                let limit = if self.limited_transmit { 2 } else { 0 };
                in_flight < self.duplicates.inflated(cwnd) + self.duplicates.count().min(limit)
            }
            RecoveryStage::StartedAgain => in_flight < cwnd,
        }
    }

    /// The next segment to send now, if any may be sent. Call it until it returns `None`, then
    /// [`Self::end_sending`], with the same `sending`, which begins as its default.
    #[inline(always)]
    pub fn next_segment(&mut self, now: Time, sending: &mut Sending) -> Option<Transmission> {
        if self.pacer.until() > now || self.frozen {
            return None;
        }
        if self.nacks.is_some()
            && let Some(answer) = self.answer_nack(now, sending)
        {
            return Some(answer);
        }
        let seg = match self.forced_segment() {
            Some(seg) => seg,
            None => self.allowed_segment(sending)?,
        };
        Some(self.transmit(now, seg, false, sending))
    }

    /// [`Self::next_segment`] for a caller that sends one segment at a time.
    pub fn next_one(&mut self, now: Time) -> Option<Transmission> {
        let mut sending = Sending::default();
        let next = self.next_segment(now, &mut sending)?;
        self.end_sending(now, sending);
        Some(next)
    }

    /// All segments are sent that may be.
    #[inline(always)]
    pub fn end_sending(&mut self, now: Time, sending: Sending) {
        if self.pacer.until() > now {
            let cwnd = sending.cwnd.unwrap_or_else(|| self.controller.cwnd());
            self.waits_for_window = !self.window_open(cwnd) && self.only_window_matters();
        }
        if sending.new {
            let calm = self.episodes.stage().is_calm();
            self.rack.rearm_probe(now, &self.board, &self.rtt, calm);
        }
    }

    /// Whether only the window decides if the next segment may leave when pacing allows it. If the
    /// window is closed now, it stays closed until the next event, so no timer is needed for
    /// pacing: a flow whose window decides how much is in flight would have one for each
    /// acknowledgment, which finds nothing to do.
    #[inline]
    fn only_window_matters(&self) -> bool {
        let forced = self.duplicates.has_retransmission() || self.rack.has_probe();
        let single = self.nacks.is_none() && self.subflow.is_none();
        !forced && single && self.may_send_new()
    }

    /// An event begins. Catches up on the timer that [`Self::only_window_matters`] has saved: if it
    /// had fired before `now`, it would have found the window closed.
    #[inline(always)]
    pub(super) fn meet_pacing(&mut self, now: Time) {
        if self.waits_for_window {
            self.waits_for_window = false;
            self.cwnd_limited |= self.pacer.until() < now;
        }
    }

    /// Retransmits a NACKed segment, regardless of the window.
    #[inline(never)]
    fn answer_nack(&mut self, now: Time, sending: &mut Sending) -> Option<Transmission> {
        let seg = self.nacks.as_mut()?.take(&self.board)?;
        Some(self.transmit(now, seg, true, sending))
    }

    /// The next segment, if the window allows one.
    #[inline(always)]
    fn allowed_segment(&mut self, sending: &Sending) -> Option<u32> {
        // After the retransmission its entry in `lost_queue` is stale; the next lookup removes it.
        let lost = match self.next_lost() {
            None if self.mode.counts_sacks() => self.sack_extra_segment(),
            lost => lost,
        };
        if lost.is_none() && !self.may_send_new() {
            self.note_idle();
            return None;
        }
        let cwnd = sending.cwnd.unwrap_or_else(|| self.controller.cwnd());
        if !self.window_open(cwnd) {
            self.cwnd_limited = true;
            return None;
        }
        Some(lost.unwrap_or(self.board.next()))
    }

    /// A segment that is sent regardless of the window: NewReno's fast retransmission, or a tail
    /// loss probe.
    #[inline(always)]
    fn forced_segment(&mut self) -> Option<u32> {
        if let Some(seg) = self.duplicates.take_retransmission(&self.board) {
            return Some(seg);
        }
        if self.rack.take_probe() {
            self.probe()
        } else {
            None
        }
    }

    /// The segment of a tail loss probe, or of a probe in silence.
    #[inline(never)]
    fn probe(&mut self) -> Option<u32> {
        // RFC 8985 section 7.3: new data if available, else the last segment. What arrives of new
        // data shows for certain that all that was sent before is lost: the report of a segment
        // that was sent again may be of the first transmission (section 6.2 step 2).
        if self.may_send_new() {
            self.rack.on_probe_sent(self.board.next(), None, Time::ZERO);
            return Some(self.board.next());
        }
        // Only a probe in silence finds a lost segment here.
        if let Some(lost) = self.next_lost() {
            return Some(lost);
        }
        let held = |seg: &u32| self.board.holds(*seg);
        let last = self.board.next().checked_sub(1).filter(held)?;
        // Where retransmissions before the last segment were lost, a probe in silence finds it
        // SACKed: what a timeout would send is tested then.
        let seg = match self.board.get(last).sacked {
            true => self.board.una(),
            false => last,
        };
        let segment = *self.board.get(seg);
        self.rack
            .on_probe_sent(seg, Some(Truth::from(segment.dropped)), segment.sent);
        Some(seg)
    }

    /// The lowest lost segment. Stale entries are removed.
    #[inline]
    fn next_lost(&mut self) -> Option<u32> {
        while let Some(seg) = self.lost_queue.first() {
            if self.board.holds(seg) && self.board.get(seg).lost {
                return Some(seg);
            }
            self.lost_queue.remove_first();
        }
        None
    }

    /// Invoked when there is nothing to send. If the window has room, delivery rate samples are
    /// limited by the application from here on.
    fn note_idle(&mut self) {
        self.cwnd_limited = false;
        if self.board.in_flight() < self.cwnd() {
            self.rate.on_app_limited(self.in_flight());
        }
    }

    /// Sends a segment. `nacked`: it is the retransmission of a NACKed segment.
    #[inline(always)]
    fn transmit(
        &mut self,
        now: Time,
        seg: u32,
        nacked: bool,
        sending: &mut Sending,
    ) -> Transmission {
        let in_flight = self.board.in_flight();
        let segment = Segment {
            sent: now,
            tag: self
                .rate
                .on_sent(now, in_flight == 0, self.bytes(in_flight + 1)),
            transmission: self.transmissions,
            ..Segment::default()
        };
        let again = seg < self.board.next();
        if again {
            let again = match self.board.get(seg).again {
                Again::Nacked(truth) if nacked => Again::Nacked(truth),
                _ => Again::Retransmitted,
            };
            self.board.send_again(seg, Segment { again, ..segment });
            self.counters.retransmits += 1;
            if nacked {
                if let Some(nacks) = &mut self.nacks {
                    nacks.counts.resent += 1;
                }
            } else if let Eifel::Armed = self.eifel {
                self.eifel = Eifel::Retransmitted(now);
            }
        } else {
            self.board.send_new(segment);
            self.rtt.on_sent_new(now, seg);
        }
        if self.mode == Recovery::Rack {
            self.rack.on_sent(seg, self.transmissions);
        }
        self.transmissions = self.transmissions.wrapping_add(1);
        if let Some(silence) = &mut self.silence {
            silence.on_sent(now);
        }
        if self.episodes.stage().is_reducing() && !nacked {
            self.prr.on_sent();
        }
        let payload = match &mut self.subflow {
            Some(subflow) => subflow.payload(seg, self.board.una()),
            None if seg + 1 == self.total => self.last_payload,
            None => self.mss,
        };
        let size = payload + self.header;
        self.counters.packets += 1;
        self.counters.wire_bytes += u64::from(size);
        // As in Linux, the retransmission of the first unacknowledged segment has a full timeout of
        // its own; otherwise the timer would expire while it waits in the same queue as the
        // original. A NACK shows that the path works, so a NACKed segment has its own timeout in
        // all modes.
        let own = self.mode == Recovery::Rack || nacked;
        let head_again = again && seg == self.board.una() && own;
        if self.rto_at == Time::MAX || head_again {
            self.rto_at = now + self.rtt.rto();
        }
        sending.new |= !again;
        let in_flight = self.in_flight();
        let payload = Bytes::new(u64::from(payload));
        let (cwnd, rate) = self.controller.on_sent_limits(now, payload, in_flight);
        sending.cwnd = Some(cwnd);
        let rate = rate.map(|rate| (rate, self.controller.send_quantum()));
        self.pacer.on_sent(now, size, cwnd, rate, self.rtt.srtt());
        // RFC 3168 section 6.1.5: retransmissions must not be marked.
        let ect = self.marks.on && !again;
        Transmission {
            seg,
            size,
            ect,
            cwr: ect && self.marks.take_cwr(),
        }
    }
}
