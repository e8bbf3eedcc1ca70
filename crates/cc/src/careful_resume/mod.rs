//! Careful Resume: a connection starts at a rate that its path carried before.
//!
//! N. Kuhn, E. Stephan, G. Fairhurst, R. Secchi, C. Huitema: "Careful Resume: Convergence of
//! Congestion Control from Retained State", RFC 9959, 2026.
//!
//! A layer over any window algorithm. [`Setup::saved`] has what was saved of the path;
//! [`Spec::build`](crate::Spec::build) puts the layer on where it is set, and [`Observer`] computes
//! what to save. PS is PipeSize of the RFC: what the path has been seen to carry.
//!
//! | phase | window |
//! |---|---|
//! | Reconnaissance | the algorithm's, from the initial window |
//! | Unvalidated | `saved/6`, paced over a round trip |
//! | Validating | FlightSize, and 5 bytes for each acknowledged one, to `saved/2`, paced as saved |
//! | Safe Retreat | PS/2 of its beginning |
//! | Normal | the algorithm's |
//!
//! * Reconnaissance ends when the initial window was acknowledged without a sign of congestion, the
//!   RTT confirms the path, and there is more to send.
//! * The Unvalidated Phase ends with the first acknowledgment of an unvalidated packet, after a
//!   round trip, or when the window is used. PS is FlightSize at its beginning, and what is
//!   acknowledged from then on.
//! * The Validating Phase ends when all packets are acknowledged that were in flight at its
//!   beginning. Its window is half of FlightSize once a queue is seen.
//! * Safe Retreat ends when it is known of each unvalidated packet whether it arrived; ssthresh is
//!   then PS.
//!
//! Any loss or congestion mark in the Unvalidated or the Validating Phase begins a Safe Retreat,
//! also where the algorithm has a loss classifier: it knows nothing of the path yet. A path whose
//! minimum RTT is below half of the saved one, or above ten times, is another path.
//!
//! **The jump has two steps**, which the RFC allows (section 3.3: a jump of at most half). Half of
//! the saved window at once is too much where little of the capacity is left: of a tenth, and a
//! buffer that holds a BDP, three of five packets would be lost. A sixth fits there. Where the
//! first acknowledgments of that sixth show no queue, packets leave at the saved rate until the
//! window is the half. Where four in a row show one (by HyStart++'s threshold), the path is slower
//! than it was: the window halves until all is acknowledged, and the algorithm starts at the BDP
//! that the rate of these acknowledgments shows, as if slow start had found it.
//!
//! Departures from the RFC: counts of data delivered and lost tell which packets are unvalidated,
//! since TCP has no packet numbers. The algorithm is built anew where the RFC sets cwnd and
//! ssthresh, since an algorithm may have more state than these two; RTTs that it saw before come
//! with the next acknowledgment ([`Ack::min_rtt`]).

mod observer;
#[cfg(test)]
mod tests;

pub use observer::Observer;

use crate::building_blocks::hystart;
use crate::interface::{
    Ack, Controller, Loss, LossResponse, LostPacket, Sibling, Timeout, Verdict, forward,
};
use crate::registry::entry::{ChosenController, SavedPath, Setup};
use std::sync::Arc;
use whimbrel_units::{Bytes, Rate, Time};

/// The saved window divided by this is the first step of the jump.
const FIRST_STEP: u64 = 6;
/// The saved window divided by this is the largest window that is tried (section 3.3: no more than
/// half).
const LARGEST: u64 = 2;
/// Bytes by which the window grows for each that is acknowledged in the second step: packets then
/// leave at the rate that was saved.
const GROWTH: u64 = FIRST_STEP - 1;
/// So many RTT samples in a row must show a queue: a single one is an acknowledgment that waited
/// for another packet.
const LATE: u32 = 4;
/// The saved path's RTT divided by this is the lowest RTT that confirms it.
const LOWEST_RTT: u64 = 2;
/// The saved path's RTT times this is the highest RTT that confirms it.
const HIGHEST_RTT: u64 = 10;

/// A window algorithm that starts with what was saved of its path.
#[derive(Debug, Clone)]
pub struct CarefulResume {
    controller: Box<dyn Controller>,
    chosen: Arc<dyn ChosenController>,
    setup: Setup,
    saved: SavedPath,
    phase: Phase,
    /// Data of known fate at the last acknowledgment.
    fate: Bytes,
    /// The present algorithm received the last episode of loss, so it also receives its end, or
    /// that it was spurious.
    told: bool,
}

/// The phases of section 3.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Reconnaissance,
    Unvalidated(Jump),
    Validating(Validation),
    SafeRetreat(Retreat),
    Normal,
}

/// The window comes from what was saved. Whether the path still carries it is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Jump {
    began: Time,
    cwnd: Bytes,
    /// It spreads the window over a round trip.
    pacing: Option<Rate>,
    pipe: Bytes,
    /// Data of known fate after which an unvalidated packet is acknowledged.
    before: Bytes,
    /// Data of known fate when all unvalidated packets are, of those sent so far.
    end: Bytes,
    /// The flight reached the window.
    used: bool,
}

/// Packets that were sent in the Unvalidated Phase are being acknowledged.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Validation {
    began: Time,
    cwnd: Bytes,
    /// The rate that was saved: as fast as the path was, and no burst makes a queue.
    pacing: Option<Rate>,
    pipe: Bytes,
    /// Data acknowledged since it began.
    acked: Bytes,
    /// Data of known fate when all unvalidated packets are.
    end: Bytes,
    /// RTT samples in a row that show a queue.
    late: u32,
    /// The path delays packets, so it is slower than it was.
    queue: bool,
}

/// The jump was too large.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Retreat {
    cwnd: Bytes,
    pipe: Bytes,
    end: Bytes,
}

impl CarefulResume {
    /// Starts the chosen algorithm on a path of which `saved` is known.
    pub fn new(chosen: Arc<dyn ChosenController>, setup: &Setup, saved: SavedPath) -> Self {
        let setup = Setup {
            saved: None,
            ..*setup
        };
        Self {
            controller: chosen.build(&setup),
            chosen,
            setup,
            saved,
            phase: Phase::Reconnaissance,
            fate: Bytes::ZERO,
            told: false,
        }
    }

    /// Section 3.2: whether the path is the saved one, and the window may jump.
    fn reconnoitre(&mut self, ack: &Ack) {
        if ack.ece {
            self.phase = Phase::Normal;
            return;
        }
        // After a handshake the rate is application-limited although the window is full of data.
        let too_little = ack.app_limited && !ack.cwnd_limited;
        if ack.delivered < self.setup.initial_window || too_little {
            return;
        }
        let (rtt, saved) = (ack.min_rtt.as_nanos(), self.saved.rtt.as_nanos());
        let confirmed = rtt >= saved / LOWEST_RTT && rtt <= saved.saturating_mul(HIGHEST_RTT);
        let cwnd = Bytes::new(self.saved.cwnd.get() / FIRST_STEP);
        if !confirmed || cwnd <= self.controller.cwnd() {
            self.phase = Phase::Normal;
            return;
        }
        self.phase = Phase::Unvalidated(Jump {
            began: ack.now,
            cwnd,
            pacing: (!ack.srtt.is_zero()).then(|| Rate::over(cwnd, ack.srtt)),
            pipe: ack.in_flight,
            before: known_fate(ack) + ack.in_flight,
            end: known_fate(ack) + ack.in_flight,
            used: false,
        });
    }

    /// Section 3.3: unvalidated packets leave.
    fn send_unvalidated(&mut self, mut jump: Jump, ack: &Ack) {
        jump.pipe += ack.acked;
        self.phase = Phase::Unvalidated(jump);
        let first = known_fate(ack) > jump.before;
        let round = ack.now >= jump.began + ack.srtt;
        if !(first || round || jump.used) {
            return;
        }
        if ack.in_flight <= jump.pipe {
            // There was too little to send: the jump tells nothing.
            self.begin(jump.pipe, None);
            self.phase = Phase::Normal;
            return;
        }
        self.phase = Phase::Validating(Validation {
            began: ack.now,
            cwnd: ack.in_flight,
            pacing: Some(Rate::over(self.saved.cwnd, ack.srtt.max(self.saved.rtt))),
            pipe: jump.pipe,
            acked: Bytes::ZERO,
            end: known_fate(ack) + ack.in_flight,
            late: 0,
            queue: false,
        });
    }

    /// Section 3.4: unvalidated packets are acknowledged.
    fn validate(&mut self, mut v: Validation, ack: &Ack) {
        v.pipe += ack.acked;
        v.acked += ack.acked;
        let late = ack.min_rtt + hystart::threshold(ack.min_rtt);
        if let Some(rtt) = ack.rtt {
            v.late = if rtt > late { v.late + 1 } else { 0 };
        }
        if !v.queue && v.late >= LATE {
            v.queue = true;
            v.cwnd = half(v.cwnd).max(self.setup.mss);
        } else if !v.queue && v.late == 0 {
            let largest = Bytes::new(self.saved.cwnd.get() / LARGEST);
            v.cwnd = v.cwnd.max(largest.min(v.cwnd + ack.acked.times(GROWTH)));
        }
        self.phase = Phase::Validating(v);
        if known_fate(ack) < v.end {
            return;
        }
        // A queue that is gone was a burst, and gaps between bursts are not the path's rate.
        let slower = v.queue && v.late >= LATE;
        let span = ack.now.since(v.began);
        let known =
            (slower && !span.is_zero()).then(|| Rate::over(v.acked, span).bytes_in(ack.min_rtt));
        self.begin(known.unwrap_or(v.cwnd), known);
        self.phase = Phase::Normal;
    }

    /// Section 3.5: the window stays, and PS grows, until the last unvalidated packet.
    fn retreat(&mut self, mut retreat: Retreat, ack: &Ack) {
        retreat.pipe += ack.acked;
        self.phase = Phase::SafeRetreat(retreat);
        if ack.in_recovery || known_fate(ack) < retreat.end {
            return;
        }
        self.begin(retreat.cwnd, Some(retreat.pipe));
        self.phase = Phase::Normal;
        self.controller.on_ack(ack);
    }

    /// Congestion: half of what the path has been seen to carry (section 3.5).
    fn fall_back(&mut self, loss: &Loss, pipe: Bytes, end: Bytes) -> LossResponse {
        self.phase = Phase::SafeRetreat(Retreat {
            cwnd: half(pipe).max(self.setup.mss),
            pipe,
            end,
        });
        self.congestion(loss)
    }

    fn congestion(&mut self, loss: &Loss) -> LossResponse {
        self.told = false;
        let classifies = self.controller.classifies_losses();
        LossResponse {
            verdict: classifies.then(|| loss.verdict(Verdict::Congestion)),
            ..LossResponse::REDUCED
        }
    }

    /// The algorithm starts anew with this window and slow start threshold.
    fn begin(&mut self, initial_window: Bytes, ssthresh: Option<Bytes>) {
        self.controller = self.chosen.build(&Setup {
            initial_window: initial_window.max(self.setup.mss),
            ssthresh,
            ..self.setup
        });
    }

    /// Whether the algorithm sees what happens.
    fn is_run_by_algorithm(&self) -> bool {
        matches!(self.phase, Phase::Reconnaissance | Phase::Normal)
    }
}

/// Half of it.
fn half(bytes: Bytes) -> Bytes {
    Bytes::new(bytes.get() / 2)
}

/// Data of which it is known whether it arrived.
fn known_fate(ack: &Ack) -> Bytes {
    ack.delivered + ack.lost
}

#[deny(clippy::missing_trait_methods)]
impl Controller for CarefulResume {
    forward!(self => self.controller;
        raise_window, send_quantum, classifies_losses, transport_features, path_changes,
        fast_recovery);

    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        if let Phase::Unvalidated(jump) = &mut self.phase {
            jump.used |= in_flight + self.setup.mss > jump.cwnd;
            jump.end = self.fate + in_flight;
        } else if self.is_run_by_algorithm() {
            self.controller.on_sent(now, size, in_flight);
        }
    }

    fn on_sent_limits(
        &mut self,
        now: Time,
        size: Bytes,
        in_flight: Bytes,
    ) -> (Bytes, Option<Rate>) {
        if self.phase == Phase::Normal {
            return self.controller.on_sent_limits(now, size, in_flight);
        }
        self.on_sent(now, size, in_flight);
        (self.cwnd(), self.pacing_rate())
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.fate = known_fate(ack);
        match self.phase {
            Phase::Normal => self.controller.on_ack(ack),
            Phase::Reconnaissance => {
                self.controller.on_ack(ack);
                self.reconnoitre(ack);
            }
            Phase::Unvalidated(jump) => self.send_unvalidated(jump, ack),
            Phase::Validating(validation) => self.validate(validation, ack),
            Phase::SafeRetreat(retreat) => self.retreat(retreat, ack),
        }
    }

    fn on_packet_lost(&mut self, lost: &LostPacket) {
        if self.is_run_by_algorithm() {
            self.controller.on_packet_lost(lost);
        }
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        match self.phase {
            Phase::Unvalidated(jump) => self.fall_back(loss, jump.pipe, jump.end),
            Phase::Validating(v) => self.fall_back(loss, v.pipe, v.end),
            Phase::SafeRetreat(mut retreat) => {
                retreat.cwnd = half(retreat.cwnd).max(self.setup.mss);
                self.phase = Phase::SafeRetreat(retreat);
                self.congestion(loss)
            }
            Phase::Reconnaissance | Phase::Normal => {
                self.phase = Phase::Normal;
                self.told = true;
                self.controller.on_loss(loss)
            }
        }
    }

    fn on_recovery_end(&mut self, now: Time) {
        if self.told {
            self.controller.on_recovery_end(now);
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        match self.phase {
            Phase::Unvalidated(jump) => self.begin(half(jump.pipe), Some(jump.pipe)),
            Phase::Validating(v) => self.begin(half(v.pipe), Some(v.pipe)),
            Phase::SafeRetreat(retreat) => self.begin(retreat.cwnd, Some(retreat.pipe)),
            Phase::Reconnaissance | Phase::Normal => {}
        }
        self.phase = Phase::Normal;
        self.told = true;
        self.controller.on_timeout(timeout);
    }

    fn on_spurious(&mut self, now: Time) {
        if self.told {
            self.controller.on_spurious(now);
        }
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.setup.mss = mss;
        self.controller.on_mss(mss);
    }

    fn cwnd(&self) -> Bytes {
        match self.phase {
            Phase::Unvalidated(jump) => jump.cwnd,
            Phase::Validating(v) => v.cwnd.max(self.setup.mss),
            Phase::SafeRetreat(retreat) => retreat.cwnd.max(self.setup.mss),
            _ => self.controller.cwnd(),
        }
    }

    fn ssthresh(&self) -> Option<Bytes> {
        match self.phase {
            Phase::Unvalidated(_) | Phase::Validating(_) => None,
            Phase::SafeRetreat(retreat) => Some(retreat.pipe),
            _ => self.controller.ssthresh(),
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        match self.phase {
            Phase::Unvalidated(jump) => jump.pacing,
            Phase::Validating(validation) => validation.pacing,
            Phase::SafeRetreat(_) => None,
            _ => self.controller.pacing_rate(),
        }
    }

    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        if self.is_run_by_algorithm() {
            self.controller.on_siblings(paths, own);
        }
    }

    fn phase(&self) -> &'static str {
        match self.phase {
            Phase::Reconnaissance => "reconnaissance",
            Phase::Unvalidated(_) => "unvalidated",
            Phase::Validating(_) => "validating",
            Phase::SafeRetreat(_) => "safe retreat",
            Phase::Normal => self.controller.phase(),
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
