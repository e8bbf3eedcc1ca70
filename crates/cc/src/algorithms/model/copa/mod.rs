//! Copa: controls the rate towards a target set by the queueing delay, and drains the queue every
//! few round trips.
//!
//! V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet",
//! NSDI 2018. Compared with the authors' `genericCC` (`markoviancc.cc`, `rtt-window.cc`) and with
//! Meta's mvfst (`Copa.cpp`).
//!
//! * queueing delay: `dq = RTTstanding - RTTmin` (section 2.1); RTTstanding is the minimum RTT of
//!   the last srtt/2, RTTmin the minimum of the last 10 s
//! * target rate: `lambda_t = 1/(delta*dq)` packets per second (equation 1)
//! * each ACK: if `cwnd/RTTstanding <= lambda_t`, `cwnd += v/(delta*cwnd)`, otherwise `cwnd -=
//!   v/(delta*cwnd)` (section 2.1)
//! * velocity v: 1 at first. Once per window cwnd is compared with its value when the packet just
//!   acknowledged was sent. v doubles each window once the direction has been the same for three
//!   round trips, and is 1 again when the direction changes
//! * slow start: cwnd doubles every round trip until cwnd/RTTstanding exceeds lambda_t
//! * pacing: `2*cwnd/RTTstanding` (section 2.1)
//! * mode (section 2.2): competitive if `dq < 0.1*(RTTmax - RTTmin)` has not occurred for 5 round
//!   trips, RTTmax being the maximum RTT of the last four; then 1/delta grows by 1 per round trip
//!   without loss and halves on a loss, and is never below its default. Otherwise delta is the
//!   default, 0.5.
//!
//! Units: the window is in bytes; equations are in packets of one segment, times in seconds.
//!
//! **Physics.** A flow at the target rate keeps `lambda*dq = 1/delta` of its packets in the queue,
//! so n equal flows share a bottleneck equally, each with 1/delta packets in the queue. The
//! information in an ACK is one round trip old, so the window overshoots: it grows by 1/delta per
//! round trip for about 2.5 of them and shrinks for as long, and the queue oscillates between 0 and
//! 2.5/delta packets every five round trips (section 3). Because the queue is empty once in five
//! round trips, every flow learns RTTmin, and can recognize a path without buffer-filling flows.
//!
//! **When it works.** Where delay is caused by queueing: losses do not reduce the rate, a deep
//! buffer stays empty, and a new flow gets its share in a few round trips.
//!
//! **Limits.**
//! * Jitter raises RTTstanding only if it lasts for half a round trip, but a permanent increase of
//!   the base delay looks like a queue for 10 s.
//! * The test for competition is stricter than whole packets allow. A single flow oscillates by
//!   about four packets, a tenth of which is less than one, so only an idle bottleneck counts as
//!   nearly empty. A flow's own queue that takes more than five round trips to drain (after slow
//!   start) also fails the test. The flow then competes with itself until the oscillations of the
//!   larger 1/delta drain the queue. If 1/delta has meanwhile come close to the bandwidth-delay
//!   product, they never do, and the queue grows until packets are lost. W. Jiang et al., "Copa+",
//!   INFOCOM 2022, found the same.
//! * v finds the target by overshooting: ACKs are one round trip old, and in that time a doubling v
//!   moves the window as far as in all the time before. Where ACKs are coarse or the path is long,
//!   such oscillations may never end.
//! * Flows with very different RTTs, or a queue longer than the path, do not oscillate together
//!   (section 3).
//! * A buffer too small for 1/delta packets makes it lose packets permanently, because losses are
//!   no signal.
//!
//! **Departure.** The paper compares the direction once per window. A v that has grown to half of
//! the window is then still in effect when the target is passed, now in the other direction: on a
//! path of 10 Mbit/s and 40 ms the window oscillates between 8 and 70 packets permanently and half
//! of the capacity is lost. mvfst resets v as soon as the target requires the other direction, and
//! so does this implementation; `turn=false` selects the paper's rule.
//!
//! **Where the code of others differs, this follows the paper.** genericCC reduces the window to
//! 0.7 at high loss, tests both bounds of "nearly empty" over four round trips, and doubles v from
//! the second round trip on. mvfst uses the latest RTT for the delay by default, and has no
//! competitive mode.
//!
//! **Choices where the paper is silent.**
//! * "The same for three RTTs" means four windows in the same direction: the first sets the
//!   direction. As in mvfst.
//! * v is at most delta*cwnd, so that the window at most doubles or vanishes in a round trip. As in
//!   genericCC.
//! * The controller keeps at least two packets. As in both.
//! * An ACK of several packets counts as that many ACKs.
//! * A path without any queue so far has dq = 0 and RTTmax = RTTmin, which counts as empty.
//! * A timeout invalidates all knowledge: one segment and a new slow start (RFC 5681 section 3.1).
//!   In competitive mode it is also a loss.
//! * Congestion marks count as losses: they halve 1/delta in competitive mode and have no effect
//!   otherwise.
//! * A sender that does not use its window does not raise it (RFC 9002 section 7.8).

mod extreme;

use crate::building_blocks::window::Window;
use crate::interface::{Ack, Controller, Loss, LossResponse, Timeout};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, Setup, code};
use extreme::{Extreme, Kind};
use std::cmp::Ordering;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "copa",
    code: code!(
        "algorithms/model/copa/mod.rs",
        "algorithms/model/copa/extreme.rs"
    ),
    summary: "Keeps 1/delta of its packets in the queue; competes when other flows fill it",
    citation: "V. Arun, H. Balakrishnan, \"Copa: Practical Delay-Based Congestion Control for the \
               Internet\", NSDI 2018",
    parameters: &[
        Parameter {
            name: "delta",
            domain: Domain::Number {
                default: 0.5,
                range: (0.01, 10.0),
            },
            meaning: "weight of delay relative to rate: 1/delta packets are kept in the queue",
        },
        Parameter {
            name: "competitive",
            domain: Domain::Switch(true),
            meaning: "compete, by AIMD on 1/delta, when the queue is never nearly empty (section \
                      2.2)",
        },
        Parameter {
            name: "turn",
            domain: Domain::Switch(true),
            meaning: "reset the velocity as soon as the direction changes; false: at the end of \
                      the window, as in the paper",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Model,
        driven_by: DrivenBy::Path,
        build: |setup, values| {
            let controller = Copa::new(setup, values.number("delta"), values.switch("competitive"));
            Box::new(controller.turn(values.switch("turn")))
        },
    },
    look: Look::of(15, 15),
    ..Entry::BLANK
};

/// Window of RTTmin (section 2.1).
const MIN_RTT_SPAN: Duration = Duration::from_secs(10);
/// Window of RTTmax, round trips (section 2.2).
const MAX_RTT_ROUNDS: u64 = 4;
/// The queue has to be nearly empty once in this many round trips (section 2.2).
const EMPTY_WITHIN_ROUNDS: u64 = 5;
/// "Nearly": this fraction of the range of delays (section 2.2).
const NEARLY: f64 = 0.1;
/// Number of windows in the same direction before v doubles.
const STEADY_WINDOWS: u32 = 4;
/// Minimum window, packets.
const MIN_PACKETS: u64 = 2;
/// Maximum window, bytes: far more than any path holds, and still exact in an f64.
const MAX_WINDOW: f64 = (1u64 << 52) as f64;

/// The Copa controller.
#[derive(Debug, Clone)]
pub struct Copa {
    /// Maximum payload of one packet, bytes.
    mss: u64,
    /// Congestion window, bytes; at least `mss`.
    cwnd: f64,
    slow_start: bool,
    /// v is reset as soon as the direction changes.
    turn: bool,
    velocity: Velocity,
    delays: Delays,
    competition: Competition,
    /// The state before the last loss or timeout, while that may still turn out to be spurious.
    before: Option<Before>,
    /// The first packet that had not been sent at the response to the last loss: losses before it
    /// belong to the same window of data.
    answered: Option<u64>,
}

/// The speed and direction of the window.
#[derive(Debug, Clone, Copy)]
struct Velocity {
    /// v, at least 1.
    v: f64,
    /// The direction of cwnd in the last window, and for how many consecutive windows.
    direction: Ordering,
    windows: u32,
    /// cwnd when the current window began, bytes.
    reference: f64,
}

/// Measurements of the path's delay.
#[derive(Debug, Clone)]
struct Delays {
    /// RTTmin.
    min: Extreme,
    /// RTTstanding.
    standing: Extreme,
    /// RTTmax.
    max: Extreme,
}

/// The mode and its delta.
#[derive(Debug, Clone, Copy)]
struct Competition {
    /// Mode switching is on.
    enabled: bool,
    /// 1/delta of the default mode, packets.
    default: f64,
    /// 1/delta now, packets; never below the default.
    packets: f64,
    competing: bool,
    /// When the queue was last nearly empty; `None` before the first sample.
    empty_at: Option<Time>,
    /// The current round trip has had a loss.
    lost: bool,
}

#[derive(Debug, Clone, Copy)]
struct Before {
    cwnd: f64,
    slow_start: bool,
    packets: f64,
}

impl Copa {
    /// A controller for a new connection. `delta` is above zero; `competitive` enables mode
    /// switching.
    pub fn new(setup: &Setup, delta: f64, competitive: bool) -> Self {
        let mss = setup.mss.get().max(1);
        let cwnd = setup.initial_window.get().max(mss) as f64;
        Self {
            mss,
            cwnd,
            slow_start: true,
            turn: true,
            velocity: Velocity::new(cwnd),
            delays: Delays::new(),
            competition: Competition {
                enabled: competitive,
                default: 1.0 / delta,
                packets: 1.0 / delta,
                competing: false,
                empty_at: None,
                lost: false,
            },
            before: None,
            answered: None,
        }
    }

    /// Whether v is reset as soon as the direction changes (mvfst) or at the end of the window (the
    /// paper). Default: `true`.
    pub fn turn(mut self, at_once: bool) -> Self {
        self.turn = at_once;
        self
    }

    /// Moves the window towards the target rate (section 2.1, steps 2 and 3).
    fn adjust_window(&mut self, ack: &Ack) {
        let mss = self.mss as f64;
        let packets = self.cwnd / mss;
        // cwnd/RTTstanding <= 1/(delta*dq), rearranged so that no denominator can be zero.
        let waiting = packets * self.delays.queueing().as_secs_f64();
        let room = waiting <= self.competition.packets * self.delays.standing().as_secs_f64();
        // More than a window cannot have been acknowledged, so a larger value is invalid.
        let acked = (ack.acked.get() as f64).min(self.cwnd);
        if self.slow_start && room {
            if Window::may_grow(ack) {
                self.cwnd += acked;
            }
            return;
        }
        if self.slow_start {
            self.slow_start = false;
            self.velocity = Velocity::new(self.cwnd);
        }
        let required = if room {
            Ordering::Greater
        } else {
            Ordering::Less
        };
        if self.turn {
            self.velocity.on_turn(required, self.cwnd);
        }
        let delta = 1.0 / self.competition.packets;
        self.velocity.bound(delta * packets);
        let step = self.velocity.v / (delta * packets) * acked;
        if !room {
            let min = self.mss.saturating_mul(MIN_PACKETS) as f64;
            self.cwnd = (self.cwnd - step).max(min.min(self.cwnd));
        } else if Window::may_grow(ack) {
            self.cwnd += step;
        }
    }

    /// The response to a loss or a timeout; it affects only a competing flow.
    fn lose(&mut self) {
        self.before = Some(Before {
            cwnd: self.cwnd,
            slow_start: self.slow_start,
            packets: self.competition.packets,
        });
        self.competition.on_loss();
    }
}

impl Velocity {
    fn new(cwnd: f64) -> Self {
        Self {
            v: 1.0,
            direction: Ordering::Equal,
            windows: 0,
            reference: cwnd,
        }
    }

    /// A window of packets is acknowledged: those acknowledged next were sent when cwnd was `cwnd`.
    fn on_window(&mut self, cwnd: f64) {
        let direction = cwnd.total_cmp(&self.reference);
        if direction == self.direction && direction != Ordering::Equal {
            self.windows = self.windows.saturating_add(1);
        } else {
            self.windows = 1;
        }
        self.v = match self.windows {
            1 => 1.0,
            n if n >= STEADY_WINDOWS => self.v * 2.0,
            _ => self.v,
        };
        self.direction = direction;
        self.reference = cwnd;
    }

    /// The target requires the direction `required`. A velocity gained in the other direction does
    /// not apply to it. The rest of the window counts for neither direction: three whole round
    /// trips have to follow.
    fn on_turn(&mut self, required: Ordering, cwnd: f64) {
        if self.v > 1.0 && self.direction != required {
            *self = Self {
                direction: required,
                windows: 0,
                ..Self::new(cwnd)
            };
        }
    }

    /// Limits v to `max`, but not below 1.
    fn bound(&mut self, max: f64) {
        self.v = self.v.min(max).max(1.0);
    }
}

impl Delays {
    fn new() -> Self {
        Self {
            min: Extreme::new(Kind::Min),
            standing: Extreme::new(Kind::Min),
            max: Extreme::new(Kind::Max),
        }
    }

    fn add(&mut self, now: Time, rtt: Duration, srtt: Duration) {
        self.min.add(now, rtt, MIN_RTT_SPAN);
        self.standing.add(now, rtt, (srtt / 2).min(MIN_RTT_SPAN));
        let span = srtt.mul_f64(MAX_RTT_ROUNDS as f64).min(MIN_RTT_SPAN);
        self.max.add(now, rtt, span);
    }

    fn min(&self) -> Duration {
        self.min.get().unwrap_or_default()
    }

    fn standing(&self) -> Duration {
        self.standing.get().unwrap_or_default()
    }

    /// dq; zero before the first sample.
    fn queueing(&self) -> Duration {
        self.standing() - self.min()
    }

    /// Whether the queue is nearly empty (section 2.2).
    fn nearly_empty(&self) -> bool {
        let range = self.max.get().unwrap_or_default() - self.min();
        let queueing = self.queueing();
        queueing.is_zero() || queueing < range.mul_f64(NEARLY)
    }
}

impl Competition {
    /// Selects the mode after a sample.
    fn judge(&mut self, now: Time, nearly_empty: bool, srtt: Duration) {
        if nearly_empty || self.empty_at.is_none() {
            self.empty_at = Some(now);
        }
        let limit = srtt.mul_f64(EMPTY_WITHIN_ROUNDS as f64);
        let since = now.since(self.empty_at.unwrap_or(now));
        self.competing = self.enabled && since > limit;
        if !self.competing {
            self.packets = self.default;
        }
    }

    /// At the end of a round trip: additive increase, if it had no loss.
    fn on_round(&mut self) {
        if self.competing && !self.lost {
            self.packets += 1.0;
        }
        self.lost = false;
    }

    /// Multiplicative decrease.
    fn on_loss(&mut self) {
        if self.competing {
            self.packets = (self.packets / 2.0).max(self.default);
        }
        self.lost = true;
    }
}

impl Controller for Copa {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.delays.add(ack.now, rtt, ack.srtt);
            self.competition
                .judge(ack.now, self.delays.nearly_empty(), ack.srtt);
        }
        if ack.round_start {
            self.competition.on_round();
            if !self.slow_start {
                self.velocity.on_window(self.cwnd);
            }
        }
        self.adjust_window(ack);
        self.cwnd = self.cwnd.min(MAX_WINDOW.max(self.mss as f64));
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        if self.answered.is_none_or(|end| loss.lost_order >= end) {
            self.answered = Some(loss.next_order);
            self.lose();
        }
        LossResponse::KEPT
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if !timeout.repeated {
            self.lose();
        }
        self.answered = Some(timeout.next_order);
        self.cwnd = self.mss as f64;
        self.slow_start = true;
        self.velocity = Velocity::new(self.cwnd);
    }

    fn on_spurious(&mut self, _now: Time) {
        let Some(before) = self.before.take() else {
            return;
        };
        if self.cwnd < before.cwnd {
            self.cwnd = before.cwnd;
            self.slow_start = before.slow_start;
            self.velocity = Velocity::new(self.cwnd);
        }
        if self.competition.competing {
            self.competition.packets = self.competition.packets.max(before.packets);
        }
    }

    fn on_mss(&mut self, mss: Bytes) {
        self.mss = mss.get().max(1);
        self.cwnd = self.cwnd.max(self.mss as f64);
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new((self.cwnd as u64).max(self.mss))
    }

    fn raise_window(&mut self, cwnd: Bytes) {
        self.cwnd = self.cwnd.max(cwnd.get() as f64);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let standing = self.delays.standing();
        let rate = Rate::over(self.cwnd().saturating_add(self.cwnd()), standing);
        (rate > Rate::ZERO).then_some(rate)
    }

    fn phase(&self) -> &'static str {
        match (self.slow_start, self.competition.competing) {
            (true, _) => "slow start",
            (false, false) => "default",
            (false, true) => "competitive",
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Spec;
    use crate::testing::{ACK, Bottleneck, loss, segments, setup, timeout};

    const MS: Duration = Duration::from_millis(1);
    const RTT: Duration = Duration::from_millis(40);

    fn built(text: &str) -> Box<dyn Controller> {
        text.parse::<Spec>()
            .expect("valid")
            .build(&setup(10))
            .expect("fed acknowledgments")
    }

    /// A controller past slow start, with this many packets.
    fn cruising(packets: u64) -> Copa {
        let mut controller = Copa::new(&setup(packets), 0.5, true);
        controller.slow_start = false;
        controller
    }

    /// An ACK of one packet with this RTT.
    fn ack(controller: &mut Copa, now: Time, rtt: Duration) {
        controller.on_ack(&Ack {
            now,
            rtt: Some(rtt),
            srtt: rtt,
            ..ACK
        });
    }

    /// Rounds of one ACK each on a path of 40 ms; the ACKs measure `rtt`.
    fn rounds(controller: &mut Copa, now: &mut Time, rtt: Duration, count: u64) {
        for _ in 0..count {
            *now += rtt;
            controller.on_ack(&Ack {
                now: *now,
                acked: controller.cwnd(),
                rtt: Some(rtt),
                srtt: rtt,
                round_start: true,
                ..ACK
            });
        }
    }

    #[test]
    fn the_window_grows_below_the_target_rate_and_shrinks_above() {
        // RTTmin 40 ms, RTTstanding 48 ms: dq = 8 ms and the target is 1/(0.5*0.008) = 250
        // packets/s, which is 12 packets in 48 ms.
        for (packets, expected) in [(10, 10.2), (13, 13.0 - 1.0 / 6.5)] {
            let mut controller = cruising(packets);
            controller.delays.min.add(Time::ZERO, RTT, MIN_RTT_SPAN);
            ack(&mut controller, Time::ZERO + MS * 100, MS * 48);
            assert!(
                (segments(&controller) - expected).abs() < 0.001,
                "{packets}"
            );
        }
    }

    #[test]
    fn a_round_trip_moves_the_window_by_about_1_over_delta_packets() {
        for (delta, expected) in [(0.5, 2.0), (0.1, 10.0)] {
            let mut controller = cruising(100);
            controller.competition.packets = 1.0 / delta;
            controller.competition.default = 1.0 / delta;
            for i in 0..100 {
                ack(&mut controller, Time::ZERO + MS * i, RTT);
            }
            let grown = segments(&controller) - 100.0;
            assert!((grown / expected - 1.0).abs() < 0.06, "{delta}: {grown}");
        }
    }

    #[test]
    fn the_velocity_doubles_after_three_round_trips_one_way() {
        // The first window sets the direction, three more confirm it.
        let mut velocity = Velocity::new(100.0);
        let mut cwnd = 100.0;
        for expected in [1.0, 1.0, 1.0, 2.0, 4.0, 8.0] {
            cwnd += 1.0;
            velocity.on_window(cwnd);
            assert_eq!(velocity.v, expected);
        }
        velocity.on_window(cwnd - 1.0);
        assert_eq!(velocity.v, 1.0, "direction changed");
        velocity.on_window(cwnd - 1.0);
        assert_eq!(velocity.v, 1.0, "no movement");
    }

    #[test]
    fn a_velocity_gained_upwards_does_not_apply_downwards() {
        for (turn, expected) in [(true, 1.0), (false, 8.0)] {
            let mut controller = cruising(100).turn(turn);
            controller.delays.min.add(Time::ZERO, RTT, MIN_RTT_SPAN);
            controller.velocity = Velocity {
                v: 8.0,
                direction: Ordering::Greater,
                windows: 6,
                reference: controller.cwnd,
            };
            ack(&mut controller, Time::ZERO + MS * 50, MS * 80);
            assert_eq!(controller.velocity.v, expected);
        }
    }

    #[test]
    fn the_velocity_at_most_doubles_the_window_in_a_round_trip() {
        let mut controller = cruising(10);
        controller.velocity.v = 1024.0;
        controller.velocity.direction = Ordering::Greater;
        ack(&mut controller, Time::ZERO, RTT);
        assert_eq!(
            segments(&controller),
            11.0,
            "ten such ACKs make a round trip"
        );
    }

    #[test]
    fn half_a_round_trip_of_jitter_is_no_queue() {
        let mut controller = cruising(10);
        let mut now = Time::ZERO;
        ack(&mut controller, now, RTT);
        // RTTstanding covers srtt/2 = 20 ms, here 24.
        for _ in 0..4 {
            now += MS * 5;
            ack(&mut controller, now, MS * 48);
            assert_eq!(controller.delays.queueing(), Duration::ZERO);
        }
        now += MS * 5;
        ack(&mut controller, now, MS * 48);
        assert_eq!(controller.delays.queueing(), MS * 8);
    }

    #[test]
    fn the_pacing_rate_is_two_windows_per_standing_rtt() {
        let mut controller = cruising(10);
        assert_eq!(controller.pacing_rate(), None, "no RTT known");
        ack(&mut controller, Time::ZERO, RTT);
        controller.cwnd = 10_000.0;
        // 2*10000 bytes in 40 ms.
        assert_eq!(
            controller.pacing_rate(),
            Some(Rate::from_bits_per_sec(4_000_000))
        );
    }

    #[test]
    fn slow_start_doubles_until_the_rate_exceeds_the_target() {
        let mut controller = Copa::new(&setup(10), 0.5, true);
        let mut now = Time::ZERO;
        for expected in [20.0, 40.0, 80.0] {
            rounds(&mut controller, &mut now, RTT, 1);
            assert_eq!(
                (controller.phase(), segments(&controller)),
                ("slow start", expected)
            );
        }
        // dq = 2 ms: target 1000 packets/s, and 80 packets in 42 ms are 1905.
        rounds(&mut controller, &mut now, MS * 42, 1);
        assert_eq!(
            (controller.phase(), segments(&controller)),
            ("default", 78.0)
        );
    }

    #[test]
    fn it_competes_while_the_queue_is_never_nearly_empty() {
        let mut controller = cruising(100);
        let mut now = Time::ZERO;
        rounds(&mut controller, &mut now, RTT, 1);
        // The delay oscillates between 50 and 60 ms: a tenth of its range above RTTmin is 2 ms, and
        // 10 is more.
        let mut swing = |controller: &mut Copa, count| {
            for i in 0..count {
                rounds(controller, &mut now, MS * (50 + 10 * (i % 2)), 1);
            }
        };
        swing(&mut controller, 4);
        assert_eq!(controller.phase(), "default");
        swing(&mut controller, 4);
        assert_eq!(controller.phase(), "competitive");
        // Additive increase: one packet per round trip; multiplicative decrease: half, and no
        // increase in that round trip.
        controller.competition.packets = 8.0;
        swing(&mut controller, 2);
        assert_eq!(controller.competition.packets, 10.0);
        assert_eq!(
            controller.on_loss(&loss(&controller, Time::ZERO)),
            LossResponse::KEPT
        );
        assert_eq!(controller.competition.packets, 5.0);
        swing(&mut controller, 1);
        assert_eq!(controller.competition.packets, 5.0);
        swing(&mut controller, 1);
        assert_eq!(controller.competition.packets, 6.0);
        // RTTmax is 60 ms: 41 ms is within a tenth of the 20 ms above RTTmin.
        rounds(&mut controller, &mut now, MS * 41, 1);
        assert_eq!(
            (controller.phase(), controller.competition.packets),
            ("default", 2.0)
        );
    }

    #[test]
    fn without_mode_switching_it_never_competes() {
        let mut controller = Copa::new(&setup(10), 0.5, false);
        let mut now = Time::ZERO;
        rounds(&mut controller, &mut now, RTT, 1);
        rounds(&mut controller, &mut now, MS * 60, 30);
        assert_eq!(
            (controller.phase(), controller.competition.packets),
            ("default", 2.0)
        );
    }

    #[test]
    fn competitive_mode_never_goes_below_the_default() {
        let mut controller = cruising(10);
        controller.competition.competing = true;
        controller.competition.packets = 3.0;
        controller.on_loss(&loss(&controller, Time::ZERO));
        assert_eq!(controller.competition.packets, 2.0);
        controller.on_spurious(Time::ZERO);
        assert_eq!(controller.competition.packets, 3.0, "undone");
    }

    #[test]
    fn the_losses_of_one_window_halve_once() {
        let mut controller = cruising(40);
        controller.competition.competing = true;
        controller.competition.packets = 32.0;
        // The 40 packets that were sent at the first loss belong to its window.
        for (lost_order, next_order, left) in [(0, 40, 16.0), (39, 60, 16.0), (40, 80, 8.0)] {
            controller.on_loss(&Loss {
                lost_order,
                next_order,
                ..loss(&controller, Time::ZERO)
            });
            assert_eq!(controller.competition.packets, left, "{lost_order}");
        }
    }

    #[test]
    fn a_loss_keeps_the_window_and_a_timeout_leaves_one_segment() {
        let mut controller = cruising(40);
        assert_eq!(
            controller.on_loss(&loss(&controller, Time::ZERO)),
            LossResponse::KEPT
        );
        assert_eq!(segments(&controller), 40.0);
        controller.on_timeout(&timeout(&controller, Time::ZERO));
        assert_eq!(
            (controller.phase(), segments(&controller)),
            ("slow start", 1.0)
        );
        controller.on_spurious(Time::ZERO);
        assert_eq!(
            (controller.phase(), segments(&controller)),
            ("default", 40.0)
        );
    }

    #[test]
    fn an_unused_window_does_not_grow_and_two_packets_remain() {
        let mut controller = cruising(10);
        controller.on_ack(&Ack {
            cwnd_limited: false,
            ..ACK
        });
        assert_eq!(segments(&controller), 10.0);
        // 2.1 packets in 4 s exceed the target of 1/(0.5*3.96), and one step would leave 1.15.
        ack(&mut controller, Time::ZERO, RTT);
        controller.cwnd = 2100.0;
        ack(&mut controller, Time::ZERO + MS * 4000, MS * 4000);
        assert_eq!(segments(&controller), 2.0);
    }

    /// A path of 40 ms with a deep buffer.
    fn path(mbit: u64, room: usize, controllers: &[&str]) -> Bottleneck {
        let mut path = Bottleneck::new(Rate::from_bits_per_sec(mbit * 1_000_000), room);
        for controller in controllers {
            path.add(built(controller), RTT);
        }
        path
    }

    /// Fractions of the bottleneck's capacity over `span`.
    fn shares(path: &mut Bottleneck, span: Duration) -> Vec<f64> {
        let before: Vec<u64> = path.flows.iter().map(|f| f.delivered).collect();
        path.run(span);
        let capacity = path.rate.as_bits_per_sec() as f64;
        let rates = path.flows.iter().zip(before);
        rates
            .map(|(f, before)| f.rate_since(before, span).as_bits_per_sec() as f64 / capacity)
            .collect()
    }

    #[test]
    fn a_single_flow_fills_the_path_with_a_short_queue() {
        // Section 3: between 0 and 2.5/delta = 5 packets in the queue, 2.5 on average; here
        // including the packet in transmission.
        for mbit in [10, 100] {
            let mut path = path(mbit, 2000, &["copa"]);
            path.run(Duration::from_secs(5));
            let before = path.flows[0].delivered;
            let (mean, max) = path.run(Duration::from_secs(5));
            let rate = path.flows[0].rate_since(before, Duration::from_secs(5));
            let used = rate.as_bits_per_sec() as f64 / (mbit as f64 * 1e6);
            assert!(used > 0.99, "{mbit} Mbit/s: {used}");
            assert!((2.5..6.0).contains(&mean), "{mbit} Mbit/s: {mean}");
            assert!(max <= 30, "{mbit} Mbit/s: {max}");
        }
    }

    #[test]
    fn in_equilibrium_an_oscillation_takes_five_round_trips() {
        let mut path = path(100, 2000, &["copa?competitive=false"]);
        path.run(Duration::from_secs(10));
        let (mut min, mut max, mut turns, mut up) = (f64::MAX, 0f64, 0, true);
        let mut last = segments(&*path.flows[0].controller);
        for _ in 0..400 {
            path.run(MS * 10);
            let cwnd = segments(&*path.flows[0].controller);
            (min, max) = (min.min(cwnd), max.max(cwnd));
            if cwnd != last && (cwnd > last) != up {
                (turns, up) = (turns + 1, !up);
            }
            last = cwnd;
        }
        // 100 round trips: 20 oscillations with two changes of direction each, by figure 1 of the
        // paper, which rounds up to half round trips.
        assert!((40..=54).contains(&turns), "{turns}");
        assert!((3.0..=6.0).contains(&(max - min)), "{min} to {max}");
        // The path holds 500 packets and the one in transmission.
        assert!(min > 500.0 && max < 508.0, "{min} to {max}");
    }

    #[test]
    fn two_flows_share_equally_at_any_start_times() {
        let mut path = path(100, 2000, &["copa"]);
        path.run(Duration::from_secs(5));
        path.add(built("copa"), RTT);
        path.run(Duration::from_secs(15));
        let shares = shares(&mut path, Duration::from_secs(10));
        assert!(
            shares.iter().all(|s| (0.45..0.55).contains(s)),
            "{shares:?}"
        );
    }

    #[test]
    fn competitive_mode_keeps_a_fair_share_beside_newreno() {
        for (controller, min, max) in [("copa", 0.35, 0.65), ("copa?competitive=false", 0.0, 0.1)] {
            let mut path = path(50, 250, &[controller, "newreno"]);
            path.run(Duration::from_secs(10));
            let shares = shares(&mut path, Duration::from_secs(50));
            assert!((min..max).contains(&shares[0]), "{controller}: {shares:?}");
            assert!(shares[0] + shares[1] > 0.9, "{controller}: {shares:?}");
        }
    }

    #[test]
    fn on_a_short_path_its_own_queue_looks_like_competition() {
        // A limit that the header describes: 25 packets in flight, and no loss to stop 1/delta.
        for (controller, competes) in [("copa", true), ("copa?competitive=false", false)] {
            let mut path = path(5, 2000, &[controller]);
            path.run(Duration::from_secs(15));
            let (mean, _) = path.run(Duration::from_secs(5));
            assert_eq!(mean > 50.0, competes, "{controller}: {mean}");
        }
    }

    #[test]
    fn random_losses_do_not_reduce_the_window() {
        let mut controller = cruising(100);
        let mut now = Time::ZERO;
        for _ in 0..20 {
            rounds(&mut controller, &mut now, RTT, 1);
            controller.on_loss(&loss(&controller, now));
        }
        assert!(
            segments(&controller) > 140.0,
            "at least 1/delta per round trip"
        );
    }
}
