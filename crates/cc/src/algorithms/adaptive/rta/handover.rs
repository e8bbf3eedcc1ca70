//! A law that is replaced when the path is: what TCP-RTA and RTA-plus have in common. `mod.rs` says why it is as it is.

use super::table::Ranges;
use crate::estimators::max_rate::MaxRate;
use crate::interface::{Ack, Controller, Loss, LossResponse, Signal, Timeout};
use crate::path_change::{Change, PathChange};
use crate::registry::entry::{ParseController, Setup};
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

    pub fn check(text: &str, _parse: ParseController) -> Result<(), String> {
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
            // Not what is left of `before`: packets that overtook each other may have cost it again and again.
            (Self::Measured, false) => holds,
            (Self::Paper, true) => {
                let most = holds.saturating_mul(MOST);
                before.max(before.saturating_mul(PAPER).min(most))
            }
            (Self::Paper, false) => before / PAPER,
        }
    }
}

/// Round-trip times of the present path.
#[derive(Debug, Clone, Copy, Default)]
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
struct Handover {
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
    /// Its range.
    range: usize,
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
    rtt: PathRtt,
    delivered: MaxRate,
    handover: Option<Handover>,
    /// When the path last changed.
    changed: Option<Time>,
    /// Until the new law has reduced its window: the old one may yet be told that its last reduction was a mistake.
    replaced: Option<Replaced>,
    /// Nobody was told of the last loss: what it cost is nothing, and nothing is given back for it.
    loss_ignored: bool,
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
            rtt: PathRtt::default(),
            delivered: MaxRate::default(),
            handover: None,
            changed: None,
            replaced: None,
            loss_ignored: false,
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
        self.rtt = PathRtt::new(ack.min_rtt);
        first
    }

    /// The path has changed: the law of its range takes over, with the window that it holds.
    fn on_change(&mut self, now: Time, range: usize, change: Change) {
        self.rtt = PathRtt::new(change.to);
        if self.was_a_mistake(change) {
            self.give_back();
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
        let window = self.law.cwnd().get();
        let law = self.hand_over(now, next, window, change, rate);
        self.changed = Some(now);
        self.replaced = Some(Replaced {
            law,
            range,
            change,
            rate,
        });
    }

    /// A longer path that is gone before a single round trip over it was none: something held packets.
    fn was_a_mistake(&self, change: Change) -> bool {
        let longer = self
            .replaced
            .as_ref()
            .is_some_and(|it| it.change.is_longer());
        longer && self.handover.is_some() && !change.is_longer()
    }

    /// The last hand-over was a mistake: the law that was replaced goes on where it was.
    fn give_back(&mut self) {
        if let Some(Replaced { mut law, range, .. }) = self.replaced.take() {
            law.on_mss(self.setup.mss);
            self.law = law;
            self.range = Some(range);
            self.handover = None;
        }
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
        std::mem::replace(&mut self.law, self.ranges.build(range, &setup))
    }

    /// It was sent on the old path.
    fn of_the_old_path(&self, loss: &Loss) -> bool {
        loss.signal == Signal::Loss && self.changed.is_some_and(|at| loss.sent < at)
    }
}

impl<P: PathChange> Controller for Adaptive<P> {
    fn inner(&self) -> Option<&dyn Controller> {
        Some(&*self.law)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Controller> {
        Some(&mut *self.law)
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
        if let Some(sample) = heard.rtt {
            self.rtt.add(sample);
        }
        self.handover = self.handover.filter(|handover| ack.now < handover.until);
        self.law.on_ack(&Ack {
            rtt: heard.rtt,
            srtt: self.rtt.smoothed,
            min_rtt: self.rtt.least,
            in_recovery: ack.in_recovery || self.handover.is_some(),
            ..*ack
        });
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        self.loss_ignored = self.of_the_old_path(loss);
        if self.loss_ignored {
            return LossResponse::KEPT;
        }
        let response = self.law.on_loss(loss);
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
        self.law.on_timeout(timeout);
    }

    fn on_spurious(&mut self, now: Time) {
        if self.loss_ignored {
            return;
        }
        let Some(Replaced {
            mut law,
            change,
            rate,
            ..
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
        let old = self.handover.map_or(0, |handover| handover.window);
        self.law.cwnd().max(Bytes::new(old))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        match self.handover {
            Some(handover) => Some(handover.pace),
            None => self.law.pacing_rate(),
        }
    }

    fn path_changes(&self) -> Option<u64> {
        Some(self.changes)
    }

    fn phase(&self) -> &'static str {
        match self.handover {
            Some(_) => "hand-over",
            None => self.law.phase(),
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

    /// An ACK at `now` ms with a sample of `rtt` ms, on a path of 50 ms that was seen to carry 1000 bytes a millisecond.
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

    /// One that lets nothing grow.
    fn quiet(now: u64, rtt: u64) -> Ack {
        Ack {
            cwnd_limited: false,
            ..ack(now, rtt)
        }
    }

    /// A connection of 100 segments in congestion avoidance, on the path of 50 ms.
    fn begun(text: &str) -> Box<dyn Controller> {
        let mut law = built(text, 150);
        law.on_loss(&Loss {
            sent: at(1),
            ..loss(&*law, at(40))
        });
        for now in 50..60 {
            law.on_ack(&ack(now, 50));
        }
        assert_eq!(segments(&*law), 100.0);
        law
    }

    /// The same, told by the third of these samples that the path has become a satellite of 900 ms, at 1002 ms.
    fn handed_over(text: &str) -> Box<dyn Controller> {
        let mut law = begun(text);
        for now in [1000, 1001] {
            law.on_ack(&ack(now, 900));
            assert_eq!((segments(&*law), law.path_changes()), (100.0, Some(0)));
        }
        law.on_ack(&ack(1002, 900));
        assert_eq!((law.phase(), law.path_changes()), ("hand-over", Some(1)));
        law
    }

    #[test]
    fn a_longer_path_gets_the_window_that_it_holds_and_gets_it_spread_over_a_round_trip() {
        let mut law = handed_over("rta");
        // 1000 bytes a millisecond for 900 ms.
        assert_eq!(segments(&*law), 900.0);
        assert_eq!(law.ssthresh(), Some(Bytes::new(900 * MSS)));
        assert_eq!(law.pacing_rate(), Some(Rate::from_bytes_per_sec(1_000_000)));
        law.on_ack(&ack(1901, 900));
        assert_eq!(
            (segments(&*law), law.phase()),
            (900.0, "hand-over"),
            "no growth before it is over"
        );
        law.on_ack(&ack(1902, 900));
        assert_eq!(law.phase(), "congestion avoidance (Hybla)");
        // rho = 36: 36^2 of 900 segments, 1.44 of them, for one.
        assert!(
            (segments(&*law) - 901.44).abs() < 0.01,
            "{}",
            segments(&*law)
        );
    }

    #[test]
    fn the_papers_boost_is_ten_times_the_window_and_a_tenth_but_at_most_twice_what_the_path_holds()
    {
        let mut law = handed_over("rta?boost=paper");
        assert_eq!(segments(&*law), 1000.0);
        law.on_ack(&quiet(2000, 900));
        for now in 2001..2004 {
            law.on_ack(&quiet(now, 50));
        }
        law.on_ack(&quiet(3000, 50));
        assert_eq!(segments(&*law), 100.0, "a tenth of 1000");
        for now in 4000..4003 {
            law.on_ack(&quiet(now, 810));
        }
        assert_eq!(segments(&*law), 1000.0);
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
    fn a_shorter_path_is_filled_while_the_old_ones_packets_still_come() {
        let mut law = handed_over("rta");
        law.on_ack(&quiet(2000, 900));
        for now in 3000..3003 {
            law.on_ack(&quiet(now, 60));
        }
        // The last packet of the old path may come 840 ms after the first of the new one.
        assert_eq!(
            (segments(&*law), law.phase(), law.path_changes()),
            (900.0, "hand-over", Some(2))
        );
        assert_eq!(law.pacing_rate(), Some(Rate::from_bytes_per_sec(1_000_000)));
        law.on_ack(&quiet(3841, 60));
        assert_eq!(segments(&*law), 900.0);
        law.on_ack(&quiet(3842, 60));
        assert_eq!(segments(&*law), 60.0);
        assert_eq!(
            (law.phase(), law.pacing_rate()),
            ("congestion avoidance (NewReno)", None)
        );
    }

    #[test]
    fn what_was_lost_on_the_old_path_costs_the_new_one_nothing() {
        let mut law = handed_over("rta");
        let lost = |law: &dyn Controller, sent| Loss {
            sent: at(sent),
            ..loss(law, at(1100))
        };
        assert_eq!(law.on_loss(&lost(&*law, 1001)), LossResponse::KEPT);
        assert_eq!(segments(&*law), 900.0);
        let marked = Loss {
            signal: Signal::Ecn,
            ..lost(&*law, 1001)
        };
        assert!(law.on_loss(&marked).reduced, "marks are congestion");
        assert_eq!(segments(&*law), 600.0);
        assert!(law.on_loss(&lost(&*law, 1002)).reduced);
        assert_eq!(segments(&*law), 400.0);
        assert_eq!(
            law.phase(),
            "congestion avoidance (Hybla)",
            "the hand-over is over"
        );
    }

    #[test]
    fn a_mistaken_timeout_before_the_hand_over_costs_nothing_of_what_was_handed_over() {
        for (boost, meanwhile, whole) in [("measured", 900.0, 900.0), ("paper", 10.0, 1000.0)] {
            let mut law = begun(&format!("rta?boost={boost}"));
            law.on_timeout(&timeout(&*law, at(990)));
            for now in 1000..1003 {
                law.on_ack(&Ack {
                    in_recovery: true,
                    ..ack(now, 900)
                });
            }
            assert_eq!(segments(&*law), meanwhile, "{boost}");
            law.on_spurious(at(1003));
            assert_eq!(segments(&*law), whole, "{boost}");
            law.on_spurious(at(1004));
            assert_eq!(segments(&*law), whole, "{boost}");
        }
    }

    #[test]
    fn a_mistake_about_a_loss_that_nobody_was_told_of_gives_nothing_back() {
        // The loss that the connection began with took it from 150 segments to 100: with it taken back, 1500.
        let mut law = handed_over("rta?boost=paper");
        let lost = Loss {
            sent: at(1001),
            ..loss(&*law, at(1100))
        };
        assert_eq!(law.on_loss(&lost), LossResponse::KEPT);
        law.on_spurious(at(1101));
        assert_eq!(segments(&*law), 1000.0);
    }

    #[test]
    fn a_mistaken_timeout_after_the_hand_over_is_taken_back() {
        let mut law = handed_over("rta");
        law.on_timeout(&timeout(&*law, at(1100)));
        assert_eq!(segments(&*law), 1.0);
        law.on_spurious(at(1200));
        assert_eq!(segments(&*law), 900.0);
    }

    #[test]
    fn the_handshake_says_on_what_kind_of_path_a_connection_begins() {
        let mut law = built("rta", 10);
        let satellite = Ack {
            min_rtt: ms(900),
            ..ack(900, 900)
        };
        law.on_ack(&satellite);
        assert_eq!(
            (law.phase(), law.path_changes()),
            ("slow start (Hybla)", Some(0))
        );
        assert_eq!(segments(&*law), 11.0, "and it has grown as any");
    }

    #[test]
    fn a_longer_path_that_is_gone_within_a_round_trip_was_none_and_the_old_law_goes_on() {
        let mut law = handed_over("rta");
        for now in 1500..1503 {
            assert_eq!(segments(&*law), 900.0);
            law.on_ack(&quiet(now, 50));
        }
        assert_eq!((segments(&*law), law.path_changes()), (100.0, Some(1)));
        assert_eq!(
            (law.phase(), law.pacing_rate()),
            ("congestion avoidance (NewReno)", None)
        );
        // And it still knows NewReno's range.
        for now in 1600..1603 {
            law.on_ack(&quiet(now, 900));
        }
        assert_eq!((segments(&*law), law.path_changes()), (900.0, Some(2)));
    }

    /// How often the path of 10 Mbit/s and 50 ms changed for a law that alone fills a queue of 1.2 s for a minute.
    fn changes_of_a_long_queue(law: &str) -> u64 {
        let mut link = Bottleneck::new(Rate::from_bits_per_sec(10_000_000), 1_500);
        link.add(built(law, 10), ms(50));
        let (_, most) = link.run(Duration::from_secs(60));
        assert_eq!(most, 1_501, "{law} fills it");
        link.flows[0].controller.path_changes().expect("it looks")
    }

    #[test]
    fn a_queue_of_more_than_a_second_is_a_satellite_for_the_paper_and_a_queue_for_the_guard() {
        assert!(changes_of_a_long_queue("rta") > 0);
        for law in [
            "rta?guard=true",
            "rta-plus",
            "rta-plus?ranges=newreno",
            "rta-plus?ranges=rta-newreno:500:800:rta-hybla",
        ] {
            assert_eq!(changes_of_a_long_queue(law), 0, "{law}");
        }
    }

    #[test]
    fn after_a_step_the_new_path_is_full_at_once_and_with_newreno_it_is_not() {
        // 10 Mbit/s; a queue of 100 packets holds what the path of 50 ms holds and more, but little of that of 600 ms.
        let run = |law: &str| {
            let mut link = Bottleneck::new(Rate::from_bits_per_sec(10_000_000), 100);
            link.add(built(law, 10), ms(50));
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
