//! How sure it is that a loss is congestion, from 0 to 1.
//!
//! **By the level of the queue** (CERL's idea, graded). A queue that overflows is long at that
//! time; a channel loses packets at any length. So the confidence is the position of the present
//! RTT between the base RTT and the maximum of the standing RTT in the last 32 to 64 round trips: 0
//! in the lower two fifths, 1 in the upper fifth, or beside flows that keep a queue in the upper
//! twentieth ([`COMPETING`]). If that range is no wider than what this flow's own queue explains,
//! no queue has been long, and the confidence is 0.
//!
//! **By the number of losses.** A buffer too short for the queue that this algorithm wants
//! overflows although the queue is short. What such a buffer loses depends on the window; what a
//! channel loses does not. So the *floor* is the fraction lost while this flow leaves the path room
//! (`drain.rs` leaves a tenth), as the minimum of the last four drains; between the drains it may
//! only creep. More losses in a round than the floor explains (three standard deviations of a
//! binomial distribution, and 2 %) in two rounds of three are congestion, and the window gives back
//! the fraction that is lost beyond the floor. A round here is at least one round trip, and
//! [`BATCH`] packets: three deviations of a window of five packets are more than half of it.
//!
//! Startup measures the floor first, where it sees no queue, but neither by the first flight, which
//! leaves at once, nor by round trips of more than [`BELOW`] of what the path turned out to hold: a
//! window that doubles loses half in a buffer of a few packets, at a queue too short to see. A flow
//! that begins on a full buffer takes that buffer's delay for the base RTT, and the buffer's losses
//! for the channel's. When it sees a shorter RTT it knows better, and the floor is void until two
//! drains that empty the queue have measured it. While packets are lost, the flow drains for that
//! purpose even if it sees the base RTT: otherwise it would take the losses of a path that loses
//! 6 % for congestion for ever. The same where a short buffer loses packets ([`SOME`]), because no
//! queue tells whose they are.
//!
//! **The answer** ([`left`]) is half as strong as CUBIC's, because the delay has reduced the window
//! already. A flow regains its share within `T/(g*q)` round trips (`mod.rs`): the time grows with
//! the square of the RTT T. So the same answer costs a flow with ten times the RTT a hundred times
//! as much, and beside its own kind it would have a fraction of its share. Where the last drain has
//! left no queue of others, so that delay governs all that there is, the answer is in proportion to
//! 1/T above [`FULL_ANSWER`]. Where others keep a queue, they obey losses, and so does this flow.
//!
//! Units: seconds, packets.

/// Round trips of one window of extremes; two windows are kept.
const WINDOW: u32 = 32;

/// The confidence is 0 up to the first, and 1 from the second on, of the range of the standing RTT.
const LEVELS: (f64, f64) = (0.4, 0.8);

/// The same while the flow competes. Where the others keep one buffer full, each loss comes at the
/// maximum. Where there are several buffers, each overflows by itself while the sum is below the
/// maximum, and a flow that answered each of them would have a fraction of a share.
const COMPETING: (f64, f64) = (0.55, 0.95);

/// A range that is narrower is no sign of a long queue: seconds, and base RTTs. Hosts answer with
/// delays that vary by 1 or 2 ms. On a path of 600 ms that was taken for a queue, and each random
/// loss while the host was slow for congestion: 2 of 20 Mbit/s. Buffers are longer than that.
const MIN_RANGE: (f64, f64) = (0.0005, 1.0 / 64.0);

/// Losses that are no excess: a fraction of the packets, and standard deviations.
const EXCESS: (f64, f64) = (0.02, 3.0);

/// Packets that are enough to judge by: fewer round trips are judged together.
const BATCH: f64 = 32.0;

/// What a round of excess leaves of the score after one round, and the score that counts: two
/// rounds in a row, or two of three.
const SCORE: (f64, f64) = (0.6, 1.3);

/// Fraction of a round's packets whose loss needs no second round: slow start into a full buffer
/// loses half.
const FLOOD: f64 = 0.35;

/// Minimum and maximum of the window that an excess gives back.
const GIVEN_BACK: (f64, f64) = (0.15, 0.4);

/// Drains of whose loss the floor is the minimum.
const DRAINS: usize = 4;

/// Drains that measure the floor anew when it was void. One alone may have been beside others that
/// drained as well, and lost.
const ANEW: usize = 2;

/// A channel that loses more than this is measured again and again.
const DOUBTFUL: f64 = 0.04;

/// Losses since the last measurement that are worth another one where the buffer is short: so many,
/// and this fraction.
const SOME: (f64, f64) = (4.0, 0.002);

/// The part of what the path holds up to which a round trip of startup measures the channel.
const BELOW: f64 = 0.75;

/// Round trips of startup that are remembered: the window grows to 65,000 times its size in them.
const STARTUP_ROUNDS: usize = 16;

/// A drain leaves what arrives, but always at least as much as if this fraction were lost.
const MOST_LOST: f64 = 0.9;

/// A channel that loses up to this may be one that loses nothing.
const NO_FLOOR: f64 = 0.01;

/// Packets in which the floor follows the loss of calm rounds.
const CALM: f64 = 20_000.0;

/// Fraction of the window that remains after a loss that is surely congestion, in default mode.
const AFTER_LOSS: f64 = 0.85;

/// The longest base RTT, s, at which the answer to a loss is whole where no other flow keeps a
/// queue. From 5 to 20 ms, or 2/3 of the answer, make no difference (docs/whimbrel.md).
const FULL_ANSWER: f64 = 0.02;

/// The fraction of the window that a loss of this confidence leaves on a path with this base RTT.
/// `emptied`: the last drain has left no queue of others.
pub(super) fn left(confidence: f64, base: f64, emptied: bool) -> f64 {
    let part = if emptied {
        (FULL_ANSWER / base.max(1e-6)).min(1.0)
    } else {
        1.0
    };
    1.0 - (1.0 - AFTER_LOSS) * confidence * part
}

/// What one round trip delivered and lost, packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Round {
    pub packets: f64,
    pub lost: f64,
}

impl Round {
    pub const NONE: Self = Self {
        packets: 0.0,
        lost: 0.0,
    };

    pub fn plus(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            lost: self.lost + other.lost,
        }
    }
}

/// Extremes of the standing RTT.
#[derive(Debug, Clone, Copy)]
struct Range {
    min: f64,
    max: f64,
}

impl Range {
    fn of(rtt: f64) -> Self {
        Self { min: rtt, max: rtt }
    }

    fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// The losses of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Losses {
    windows: [Option<Range>; 2],
    rounds: u32,
    floor: f64,
    drains: [f64; DRAINS],
    /// Drains that must empty the queue until the floor counts again.
    void: usize,
    /// The base RTT at which startup measured the floor, s.
    base: f64,
    /// The fraction that the last batch lost.
    lost: f64,
    /// Packets sent and lost while the path had room.
    quiet: Round,
    /// The round trips of startup that saw no queue, the latest one first.
    startup: [Round; STARTUP_ROUNDS],
    /// Packets sent and lost since the last measurement, while the path had no room.
    since: Round,
    score: f64,
    /// What is not judged yet.
    batch: Round,
    /// The last round lost more than the floor explains.
    exceeds: bool,
    /// When the path last had room.
    measured: f64,
    /// Rounds whose losses are those of an outage.
    forgiven: u32,
}

impl Losses {
    pub fn new() -> Self {
        Self {
            windows: [None; 2],
            rounds: 0,
            floor: 0.0,
            drains: [0.0; DRAINS],
            void: 0,
            base: 0.0,
            lost: 0.0,
            quiet: Round::NONE,
            startup: [Round::NONE; STARTUP_ROUNDS],
            since: Round::NONE,
            score: 0.0,
            batch: Round::NONE,
            exceeds: false,
            measured: 0.0,
            forgiven: 0,
        }
    }

    /// Ends a round trip. Returns the fraction of the window to give back, if more was lost than
    /// the floor explains. `room`: the flow leaves the path room. `calm`: the queue is short.
    pub fn on_round(&mut self, round: Round, standing: f64, room: bool, calm: bool) -> Option<f64> {
        self.add_range(standing);
        let Round { packets, lost } = round;
        let fraction = lost / packets.max(1.0);
        if room {
            self.quiet = self.quiet.plus(round);
        } else {
            self.since = self.since.plus(round);
            if calm && fraction < self.floor + 0.01 {
                self.floor += (fraction - self.floor) * (packets / CALM).min(0.05);
            }
        }
        if self.forgiven > 0 {
            self.forgiven -= 1;
            return None;
        }
        self.batch = self.batch.plus(round);
        if self.batch.packets < BATCH {
            return None;
        }
        let Round { packets, lost } = std::mem::replace(&mut self.batch, Round::NONE);
        let fraction = lost / packets;
        self.lost = fraction;
        let expected = self.floor * packets;
        let (share, deviations) = EXCESS;
        let bound = expected + deviations * (expected + 1.0).sqrt() + share * packets;
        self.exceeds = lost > bound;
        let (kept, counts) = SCORE;
        self.score = kept * self.score + if lost > bound { 1.0 } else { 0.0 };
        if fraction > FLOOD && packets > 40.0 {
            self.score += counts;
        }
        if self.score < counts {
            return None;
        }
        self.score = 0.0;
        let (min, max) = GIVEN_BACK;
        Some((fraction - self.floor).clamp(min, max))
    }

    fn add_range(&mut self, standing: f64) {
        if !standing.is_finite() {
            return;
        }
        self.rounds += 1;
        if self.rounds >= WINDOW {
            self.rounds = 0;
            self.windows = [None, self.windows[0]];
        }
        let new = Range::of(standing);
        self.windows[0] = Some(self.windows[0].map_or(new, |range| range.union(new)));
    }

    /// Ends a round trip of startup that saw no queue, before [`Self::on_round`].
    pub fn on_startup_round(&mut self, round: Round) {
        self.startup.rotate_right(1);
        self.startup[0] = round;
    }

    /// Ends startup, which has found this base RTT and that the path holds so many packets.
    pub fn end_startup(&mut self, now: f64, base: f64, held: f64) {
        self.base = base;
        let below = self.startup.iter().filter(|it| it.packets <= BELOW * held);
        self.quiet = below.fold(Round::NONE, |sum, round| sum.plus(*round));
        if let Some(fraction) = self.take_quiet(now) {
            self.floor = fraction;
            self.drains = [fraction; DRAINS];
        }
    }

    /// Ends a drain or a trial. `emptied`: it left no queue of others.
    pub fn end_drain(&mut self, now: f64, emptied: bool) {
        let Some(fraction) = self.take_quiet(now) else {
            return;
        };
        if self.void > 0 {
            if !emptied {
                return;
            }
            self.void -= 1;
        }
        self.drains.rotate_right(1);
        self.drains[0] = fraction;
        let min = self.drains.iter().copied().fold(1.0, f64::min);
        self.floor = self.floor.min(fraction * 1.5 + 0.002).max(min);
    }

    /// The fraction lost in the time that ends now, in which the path had room.
    fn take_quiet(&mut self, now: f64) -> Option<f64> {
        self.measured = now;
        self.since = Round::NONE;
        let Round { packets, lost } = std::mem::replace(&mut self.quiet, Round::NONE);
        (packets > 0.0).then(|| lost / packets)
    }

    /// The base RTT is `base`. If that is shorter than startup found by more than a `queue`, there
    /// was no room then, and what was lost was not the channel's.
    pub fn on_base(&mut self, base: f64, queue: f64) {
        if base < self.base - queue {
            self.base = base;
            self.floor = 0.0;
            self.void = ANEW;
            // The zero is forgotten with the drain that makes the floor count again.
            self.drains = [1.0; DRAINS];
            self.drains[DRAINS - ANEW] = 0.0;
            self.quiet = Round::NONE;
        }
    }

    /// The path was out: what it lost says nothing, nor does the next round trip.
    pub fn forgive(&mut self) {
        self.score = 0.0;
        self.batch = Round::NONE;
        self.forgiven = 2;
    }

    /// The path is another one: its RTTs do not compare with those before.
    pub fn on_new_path(&mut self, rtt: f64) {
        self.windows = [Some(Range::of(rtt)), None];
        self.base = rtt;
        self.rounds = 0;
    }

    /// Fraction of packets that the channel loses, 0 to a half.
    pub fn floor(&self) -> f64 {
        self.floor.clamp(0.0, 0.5)
    }

    /// The fraction of packets that arrives, as far as is known.
    pub fn arriving(&self) -> f64 {
        1.0 - self.lost.max(self.floor()).min(MOST_LOST)
    }

    /// Whether the channel must be measured again after `wait`: it is unknown and loses packets, it
    /// loses so much that it may be a policer, which makes no queue, or the buffer is too short to
    /// show whose losses they are.
    pub fn doubtful(&self, now: f64, wait: f64, short_buffer: bool) -> bool {
        let unknown = self.void > 0 && self.exceeds;
        let (number, part) = SOME;
        let Round { packets, lost } = self.since;
        let hidden = short_buffer && lost >= number && lost >= part * packets;
        (unknown || hidden || self.floor > DOUBTFUL) && now - self.measured > wait
    }

    /// Whether losses may be those of this flow: the channel loses few packets, or the last round
    /// lost more than that.
    pub fn exceeds(&self) -> bool {
        self.floor <= NO_FLOOR || self.exceeds_floor()
    }

    /// Whether the last round lost more than the floor explains.
    pub fn exceeds_floor(&self) -> bool {
        self.exceeds
    }

    /// There were more losses lately than the floor explains.
    pub fn suspicious(&self) -> bool {
        self.score > 0.5
    }

    /// How sure it is that a loss now is congestion. `level`: the minimum RTT of the last half
    /// round trip; `base`: the base RTT; `own`: the delay of this flow's own queue; `longest`: the
    /// longest queue of the path that is remembered; `competes`: others keep a queue.
    pub fn confidence(&self, level: f64, base: f64, own: f64, longest: f64, competes: bool) -> f64 {
        let Some(new) = self.windows[0] else {
            return 0.0;
        };
        let range = self.windows[1].map_or(new, |old| new.union(old));
        let range = range.union(Range::of(base));
        let width = range.max - range.min;
        let (least, part) = MIN_RANGE;
        if width < (2.0 * own).min(0.3 * longest).max(least).max(part * base) {
            return 0.0;
        }
        let (none, sure) = if competes { COMPETING } else { LEVELS };
        let position = (level - range.min) / width;
        ((position - none) / (sure - none)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(packets: f64, lost: f64) -> Round {
        Round { packets, lost }
    }

    /// After rounds with these standing RTTs.
    fn after(rtts: &[f64]) -> Losses {
        let mut losses = Losses::new();
        for rtt in rtts {
            losses.on_round(round(100.0, 0.0), *rtt, false, false);
        }
        losses
    }

    #[test]
    fn a_loss_at_a_long_queue_is_congestion_and_at_a_short_one_is_not() {
        // The range is 50 to 100 ms: 0 up to 70 ms, 1 from 90 ms on.
        for (level, expected) in [
            (0.05, 0.0),
            (0.07, 0.0),
            (0.08, 0.5),
            (0.09, 1.0),
            (0.1, 1.0),
        ] {
            let confidence = after(&[0.05, 0.1, level]).confidence(level, 0.05, 0.002, 0.05, false);
            assert!(
                (confidence - expected).abs() < 1e-3,
                "{level}: {confidence}"
            );
        }
    }

    /// Three buffers of 50 ms in a row: one overflows while another is empty.
    #[test]
    fn beside_others_only_a_loss_at_the_longest_queue_is_congestion() {
        let losses = after(&[0.06, 0.21, 0.185]);
        for (level, expected) in [(0.185, 0.7083), (0.2, 0.9583), (0.21, 1.0)] {
            let confidence = losses.confidence(level, 0.06, 0.002, 0.15, true);
            assert!(
                (confidence - expected).abs() < 1e-3,
                "{level}: {confidence}"
            );
        }
        assert_eq!(losses.confidence(0.185, 0.06, 0.002, 0.15, false), 1.0);
    }

    #[test]
    fn a_queue_no_longer_than_its_own_is_no_congestion() {
        let losses = after(&[0.05, 0.053]);
        assert_eq!(
            losses.confidence(0.053, 0.05, 0.002, 0.05, false),
            0.0,
            "3 of 4 ms"
        );
        assert!(
            losses.confidence(0.053, 0.05, 0.001, 0.05, false) > 0.9,
            "3 of 2 ms"
        );
    }

    #[test]
    fn a_long_path_answers_less_where_nobody_else_keeps_a_queue() {
        for (confidence, base, emptied, kept) in [
            (1.0, 0.2, false, 0.85),
            (0.5, 0.2, false, 0.925),
            (1.0, 0.01, true, 0.85),
            (1.0, 0.02, true, 0.85),
            (1.0, 0.2, true, 0.985),
            (0.0, 0.2, true, 1.0),
        ] {
            let window = left(confidence, base, emptied);
            assert!(
                (window - kept).abs() < 1e-12,
                "{confidence} {base}: {window}"
            );
        }
    }

    #[test]
    fn the_noise_of_hosts_is_no_queue_on_a_long_path() {
        let losses = after(&[0.600, 0.602]);
        assert_eq!(losses.confidence(0.602, 0.6, 0.0067, 0.002, false), 0.0);
        let losses = after(&[0.020, 0.022]);
        let confidence = losses.confidence(0.022, 0.02, 0.0067, 0.002, false);
        assert!(confidence > 0.9, "a buffer of 0.1 BDP: {confidence}");
    }

    #[test]
    fn extremes_are_forgotten_after_64_round_trips() {
        let mut losses = after(&[0.1]);
        for _ in 0..64 {
            losses.on_round(round(100.0, 0.0), 0.05, false, false);
        }
        assert_eq!(losses.confidence(0.05, 0.05, 0.002, 0.05, false), 0.0);
    }

    #[test]
    fn losses_beyond_the_floor_in_two_rounds_are_congestion() {
        let mut losses = Losses::new();
        // Floor 0: 3 + 0.02*400 = 11 of 400 are no excess.
        assert_eq!(
            losses.on_round(round(400.0, 11.0), 0.05, false, false),
            None
        );
        assert_eq!(
            losses.on_round(round(400.0, 80.0), 0.05, false, false),
            None
        );
        let back = losses.on_round(round(400.0, 80.0), 0.05, false, false);
        assert!(
            back.is_some_and(|back| (back - 0.2).abs() < 1e-12),
            "{back:?}"
        );
    }

    #[test]
    fn what_is_lost_while_there_is_room_is_the_channels() {
        let mut losses = Losses::new();
        losses.on_startup_round(round(1000.0, 50.0));
        losses.end_startup(1.0, 0.05, 2000.0);
        assert_eq!(losses.floor(), 0.05);
        for _ in 0..10 {
            let back = losses.on_round(round(1000.0, 70.0), 0.05, false, false);
            assert_eq!(back, None, "50 + 3*sqrt(51) + 20 = 91");
        }
        // One drain without losses lowers the floor, and four forget it.
        for floor in [0.002, 0.002, 0.002, 0.002] {
            losses.on_round(round(1000.0, 0.0), 0.05, true, true);
            losses.end_drain(6.0, true);
            assert!((losses.floor() - floor).abs() < 1e-9, "{}", losses.floor());
        }
    }

    #[test]
    fn the_floor_of_a_startup_on_a_full_buffer_is_void_when_the_base_is_found() {
        let mut losses = Losses::new();
        losses.on_startup_round(round(50.0, 20.0));
        losses.on_round(round(50.0, 20.0), 0.04, false, false);
        losses.end_startup(1.0, 0.04, 100.0);
        losses.on_base(0.036, 0.005);
        assert_eq!(losses.floor(), 0.4, "by less than a queue");
        losses.on_base(0.03, 0.005);
        assert_eq!(losses.floor(), 0.0);
        assert!((losses.arriving() - 0.6).abs() < 1e-12);
        // What a drain loses beside others is not the channel's; what one loses alone is.
        assert!(losses.doubtful(4.0, 2.5, false));
        for (lost, emptied, floor) in [
            (300.0, false, 0.0),
            (70.0, true, 0.0),
            (60.0, true, 0.06),
            (30.0, true, 0.047),
        ] {
            losses.on_round(round(1000.0, lost), 0.05, true, true);
            losses.end_drain(6.0, emptied);
            assert!((losses.floor() - floor).abs() < 1e-9, "{}", losses.floor());
        }
    }

    #[test]
    fn what_startup_sends_beyond_the_path_does_not_measure_the_channel() {
        let mut losses = Losses::new();
        for (packets, lost) in [(20.0, 1.0), (40.0, 3.0), (76.0, 26.0), (120.0, 60.0)] {
            losses.on_startup_round(round(packets, lost));
        }
        losses.end_startup(1.0, 0.05, 100.0);
        assert_eq!(
            losses.floor(),
            4.0 / 60.0,
            "up to three quarters of 100 packets"
        );
        let mut losses = Losses::new();
        losses.on_startup_round(round(20.0, 10.0));
        losses.end_startup(1.0, 0.05, 10.0);
        assert_eq!(losses.floor(), 0.0, "nothing is known");
    }

    #[test]
    fn losses_in_a_short_buffer_call_for_a_measurement() {
        for (packets, lost, short, doubtful) in [
            (1000.0, 4.0, true, true),
            (1000.0, 4.0, false, false),
            (1000.0, 3.0, true, false),
            (4000.0, 7.0, true, false),
        ] {
            let mut losses = Losses::new();
            losses.on_round(round(packets, lost), 0.05, false, false);
            assert_eq!(
                losses.doubtful(5.0, 2.5, short),
                doubtful,
                "{lost} of {packets}"
            );
            assert!(!losses.doubtful(2.0, 2.5, short), "too early");
            losses.on_round(round(100.0, 0.0), 0.05, true, false);
            losses.end_drain(5.0, true);
            assert!(!losses.doubtful(10.0, 2.5, short), "measured");
        }
    }

    #[test]
    fn a_flood_needs_no_second_round_and_an_outage_is_none() {
        let mut losses = Losses::new();
        losses.forgive();
        for _ in 0..2 {
            assert_eq!(
                losses.on_round(round(400.0, 200.0), 0.05, false, false),
                None
            );
        }
        let back = losses.on_round(round(400.0, 200.0), 0.05, false, false);
        assert_eq!(back, Some(GIVEN_BACK.1));
    }
}
