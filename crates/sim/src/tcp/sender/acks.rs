//! Processing of an acknowledgment: what it delivered, its RTT sample, and the episode that it
//! ends.

use super::Sender;
use super::delivery::Delivery;
use super::losses::Eifel;
use crate::network::Recovery;
use crate::packet::{Block, Flags, Packet};
use whimbrel_cc::Ack;
use whimbrel_cc::connection::RecoveryStage;
use whimbrel_cc::delivery_rate::RateSample;
use whimbrel_units::{Duration, Time};

/// After this time without an open window a frozen sender goes on.
const PERSIST: Duration = Duration::from_secs(60);

impl Sender {
    /// Invoked when an acknowledgment arrives. Returns its RTT sample.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, packet: &Packet) -> Option<Duration> {
        self.meet_pacing(now);
        if packet.is_loss_notified() {
            self.notified = Some(packet.ack);
        }
        if packet.is_frozen() != self.frozen {
            self.set_frozen(now, packet.is_frozen());
        }
        let board = &mut self.board;
        if packet.ack > board.next() {
            return None; // It acknowledges data that was never sent (RFC 9293 section 3.10.7.4).
        }
        self.marks.echoed = packet.flags.has(Flags::ECE);
        self.record.on_ack(now);
        let in_flight_before = board.in_flight();
        let una_before = board.una();
        let lost_before = self.rate.lost();
        let mut delivery = Delivery::default();
        board.acknowledge(packet.ack, &mut delivery);
        let advanced = board.una() > una_before;
        if self.mode != Recovery::NewReno {
            let [first, second, third] = packet.sacks;
            let blocks = match packet.flags.has(Flags::DSACK) {
                true => [second, third, Block::default()],
                false => [first, second, third],
            };
            board.sack(blocks, |seg, segment| delivery.add(seg, segment));
        }
        let sample = self.rtt_sample(now, packet, advanced, &delivery);
        if let Some(rtt) = sample {
            let first = self
                .rtt_round_ends
                .is_none_or(|end| self.board.una() >= end);
            if first {
                self.rtt_round_ends = Some(self.board.next());
            }
            self.rtt.add(rtt, first);
        } else {
            self.rtt.add_unknown();
        }
        let (rate, round_start) = self.on_delivery(now, &delivery);

        let reduced_before = self.episodes.stage().is_reducing();
        if advanced {
            self.check_spurious(now, packet);
        }
        match self.mode {
            Recovery::NewReno => self.newreno_on_ack(now, packet, una_before, in_flight_before),
            Recovery::Sack | Recovery::Fack => self.sack_on_ack(now, in_flight_before),
            Recovery::Rack => self.rack_on_ack(now, packet, &delivery, in_flight_before),
        }
        if self.marks.echoed {
            let newest = delivery.newest.map_or(now, |segment| segment.sent);
            self.answer_for_marks(now, newest, in_flight_before);
        }
        if self.episodes.stage().is_reducing() && self.mode != Recovery::NewReno {
            // `Sack` stands for simulators with RFC 6937, which treats every acknowledgment as
            // safe.
            let safe = self.mode.counts_sacks() || (advanced && self.rate.lost() == lost_before);
            self.prr
                .on_ack(delivery.segments, self.board.in_flight(), safe);
        }
        if advanced {
            self.on_advance(now);
        }
        #[cfg(test)]
        self.board.check();
        if let Some(silence) = &mut self.silence {
            silence.on_rtt(self.rtt.srtt(), self.rtt.min_rtt());
            silence.on_heard(now, self.board.in_flight() == 0);
        }
        if delivery.segments > 0 {
            if self.nacks.is_some() {
                self.nacks_on_delivery(now, packet, una_before, &delivery);
            }
            // A duplicate acknowledgment must not grow the window (RFC 5681 section 3.1), although
            // it may deliver data by SACK. It may while losses are repaired without a reduction, or
            // a NACKed segment is: then almost all acknowledgments are duplicates.
            let stage = self.episodes.stage();
            let reduced = (reduced_before && !self.growth_at_recovery_end) || stage.is_reducing();
            let suspicious = !advanced && stage.is_calm() && !self.excuses(self.board.una());
            if self.subflow.is_some() {
                self.tell_siblings(sample, round_start);
            }
            self.controller.on_ack(&Ack {
                now,
                acked: self.bytes(delivery.segments),
                rtt: sample,
                srtt: self.rtt.srtt(),
                min_rtt: self.rtt.min_rtt(),
                in_flight: self.in_flight(),
                delivered: self.rate.delivered(),
                delivery_rate: rate.rate,
                app_limited: rate.app_limited,
                cwnd_limited: self.cwnd_limited,
                in_recovery: reduced || suspicious,
                round_start,
                // The receiver's clock when it sent the acknowledgment: TSval (RFC 7323).
                receiver_time: self.timestamps.then_some(packet.sent),
                lost: self.rate.lost(),
                newest: rate.newest,
                ece: self.marks.echoed,
            });
        }
        sample
    }

    /// The RTT sample of an acknowledgment. With timestamps, every acknowledgment that advances
    /// gives one (RFC 7323 section 4.1). Without timestamps, and for SACKs, only segments that were
    /// sent once do (Karn's algorithm, RFC 6298 section 3), and none if a retransmission was
    /// acknowledged with them: their acknowledgment may have been delayed by the hole that it
    /// filled.
    #[inline]
    fn rtt_sample(
        &self,
        now: Time,
        packet: &Packet,
        advanced: bool,
        delivery: &Delivery,
    ) -> Option<Duration> {
        if self.timestamps && advanced {
            return Some(now.since(packet.echo));
        }
        if advanced && delivery.any_retransmitted {
            return None;
        }
        delivery
            .newest_sent_once
            .map(|segment| now.since(segment.sent))
    }

    /// The delivery rate, and whether a new round trip begins: the acknowledged data was sent after
    /// the last one began.
    #[inline(always)]
    fn on_delivery(&mut self, now: Time, delivery: &Delivery) -> (RateSample, bool) {
        let Some(newest) = &delivery.newest else {
            return (RateSample::default(), false);
        };
        let round_start = newest.transmission.wrapping_sub(self.round_ends) as i32 >= 0;
        if round_start {
            self.round_ends = self.transmissions;
        }
        let size = self.bytes(delivery.segments);
        let min_rtt = self.rtt.min_rtt();
        let mut rate = self
            .rate
            .on_batch(now, size, newest.sent, &newest.tag, min_rtt);
        if let Some(at) = &mut rate.newest {
            at.retransmitted = newest.retransmitted();
        }
        (rate, round_start)
    }

    /// Invoked when new data is acknowledged: ends an episode, and restarts the timer (RFC 6298
    /// section 5.3).
    #[inline(always)]
    fn on_advance(&mut self, now: Time) {
        let una = self.board.una();
        let over = self
            .episodes
            .on_progress(&mut *self.controller, now, una.into());
        let stage = self.episodes.stage();
        let partial = matches!(stage, RecoveryStage::Repair | RecoveryStage::Recovery);
        self.rtt.on_advance(now, una, partial);
        if over {
            self.record.end(now);
            self.eifel = Eifel::Off;
            self.duplicates.reset();
        }
        if !(self.mode == Recovery::NewReno && self.duplicates.timer_runs_on()) {
            self.restart_rto(now);
        }
        self.rack
            .rearm_probe(now, &self.board, &self.rtt, stage.is_calm());
    }

    /// The receiver closes its window, or opens it again.
    #[cold]
    fn set_frozen(&mut self, now: Time, frozen: bool) {
        self.frozen = frozen;
        self.rack.on_timeout();
        self.restart_rto(now);
    }

    pub(super) fn restart_rto(&mut self, now: Time) {
        self.rto_at = match self.board.outstanding() {
            // The persist timer.
            _ if self.frozen => now + PERSIST,
            0 => Time::MAX,
            _ => now + self.rtt.rto(),
        };
    }
}
