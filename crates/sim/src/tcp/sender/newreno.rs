//! Recovery without SACK (RFC 6582): three duplicate ACKs, inflation, partial acknowledgments.
//!
//! The simulators of the papers use it. This is the "Impatient" variant of RFC 6582 section 4: only
//! the first partial acknowledgment restarts the retransmission timer, so that a window with very
//! many losses falls back to slow start. At the end of a recovery the window is ssthresh (option 2
//! of section 3.2 step 3).
//!
//! Two older methods are variants of it, used with the algorithms of the same name
//! ([`FastRecovery`]). **Reno** (RFC 5681 section 3.2) leaves recovery with the first
//! acknowledgment that advances, so a second hole in the same window needs three more duplicates,
//! which halve the window again, or a timeout; a repair without a reduction ends there too.
//! **Tahoe** retransmits the hole and everything after
//! it in slow start.
//!
//! A hole that a partial acknowledgment shows while the window was not reduced is a loss of its
//! own, and the controller decides about it.

use super::Sender;
use super::scoreboard::Scoreboard;
use crate::outcome::Truth;
use crate::packet::{Flags, Packet};
use whimbrel_cc::FastRecovery;
use whimbrel_cc::connection::RecoveryStage;
use whimbrel_units::Time;

/// DupThresh of RFC 5681.
const THRESHOLD: u32 = 3;

/// Duplicate acknowledgments and the window inflation that they cause.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DuplicateAcks {
    count: u32,
    /// Inflation of cwnd in segments; negative after partial ACKs.
    inflation: i64,
    /// Inflation that was counted for a NACKed hole ends when all segments below this one are
    /// acknowledged.
    counted_below: u32,
    /// `recover` of RFC 6582 plus one: no new recovery before this segment is acknowledged.
    recover: Option<u32>,
    /// A segment to retransmit regardless of the window.
    retransmit: Option<u32>,
    /// A partial acknowledgment has already restarted the timer in this recovery.
    partial_seen: bool,
    /// The last acknowledgment was partial and not the first such one.
    timer_runs_on: bool,
}

impl DuplicateAcks {
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The window with inflation, at least one segment.
    pub fn inflated(&self, cwnd: u32) -> u32 {
        (i64::from(cwnd) + self.inflation).clamp(1, i64::from(u32::MAX)) as u32
    }

    /// Number of segments known to have arrived beyond the first hole; `calm`: no loss is being
    /// repaired.
    pub fn arrived(&self, calm: bool) -> u32 {
        let counted = if calm { i64::from(self.count) } else { 0 };
        u32::try_from(self.inflation + counted).unwrap_or(0)
    }

    /// Whether a retransmission is pending.
    pub fn has_retransmission(&self) -> bool {
        self.retransmit.is_some()
    }

    /// Takes the pending retransmission, unless the segment was acknowledged while it waited for
    /// pacing.
    #[inline]
    pub fn take_retransmission(&mut self, board: &Scoreboard) -> Option<u32> {
        // Nearly always there is none. The check saves a write.
        self.retransmit?;
        self.retransmit.take().filter(|seg| board.holds(*seg))
    }

    pub fn timer_runs_on(&self) -> bool {
        self.timer_runs_on
    }

    /// Invoked when a recovery ends.
    pub fn reset(&mut self) {
        *self = Self {
            recover: self.recover,
            ..Self::default()
        };
    }

    /// Invoked when all segments are retransmitted: segments sent before start no recovery (RFC
    /// 6582 section 3.2 step 4).
    pub fn on_start_again(&mut self, next: u32) {
        *self = Self {
            recover: Some(next),
            ..Self::default()
        };
    }
}

impl Sender {
    pub(super) fn newreno_on_ack(
        &mut self,
        now: Time,
        packet: &Packet,
        una_before: u32,
        in_flight: u32,
    ) {
        self.duplicates.timer_runs_on = false;
        if packet.ack > una_before {
            self.newreno_on_new_ack(now, packet.ack, packet.ack - una_before);
        } else if packet.ack == una_before
            && self.board.outstanding() > 0
            && !packet.flags.has(Flags::DATA)
        {
            self.newreno_on_duplicate(now, in_flight);
        }
    }

    fn newreno_on_duplicate(&mut self, now: Time, in_flight: u32) {
        let stage = self.episodes.stage();
        let excused = stage.is_calm() && self.excuses(self.board.una());
        let d = &mut self.duplicates;
        if excused {
            // It only shows that a packet has left the network.
            d.inflation += 1;
            d.counted_below = self.board.next();
            return;
        }
        d.count += 1;
        match stage {
            RecoveryStage::Repair | RecoveryStage::Recovery => d.inflation += 1,
            // Strictly greater (RFC 6582 section 3.2 step 2): segments that were sent twice cause
            // duplicates of their own.
            RecoveryStage::Open | RecoveryStage::Marked
                if d.count == THRESHOLD && d.recover.is_none_or(|r| self.board.una() > r) =>
            {
                // Segments of limited transmit are not part of the flight (RFC 3042, RFC 5681
                // section 3.2), nor are those known to have left the network while a NACKed hole
                // was being filled.
                let left = u32::try_from(d.inflation).unwrap_or(0);
                let flight = in_flight.saturating_sub(left + THRESHOLD - 1).max(1);
                d.inflation += i64::from(THRESHOLD);
                self.newreno_found_hole(now, flight);
            }
            RecoveryStage::Open | RecoveryStage::Marked | RecoveryStage::StartedAgain => {}
        }
    }

    fn newreno_on_new_ack(&mut self, now: Time, ack: u32, acked: u32) {
        let stage = self.episodes.stage();
        match stage {
            RecoveryStage::Repair | RecoveryStage::Recovery => {}
            RecoveryStage::Open | RecoveryStage::Marked | RecoveryStage::StartedAgain => {
                self.duplicates.count = 0;
                // The acknowledged segments, except the one that filled the hole, were counted as
                // inflation.
                let d = &mut self.duplicates;
                let left = d.inflation - (i64::from(acked) - 1);
                let any = ack < d.counted_below;
                d.inflation = if any { left.max(0) } else { 0 };
                return;
            }
        }
        if u64::from(ack) >= self.episodes.until() {
            return; // A full acknowledgment: the caller ends the recovery.
        }
        if self.controller.fast_recovery() == FastRecovery::UntilFirstAck {
            self.episodes.end_at(ack.into());
            self.duplicates.recover = None;
            return;
        }
        // RFC 6582 section 3.2 step 3: deflate by the acknowledged segments, add one, retransmit
        // the next hole.
        self.duplicates.inflation -= i64::from(acked) - 1;
        let hole = self.board.una();
        if self.excuses(hole) {
            // It was retransmitted for its NACK.
        } else if stage == RecoveryStage::Repair {
            let flight = self.board.in_flight();
            let inflation = self.duplicates.inflation;
            self.newreno_found_hole(now, flight);
            self.duplicates.inflation = inflation;
        } else if self.nacked(hole).is_none() {
            self.report_lost(now, hole);
            self.duplicates.retransmit = Some(hole);
        }
        self.duplicates.timer_runs_on = self.duplicates.partial_seen;
        self.duplicates.partial_seen = true;
    }

    fn newreno_found_hole(&mut self, now: Time, flight: u32) {
        let hole = self.board.una();
        let nacked = self.nacked(hole);
        let truth = nacked.unwrap_or(Truth::from(self.board.get(hole).dropped));
        if nacked.is_some() {
            // It was retransmitted already.
        } else if self.controller.fast_recovery() == FastRecovery::Never {
            self.mark_lost(now, hole);
        } else {
            self.report_lost(now, hole);
        }
        self.begin_episode(now, hole, truth, flight);
        let stage = self.episodes.stage();
        if matches!(stage, RecoveryStage::Repair | RecoveryStage::Recovery) {
            self.duplicates.recover = Some(self.board.next());
            self.duplicates.retransmit = nacked.is_none().then_some(hole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Nack, Recovery, SsthreshFrom, TcpSettings};
    use crate::packet::Block;
    use crate::seed::Draw;
    use whimbrel_units::Duration;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(1_000 + ms)
    }

    fn acknowledgment(now: Time, ack: u32, sacks: [Block; 3]) -> Packet {
        Packet {
            at: now,
            sent: now,
            echo: now - Duration::from_millis(100),
            path_id: 0,
            seg: 0,
            ack,
            size: 52,
            hop: 0,
            flags: Flags::BACKWARD,
            sacks,
        }
    }

    fn ack(sender: &mut Sender, now: Time, ack: u32) -> Option<u32> {
        sender.on_ack(now, &acknowledgment(now, ack, [Block::default(); 3]));
        sender.next_one(now).map(|sent| sent.seg)
    }

    /// A paced sender with a window of ten and an RTT of 100 ms.
    fn paced() -> Sender {
        let settings = TcpSettings {
            recovery: Recovery::NewReno,
            pacing: Some(1.25),
            ..TcpSettings::default()
        };
        let newreno = "newreno".parse().expect("registered");
        let mut sender = Sender::new(&newreno, None, &settings, Nack::Off, Draw::of(1, 0));
        sender.on_handshake(Some(Duration::from_millis(100)));
        sender
    }

    /// A paced sender that sent a packet every 10 ms. Segment 1 is missing, and three duplicates
    /// arrive while pacing blocks all packets.
    fn held() -> Sender {
        let mut sender = paced();
        for seg in 0..10 {
            let sent = sender.next_one(at(10 * u64::from(seg)));
            assert_eq!(sent.map(|sent| sent.seg), Some(seg));
        }
        assert_eq!(ack(&mut sender, at(100), 1), Some(10));
        for ms in 101..104 {
            assert_eq!(ack(&mut sender, at(ms), 1), None);
        }
        sender
    }

    #[test]
    fn a_paced_sender_wakes_for_a_retransmission() {
        let mut sender = held();
        let due = sender.deadline(at(103));
        assert!(due < at(110), "{due}");
        assert_eq!(sender.next_one(due).map(|sent| sent.seg), Some(1));
    }

    #[test]
    fn a_paced_sender_needs_no_timer_while_its_window_is_closed() {
        // An acknowledgment before and after the time of the next packet, which is 8.3 ms after the
        // last one.
        for (ms, limited) in [(97, false), (99, true)] {
            let mut sender = paced();
            for seg in 0..10 {
                let now = at(10 * seg);
                assert!(sender.next_one(now).is_some());
                let next = sender.pacer.until();
                assert_eq!(next.since(now).as_nanos() / 1_000_000, 8);
                assert_eq!(sender.deadline(now) == next, seg < 9, "segment {seg}");
            }
            sender.on_ack(at(ms), &acknowledgment(at(ms), 1, [Block::default(); 3]));
            assert_eq!(sender.cwnd_limited, limited, "{ms} ms");
            if !limited {
                assert_eq!(sender.deadline(at(ms)), sender.pacer.until());
            }
        }
    }

    /// A sender with a window of ten and an RTT of 100 ms, without pacing, after segment 0 was
    /// acknowledged at 100 ms.
    fn unpaced(settings: TcpSettings) -> Sender {
        let newreno = "newreno".parse().expect("registered");
        let mut sender = Sender::new(&newreno, None, &settings, Nack::Off, Draw::of(1, 0));
        sender.on_handshake(Some(Duration::from_millis(100)));
        while sender.next_one(at(0)).is_some() {}
        ack(&mut sender, at(100), 1);
        sender
    }

    fn ssthresh(sender: &Sender, now: Time) -> Option<u64> {
        let sample = sender.sample(now, whimbrel_units::Rate::ZERO);
        sample.ssthresh.map(|bytes| bytes.get() / 1448)
    }

    #[test]
    fn a_fast_retransmission_restarts_a_coarse_timer_alone() {
        // The handshake gives 10 ticks, RTTVAR 5: 300 ms, as RFC 6298 does.
        for (coarse_timer, from) in [(Some(Duration::from_millis(10)), 252), (None, 100)] {
            let mut sender = unpaced(TcpSettings {
                recovery: Recovery::NewReno,
                min_rto: Duration::from_millis(200),
                coarse_timer,
                ..TcpSettings::default()
            });
            let rto = sender.deadline(at(100)).since(at(100));
            for ms in 250..253 {
                ack(&mut sender, at(ms), 1);
            }
            assert_eq!(sender.deadline(at(252)), at(from) + rto, "{from}");
        }
    }

    #[test]
    fn ssthresh_from_the_window_falls_at_each_timeout() {
        for (ssthresh_from, expected) in [(SsthreshFrom::Flight, 5), (SsthreshFrom::Window, 2)] {
            let mut sender = unpaced(TcpSettings {
                recovery: Recovery::NewReno,
                ssthresh_from,
                ..TcpSettings::default()
            });
            for expected in [5, expected] {
                let due = sender.deadline(at(100));
                sender.on_timer(due);
                while sender.next_one(due).is_some() {}
                assert_eq!(ssthresh(&sender, due), Some(expected), "{ssthresh_from:?}");
            }
        }
    }

    #[test]
    fn the_acknowledgment_that_ends_a_recovery_may_grow_the_window() {
        // ns-2's Newreno: slow start has made 11 of 10 segments, a loss halves them to 5.5, and the
        // last acknowledgment adds 1/5.5. Counted by windows, none is full yet.
        let ended = |growth, growth_at_recovery_end, recovery| {
            let mut sender = unpaced(TcpSettings {
                recovery,
                ssthresh_from: SsthreshFrom::Window,
                growth,
                growth_at_recovery_end,
                ..TcpSettings::default()
            });
            for high in 3..6 {
                let mut sacks = [Block::default(); 3];
                if recovery == Recovery::Sack {
                    sacks[0] = Block {
                        start: 2,
                        end: high,
                    };
                }
                sender.on_ack(at(150), &acknowledgment(at(150), 1, sacks));
                while sender.next_one(at(150)).is_some() {}
            }
            let all = sender.board.next();
            ack(&mut sender, at(250), all);
            sender.controller.cwnd().get() as f64 / 1448.0
        };
        use whimbrel_cc::Growth::{Acknowledgments, Fractions};
        for (growth, at_end, recovery, expected) in [
            (Fractions, true, Recovery::NewReno, 5.5 + 1.0 / 5.5),
            (Fractions, false, Recovery::NewReno, 5.5),
            (Acknowledgments, true, Recovery::NewReno, 5.5),
            (Fractions, true, Recovery::Sack, 5.5),
        ] {
            let cwnd = ended(growth, at_end, recovery);
            assert!((cwnd - expected).abs() < 0.001, "{growth:?} {cwnd}");
        }
    }

    #[test]
    fn flight_size_includes_what_was_sacked() {
        // Ten or eleven segments are outstanding when the third is SACKed: half is five. Of the
        // eight that are not SACKed it would be four.
        for limited_transmit in [true, false] {
            let mut sender = unpaced(TcpSettings {
                recovery: Recovery::Sack,
                limited_transmit,
                ..TcpSettings::default()
            });
            for high in 3..6 {
                let mut sacks = [Block::default(); 3];
                sacks[0] = Block {
                    start: 2,
                    end: high,
                };
                sender.on_ack(at(150), &acknowledgment(at(150), 1, sacks));
                while sender.next_one(at(150)).is_some() {}
            }
            assert_eq!(ssthresh(&sender, at(150)), Some(5), "{limited_transmit}");
        }
    }

    #[test]
    fn an_acknowledged_segment_is_not_retransmitted() {
        let mut sender = held();
        assert_eq!(ack(&mut sender, at(104), 5), None);
        let due = sender.deadline(at(104));
        let next = sender.next_one(due).map(|sent| sent.seg);
        assert!(next.is_none_or(|seg| seg >= 5), "{next:?}");
    }
}
