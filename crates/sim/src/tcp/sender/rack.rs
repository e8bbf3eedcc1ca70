//! Time-based loss detection and tail loss probes (RFC 8985).
//!
//! A segment is lost when one that was sent later has arrived and the reordering window has passed.
//! Transmissions are kept in sending order, so that only the oldest ones are checked: the cost of
//! an acknowledgment does not grow with the window.
//!
//! It departs from RFC 8985 in one point. Section 6.2 step 5 arms the reordering timer for the last
//! segment that may be lost; here it is armed for the first one and then for the next, so that each
//! loss is detected when it is due.

use super::Sender;
use super::delivery::Delivery;
use super::scoreboard::Scoreboard;
use super::segment::Segment;
use crate::outcome::Truth;
use crate::packet::{Flags, Packet};
use crate::rtt::RttEstimator;
use whimbrel_net::Ring;
use whimbrel_units::{Duration, Time};

/// DupThresh of RFC 8985 section 6.2 step 4.
const THRESHOLD: u32 = 3;
/// Recoveries for which a widened reordering window is kept (section 6.2 step 4).
const PERSIST: u32 = 16;
/// The probe timeout before any RTT sample (section 7.2).
const NO_RTT_YET: Duration = Duration::from_secs(1);
/// WCDelAckT of section 7.2: the maximum delay of the acknowledgment of a single segment.
const WORST_ACK_DELAY: Duration = Duration::from_millis(200);

/// State of RACK and TLP. The fields are in this order in memory: what each acknowledgment changes
/// comes first.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Rack {
    /// Transmissions that may still be lost, oldest first: segment and transmission number.
    transmissions: Ring<(u32, u32)>,
    /// When the reordering timer and the probe timer expire; [`Time::MAX`]: it does not run.
    reorder_at: Time,
    probe_at: Time,
    /// Number of the most recently sent transmission that was delivered (RACK.xmit_ts,
    /// RACK.end_seq).
    newest: Option<u32>,
    /// The RTT of that transmission (RACK.rtt).
    rtt: Duration,
    /// The highest delivered segment plus one (RACK.fack).
    fack: u32,
    reordering_seen: bool,
    probes: bool,
    /// A loss counts a smoothed RTT later: TCP-DCR.
    delayed: bool,
    /// The probe timer expired: a probe is sent next.
    probe_due: bool,
    probe: Option<Probe>,
    /// Reordering window as a multiple of min_rtt/4, and for how many recoveries it stays widened.
    multiplier: u32,
    persist: u32,
    /// A DSACK widens the window at most once per round trip, which ends when this segment is
    /// acknowledged.
    dsack_round: Option<u32>,
}

/// A tail loss probe in flight (section 7.3).
#[derive(Debug, Clone, Copy)]
struct Probe {
    /// The probe segment plus one: TLP.end_seq.
    end: u32,
    /// If the probe retransmitted old data: the true cause for the first transmission.
    retransmitted: Option<Truth>,
    /// When that first transmission was sent.
    sent: Time,
}

impl Rack {
    pub fn new(probes: bool, delayed: bool) -> Self {
        Self {
            probes,
            delayed,
            transmissions: Ring::default(),
            newest: None,
            rtt: Duration::ZERO,
            fack: 0,
            reordering_seen: false,
            multiplier: 1,
            persist: PERSIST,
            dsack_round: None,
            reorder_at: Time::MAX,
            probe_at: Time::MAX,
            probe_due: false,
            probe: None,
        }
    }

    /// When its next timer expires; [`Time::MAX`]: none runs.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.reorder_at.min(self.probe_at)
    }

    #[inline]
    pub fn on_sent(&mut self, seg: u32, transmission: u32) {
        self.transmissions.push_back((seg, transmission));
    }

    /// Invoked when the retransmission timer expires.
    pub fn on_timeout(&mut self) {
        self.reorder_at = Time::MAX;
        self.probe_at = Time::MAX;
        self.probe_due = false;
        self.probe = None;
    }

    /// Whether this segment is lost when the retransmission timer expires (section 6.3).
    pub fn overdue(&self, now: Time, segment: &Segment) -> bool {
        segment.sent + self.rtt <= now
    }

    /// Invoked when losses are undone: tracks all segments that are neither acknowledged nor
    /// SACKed.
    pub fn watch_again(&mut self, board: &Scoreboard) {
        let mut all: Vec<_> = (board.una()..board.next())
            .filter(|seg| !board.get(*seg).sacked)
            .map(|seg| (seg, board.get(seg).transmission))
            .collect();
        all.sort_by_key(|(_, transmission)| *transmission);
        self.transmissions.clear();
        for one in all {
            self.transmissions.push_back(one);
        }
    }

    /// Arms the probe timer, or stops it if section 7.2 allows no probe.
    #[inline(always)]
    pub fn rearm_probe(&mut self, now: Time, board: &Scoreboard, rtt: &RttEstimator, open: bool) {
        let allowed = self.probes
            && open
            && board.outstanding() > 0
            && board.sacked() == 0
            && self.probe.is_none();
        if !allowed {
            self.probe_at = Time::MAX;
            return;
        }
        let srtt = rtt.srtt();
        let wait = if srtt.is_zero() { NO_RTT_YET } else { srtt * 2 };
        let wait = if board.outstanding() == 1 {
            wait + WORST_ACK_DELAY
        } else {
            wait
        };
        self.probe_at = now + wait.min(rtt.rto());
    }

    /// The reordering window as a multiple of min_rtt/4.
    #[cfg(test)]
    pub fn multiplier(&self) -> u32 {
        self.multiplier
    }

    /// A probe must be sent now.
    pub fn ask_for_probe(&mut self) {
        self.probe_due = true;
    }

    /// Whether a probe must be sent now.
    #[inline]
    pub fn has_probe(&self) -> bool {
        self.probe_due
    }

    /// The same, and the caller sends it.
    #[inline]
    pub fn take_probe(&mut self) -> bool {
        self.probe_due && std::mem::take(&mut self.probe_due)
    }

    /// Invoked when a probe is sent. `retransmitted` is the true cause for the first transmission
    /// of old data; `None`: the probe is new data.
    pub fn on_probe_sent(&mut self, seg: u32, retransmitted: Option<Truth>, sent: Time) {
        self.probe = Some(Probe {
            end: seg + 1,
            retransmitted,
            sent,
        });
        self.probe_at = Time::MAX;
    }

    /// Section 6.2 step 2: updates the most recently sent delivered transmission. The
    /// acknowledgment of a retransmitted segment may be for the original: then it arrives too soon
    /// or echoes an earlier time.
    #[inline(always)]
    fn update(&mut self, now: Time, packet: &Packet, delivery: &Delivery, min_rtt: Duration) {
        let doubtful = |segment: &Segment| {
            segment.retransmitted()
                && (now.since(segment.sent) < min_rtt || packet.echo < segment.sent)
        };
        let (sent, transmission) = match (&delivery.newest, delivery.newest_sent_once) {
            (Some(newest), _) if !doubtful(newest) => (newest.sent, newest.transmission),
            (_, Some(once)) => (once.sent, once.transmission),
            _ => return,
        };
        self.rtt = now.since(sent);
        let later = |than: u32| transmission.wrapping_sub(than) as i32 > 0;
        if self.newest.is_none_or(later) {
            self.newest = Some(transmission);
        }
    }

    /// The reordering window (section 6.2 step 4).
    fn reordering_window(
        &self,
        board: &Scoreboard,
        rtt: &RttEstimator,
        repairing: bool,
    ) -> Duration {
        if !self.reordering_seen && (repairing || board.sacked() >= THRESHOLD) {
            return Duration::ZERO;
        }
        (rtt.min_rtt() * u64::from(self.multiplier) / 4).min(rtt.srtt())
    }

    /// Invoked at each episode: after 16 of them without a DSACK the widened window is reset.
    fn on_episode(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    /// Invoked for a DSACK, which reports an unneeded retransmission (section 6.2 step 4).
    fn on_dsack(&mut self, board: &Scoreboard) {
        if self.dsack_round.is_none_or(|end| board.una() >= end) {
            self.dsack_round = Some(board.next());
            self.multiplier += 1;
            self.persist = PERSIST;
        }
    }
}

impl Sender {
    #[inline(always)]
    pub(super) fn rack_on_ack(
        &mut self,
        now: Time,
        packet: &Packet,
        delivery: &Delivery,
        in_flight: u32,
    ) {
        if packet.flags.has(Flags::DSACK) {
            self.rack.on_dsack(&self.board);
        }
        if delivery.segments > 0 {
            // Section 6.2 step 3: a segment that was sent once arrived below a delivered one.
            self.rack.reordering_seen |= delivery
                .lowest_sent_once
                .is_some_and(|low| low < self.rack.fack);
            let highest = self
                .board
                .ranges()
                .highest()
                .unwrap_or(0)
                .max(self.board.una());
            self.rack.fack = self.rack.fack.max(highest);
            self.rack.update(now, packet, delivery, self.rtt.min_rtt());
        }
        self.rack_process_probe(now, packet);
        self.rack_detect(now, in_flight);
        if self.rack.probe_at < Time::MAX && self.board.sacked() > 0 {
            self.rack.probe_at = Time::MAX;
        }
    }

    /// Section 6.2 step 5: checks the oldest transmissions until one is not yet due.
    #[inline(always)]
    fn rack_detect(&mut self, now: Time, in_flight: u32) {
        self.rack.reorder_at = Time::MAX;
        let Some(newest) = self.rack.newest else {
            return;
        };
        let una = self.board.una();
        self.rack.transmissions.drop_while(|(seg, _)| *seg < una);
        // Nearly always the next one is in flight, and nothing that was sent later has arrived.
        if let Some((seg, transmission)) = self.rack.transmissions.front()
            && newest.wrapping_sub(*transmission) as i32 <= 0
            && self.board.get(*seg).waits(*transmission)
        {
            return;
        }
        self.rack_check(now, newest, in_flight);
    }

    /// [`Self::rack_detect`], when any transmission may be lost.
    #[inline(never)]
    fn rack_check(&mut self, now: Time, newest: u32, in_flight: u32) {
        let repairing = !self.episodes.stage().is_calm();
        let wait = self.rack.rtt
            + self
                .rack
                .reordering_window(&self.board, &self.rtt, repairing);
        let wait = match self.rack.delayed {
            true => wait + self.rtt.srtt(),
            false => wait,
        };
        let mut found: Option<(u32, Truth)> = None;
        while let Some((seg, transmission)) = self.rack.transmissions.front().copied() {
            if self.board.holds(seg) {
                let segment = self.board.get(seg);
                if let Some(truth) = self.unexcused(segment, transmission) {
                    let sent_before = newest.wrapping_sub(transmission) as i32 > 0;
                    if !sent_before || self.board.sacked() < THRESHOLD {
                        break;
                    }
                    found = Some(found.map_or((seg, truth), |(s, t)| (s.min(seg), t.max(truth))));
                } else if segment.waits(transmission) {
                    let sent_before = newest.wrapping_sub(transmission) as i32 > 0;
                    if !sent_before {
                        break;
                    }
                    let due = segment.sent + wait;
                    if due > now {
                        self.rack.reorder_at = due;
                        break;
                    }
                    let truth = Truth::from(segment.dropped);
                    self.mark_lost(now, seg);
                    found = Some(found.map_or((seg, truth), |(s, t)| (s.min(seg), t.max(truth))));
                }
            }
            self.rack.transmissions.pop_front();
        }
        if let Some((seg, truth)) = found
            && self.begin_episode(now, seg, truth, in_flight)
        {
            self.rack.on_episode();
        }
    }

    /// The true cause for an earlier, NACKed transmission if NACKed holes begin a recovery as
    /// others do: the controller then decides about it as if it had not been retransmitted.
    #[inline]
    fn unexcused(&self, segment: &Segment, transmission: u32) -> Option<Truth> {
        if self.nacks.as_ref()?.excuses {
            return None;
        }
        let earlier = segment.transmission != transmission && !segment.sacked;
        segment.nacked().filter(|_| earlier)
    }

    pub(super) fn rack_on_timer(&mut self, now: Time) {
        if self.rack.reorder_at <= now {
            let in_flight = self.board.in_flight();
            self.rack_detect(now, in_flight);
        }
        if self.rack.probe_at <= now {
            // Section 7.3: send a probe and restart the retransmission timer.
            self.rack.probe_at = Time::MAX;
            self.rack.probe_due = true;
            self.restart_rto(now);
        }
    }

    /// Processes the acknowledgment of a probe (section 7.4). A probe with old data that caused no
    /// duplicate report has repaired a loss, for which the window is reduced.
    #[inline(always)]
    fn rack_process_probe(&mut self, now: Time, packet: &Packet) {
        let Some(probe) = self.rack.probe.filter(|probe| packet.ack >= probe.end) else {
            return;
        };
        let duplicate = packet.flags.has(Flags::DSACK) && packet.sacks[0].end == probe.end;
        self.rack.probe = None;
        if let (Some(truth), false) = (probe.retransmitted, duplicate) {
            self.loss_repaired_by_probe(now, probe.end - 1, probe.sent, truth);
        }
    }
}
