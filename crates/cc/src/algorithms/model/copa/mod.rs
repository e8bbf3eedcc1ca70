//! Copa: a window that steers the rate at a target set by the queueing delay, and empties the queue every few round trips.
//!
//! V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018. Compared with the
//! authors' `genericCC` (`markoviancc.cc`, `rtt-window.cc`) and with Meta's mvfst (`Copa.cpp`).
//!
//! * queueing delay: `dq = RTTstanding - RTTmin` (section 2.1); RTTstanding is the least RTT of the last srtt/2,
//!   RTTmin the least of the last 10 s
//! * target rate: `lambda_t = 1/(delta*dq)` packets per second (equation 1)
//! * each ACK: if `cwnd/RTTstanding <= lambda_t`, `cwnd += v/(delta*cwnd)`, else `cwnd -= v/(delta*cwnd)` (section 2.1)
//! * velocity v: 1; once per window cwnd is compared with what it was when the packet just acknowledged was sent; v
//!   doubles each window once the direction has stayed the same for three round trips, and is 1 again when it changes
//! * slow start: cwnd doubles every round trip until cwnd/RTTstanding exceeds lambda_t
//! * pacing: `2*cwnd/RTTstanding` (section 2.1)
//! * mode (section 2.2): competitive if no `dq < 0.1*(RTTmax - RTTmin)` was seen for 5 round trips, RTTmax being the
//!   greatest RTT of the last four; then 1/delta grows by 1 each round trip without loss and halves at a loss, and is
//!   never below its default. Otherwise delta is the default, 0.5.
//!
//! Units: the window is kept in bytes; equations are in packets of one segment, times in seconds.
//!
//! **The physics.** A flow at the target rate keeps `lambda*dq = 1/delta` packets of its own in the queue, so n alike
//! flows share a bottleneck equally, each with 1/delta packets waiting. What an ACK tells is a round trip old, so the
//! window goes past the mark: it climbs by 1/delta a round trip for about 2.5 of them and comes down for as long, and
//! the queue swings between 0 and 2.5/delta packets every five round trips (section 3). That the queue is empty once in five
//! round trips lets every flow learn RTTmin, and is the mark of a path without buffer-fillers.
//!
//! **When it works.** Where delay comes from queueing: losses do not slow it down, a deep buffer stays empty, a new flow
//! finds its share in a few round trips.
//!
//! **When not.**
//! * Jitter raises RTTstanding only if it lasts for half a round trip, but a base delay that rises for good reads as a queue
//!   for 10 s.
//! * The test for competition asks for more than whole packets can give. Alone, a flow swings by about four packets, of
//!   which a tenth is less than one, so only an idle bottleneck counts as nearly empty. A queue of its own that takes more
//!   than five round trips to drain (after slow start) fails the test too. It then competes with itself, until the swings
//!   of the larger 1/delta empty the queue; if 1/delta has meanwhile come near the bandwidth-delay product, they never
//!   do, and the queue grows until something is lost. INFOCOM 2022 has found the same (W. Jiang et al., "Copa+").
//! * v finds the target by passing it: what ACKs say is a round trip old, and in that time a v that doubles moves the window
//!   as far as in all the time before. Where ACKs are coarse or the path is long, such swings may go on for good.
//! * Flows of very different RTT, or a queue longer than the path, do not swing together (section 3).
//! * A buffer so small that it never holds 1/delta packets makes it lose packets forever: losses are no signal.
//!
//! **Where it departs from the paper.** The paper looks at the direction once per window. A v that has grown to half of the
//! window is then still at work when the target is passed, now the other way: on a path of 10 Mbit/s and 40 ms the
//! window swings between 8 and 70 packets for good and half of the capacity is lost. mvfst resets v as soon as the
//! target asks for the other direction, which is what v is for, and so does this law; `turn=false` is the paper.
//!
//! **Where else the code differs, the paper stands.** genericCC cuts the window to 0.7 at high loss, tests both bounds of
//! "nearly empty" over four round trips, and doubles v from the second round trip on. mvfst takes the latest RTT for the
//! delay unless told otherwise, and has no competitive mode.
//!
//! **Where the paper is silent.**
//! * "The same for three RTTs" is four windows that all went one way: the first sets the direction. As mvfst.
//! * v is bounded by delta*cwnd, so that the window at most doubles or vanishes in a round trip. As genericCC.
//! * The law leaves at least two packets. As both.
//! * An ACK of several packets counts as that many ACKs.
//! * A path on which no queue was ever seen has dq = 0 and RTTmax = RTTmin, which is taken for empty.
//! * A timeout: nothing is known any more, so one segment and slow start anew (RFC 5681 section 3.1); in competitive
//!   mode it is also a loss.
//! * Congestion marks count as losses do: they halve 1/delta when competing and else mean nothing.
//! * A sender that does not use its window does not raise it (RFC 9002 section 7.8).

mod extreme;

use crate::building_blocks::window::Window;
use crate::interface::{Ack, Controller, Loss, LossResponse, Timeout};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Setup, Value, code};
use extreme::{Extreme, Kind};
use std::cmp::Ordering;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "copa",
    code: code!(
        "algorithms/model/copa/mod.rs",
        "algorithms/model/copa/extreme.rs"
    ),
    summary: "Keeps 1/delta packets of its own in the queue; competes when others fill it",
    citation: "V. Arun, H. Balakrishnan, \"Copa: Practical Delay-Based Congestion Control for the Internet\", \
               NSDI 2018",
    family: Family::Model,
    driven_by: DrivenBy::Path,
    feed: Feed::Acknowledgments,
    parameters: &[
        Parameter {
            name: "delta",
            default: Value::Number(0.5),
            range: (0.01, 10.0),
            meaning: "what delay costs against rate: 1/delta packets are kept in the queue",
        },
        Parameter {
            name: "competitive",
            default: Value::Switch(true),
            range: (0.0, 0.0),
            meaning: "compete, by AIMD on 1/delta, when the queue is never nearly empty (section 2.2)",
        },
        Parameter {
            name: "turn",
            default: Value::Switch(true),
            range: (0.0, 0.0),
            meaning: "reset the velocity as soon as the direction turns; false: at the window's end, as the paper",
        },
    ],
    build: |setup, values| {
        let law = Copa::new(setup, values.number("delta"), values.switch("competitive"));
        Box::new(law.turn(values.switch("turn")))
    },
};

/// How long RTTmin is remembered (section 2.1).
const MIN_RTT_SPAN: Duration = Duration::from_secs(10);
/// RTTmax is that of so many round trips (section 2.2).
const MAX_RTT_ROUNDS: u64 = 4;
/// The queue has to be nearly empty once in so many round trips (section 2.2).
const EMPTY_WITHIN_ROUNDS: u64 = 5;
/// "Nearly": this share of the delay's range (section 2.2).
const NEARLY: f64 = 0.1;
/// Windows that must have gone the same way before v doubles.
const STEADY_WINDOWS: u32 = 4;
/// Fewest packets that the law leaves itself.
const LEAST_PACKETS: u64 = 2;
/// Greatest window, bytes: far more than any path holds, and still exact in an f64.
const GREATEST: f64 = (1u64 << 52) as f64;

/// Copa's window law.
#[derive(Debug, Clone)]
pub struct Copa {
    /// Greatest payload of one packet, bytes.
    mss: u64,
    /// Congestion window, bytes; at least `mss`.
    cwnd: f64,
    slow_start: bool,
    /// v is reset as soon as the direction turns.
    turn: bool,
    velocity: Velocity,
    delays: Delays,
    competition: Competition,
    /// What the last loss or timeout changed, if it may yet prove to have been a mistake.
    before: Option<Before>,
    /// The first packet that was not yet sent when a loss was last answered: losses before it are of the same window of
    /// data.
    answered: Option<u64>,
}

/// How fast the window moves, and which way it has been moving.
#[derive(Debug, Clone, Copy)]
struct Velocity {
    /// v, at least 1.
    v: f64,
    /// Which way cwnd went in the last window, and for how many windows on end.
    direction: Ordering,
    windows: u32,
    /// cwnd when the present window began, bytes.
    reference: f64,
}

/// What is known of the path's delay.
#[derive(Debug, Clone)]
struct Delays {
    /// RTTmin.
    least: Extreme,
    /// RTTstanding.
    standing: Extreme,
    /// RTTmax.
    greatest: Extreme,
}

/// Who else is there: the mode and its delta.
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
    /// The present round trip has had a loss.
    lost: bool,
}

#[derive(Debug, Clone, Copy)]
struct Before {
    cwnd: f64,
    slow_start: bool,
    packets: f64,
}

impl Copa {
    /// For a new connection; `delta` above zero, `competitive` switches between the modes.
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

    /// Whether v is reset as soon as the direction turns (mvfst), or at the end of the window (the paper); `true` unless
    /// said.
    pub fn turn(mut self, at_once: bool) -> Self {
        self.turn = at_once;
        self
    }

    /// The window moves towards the target rate (section 2.1, steps 2 and 3).
    fn steer(&mut self, ack: &Ack) {
        let mss = self.mss as f64;
        let packets = self.cwnd / mss;
        // cwnd/RTTstanding <= 1/(delta*dq), with nothing in a denominator.
        let waiting = packets * self.delays.queueing().as_secs_f64();
        let room = waiting <= self.competition.packets * self.delays.standing().as_secs_f64();
        // More than a window cannot have been acknowledged; what says so is not to be believed.
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
        let wanted = if room {
            Ordering::Greater
        } else {
            Ordering::Less
        };
        if self.turn {
            self.velocity.on_turn(wanted, self.cwnd);
        }
        let delta = 1.0 / self.competition.packets;
        self.velocity.bound(delta * packets);
        let step = self.velocity.v / (delta * packets) * acked;
        if !room {
            let least = self.mss.saturating_mul(LEAST_PACKETS) as f64;
            self.cwnd = (self.cwnd - step).max(least.min(self.cwnd));
        } else if Window::may_grow(ack) {
            self.cwnd += step;
        }
    }

    /// What a loss or a timeout does: only a competing flow minds.
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

    /// A window's worth of packets is acknowledged: those acknowledged next were sent when cwnd was `cwnd`.
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

    /// The target asks for `wanted`. A velocity that was gathered the other way is not meant for it. What is left of the
    /// window counts for neither direction: three whole round trips have to follow.
    fn on_turn(&mut self, wanted: Ordering, cwnd: f64) {
        if self.v > 1.0 && self.direction != wanted {
            *self = Self {
                direction: wanted,
                windows: 0,
                ..Self::new(cwnd)
            };
        }
    }

    /// At most `greatest`, but never below 1.
    fn bound(&mut self, greatest: f64) {
        self.v = self.v.min(greatest).max(1.0);
    }
}

impl Delays {
    fn new() -> Self {
        Self {
            least: Extreme::new(Kind::Least),
            standing: Extreme::new(Kind::Least),
            greatest: Extreme::new(Kind::Greatest),
        }
    }

    fn add(&mut self, now: Time, rtt: Duration, srtt: Duration) {
        self.least.add(now, rtt, MIN_RTT_SPAN);
        self.standing.add(now, rtt, (srtt / 2).min(MIN_RTT_SPAN));
        let span = srtt.mul_f64(MAX_RTT_ROUNDS as f64).min(MIN_RTT_SPAN);
        self.greatest.add(now, rtt, span);
    }

    fn least(&self) -> Duration {
        self.least.get().unwrap_or_default()
    }

    fn standing(&self) -> Duration {
        self.standing.get().unwrap_or_default()
    }

    /// dq: zero before the first sample.
    fn queueing(&self) -> Duration {
        self.standing() - self.least()
    }

    /// Whether the queue is nearly empty (section 2.2).
    fn nearly_empty(&self) -> bool {
        let range = self.greatest.get().unwrap_or_default() - self.least();
        let queueing = self.queueing();
        queueing.is_zero() || queueing < range.mul_f64(NEARLY)
    }
}

impl Competition {
    /// Which mode it is, after a sample.
    fn judge(&mut self, now: Time, nearly_empty: bool, srtt: Duration) {
        if nearly_empty || self.empty_at.is_none() {
            self.empty_at = Some(now);
        }
        let patience = srtt.mul_f64(EMPTY_WITHIN_ROUNDS as f64);
        let since = now.since(self.empty_at.unwrap_or(now));
        self.competing = self.enabled && since > patience;
        if !self.competing {
            self.packets = self.default;
        }
    }

    /// A round trip is over: additive increase, if it had no loss.
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
        self.steer(ack);
        self.cwnd = self.cwnd.min(GREATEST.max(self.mss as f64));
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
        text.parse::<Spec>().expect("valid").build(&setup(10))
    }

    /// Past slow start, with this many packets.
    fn cruising(packets: u64) -> Copa {
        let mut law = Copa::new(&setup(packets), 0.5, true);
        law.slow_start = false;
        law
    }

    /// An ACK of one packet with this RTT.
    fn ack(law: &mut Copa, now: Time, rtt: Duration) {
        law.on_ack(&Ack {
            now,
            rtt: Some(rtt),
            srtt: rtt,
            ..ACK
        });
    }

    /// Rounds of one ACK each on a path of 40 ms; the ACKs see `rtt`.
    fn rounds(law: &mut Copa, now: &mut Time, rtt: Duration, count: u64) {
        for _ in 0..count {
            *now += rtt;
            law.on_ack(&Ack {
                now: *now,
                acked: law.cwnd(),
                rtt: Some(rtt),
                srtt: rtt,
                round_start: true,
                ..ACK
            });
        }
    }

    #[test]
    fn the_window_goes_up_below_the_target_rate_and_down_above_it() {
        // RTTmin 40 ms, RTTstanding 48 ms: dq = 8 ms, target 1/(0.5*0.008) = 250 packets/s, which 12 packets in 48 ms are.
        for (packets, expected) in [(10, 10.2), (13, 13.0 - 1.0 / 6.5)] {
            let mut law = cruising(packets);
            law.delays.least.add(Time::ZERO, RTT, MIN_RTT_SPAN);
            ack(&mut law, Time::ZERO + MS * 100, MS * 48);
            assert!((segments(&law) - expected).abs() < 0.001, "{packets}");
        }
    }

    #[test]
    fn a_round_trip_moves_the_window_by_about_1_over_delta_packets() {
        for (delta, expected) in [(0.5, 2.0), (0.1, 10.0)] {
            let mut law = cruising(100);
            law.competition.packets = 1.0 / delta;
            law.competition.default = 1.0 / delta;
            for i in 0..100 {
                ack(&mut law, Time::ZERO + MS * i, RTT);
            }
            let grown = segments(&law) - 100.0;
            assert!((grown / expected - 1.0).abs() < 0.06, "{delta}: {grown}");
        }
    }

    #[test]
    fn the_velocity_doubles_once_the_direction_has_stayed_for_three_round_trips() {
        // The first window sets the direction, three more confirm it.
        let mut velocity = Velocity::new(100.0);
        let mut cwnd = 100.0;
        for expected in [1.0, 1.0, 1.0, 2.0, 4.0, 8.0] {
            cwnd += 1.0;
            velocity.on_window(cwnd);
            assert_eq!(velocity.v, expected);
        }
        velocity.on_window(cwnd - 1.0);
        assert_eq!(velocity.v, 1.0, "turned");
        velocity.on_window(cwnd - 1.0);
        assert_eq!(velocity.v, 1.0, "stood still");
    }

    #[test]
    fn a_velocity_gathered_upwards_does_not_carry_the_window_down() {
        for (turn, expected) in [(true, 1.0), (false, 8.0)] {
            let mut law = cruising(100).turn(turn);
            law.delays.least.add(Time::ZERO, RTT, MIN_RTT_SPAN);
            law.velocity = Velocity {
                v: 8.0,
                direction: Ordering::Greater,
                windows: 6,
                reference: law.cwnd,
            };
            ack(&mut law, Time::ZERO + MS * 50, MS * 80);
            assert_eq!(law.velocity.v, expected);
        }
    }

    #[test]
    fn the_velocity_never_more_than_doubles_the_window_in_a_round_trip() {
        let mut law = cruising(10);
        law.velocity.v = 1024.0;
        law.velocity.direction = Ordering::Greater;
        ack(&mut law, Time::ZERO, RTT);
        assert_eq!(segments(&law), 11.0, "ten such ACKs are a round trip");
    }

    #[test]
    fn half_a_round_trip_of_jitter_is_no_queue() {
        let mut law = cruising(10);
        let mut now = Time::ZERO;
        ack(&mut law, now, RTT);
        // RTTstanding looks back for srtt/2 = 20 ms, here 24.
        for _ in 0..4 {
            now += MS * 5;
            ack(&mut law, now, MS * 48);
            assert_eq!(law.delays.queueing(), Duration::ZERO);
        }
        now += MS * 5;
        ack(&mut law, now, MS * 48);
        assert_eq!(law.delays.queueing(), MS * 8);
    }

    #[test]
    fn packets_leave_at_twice_the_window_per_standing_round_trip() {
        let mut law = cruising(10);
        assert_eq!(law.pacing_rate(), None, "no RTT known");
        ack(&mut law, Time::ZERO, RTT);
        law.cwnd = 10_000.0;
        // 2*10000 bytes in 40 ms.
        assert_eq!(law.pacing_rate(), Some(Rate::from_bits_per_sec(4_000_000)));
    }

    #[test]
    fn slow_start_doubles_every_round_trip_until_the_rate_exceeds_the_target() {
        let mut law = Copa::new(&setup(10), 0.5, true);
        let mut now = Time::ZERO;
        for expected in [20.0, 40.0, 80.0] {
            rounds(&mut law, &mut now, RTT, 1);
            assert_eq!((law.phase(), segments(&law)), ("slow start", expected));
        }
        // dq = 2 ms: target 1000 packets/s, and 80 packets in 42 ms are 1905.
        rounds(&mut law, &mut now, MS * 42, 1);
        assert_eq!((law.phase(), segments(&law)), ("default", 78.0));
    }

    #[test]
    fn a_queue_that_is_not_empty_for_five_round_trips_means_competition_until_it_is() {
        let mut law = cruising(100);
        let mut now = Time::ZERO;
        rounds(&mut law, &mut now, RTT, 1);
        // The delay swings between 50 and 60 ms: a tenth of its range above RTTmin is 2 ms, and 10 is more.
        let mut swing = |law: &mut Copa, count| {
            for i in 0..count {
                rounds(law, &mut now, MS * (50 + 10 * (i % 2)), 1);
            }
        };
        swing(&mut law, 4);
        assert_eq!(law.phase(), "default");
        swing(&mut law, 4);
        assert_eq!(law.phase(), "competitive");
        // Additive increase: a packet each round trip; multiplicative decrease: half, and no increase in that round trip.
        law.competition.packets = 8.0;
        swing(&mut law, 2);
        assert_eq!(law.competition.packets, 10.0);
        assert_eq!(law.on_loss(&loss(&law, Time::ZERO)), LossResponse::KEPT);
        assert_eq!(law.competition.packets, 5.0);
        swing(&mut law, 1);
        assert_eq!(law.competition.packets, 5.0);
        swing(&mut law, 1);
        assert_eq!(law.competition.packets, 6.0);
        // RTTmax is 60 ms: 41 ms is within a tenth of the 20 ms above RTTmin.
        rounds(&mut law, &mut now, MS * 41, 1);
        assert_eq!((law.phase(), law.competition.packets), ("default", 2.0));
    }

    #[test]
    fn without_mode_switching_it_never_competes() {
        let mut law = Copa::new(&setup(10), 0.5, false);
        let mut now = Time::ZERO;
        rounds(&mut law, &mut now, RTT, 1);
        rounds(&mut law, &mut now, MS * 60, 30);
        assert_eq!((law.phase(), law.competition.packets), ("default", 2.0));
    }

    #[test]
    fn competing_never_goes_below_the_default() {
        let mut law = cruising(10);
        law.competition.competing = true;
        law.competition.packets = 3.0;
        law.on_loss(&loss(&law, Time::ZERO));
        assert_eq!(law.competition.packets, 2.0);
        law.on_spurious(Time::ZERO);
        assert_eq!(law.competition.packets, 3.0, "it was a mistake");
    }

    #[test]
    fn a_loss_leaves_the_window_and_a_timeout_one_segment_until_it_proves_mistaken() {
        let mut law = cruising(40);
        assert_eq!(law.on_loss(&loss(&law, Time::ZERO)), LossResponse::KEPT);
        assert_eq!(segments(&law), 40.0);
        law.on_timeout(&timeout(&law, Time::ZERO));
        assert_eq!((law.phase(), segments(&law)), ("slow start", 1.0));
        law.on_spurious(Time::ZERO);
        assert_eq!((law.phase(), segments(&law)), ("default", 40.0));
    }

    #[test]
    fn an_unused_window_does_not_grow_and_two_packets_always_remain() {
        let mut law = cruising(10);
        law.on_ack(&Ack {
            cwnd_limited: false,
            ..ACK
        });
        assert_eq!(segments(&law), 10.0);
        // 2.1 packets in 4 s are more than the target of 1/(0.5*3.96), and one step would leave 1.15.
        ack(&mut law, Time::ZERO, RTT);
        law.cwnd = 2100.0;
        ack(&mut law, Time::ZERO + MS * 4000, MS * 4000);
        assert_eq!(segments(&law), 2.0);
    }

    /// A path of 40 ms with a deep buffer.
    fn path(mbit: u64, room: usize, laws: &[&str]) -> Bottleneck {
        let mut path = Bottleneck::new(Rate::from_bits_per_sec(mbit * 1_000_000), room);
        for law in laws {
            path.add(built(law), RTT);
        }
        path
    }

    /// Shares of the bottleneck over `span`.
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
    fn alone_it_uses_the_whole_path_with_a_queue_that_swings_by_a_few_packets() {
        // Section 3: between 0 and 2.5/delta = 5 waiting packets, 2.5 on average; here with the one being sent.
        for mbit in [10, 100] {
            let mut path = path(mbit, 2000, &["copa"]);
            path.run(Duration::from_secs(5));
            let before = path.flows[0].delivered;
            let (mean, most) = path.run(Duration::from_secs(5));
            let rate = path.flows[0].rate_since(before, Duration::from_secs(5));
            let used = rate.as_bits_per_sec() as f64 / (mbit as f64 * 1e6);
            assert!(used > 0.99, "{mbit} Mbit/s: {used}");
            assert!((2.5..6.0).contains(&mean), "{mbit} Mbit/s: {mean}");
            assert!(most <= 30, "{mbit} Mbit/s: {most}");
        }
    }

    #[test]
    fn in_equilibrium_a_swing_takes_about_five_round_trips_and_five_packets() {
        let mut path = path(100, 2000, &["copa?competitive=false"]);
        path.run(Duration::from_secs(10));
        let (mut least, mut most, mut turns, mut up) = (f64::MAX, 0f64, 0, true);
        let mut last = segments(&*path.flows[0].controller);
        for _ in 0..400 {
            path.run(MS * 10);
            let cwnd = segments(&*path.flows[0].controller);
            (least, most) = (least.min(cwnd), most.max(cwnd));
            if cwnd != last && (cwnd > last) != up {
                (turns, up) = (turns + 1, !up);
            }
            last = cwnd;
        }
        // 100 round trips: 20 swings of two turns each by the paper's figure 1, which rounds up to half round trips.
        assert!((40..=54).contains(&turns), "{turns}");
        assert!((3.0..=6.0).contains(&(most - least)), "{least} to {most}");
        // The path holds 500 packets and the one being sent.
        assert!(least > 500.0 && most < 508.0, "{least} to {most}");
    }

    #[test]
    fn two_flows_share_equally_whenever_they_begin() {
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
    fn against_a_buffer_filler_competing_keeps_a_fair_share_where_the_default_starves() {
        for (law, least, most) in [("copa", 0.35, 0.65), ("copa?competitive=false", 0.0, 0.1)] {
            let mut path = path(50, 250, &[law, "newreno"]);
            path.run(Duration::from_secs(10));
            let shares = shares(&mut path, Duration::from_secs(50));
            assert!((least..most).contains(&shares[0]), "{law}: {shares:?}");
            assert!(shares[0] + shares[1] > 0.9, "{law}: {shares:?}");
        }
    }

    #[test]
    fn on_a_short_path_it_takes_its_own_queue_for_a_competitors() {
        // The weakness its header names: 25 packets of path, and no loss to stop 1/delta.
        for (law, competes) in [("copa", true), ("copa?competitive=false", false)] {
            let mut path = path(5, 2000, &[law]);
            path.run(Duration::from_secs(15));
            let (mean, _) = path.run(Duration::from_secs(5));
            assert_eq!(mean > 50.0, competes, "{law}: {mean}");
        }
    }

    #[test]
    fn random_losses_do_not_slow_it_down() {
        let mut law = cruising(100);
        let mut now = Time::ZERO;
        for _ in 0..20 {
            rounds(&mut law, &mut now, RTT, 1);
            law.on_loss(&loss(&law, now));
        }
        assert!(segments(&law) > 140.0, "at least 1/delta a round trip");
    }
}
