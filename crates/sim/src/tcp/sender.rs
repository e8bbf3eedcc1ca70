//! The sending half of a TCP endpoint: what to send, when, and what an acknowledgment means.
//!
//! Here is what all recovery modes share: the scoreboard, RTT and delivery-rate samples, timers and the
//! gate that the congestion window is. How losses are found is in [`super::newreno`] (RFC 6582),
//! [`super::sack`] (RFC 6675) and [`super::rack`] (RFC 8985).
//!
//! A loss that the controller does not reduce for (a discriminator took it for random) is repaired, but is no
//! recovery in the sense of RFC 5681: the window goes on growing, and losses found meanwhile are judged
//! anew. Otherwise a flow at 1 % loss with a window of some hundreds of segments would be in recovery for ever
//! and its window would be frozen. Once it does reduce, losses of the same window are the same episode.

use super::newreno::DuplicateAcks;
use super::prr::Prr;
use super::rack::Rack;
use super::rtt::RttEstimator;
use super::sack::SackJudge;
use super::scoreboard::{Scoreboard, Segment};
use crate::engine::packet::{Flags, Packet};
use crate::network::{Recovery, TcpSettings};
use crate::outcome::Confusion;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use whimbrel_cc::{Ack, Controller, Loss, LossResponse, Setup, Signal, Spec, Timeout, Verdict};
use whimbrel_net::DropCause;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Where the sender stands between losses.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
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
    /// The retransmission timer fired: everything is sent again in slow start.
    AfterTimeout {
        /// As above.
        until: u32,
    },
}

/// What one acknowledgment delivered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delivery {
    /// Segments newly known to have arrived.
    pub segments: u32,
    /// The most recently sent of them, and its number.
    pub newest: Option<(u32, Segment)>,
    /// The most recently sent of them that was sent once only: its RTT is beyond doubt (Karn).
    pub newest_sent_once: Option<Segment>,
    /// A segment sent once arrived after one that was sent later and lies beyond it: reordering.
    pub lowest_sent_once: Option<u32>,
}

impl Delivery {
    #[inline]
    fn add(&mut self, seg: u32, segment: &Segment) {
        self.segments += 1;
        let newer =
            |than: &Segment| segment.transmission.wrapping_sub(than.transmission) as i32 > 0;
        if self.newest.as_ref().is_none_or(|(_, newest)| newer(newest)) {
            self.newest = Some((seg, *segment));
        }
        if !segment.retransmitted {
            if self.newest_sent_once.as_ref().is_none_or(newer) {
                self.newest_sent_once = Some(*segment);
            }
            self.lowest_sent_once = Some(self.lowest_sent_once.map_or(seg, |low| low.min(seg)));
        }
    }
}

/// Eifel detection (RFC 3522): an acknowledgment that echoes a time before the first retransmission was
/// caused by the original, so nothing had been lost.
#[derive(Debug, Clone, Copy)]
enum Eifel {
    /// Nothing was reduced, or it is known that it was right.
    Off,
    /// The window was reduced for the first unacknowledged segment, which was sent once so far.
    Armed,
    /// That segment was sent again then.
    Resent(Time),
}

/// What the sender counts for the outcome.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SenderCounters {
    pub packets: u64,
    pub wire_bytes: u64,
    pub retransmits: u64,
    pub timeouts: u64,
    pub episodes: u64,
    pub spurious: u64,
    pub confusion: Option<Confusion>,
}

/// The sending half of a TCP endpoint.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(super) controller: Box<dyn Controller>,
    pub(super) board: Scoreboard,
    pub(super) rtt: RttEstimator,
    pub(super) phase: Phase,
    pub(super) mode: Recovery,
    pub(super) duplicates: DuplicateAcks,
    pub(super) sack: SackJudge,
    pub(super) rack: Rack,
    pub(super) counters: SenderCounters,
    /// Segments marked lost, lowest first; entries go stale and are checked when taken.
    resend: BinaryHeap<Reverse<u32>>,
    /// Segments there are to send in all; `u32::MAX`: endless.
    total: u32,
    /// Payload of the last of them.
    last_payload: u32,
    pub(super) mss: u32,
    header: u32,
    window: u32,
    limited_transmit: bool,
    timestamps: bool,
    /// When the oldest data times out.
    pub(super) rto_at: Option<Time>,
    /// Data that already timed out once and is still not acknowledged: ssthresh stays (RFC 5681).
    timed_out_una: Option<u32>,
    /// The round trip of the RTT estimator ends when all below is acknowledged.
    rtt_round_ends: Option<u32>,
    /// Whether the last reduction may still prove to have been a mistake.
    eifel: Eifel,
    /// Not before this may the next packet leave, if the controller sets a rate.
    paced_until: Time,
    /// The window, not the data, the peer or the pace, stopped the sender when it last stopped.
    cwnd_limited: bool,
    /// Delivery-rate estimation (draft-cheng-iccrg-delivery-rate-estimation).
    delivered: u32,
    delivered_at: Time,
    flight_began: Time,
    /// Segments delivered before the application last ran out of data, plus what was in flight then.
    app_limited_until: Option<u32>,
    /// The round trip ends when a segment sent after this many deliveries is acknowledged.
    round_ends: u32,
    /// Transmissions so far.
    pub(super) transmissions: u32,
}

impl Sender {
    /// A sender of `size` bytes (endless when `None`).
    pub fn new(spec: &Spec, size: Option<Bytes>, settings: &TcpSettings) -> Self {
        let mss = settings.mss;
        let setup = Setup {
            mss,
            initial_window: mss.times(u64::from(settings.initial_window.max(1))),
        };
        let (total, last_payload) = match size {
            None => (u32::MAX, mss.get()),
            Some(size) => {
                let segments = size.get().div_ceil(mss.get());
                let last = size.get() - segments.saturating_sub(1) * mss.get();
                (u32::try_from(segments).unwrap_or(u32::MAX - 1), last)
            }
        };
        Self {
            controller: spec.build(&setup),
            board: Scoreboard::new(),
            rtt: RttEstimator::new(settings),
            phase: Phase::Open,
            mode: settings.recovery,
            duplicates: DuplicateAcks::default(),
            sack: SackJudge::default(),
            rack: Rack::new(settings.recovery == Recovery::Rack && settings.tail_loss_probe),
            counters: SenderCounters::default(),
            resend: BinaryHeap::new(),
            total,
            last_payload: last_payload as u32,
            mss: mss.get() as u32,
            header: settings.header.get() as u32,
            window: u32::try_from(settings.receive_window.get() / mss.get())
                .unwrap_or(u32::MAX)
                .max(1),
            limited_transmit: settings.limited_transmit,
            timestamps: settings.timestamps,
            rto_at: None,
            timed_out_una: None,
            rtt_round_ends: None,
            eifel: Eifel::Off,
            paced_until: Time::ZERO,
            cwnd_limited: false,
            delivered: 0,
            delivered_at: Time::ZERO,
            flight_began: Time::ZERO,
            app_limited_until: None,
            round_ends: 0,
            transmissions: 0,
        }
    }

    /// What was counted so far.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// The congestion control.
    pub fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    /// Smoothed RTT, zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.rtt.srtt()
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
        if self.paced_until > now && self.has_something_to_send() {
            earliest(timers, Some(self.paced_until))
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

    pub(super) fn bytes(&self, segments: u32) -> Bytes {
        Bytes::new(u64::from(segments) * u64::from(self.mss))
    }

    /// The controller's window in segments, at least one.
    #[inline]
    fn cwnd(&self) -> u32 {
        let segments = self.controller.cwnd().get() / u64::from(self.mss);
        segments.clamp(1, u64::from(u32::MAX / 2)) as u32
    }

    // ------------------------------------------------------------------ acknowledgments

    /// An acknowledgment arrived. Returns the RTT sample that it gave.
    #[inline]
    pub fn on_ack(&mut self, now: Time, packet: &Packet) -> Option<Duration> {
        let board = &mut self.board;
        if packet.ack > board.next() {
            return None; // Acknowledges what was never sent (RFC 9293 section 3.10.7.4).
        }
        let in_flight_before = board.in_flight();
        let una_before = board.una();
        let mut delivery = Delivery::default();
        board.acknowledge(packet.ack, |seg, segment| delivery.add(seg, segment));
        let advanced = board.una() > una_before;
        if self.mode != Recovery::NewReno {
            let skip = usize::from(packet.flags.has(Flags::DSACK));
            for block in packet.sacks[skip..].iter().take_while(|b| !b.is_empty()) {
                board.sack(*block, |seg, segment| delivery.add(seg, segment));
            }
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
        }
        let (delivery_rate, app_limited, round_start) = self.on_delivery(now, &delivery);

        let reduced_before = matches!(self.phase, Phase::Recovery { .. });
        if advanced {
            self.check_spurious(now, packet);
        }
        match self.mode {
            Recovery::NewReno => self.newreno_on_ack(now, packet, una_before, in_flight_before),
            Recovery::Sack => self.sack_on_ack(now, in_flight_before),
            Recovery::Rack => self.rack_on_ack(now, packet, &delivery, in_flight_before),
        }
        if let Phase::Recovery { prr, .. } = &mut self.phase
            && self.mode != Recovery::NewReno
        {
            prr.on_ack(delivery.segments, self.board.in_flight());
        }
        if advanced {
            self.on_advance(now);
        }
        #[cfg(test)]
        self.board.check();
        if delivery.segments > 0 {
            let in_recovery = reduced_before || matches!(self.phase, Phase::Recovery { .. });
            self.controller.on_ack(&Ack {
                now,
                acked: self.bytes(delivery.segments),
                rtt: sample,
                srtt: self.rtt.srtt(),
                min_rtt: self.rtt.min_rtt(),
                in_flight: self.in_flight(),
                delivered: self.bytes(self.delivered),
                delivery_rate,
                app_limited,
                cwnd_limited: self.cwnd_limited,
                in_recovery,
                round_start,
                receiver_time: None,
            });
        }
        sample
    }

    /// With timestamps every acknowledgment that advances gives a sample (RFC 7323 section 4.1); without,
    /// and for SACKs, only segments that were sent once do (Karn's algorithm, RFC 6298 section 3).
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
        delivery
            .newest_sent_once
            .map(|segment| now.since(segment.sent))
    }

    /// Updates the delivery-rate estimate; returns the sample, whether it was application-limited, and whether
    /// a round trip began.
    #[inline]
    fn on_delivery(&mut self, now: Time, delivery: &Delivery) -> (Option<Rate>, bool, bool) {
        let Some((_, newest)) = delivery.newest else {
            return (None, false, false);
        };
        self.delivered = self.delivered.wrapping_add(delivery.segments);
        self.delivered_at = now;
        self.flight_began = newest.sent;
        if self
            .app_limited_until
            .is_some_and(|end| self.delivered.wrapping_sub(end) as i32 > 0)
        {
            self.app_limited_until = None;
        }
        let send_elapsed = newest.sent.since(newest.flight_began);
        let ack_elapsed = now.since(newest.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let amount = self.bytes(self.delivered.wrapping_sub(newest.delivered));
        // Shorter than any round trip: compressed acknowledgments, no measurement (section 3.3).
        let valid = !interval.is_zero() && interval >= self.rtt.min_rtt();
        let rate = valid.then(|| fast_rate(amount, interval));
        let round_start = newest.delivered.wrapping_sub(self.round_ends) as i32 >= 0;
        if round_start {
            self.round_ends = self.delivered;
        }
        (rate, newest.app_limited, round_start)
    }

    /// New data was acknowledged: an episode may be over, and the timer starts anew (RFC 6298 section 5.3).
    fn on_advance(&mut self, now: Time) {
        let una = self.board.una();
        if self.timed_out_una.is_some_and(|seg| una > seg) {
            self.timed_out_una = None;
        }
        let over = match self.phase {
            Phase::Open => false,
            Phase::Repair { until }
            | Phase::Recovery { until, .. }
            | Phase::AfterTimeout { until } => una >= until,
        };
        if over {
            if matches!(self.phase, Phase::Recovery { .. }) {
                self.controller.on_recovery_end(now);
            }
            self.phase = Phase::Open;
            self.eifel = Eifel::Off;
            self.duplicates.reset();
        }
        if !(self.mode == Recovery::NewReno && self.duplicates.timer_runs_on()) {
            self.restart_rto(now);
        }
        self.rack.rearm_probe(
            now,
            &self.board,
            &self.rtt,
            matches!(self.phase, Phase::Open),
        );
    }

    pub(super) fn restart_rto(&mut self, now: Time) {
        self.rto_at = (self.board.outstanding() > 0).then(|| now + self.rtt.rto());
    }

    // ------------------------------------------------------------------ losses

    /// Takes a segment for lost and will send it again.
    pub(super) fn mark_lost(&mut self, seg: u32) -> bool {
        let new = self.board.mark_lost(seg);
        if new {
            self.resend.push(Reverse(seg));
        }
        new
    }

    /// Losses were found (the lowest is `lost_seg`; `truth` is what really became of them): asks the controller, and
    /// begins a recovery or a repair. Called only when no recovery is under way.
    pub(super) fn begin_episode(&mut self, now: Time, lost_seg: u32, truth: Truth, flight: u32) {
        let lost = self.board.lost().max(1);
        let loss = Loss {
            now,
            signal: Signal::Loss,
            in_flight: self.bytes(flight),
            lost: self.bytes(lost),
            lost_order: u64::from(lost_seg),
            next_order: u64::from(self.board.next()),
            sent: self.board.get(lost_seg).sent,
        };
        let response = self.controller.on_loss(&loss);
        self.counters.episodes += 1;
        self.count_verdict(&response, truth);
        let until = self.board.next();
        self.phase = if response.reduced {
            self.arm_eifel(lost_seg);
            Phase::Recovery {
                until,
                prr: Prr::begin(self.cwnd(), self.board.outstanding()),
            }
        } else {
            Phase::Repair { until }
        };
    }

    fn count_verdict(&mut self, response: &LossResponse, truth: Truth) {
        let Some(verdict) = response.verdict else {
            return;
        };
        let confusion = self.counters.confusion.get_or_insert_default();
        let count = match (truth, verdict) {
            (Truth::Congestion, Verdict::Congestion) => &mut confusion.congestion_as_congestion,
            (Truth::Congestion, Verdict::Random) => &mut confusion.congestion_as_random,
            (Truth::Random, Verdict::Congestion) => &mut confusion.random_as_congestion,
            (Truth::Random, Verdict::Random) => &mut confusion.random_as_random,
            (Truth::NothingLost, _) => &mut confusion.spurious,
        };
        *count += 1;
    }

    /// Only the segment that was believed lost proves anything, and only if it was not sent again before.
    fn arm_eifel(&mut self, lost_seg: u32) {
        let usable = self.timestamps && self.mode == Recovery::Rack;
        let first = lost_seg == self.board.una() && !self.board.get(lost_seg).retransmitted;
        self.eifel = if usable && first {
            Eifel::Armed
        } else {
            Eifel::Off
        };
    }

    /// The first acknowledgment that advances after a reduction settles whether it was a mistake. As Linux,
    /// which runs with RACK, does; the other modes stand for simulators that do not.
    fn check_spurious(&mut self, now: Time, packet: &Packet) {
        let Eifel::Resent(resent) = self.eifel else {
            return;
        };
        self.eifel = Eifel::Off;
        if packet.echo >= resent {
            return;
        }
        self.counters.spurious += 1;
        self.controller.on_spurious(now);
        self.phase = Phase::Open;
        self.timed_out_una = None;
        for seg in self.board.una()..self.board.next() {
            self.board.unmark_lost(seg);
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
        let response = self.controller.on_loss(&Loss {
            now,
            signal: Signal::Loss,
            in_flight: self.bytes(self.board.in_flight() + 1),
            lost: self.bytes(1),
            lost_order: u64::from(seg),
            next_order: u64::from(self.board.next()),
            sent,
        });
        self.counters.episodes += 1;
        self.count_verdict(&response, truth);
        if response.reduced {
            self.controller.on_recovery_end(now);
        }
    }

    /// Notes what really became of a transmission.
    pub fn note_drop(&mut self, seg: u32, sent: Time, cause: DropCause) {
        self.board.note_drop(seg, sent, cause);
    }

    // ------------------------------------------------------------------ timers

    /// Does what timers ask for at `now`. True if something may be sent because of it.
    pub fn on_timer(&mut self, now: Time) {
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
        self.controller.on_timeout(&Timeout {
            now,
            in_flight: self.bytes(flight),
            repeated,
            next_order: u64::from(self.board.next()),
        });
        self.arm_eifel(una);
        for seg in una..self.board.next() {
            let segment = self.board.get(seg);
            let overdue =
                self.mode != Recovery::Rack || seg == una || self.rack.overdue(now, segment);
            if overdue {
                self.mark_lost(seg);
            }
        }
        self.phase = Phase::AfterTimeout {
            until: self.board.next(),
        };
        self.duplicates.on_timeout(self.board.next());
        self.rtt.back_off();
        self.rack.on_timeout();
        self.rto_at = Some(now + self.rtt.rto());
    }

    // ------------------------------------------------------------------ sending

    fn has_something_to_send(&self) -> bool {
        !self.resend.is_empty() || self.may_send_new()
    }

    #[inline]
    pub(super) fn may_send_new(&self) -> bool {
        self.board.next() < self.total && self.board.outstanding() < self.window
    }

    /// Whether the congestion window lets one more segment out now.
    #[inline]
    fn window_open(&self) -> bool {
        let cwnd = self.cwnd();
        let in_flight = self.board.in_flight();
        match (self.mode, &self.phase) {
            (Recovery::NewReno, Phase::Repair { .. } | Phase::Recovery { .. }) => {
                in_flight < self.duplicates.inflated(cwnd)
            }
            (_, Phase::Recovery { prr, .. }) => prr.allowance() > 0,
            (Recovery::NewReno, Phase::Open) if self.limited_transmit => {
                in_flight < cwnd + self.duplicates.count().min(2)
            }
            (Recovery::Sack | Recovery::Rack, Phase::Open) if !self.limited_transmit => {
                in_flight + self.board.sacked() < cwnd
            }
            _ => in_flight < cwnd,
        }
    }

    /// The next segment to send now, if any may be. Call until it gives none.
    #[inline]
    pub fn next_segment(&mut self, now: Time) -> Option<Transmission> {
        if self.paced_until > now {
            return None;
        }
        if let Some(seg) = self.forced_segment() {
            return Some(self.transmit(now, seg));
        }
        let resend = self.next_lost().or_else(|| self.sack_extra_segment());
        if resend.is_none() && !self.may_send_new() {
            self.note_idle();
            return None;
        }
        if !self.window_open() {
            self.cwnd_limited = true;
            return None;
        }
        match resend {
            // Its entry in `resend` is stale now and goes when it is next looked at.
            Some(seg) => Some(self.transmit(now, seg)),
            None => Some(self.transmit(now, self.board.next())),
        }
    }

    /// What leaves whatever the window says: NewReno's fast retransmission, a tail loss probe.
    #[inline]
    fn forced_segment(&mut self) -> Option<u32> {
        if let Some(seg) = self.duplicates.take_retransmission() {
            return Some(seg);
        }
        if !self.rack.take_probe() {
            return None;
        }
        // RFC 8985 section 7.3: new data if there is any, else the last segment again.
        if self.may_send_new() {
            self.rack.on_probe_sent(self.board.next(), None, Time::ZERO);
            return Some(self.board.next());
        }
        let last = self
            .board
            .next()
            .checked_sub(1)
            .filter(|seg| self.board.holds(*seg))?;
        let segment = *self.board.get(last);
        if segment.sacked {
            return None;
        }
        self.rack
            .on_probe_sent(last, Some(Truth::from(segment.dropped)), segment.sent);
        Some(last)
    }

    /// The lowest segment taken for lost; stale entries are thrown away.
    #[inline]
    fn next_lost(&mut self) -> Option<u32> {
        while let Some(Reverse(seg)) = self.resend.peek().copied() {
            if self.board.holds(seg) && self.board.get(seg).lost {
                return Some(seg);
            }
            self.resend.pop();
        }
        None
    }

    /// Nothing to send though the window has room: samples are limited by the application from here on.
    fn note_idle(&mut self) {
        self.cwnd_limited = false;
        if self.board.in_flight() < self.cwnd() {
            self.app_limited_until = Some(self.delivered.wrapping_add(self.board.in_flight()));
        }
    }

    #[inline]
    fn transmit(&mut self, now: Time, seg: u32) -> Transmission {
        if self.board.in_flight() == 0 {
            self.flight_began = now;
            self.delivered_at = now;
        }
        let segment = Segment {
            sent: now,
            flight_began: self.flight_began,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            transmission: self.transmissions,
            app_limited: self.app_limited_until.is_some(),
            sacked: false,
            lost: false,
            retransmitted: false,
            dropped: None,
        };
        let again = seg < self.board.next();
        if again {
            self.board.send_again(seg, segment);
            self.counters.retransmits += 1;
            if let Eifel::Armed = self.eifel {
                self.eifel = Eifel::Resent(now);
            }
        } else {
            self.board.send_new(segment);
        }
        if self.mode == Recovery::Rack {
            self.rack.on_sent(seg, self.transmissions);
        }
        self.transmissions = self.transmissions.wrapping_add(1);
        if let Phase::Recovery { prr, .. } = &mut self.phase {
            prr.on_sent();
        }
        let payload = if seg + 1 == self.total {
            self.last_payload
        } else {
            self.mss
        };
        let size = payload + self.header;
        self.counters.packets += 1;
        self.counters.wire_bytes += u64::from(size);
        // As Linux: the first unacknowledged segment, sent again, has its own full timeout; otherwise a
        // retransmission that waits in the same queue as the original is overtaken by the timer.
        let head_again = again && seg == self.board.una() && self.mode == Recovery::Rack;
        if self.rto_at.is_none() || head_again {
            self.rto_at = Some(now + self.rtt.rto());
        }
        if !again {
            self.rack.rearm_probe(
                now,
                &self.board,
                &self.rtt,
                matches!(self.phase, Phase::Open),
            );
        }
        self.controller
            .on_sent(now, Bytes::new(u64::from(payload)), self.in_flight());
        if let Some(rate) = self.controller.pacing_rate() {
            self.paced_until =
                now.max(self.paced_until) + rate.time_for(Bytes::new(u64::from(size)));
        }
        Transmission { seg, size }
    }
}

/// A segment that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transmission {
    pub seg: u32,
    /// Bytes on the wire.
    pub size: u32,
}

/// What really became of the segments that a sender found missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Truth {
    /// They arrived or are on their way.
    NothingLost,
    /// The channel lost them.
    Random,
    /// A queue dropped at least one of them.
    Congestion,
}

impl From<Option<DropCause>> for Truth {
    fn from(cause: Option<DropCause>) -> Self {
        match cause {
            None => Self::NothingLost,
            Some(cause) if cause.is_congestion() => Self::Congestion,
            Some(_) => Self::Random,
        }
    }
}

/// The earlier of two times, either of which may be never.
pub(super) fn earliest(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// `Rate::over` without 128-bit division: it is taken for every acknowledgment, and nothing needs its last bit.
#[inline]
fn fast_rate(amount: Bytes, interval: Duration) -> Rate {
    Rate::from_bits_per_sec((amount.get() as f64 * 8e9 / interval.as_nanos() as f64) as u64)
}
