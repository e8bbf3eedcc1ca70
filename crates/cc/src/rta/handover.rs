//! A law that is replaced when the path is: what TCP-RTA and RTA-plus have in common. `mod.rs` says why it is as it is.

use super::ranges::Ranges;
use crate::controller::{Controller, FastRecovery, LossResponse};
use crate::delivered_rate::DeliveredRate;
use crate::event::{Ack, Loss, LostPacket, Sibling, Signal, Timeout};
use crate::path_change::{Change, PathChange};
use crate::registry::Setup;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// What enhancement 4 multiplies or divides the window by.
const PAPER: u64 = 10;

/// A window is never raised beyond this multiple of what the delivered rate fills.
const MOST: u64 = 2;

/// How the window follows a change of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boost {
    /// To delivered rate times new round-trip time.
    Measured,
    /// By a factor of ten.
    Paper,
}

impl Boost {
    pub fn read(text: &str) -> Self {
        match text {
            "paper" => Self::Paper,
            _ => Self::Measured,
        }
    }

    pub fn check(text: &str) -> Result<(), String> {
        match text {
            "measured" | "paper" => Ok(()),
            other => Err(format!("`measured` or `paper`, not `{other}`")),
        }
    }

    /// The window after `change`, bytes, where it was `before`. `rate` is what the path delivers, if that is known.
    fn window(self, before: u64, change: Change, rate: Option<Rate>) -> u64 {
        let Some(rate) = rate else {
            return before;
        };
        let holds = rate.bytes_in(change.to).get();
        match (self, change.is_longer()) {
            (Self::Measured, true) => before.max(holds),
            (Self::Measured, false) => before.min(holds),
            (Self::Paper, true) => {
                let most = holds.saturating_mul(MOST);
                before.max(before.saturating_mul(PAPER).min(most))
            }
            (Self::Paper, false) => before / PAPER,
        }
    }
}

/// Round-trip times of the present path.
#[derive(Debug, Clone, Copy)]
struct PathRtt {
    least: Duration,
    /// RFC 6298 section 2, equation 2.3.
    smoothed: Duration,
}

impl PathRtt {
    fn new(rtt: Duration) -> Self {
        Self {
            least: rtt,
            smoothed: rtt,
        }
    }

    fn add(&mut self, rtt: Duration) {
        self.least = self.least.min(rtt);
        self.smoothed = self.smoothed - self.smoothed / 8 + rtt / 8;
    }
}

/// A hand-over that is taking place.
#[derive(Debug, Clone, Copy)]
struct Under {
    /// When it is over.
    until: Time,
    /// What packets leave at.
    pace: Rate,
    /// To a shorter path: the old window, while the old path's packets still arrive.
    window: u64,
}

/// Who was replaced at the last change of the path, and how.
#[derive(Debug, Clone)]
struct Replaced {
    law: Box<dyn Controller>,
    change: Change,
    rate: Option<Rate>,
}

/// A law that is replaced when `P` says that the path is.
#[derive(Debug, Clone)]
pub(super) struct Adaptive<P> {
    setup: Setup,
    ranges: Ranges,
    /// Which of them; once the handshake has chosen.
    range: Option<usize>,
    boost: Boost,
    watch: P,
    law: Box<dyn Controller>,
    rtt: Option<PathRtt>,
    delivered: DeliveredRate,
    under: Option<Under>,
    /// When the path last changed.
    changed: Option<Time>,
    /// Until the new law has reduced its window: the old one may yet be told that its last reduction was a mistake.
    replaced: Option<Replaced>,
    changes: u64,
}

impl<P: PathChange> Adaptive<P> {
    pub fn new(setup: &Setup, ranges: Ranges, watch: P, boost: Boost) -> Self {
        Self {
            setup: *setup,
            law: ranges.build(0, setup),
            ranges,
            range: None,
            boost,
            watch,
            rtt: None,
            delivered: DeliveredRate::default(),
            under: None,
            changed: None,
            replaced: None,
            changes: 0,
        }
    }

    /// The handshake says on what kind of path the connection begins.
    fn begin(&mut self, ack: &Ack) -> usize {
        let first = self.ranges.bounds.first(ack.min_rtt);
        if first > 0 {
            let initial_window = self.law.cwnd();
            let setup = Setup {
                initial_window,
                ..self.setup
            };
            self.law = self.ranges.build(first, &setup);
        }
        self.rtt = Some(PathRtt::new(ack.min_rtt));
        first
    }

    /// The path has changed: the law of its range takes over, with the window that it holds.
    fn on_change(&mut self, now: Time, range: usize, change: Change) {
        let next = self.ranges.bounds.next(range, change.to, change.to);
        let rate = match (self.delivered.get(), change.rate) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, _) => old,
        };
        self.changes = self.changes.saturating_add(1);
        self.range = Some(next);
        self.rtt = Some(PathRtt::new(change.to));
        self.delivered = DeliveredRate::of(rate);
        let window = self.law.cwnd().get();
        let law = self.hand_over(now, next, window, change, rate);
        self.changed = Some(now);
        self.replaced = Some(Replaced { law, change, rate });
    }

    /// Replaces the law by one that begins with what becomes of the window `before`; gives the old one.
    fn hand_over(
        &mut self,
        now: Time,
        range: usize,
        before: u64,
        change: Change,
        rate: Option<Rate>,
    ) -> Box<dyn Controller> {
        let least = self.setup.mss.get().saturating_mul(2);
        let window = self.boost.window(before, change, rate).max(least);
        let window = Bytes::new(window);
        let pace = Rate::over(window, change.to);
        let (span, old) = match change.is_longer() {
            true => (change.to, 0),
            false => (change.from - change.to, before),
        };
        self.under = (pace > Rate::ZERO).then(|| Under {
            until: now + span,
            pace,
            window: old,
        });
        let setup = Setup {
            initial_window: window,
            ssthresh: Some(window),
            ..self.setup
        };
        std::mem::replace(&mut self.law, self.ranges.build(range, &setup))
    }

    /// It was sent on the old path.
    fn of_the_old_path(&self, loss: &Loss) -> bool {
        loss.signal == Signal::Loss && self.changed.is_some_and(|at| loss.sent < at)
    }
}

impl<P: PathChange> Controller for Adaptive<P> {
    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        self.law.on_sent(now, size, in_flight);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let range = match self.range {
            Some(range) => range,
            None => self.begin(ack),
        };
        self.range = Some(range);
        self.delivered.on_ack(ack);
        let heard = self.watch.on_ack(ack);
        if let Some(change) = heard.change {
            self.on_change(ack.now, range, change);
        }
        let rtt = self.rtt.get_or_insert(PathRtt::new(ack.srtt));
        if let Some(sample) = heard.rtt {
            rtt.add(sample);
        }
        let (srtt, min_rtt) = (rtt.smoothed, rtt.least);
        self.under = self.under.filter(|under| ack.now < under.until);
        self.law.on_ack(&Ack {
            rtt: heard.rtt,
            srtt,
            min_rtt,
            in_recovery: ack.in_recovery || self.under.is_some(),
            ..*ack
        });
    }

    fn on_packet_lost(&mut self, lost: &LostPacket) {
        self.law.on_packet_lost(lost);
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        if self.of_the_old_path(loss) {
            return LossResponse::KEPT;
        }
        let response = self.law.on_loss(loss);
        if response.reduced {
            self.under = None;
            self.replaced = None;
        }
        response
    }

    fn on_recovery_end(&mut self, now: Time) {
        self.law.on_recovery_end(now);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.under = None;
        self.replaced = None;
        self.law.on_timeout(timeout);
    }

    fn on_spurious(&mut self, now: Time) {
        let Some(Replaced {
            mut law,
            change,
            rate,
        }) = self.replaced.take()
        else {
            self.law.on_spurious(now);
            return;
        };
        // The mistake was the old law's: what it would have handed over without it.
        let reduced = law.cwnd();
        law.on_spurious(now);
        if law.cwnd() > reduced
            && self.boost.window(law.cwnd().get(), change, rate) > self.law.cwnd().get()
        {
            let range = self.range.unwrap_or_default();
            self.hand_over(now, range, law.cwnd().get(), change, rate);
        }
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.setup.mss = mss;
        self.law.on_mss(mss);
    }

    fn cwnd(&self) -> Bytes {
        let old = self.under.map_or(0, |under| under.window);
        self.law.cwnd().max(Bytes::new(old))
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.law.ssthresh()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        match self.under {
            Some(under) => Some(under.pace),
            None => self.law.pacing_rate(),
        }
    }

    fn discriminates(&self) -> bool {
        self.law.discriminates()
    }

    fn wants_marks(&self) -> bool {
        self.law.wants_marks()
    }

    fn wants_streams(&self) -> bool {
        self.law.wants_streams()
    }

    fn path_changes(&self) -> Option<u64> {
        Some(self.changes)
    }

    fn fast_recovery(&self) -> FastRecovery {
        self.law.fast_recovery()
    }

    fn on_siblings(&mut self, paths: &[Sibling], own: usize) {
        self.law.on_siblings(paths, own);
    }

    fn phase(&self) -> &'static str {
        match self.under {
            Some(_) => "hand-over",
            None => self.law.phase(),
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
