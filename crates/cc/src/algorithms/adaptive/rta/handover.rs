//! A controller that is replaced when the path changes: the common part of TCP-RTA and RTA-plus.
//! `mod.rs` explains the design.

use super::table::Ranges;
use crate::estimators::max_rate::MaxRate;
use crate::interface::{
    Ack, Controller, Loss, LossResponse, Signal, Timeout, TransportFeatures, forward,
};
use crate::path_change::{Change, PathChange};
use crate::registry::entry::{ParseController, Setup};
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Factor of enhancement 4 for the window.
const PAPER: u64 = 10;

/// The window is never raised above this multiple of what the delivery rate fills.
const MAX_GAIN: u64 = 2;

/// How the window follows a change of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boost {
    /// Delivery rate times the new round-trip time.
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

    pub fn check(text: &str, _parse: ParseController) -> Result<(), String> {
        match text {
            "measured" | "paper" => Ok(()),
            other => Err(format!("`measured` or `paper`, not `{other}`")),
        }
    }

    /// The window after `change`, bytes, if it was `before`. `rate` is the delivery rate of the
    /// path, if known.
    fn window(self, before: u64, change: Change, rate: Option<Rate>) -> u64 {
        let Some(rate) = rate else {
            return before;
        };
        let holds = rate.bytes_in(change.to).get();
        match (self, change.is_longer()) {
            (Self::Measured, true) => before.max(holds),
            // Independent of `before`: reordered packets may have reduced it repeatedly.
            (Self::Measured, false) => holds,
            (Self::Paper, true) => {
                let max = holds.saturating_mul(MAX_GAIN);
                before.max(before.saturating_mul(PAPER).min(max))
            }
            (Self::Paper, false) => before / PAPER,
        }
    }
}

/// Round-trip times of the current path.
#[derive(Debug, Clone, Copy, Default)]
struct PathRtt {
    min: Duration,
    /// RFC 6298 section 2, equation 2.3.
    smoothed: Duration,
}

impl PathRtt {
    fn new(rtt: Duration) -> Self {
        Self {
            min: rtt,
            smoothed: rtt,
        }
    }

    fn add(&mut self, rtt: Duration) {
        self.min = self.min.min(rtt);
        self.smoothed = self.smoothed - self.smoothed / 8 + rtt / 8;
    }
}

/// A handover in progress.
#[derive(Debug, Clone, Copy)]
struct Handover {
    /// When the handover ends.
    until: Time,
    /// The pacing rate.
    pace: Rate,
    /// To a shorter path: the old window, while packets of the old path still arrive.
    window: u64,
}

/// The controller replaced at the last change of the path.
#[derive(Debug, Clone)]
struct Replaced {
    controller: Box<dyn Controller>,
    /// Its range.
    range: usize,
    change: Change,
    rate: Option<Rate>,
}

/// A controller that is replaced when `P` detects a change of the path.
#[derive(Debug, Clone)]
pub(super) struct Adaptive<P> {
    setup: Setup,
    ranges: Ranges,
    /// The current range, once the handshake has selected it.
    range: Option<usize>,
    boost: Boost,
    watch: P,
    controller: Box<dyn Controller>,
    rtt: PathRtt,
    delivered: MaxRate,
    handover: Option<Handover>,
    /// When the path last changed.
    changed: Option<Time>,
    /// The old controller, until the new one has reduced its window: the old one's last reduction
    /// may still turn out to be spurious.
    replaced: Option<Replaced>,
    /// The last loss was ignored, so an undo restores nothing.
    loss_ignored: bool,
    changes: u64,
    /// It needs congestion marks.
    marks: bool,
}

impl<P: PathChange> Adaptive<P> {
    pub fn new(setup: &Setup, ranges: Ranges, watch: P, boost: Boost) -> Self {
        Self {
            setup: *setup,
            controller: ranges.build(0, setup),
            ranges,
            range: None,
            boost,
            watch,
            rtt: PathRtt::default(),
            delivered: MaxRate::default(),
            handover: None,
            changed: None,
            replaced: None,
            loss_ignored: false,
            changes: 0,
            marks: false,
        }
    }

    /// The same; it requests congestion marks if `marks`.
    pub fn with_marks(self, marks: bool) -> Self {
        Self { marks, ..self }
    }

    /// Selects the range of the path from the RTT of the handshake.
    fn begin(&mut self, ack: &Ack) -> usize {
        let first = self.ranges.bounds.first(ack.min_rtt);
        if first > 0 {
            let initial_window = self.controller.cwnd();
            let setup = Setup {
                initial_window,
                ..self.setup
            };
            self.controller = self.ranges.build(first, &setup);
        }
        self.rtt = PathRtt::new(ack.min_rtt);
        first
    }

    /// The path has changed: the controller of its range takes over with the window that the path
    /// holds.
    fn on_change(&mut self, now: Time, range: usize, change: Change) {
        self.rtt = PathRtt::new(change.to);
        if self.was_a_stall(change) {
            self.revert();
            return;
        }
        let next = self.ranges.bounds.next(range, change.to, change.to);
        let rate = match (self.delivered.get(), change.rate) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, _) => old,
        };
        self.changes = self.changes.saturating_add(1);
        self.range = Some(next);
        self.delivered = MaxRate::of(rate);
        let window = self.controller.cwnd().get();
        let controller = self.hand_over(now, next, window, change, rate);
        self.changed = Some(now);
        self.replaced = Some(Replaced {
            controller,
            range,
            change,
            rate,
        });
    }

    /// If the longer RTT disappears within one RTT, it was a stall, not a new path.
    fn was_a_stall(&self, change: Change) -> bool {
        let longer = self
            .replaced
            .as_ref()
            .is_some_and(|it| it.change.is_longer());
        longer && self.handover.is_some() && !change.is_longer()
    }

    /// Reverts the last handover: the replaced controller continues where it was.
    fn revert(&mut self) {
        if let Some(Replaced {
            mut controller,
            range,
            ..
        }) = self.replaced.take()
        {
            controller.on_mss(self.setup.mss);
            self.controller = controller;
            self.range = Some(range);
            self.handover = None;
        }
    }

    /// Replaces the controller by one whose window follows from `before`. Returns the old one.
    fn hand_over(
        &mut self,
        now: Time,
        range: usize,
        before: u64,
        change: Change,
        rate: Option<Rate>,
    ) -> Box<dyn Controller> {
        let min = self.setup.mss.get().saturating_mul(2);
        let window = self.boost.window(before, change, rate).max(min);
        let window = Bytes::new(window);
        let pace = Rate::over(window, change.to);
        let (span, old) = match change.is_longer() {
            true => (change.to, 0),
            false => (change.from - change.to, before),
        };
        self.handover = (pace > Rate::ZERO).then(|| Handover {
            until: now + span,
            pace,
            window: old,
        });
        let setup = Setup {
            initial_window: window,
            ssthresh: Some(window),
            ..self.setup
        };
        std::mem::replace(&mut self.controller, self.ranges.build(range, &setup))
    }

    /// Whether the packet was sent on the old path.
    fn of_the_old_path(&self, loss: &Loss) -> bool {
        loss.signal == Signal::Loss && self.changed.is_some_and(|at| loss.sent < at)
    }
}

#[deny(clippy::missing_trait_methods)]
impl<P: PathChange> Controller for Adaptive<P> {
    forward!(self => self.controller;
        on_sent, on_packet_lost, on_recovery_end, raise_window, ssthresh, send_quantum, classifies_losses,
        fast_recovery, on_siblings);

    fn transport_features(&self) -> TransportFeatures {
        let own = match self.marks {
            true => TransportFeatures::MARKS,
            false => TransportFeatures::NOTHING,
        };
        self.controller.transport_features().union(own)
    }

    fn on_sent_limits(
        &mut self,
        now: Time,
        size: Bytes,
        in_flight: Bytes,
    ) -> (Bytes, Option<Rate>) {
        self.on_sent(now, size, in_flight);
        (self.cwnd(), self.pacing_rate())
    }

    fn on_ack(&mut self, ack: &Ack) {
        let range = match self.range {
            Some(range) => range,
            None => self.begin(ack),
        };
        self.range = Some(range);
        self.delivered.on_ack(ack);
        let observed = self.watch.on_ack(ack);
        if let Some(change) = observed.change {
            self.on_change(ack.now, range, change);
        }
        if let Some(sample) = observed.rtt {
            self.rtt.add(sample);
        }
        self.handover = self.handover.filter(|handover| ack.now < handover.until);
        self.controller.on_ack(&Ack {
            rtt: observed.rtt,
            srtt: self.rtt.smoothed,
            min_rtt: self.rtt.min,
            in_recovery: ack.in_recovery || self.handover.is_some(),
            ..*ack
        });
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        self.loss_ignored = self.of_the_old_path(loss);
        if self.loss_ignored {
            return LossResponse::KEPT;
        }
        let response = self.controller.on_loss(loss);
        if response.reduced {
            self.handover = None;
            self.replaced = None;
        }
        response
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.loss_ignored = false;
        self.handover = None;
        self.replaced = None;
        self.controller.on_timeout(timeout);
    }

    fn on_spurious(&mut self, now: Time) {
        if self.loss_ignored {
            return;
        }
        let Some(Replaced {
            mut controller,
            change,
            rate,
            ..
        }) = self.replaced.take()
        else {
            self.controller.on_spurious(now);
            return;
        };
        // The old controller's reduction was spurious: hand over the window without it.
        let reduced = controller.cwnd();
        controller.on_spurious(now);
        if controller.cwnd() > reduced
            && self.boost.window(controller.cwnd().get(), change, rate)
                > self.controller.cwnd().get()
        {
            let range = self.range.unwrap_or_default();
            self.hand_over(now, range, controller.cwnd().get(), change, rate);
        }
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.setup.mss = mss;
        self.controller.on_mss(mss);
    }

    fn cwnd(&self) -> Bytes {
        let old = self.handover.map_or(0, |handover| handover.window);
        self.controller.cwnd().max(Bytes::new(old))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        match self.handover {
            Some(handover) => Some(handover.pace),
            None => self.controller.pacing_rate(),
        }
    }

    fn path_changes(&self) -> Option<u64> {
        Some(self.changes)
    }

    fn phase(&self) -> &'static str {
        match self.handover {
            Some(_) => "hand-over",
            None => self.controller.phase(),
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ACK, Bottleneck, MSS, built, loss, segments, timeout};

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// An ACK at `now` ms with a sample of `rtt` ms, on a path of 50 ms with a delivery rate of
    /// 1000 bytes per millisecond.
    fn ack(now: u64, rtt: u64) -> Ack {
        Ack {
            now: at(now),
            rtt: Some(ms(rtt)),
            srtt: ms(rtt),
            min_rtt: ms(50),
            delivery_rate: Some(Rate::from_bytes_per_sec(1_000_000)),
            round_start: true,
            ..ACK
        }
    }

    /// An ACK that may not let the window grow.
    fn quiet(now: u64, rtt: u64) -> Ack {
        Ack {
            cwnd_limited: false,
            ..ack(now, rtt)
        }
    }

    /// A connection with 100 segments in congestion avoidance, on the path of 50 ms.
    fn begun(text: &str) -> Box<dyn Controller> {
        let mut controller = built(text, 150);
        controller.on_loss(&Loss {
            sent: at(1),
            ..loss(&*controller, at(40))
        });
        for now in 50..60 {
            controller.on_ack(&ack(now, 50));
        }
        assert_eq!(segments(&*controller), 100.0);
        controller
    }

    /// The same connection after three samples of a satellite path of 900 ms; the third one, at
    /// 1002 ms, starts the handover.
    fn handed_over(text: &str) -> Box<dyn Controller> {
        let mut controller = begun(text);
        for now in [1000, 1001] {
            controller.on_ack(&ack(now, 900));
            assert_eq!(
                (segments(&*controller), controller.path_changes()),
                (100.0, Some(0))
            );
        }
        controller.on_ack(&ack(1002, 900));
        assert_eq!(
            (controller.phase(), controller.path_changes()),
            ("hand-over", Some(1))
        );
        controller
    }

    #[test]
    fn a_longer_path_gets_its_window_spread_over_a_round_trip() {
        let mut controller = handed_over("rta");
        // 1000 bytes per millisecond for 900 ms.
        assert_eq!(segments(&*controller), 900.0);
        assert_eq!(controller.ssthresh(), Some(Bytes::new(900 * MSS)));
        assert_eq!(
            controller.pacing_rate(),
            Some(Rate::from_bytes_per_sec(1_000_000))
        );
        controller.on_ack(&ack(1901, 900));
        assert_eq!(
            (segments(&*controller), controller.phase()),
            (900.0, "hand-over"),
            "no growth before the handover ends"
        );
        controller.on_ack(&ack(1902, 900));
        assert_eq!(controller.phase(), "congestion avoidance (Hybla)");
        // rho = 36: 36^2 of 900 segments is a growth of 1.44 for one ACK.
        assert!(
            (segments(&*controller) - 901.44).abs() < 0.01,
            "{}",
            segments(&*controller)
        );
    }

    #[test]
    fn the_papers_boost_is_a_factor_of_ten_within_a_limit() {
        let mut controller = handed_over("rta?boost=paper");
        assert_eq!(segments(&*controller), 1000.0);
        controller.on_ack(&quiet(2000, 900));
        for now in 2001..2004 {
            controller.on_ack(&quiet(now, 50));
        }
        controller.on_ack(&quiet(3000, 50));
        assert_eq!(segments(&*controller), 100.0, "a tenth of 1000");
        for now in 4000..4003 {
            controller.on_ack(&quiet(now, 810));
        }
        assert_eq!(segments(&*controller), 1000.0);
        let mut slow = begun("rta?boost=paper");
        for now in 1000..1030 {
            let delivery_rate = Some(Rate::from_bytes_per_sec(100_000));
            slow.on_ack(&Ack {
                delivery_rate,
                ..ack(now, 50)
            });
        }
        for now in 1030..1033 {
            let delivery_rate = Some(Rate::from_bytes_per_sec(100_000));
            slow.on_ack(&Ack {
                delivery_rate,
                ..ack(now, 900)
            });
        }
        assert_eq!(segments(&*slow), 180.0, "twice 100 bytes for 900 ms");
    }

    #[test]
    fn a_shorter_path_is_filled_while_old_packets_still_arrive() {
        let mut controller = handed_over("rta");
        controller.on_ack(&quiet(2000, 900));
        for now in 3000..3003 {
            controller.on_ack(&quiet(now, 60));
        }
        // The last packet of the old path may arrive 840 ms after the first one of the new path.
        assert_eq!(
            (
                segments(&*controller),
                controller.phase(),
                controller.path_changes()
            ),
            (900.0, "hand-over", Some(2))
        );
        assert_eq!(
            controller.pacing_rate(),
            Some(Rate::from_bytes_per_sec(1_000_000))
        );
        controller.on_ack(&quiet(3841, 60));
        assert_eq!(segments(&*controller), 900.0);
        controller.on_ack(&quiet(3842, 60));
        assert_eq!(segments(&*controller), 60.0);
        assert_eq!(
            (controller.phase(), controller.pacing_rate()),
            ("congestion avoidance (NewReno)", None)
        );
    }

    #[test]
    fn losses_on_the_old_path_do_not_reduce_the_new_window() {
        let mut controller = handed_over("rta");
        let lost = |controller: &dyn Controller, sent| Loss {
            sent: at(sent),
            ..loss(controller, at(1100))
        };
        assert_eq!(
            controller.on_loss(&lost(&*controller, 1001)),
            LossResponse::KEPT
        );
        assert_eq!(segments(&*controller), 900.0);
        let marked = Loss {
            signal: Signal::Ecn,
            ..lost(&*controller, 1001)
        };
        assert!(controller.on_loss(&marked).reduced, "marks are congestion");
        assert_eq!(segments(&*controller), 600.0);
        assert!(controller.on_loss(&lost(&*controller, 1002)).reduced);
        assert_eq!(segments(&*controller), 400.0);
        assert_eq!(
            controller.phase(),
            "congestion avoidance (Hybla)",
            "the handover has ended"
        );
    }

    #[test]
    fn a_spurious_timeout_before_the_handover_costs_nothing() {
        for (boost, meanwhile, whole) in [("measured", 900.0, 900.0), ("paper", 10.0, 1000.0)] {
            let mut controller = begun(&format!("rta?boost={boost}"));
            controller.on_timeout(&timeout(&*controller, at(990)));
            for now in 1000..1003 {
                controller.on_ack(&Ack {
                    in_recovery: true,
                    ..ack(now, 900)
                });
            }
            assert_eq!(segments(&*controller), meanwhile, "{boost}");
            controller.on_spurious(at(1003));
            assert_eq!(segments(&*controller), whole, "{boost}");
            controller.on_spurious(at(1004));
            assert_eq!(segments(&*controller), whole, "{boost}");
        }
    }

    #[test]
    fn an_undo_of_an_ignored_loss_restores_nothing() {
        // The first loss reduced the window from 150 segments to 100; undone, it would be 1500
        // after the handover.
        let mut controller = handed_over("rta?boost=paper");
        let lost = Loss {
            sent: at(1001),
            ..loss(&*controller, at(1100))
        };
        assert_eq!(controller.on_loss(&lost), LossResponse::KEPT);
        controller.on_spurious(at(1101));
        assert_eq!(segments(&*controller), 1000.0);
    }

    #[test]
    fn a_spurious_timeout_after_the_handover_is_undone() {
        let mut controller = handed_over("rta");
        controller.on_timeout(&timeout(&*controller, at(1100)));
        assert_eq!(segments(&*controller), 1.0);
        controller.on_spurious(at(1200));
        assert_eq!(segments(&*controller), 900.0);
    }

    #[test]
    fn the_handshake_selects_the_initial_kind_of_path() {
        let mut controller = built("rta", 10);
        let satellite = Ack {
            min_rtt: ms(900),
            ..ack(900, 900)
        };
        controller.on_ack(&satellite);
        assert_eq!(
            (controller.phase(), controller.path_changes()),
            ("slow start (Hybla)", Some(0))
        );
        assert_eq!(segments(&*controller), 11.0, "and it has grown");
    }

    #[test]
    fn a_longer_rtt_that_disappears_within_a_rtt_is_a_stall() {
        let mut controller = handed_over("rta");
        for now in 1500..1503 {
            assert_eq!(segments(&*controller), 900.0);
            controller.on_ack(&quiet(now, 50));
        }
        assert_eq!(
            (segments(&*controller), controller.path_changes()),
            (100.0, Some(1))
        );
        assert_eq!(
            (controller.phase(), controller.pacing_rate()),
            ("congestion avoidance (NewReno)", None)
        );
        // It still uses the range of NewReno.
        for now in 1600..1603 {
            controller.on_ack(&quiet(now, 900));
        }
        assert_eq!(
            (segments(&*controller), controller.path_changes()),
            (900.0, Some(2))
        );
    }

    /// Number of path changes that a controller detects when it alone fills a queue of 1.2 s for a
    /// minute, at 10 Mbit/s and 50 ms.
    fn changes_of_a_long_queue(controller: &str) -> u64 {
        let mut link = Bottleneck::new(Rate::from_bits_per_sec(10_000_000), 1_500);
        link.add(built(controller, 10), ms(50));
        let (_, max) = link.run(Duration::from_secs(60));
        assert_eq!(max, 1_501, "{controller} fills it");
        link.flows[0].controller.path_changes().expect("it looks")
    }

    #[test]
    fn a_long_queue_is_a_new_path_only_without_the_guard() {
        assert!(changes_of_a_long_queue("rta") > 0);
        for controller in [
            "rta?guard=true",
            "rta-plus",
            "rta-plus?ranges=newreno",
            "rta-plus?ranges=rta-newreno:500:800:rta-hybla",
        ] {
            assert_eq!(changes_of_a_long_queue(controller), 0, "{controller}");
        }
    }

    #[test]
    fn after_a_step_the_new_path_is_full_at_once() {
        // 10 Mbit/s; a buffer of 100 packets exceeds the BDP at 50 ms but is small for 600 ms.
        let run = |controller: &str| {
            let mut link = Bottleneck::new(Rate::from_bits_per_sec(10_000_000), 100);
            link.add(built(controller, 10), ms(50));
            link.run(Duration::from_secs(10));
            link.flows[0].delay = ms(600);
            link.run(Duration::from_secs(2));
            let before = link.flows[0].delivered;
            link.run(Duration::from_secs(5));
            let rate = link.flows[0].rate_since(before, Duration::from_secs(5));
            (
                rate.as_bits_per_sec(),
                link.flows[0].controller.path_changes(),
            )
        };
        let (newreno, _) = run("newreno");
        assert!(
            newreno < 2_500_000,
            "a window of at most 163 packets in 600 ms: {newreno}"
        );
        let (plus, changes) = run("rta-plus");
        assert!(plus > 9_000_000, "{plus}");
        assert_eq!(changes, Some(1));
    }
}
