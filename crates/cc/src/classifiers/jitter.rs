//! Jitter Ratio and the Loss Threshold Decision maker (LTD): a loss is congestion if the path
//! stretched the packets that were sent together by more than the last increase explains.
//!
//! A. Briones, A. Mallorquí, A. Zaballos, R. Martin de Pozuelo, "Wireless Loss Detection over
//! Fairly Shared Heterogeneous Long Fat Networks", Electronics 2021, 10, 987, sections 5.1 and 5.2;
//! the Jitter Ratio and its comparison with k/w after E. H. K. Wu, M.-Z. Chen, "JTCP: Jitter-Based
//! TCP for Heterogeneous Wireless Networks", IEEE JSAC 22(4), 2004.
//!
//! * Jitter Ratio: `Jr = (received - sent) / received`, the intervals between the first and the
//!   last packet of a burst (10)
//! * smoothed: `smooth = (1 - alpha)*smooth + alpha*Jr` (11), from 0
//! * threshold: `LTD = Inc / packets of the burst` (14)
//! * `smooth <= LTD`: random; `smooth > LTD`: congestion (table 3; section 7 has the opposite on
//!   equality, which would make every loss on a path without jitter congestion)
//!
//! Units: intervals in nanoseconds; Jr and LTD are fractions of a burst, Jr is negative for a
//! compressed one.
//!
//! **The physics.** Packets that leave evenly at a rate arrive evenly at the available rate. If the
//! path carries all of it, the burst arrives with its own length: Jr = 0. If it carries less, `Jr =
//! 1 - available/rate`, because the queue is longer when the last packet joins it than when the
//! first one did. A rate that just fits, raised by Inc packets per burst of n, gives Jr = Inc/n,
//! which is LTD: a larger Jr is more overload than one increase can cause.
//!
//! **When it works.** Packets are paced; the queue is observed while it grows; the threshold is
//! above the noise.
//!
//! **When not.**
//! * **A full queue shows no jitter.** When all packets wait equally long, nothing is stretched,
//!   and Jr decays to 0 while packets are dropped. `jitter-or-level` adds CERL's test, which
//!   detects a standing queue. Its level test is strict, `delay - min > A*(max - min)`: without any
//!   queue so far it does not respond, where CERL itself judges congestion. Less than `level_least`
//!   is noise, not a queue.
//! * **LTD goes to 0 with the increase**; Jr does not fall below the noise of the two time stamps.
//!   Near the link's capacity LTD is of the order of 10^-4 of a burst: any frame of contention
//!   exceeds it. `ltd_floor` is its lower limit, 0 in the paper's configuration.
//! * **Jr is at most 1, but has no lower limit.** A burst of 20 ms that was held back and arrives
//!   within 1 ms has Jr = -19, and hides congestion for dozens of bursts. The sign is kept, as
//!   printed in the paper.
//! * With **window algorithms** stretch and increase are equal by construction: a window grown by
//!   one packet makes its round one packet longer on a full path, so Jr = 1/w against LTD = 1/w,
//!   and rounding decides. `ltd_scale=0.5` lies between 0 and 1/w. A sender that does not pace
//!   stretches each round by its increase on an empty path too.
//! * TCP's receiver time is the departure of the ACK, in ticks of its clock: a tick of 1 ms in a
//!   round of 100 ms is Jr = 0.01.
//!
//! **With acknowledgments** (the paper has only bursts), a burst is the data delivered in one round
//! trip, from [`Ack::round_start`] to the next. Its increase is the number of bytes by which it
//! exceeds the round before it, at least one packet: JTCP's 1/w. One packet is the minimum that one
//! acknowledgment ever delivered: acknowledgments of two packets are common, of half a packet rare,
//! and a threshold that is too low is a conservative error. Only complete rounds are judged.
//!
//! **Without information.** A burst gives no Jr if fewer than two of its packets arrived, or if
//! they arrived in no time at all (the limit is minus infinity): the smoothed value is kept. A
//! connection without any Jr so far, because its transport does not know receiver times, judges
//! every loss congestion: a conservative error.

use crate::classifiers::cerl::Cerl;
use crate::interface::{Ack, Loss, LossClassifier, Spans, Verdict};
use crate::registry::entry::{ClassifierEntry, Domain, Parameter, Values, code};
use std::cmp::Ordering;
use whimbrel_units::{Duration, Time};

pub(crate) const ALPHA: Parameter = Parameter {
    name: "alpha",
    domain: Domain::Number {
        default: 0.125,
        range: (0.0, 1.0),
    },
    meaning: "weight of the newest Jitter Ratio in the smoothed one",
};

pub(crate) const LTD_SCALE: Parameter = Parameter {
    name: "ltd_scale",
    domain: Domain::Number {
        default: 1.0,
        range: (0.5, 2.0),
    },
    meaning: "factor on the threshold LTD",
};

pub(crate) const LTD_FLOOR: Parameter = Parameter {
    name: "ltd_floor",
    domain: Domain::Number {
        default: 0.0,
        range: (0.0, 1.0),
    },
    meaning: "minimum LTD, a fraction of a burst: the noise of its time stamps over its length",
};

pub(crate) const LEVEL_A: Parameter = Parameter {
    name: "level_A",
    domain: Domain::Number {
        default: 0.55,
        range: (0.0, 1.0),
    },
    meaning: "fraction of the longest queue so far above which a loss is congestion whatever \
              the jitter",
};

pub(crate) const LEVEL_LEAST: Parameter = Parameter {
    name: "level_least",
    domain: Domain::Number {
        default: 1.0,
        range: (0.0, 1000.0),
    },
    meaning: "minimum length in ms of the longest queue so far for the level test: the noise \
              of round-trip times",
};

const CITATION: &str = "Briones et al., \"Wireless Loss Detection over Fairly Shared Heterogeneous \
                        Long Fat Networks\", Electronics 10, 987, 2021";

/// LTD's entry among the loss classifiers.
pub(crate) static LTD: ClassifierEntry = ClassifierEntry {
    name: "ltd",
    code: code!("classifiers/jitter.rs"),
    summary: "a loss is random unless round trips are stretched",
    citation: CITATION,
    without_receiver_clock: Some("it took every loss for congestion"),
    parameters: &[ALPHA, LTD_SCALE, LTD_FLOOR],
    build: |values| Box::new(Ltd::new(Jitter::from(values), None)),
};

/// The entry of LTD combined with CERL.
pub(crate) static JITTER_OR_LEVEL: ClassifierEntry = ClassifierEntry {
    name: "jitter-or-level",
    code: code!(
        "classifiers/jitter.rs",
        "classifiers/cerl.rs",
        "estimators/rtt_stats.rs"
    ),
    summary: "a loss is random unless round trips are stretched or the queue is long",
    citation: "Briones et al., Electronics 10, 987, 2021, with El-Ocla, Wireless Networks \
               16(1), 2010",
    without_receiver_clock: Some("it took every loss for congestion"),
    parameters: &[ALPHA, LTD_SCALE, LTD_FLOOR, LEVEL_A, LEVEL_LEAST],
    build: |values| Box::new(Ltd::new(Jitter::from(values), Some(Level::from(values)))),
};

/// The smoothed Jitter Ratio and its threshold.
#[derive(Debug, Clone)]
pub(crate) struct Jitter {
    alpha: f64,
    ltd_scale: f64,
    ltd_floor: f64,
    /// (11); `None` before the first sample, which counts as 0.
    smooth: Option<f64>,
}

impl Jitter {
    /// From [`ALPHA`], [`LTD_SCALE`] and [`LTD_FLOOR`].
    pub fn from(values: &Values) -> Self {
        Self {
            alpha: values.number("alpha"),
            ltd_scale: values.number("ltd_scale"),
            ltd_floor: values.number("ltd_floor"),
            smooth: None,
        }
    }

    /// Adds a burst (10) (11).
    pub fn sample(&mut self, spans: Spans) {
        if let Some(ratio) = spans.jitter_ratio() {
            let smooth = self.smooth.unwrap_or(0.0);
            self.smooth = Some((1.0 - self.alpha) * smooth + self.alpha * ratio);
        }
    }

    /// Whether any burst has given a Jitter Ratio.
    pub fn seen(&self) -> bool {
        self.smooth.is_some()
    }

    /// Whether bursts are stretched by more than `increase` of `burst` (packets or bytes) explains
    /// (14), and by more than the path's `noise`, a fraction of a burst.
    pub fn exceeds(&self, increase: f64, burst: f64, noise: f64) -> bool {
        let ltd = increase * self.ltd_scale / burst.max(1.0);
        self.smooth.unwrap_or(0.0) > ltd.max(self.ltd_floor).max(noise)
    }

    /// Forgets all samples.
    pub fn restart(&mut self) {
        self.smooth = None;
    }
}

/// CERL's test of the queue length, inactive before the first queue.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    cerl: Cerl,
    /// A shorter queue is noise.
    min_queue: Duration,
    a: f64,
}

impl Level {
    /// From [`LEVEL_A`] and [`LEVEL_LEAST`].
    pub fn from(values: &Values) -> Self {
        let a = values.number("level_A");
        Self {
            cerl: Cerl::new(a),
            min_queue: Duration::from_secs_f64(values.number("level_least") / 1000.0),
            a,
        }
    }

    /// Adds an RTT sample.
    pub fn sample(&mut self, rtt: Duration) {
        self.cerl.sample(rtt);
    }

    /// Whether the queue is long, relative to the longest one so far.
    pub fn is_high(&self) -> bool {
        self.cerl.longest() >= self.min_queue && self.cerl.level() == Some(Ordering::Greater)
    }

    /// Forgets all samples.
    pub fn restart(&mut self) {
        self.cerl = Cerl::new(self.a);
    }
}

/// LTD for algorithms that are fed acknowledgments, optionally with CERL's level test.
#[derive(Debug, Clone)]
struct Ltd {
    jitter: Jitter,
    level: Option<Level>,
    /// The data delivered in the present round trip.
    round: Round,
    /// The last complete round.
    last: Option<Delivered>,
    /// The minimum that one acknowledgment delivered, bytes.
    packet: u64,
}

/// The data delivered in one round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Round {
    bytes: u64,
    first: Option<Passage>,
    last: Option<Passage>,
}

impl Round {
    /// Processes an acknowledgment of the round.
    pub fn on_ack(&mut self, ack: &Ack) {
        self.bytes = self.bytes.saturating_add(ack.acked.get());
        let (Some(newest), Some(received)) = (ack.newest, ack.receiver_time) else {
            return;
        };
        let passage = Passage {
            sent: newest.sent,
            received,
        };
        let first = *self.first.get_or_insert(passage);
        // A packet out of order (a hole that is filled) does not end a burst.
        if passage.sent >= self.last.unwrap_or(first).sent {
            self.last = Some(passage);
        }
    }

    /// The intervals from its first packet to its last, if the receiver's times are known.
    pub fn spans(&self) -> Option<Spans> {
        let (first, last) = (self.first?, self.last?);
        Some(Spans {
            sent: last.sent.since(first.sent),
            received: last.received.since(first.received),
        })
    }
}

/// The data delivered in a complete round trip.
#[derive(Debug, Clone, Copy)]
struct Delivered {
    bytes: u64,
    /// The number of bytes by which it exceeds the round before it.
    more: u64,
}

/// The times of one packet.
#[derive(Debug, Clone, Copy)]
struct Passage {
    sent: Time,
    /// By the receiver's clock.
    received: Time,
}

impl Ltd {
    fn new(jitter: Jitter, level: Option<Level>) -> Self {
        Self {
            jitter,
            level,
            round: Round::default(),
            last: None,
            packet: u64::MAX,
        }
    }

    fn end_round(&mut self) {
        let round = std::mem::take(&mut self.round);
        if round.bytes > 0 {
            // The first round is not an increase over nothing.
            let before = self.last.map_or(round.bytes, |last| last.bytes);
            self.last = Some(Delivered {
                bytes: round.bytes,
                more: round.bytes.saturating_sub(before),
            });
        }
        if let Some(spans) = round.spans() {
            self.jitter.sample(spans);
        }
    }

    fn congested(&self) -> bool {
        let queued = self.level.as_ref().is_some_and(Level::is_high);
        let stretched = self.last.is_none_or(|last| {
            let increase = last.more.max(self.packet);
            self.jitter.exceeds(increase as f64, last.bytes as f64, 0.0)
        });
        queued || stretched || !self.jitter.seen()
    }
}

impl LossClassifier for Ltd {
    fn on_ack(&mut self, ack: &Ack) {
        if let (Some(level), Some(rtt)) = (&mut self.level, ack.rtt) {
            level.sample(rtt);
        }
        if ack.round_start {
            self.end_round();
        }
        self.packet = self.packet.min(ack.acked.get().max(1));
        self.round.on_ack(ack);
    }

    fn judge(&mut self, _loss: &Loss) -> Verdict {
        if self.congested() {
            Verdict::Congestion
        } else {
            Verdict::Random
        }
    }

    fn uses_receiver_times(&self) -> bool {
        true
    }

    fn clone_box(&self) -> Box<dyn LossClassifier> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{AtSending, Controller, LossResponse};
    use crate::registry::Spec;
    use crate::testing::{ACK, MSS, loss, setup};
    use whimbrel_units::Bytes;

    /// NewReno with a classifier, and a path that acknowledges its rounds.
    struct Flow {
        controller: Box<dyn Controller>,
        /// When the next round's first packet leaves and arrives.
        sent: Time,
        received: Time,
        rtt: Duration,
        receiver_times: bool,
        /// Bytes that one ACK acknowledges.
        per_ack: u64,
    }

    impl Flow {
        fn new(classifier: &str) -> Self {
            let spec: Spec = format!("newreno+{classifier}").parse().expect("valid");
            Self {
                controller: spec.build(&setup(10)).expect("fed acknowledgments"),
                sent: Time::ZERO,
                // The receiver's clock differs from the sender's.
                received: Time::from_nanos(77_000_000_000),
                rtt: Duration::from_millis(100),
                receiver_times: true,
                per_ack: MSS,
            }
        }

        fn ack(&mut self, sent: Time, received: Time, round_start: bool) {
            let newest = AtSending {
                sent,
                in_flight: Bytes::ZERO,
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                app_limited: false,
                retransmitted: false,
            };
            self.controller.on_ack(&Ack {
                acked: Bytes::new(self.per_ack),
                rtt: Some(self.rtt),
                newest: Some(newest),
                receiver_time: self.receiver_times.then_some(received),
                round_start,
                ..ACK
            });
        }

        /// A round of ACKs for packets that leave and arrive with these gaps, in microseconds.
        fn round(&mut self, acks: u64, sent_gap: u64, received_gap: u64) {
            self.round_of(
                acks,
                Duration::from_micros(sent_gap),
                Duration::from_micros(received_gap),
            );
        }

        fn round_of(&mut self, acks: u64, sent_gap: Duration, received_gap: Duration) {
            for n in 0..acks {
                let sent = self.sent + sent_gap * n;
                let received = self.received + received_gap * n;
                self.ack(sent, received, n == 0);
            }
            self.sent += Duration::from_millis(100);
            self.received += Duration::from_millis(100);
        }

        /// The verdict on a loss at the beginning of the next round.
        fn verdict(&self) -> Verdict {
            let mut controller = self.controller.clone();
            controller.on_ack(&Ack {
                acked: Bytes::new(self.per_ack),
                round_start: true,
                rtt: Some(self.rtt),
                ..ACK
            });
            let lost = loss(&*controller, Time::ZERO);
            let LossResponse {
                reduced, verdict, ..
            } = controller.on_loss(&lost);
            let verdict = verdict.expect("it classifies losses");
            assert_eq!(reduced, verdict == Verdict::Congestion);
            verdict
        }
    }

    #[test]
    fn the_jitter_ratio_is_the_stretch_over_the_length_at_arrival() {
        let ratio = |sent, received| {
            Spans {
                sent: Duration::from_millis(sent),
                received: Duration::from_millis(received),
            }
            .jitter_ratio()
        };
        assert_eq!(ratio(18, 18), Some(0.0));
        assert_eq!(ratio(18, 24), Some(0.25));
        assert_eq!(ratio(0, 18), Some(1.0), "sent in no time: the maximum");
        assert_eq!(ratio(20, 1), Some(-19.0), "compressed");
        assert_eq!((ratio(18, 0), ratio(0, 0)), (None, None));
    }

    #[test]
    fn losses_are_random_while_rounds_arrive_as_they_left() {
        let mut flow = Flow::new("ltd");
        for _ in 0..3 {
            flow.round(10, 1000, 1000);
            assert_eq!(flow.verdict(), Verdict::Random);
        }
    }

    #[test]
    fn the_second_round_at_half_the_rate_exceeds_one_packet_of_ten() {
        // Jr = (18 - 9)/18 = 0.5; smooth 0.0625, then 0.1172; LTD 1/10.
        let mut flow = Flow::new("ltd");
        flow.round(10, 1000, 2000);
        assert_eq!(flow.verdict(), Verdict::Random);
        flow.round(10, 1000, 2000);
        assert_eq!(flow.verdict(), Verdict::Congestion);
        // alpha = 1/4: 0.125 with the first.
        let mut quick = Flow::new("ltd?alpha=0.25");
        quick.round(10, 1000, 2000);
        assert_eq!(quick.verdict(), Verdict::Congestion);
        let mut floor = Flow::new("ltd?alpha=0.25&ltd_floor=0.13");
        floor.round(10, 1000, 2000);
        assert_eq!(floor.verdict(), Verdict::Random);
    }

    #[test]
    fn an_increase_over_the_previous_round_allows_as_much_stretch() {
        let mut flow = Flow::new("ltd?alpha=1");
        flow.round(10, 1000, 1000);
        // Twice the data: half of it is increase. Jr = (15.2 - 9.5)/15.2 = 0.375.
        flow.round(20, 500, 800);
        assert_eq!(flow.verdict(), Verdict::Random);
        // The same again is not an increase: LTD is 1/20.
        flow.round(20, 500, 800);
        assert_eq!(flow.verdict(), Verdict::Congestion);
        // The very first round is not an increase over nothing.
        let mut first = Flow::new("ltd?alpha=1");
        first.round(20, 500, 800);
        assert_eq!(first.verdict(), Verdict::Congestion);
    }

    #[test]
    fn jtcps_threshold_detects_a_slowly_filling_queue_late() {
        // A full path that carries a packet per ms, and a paced window of w from 100 on: it leaves
        // within the w - 1 ms of the round before. Jr and LTD are both 1/w; smooth is 1 - (7/8)^k
        // of it after k rounds.
        let caught = |classifier: &str| {
            let mut flow = Flow::new(classifier);
            let rounds = (1..100).find(|k| {
                let w = 100 + k;
                let ms = Duration::from_millis(1);
                flow.round_of(w, ms * (w - 1) / w, ms);
                flow.verdict() == Verdict::Congestion
            });
            rounds.expect("sooner or later")
        };
        // (7/8)^5 = 0.51, (7/8)^6 = 0.45.
        assert_eq!(caught("ltd?ltd_scale=0.5"), 6);
        // The windows before it were shorter, so smooth exceeds 1/w by 6 % at last: (7/8)^20 =
        // 0.07.
        let late = caught("ltd");
        assert!((15..25).contains(&late), "{late}");
    }

    #[test]
    fn without_receiver_times_every_loss_is_congestion() {
        let mut flow = Flow::new("ltd");
        flow.receiver_times = false;
        assert_eq!(flow.verdict(), Verdict::Congestion, "nothing was delivered");
        for _ in 0..5 {
            flow.round(10, 1000, 1000);
            assert_eq!(flow.verdict(), Verdict::Congestion);
        }
        // A round of one ACK has no length.
        let mut single = Flow::new("jitter-or-level");
        for _ in 0..5 {
            single.round(1, 0, 0);
            assert_eq!(single.verdict(), Verdict::Congestion);
        }
    }

    #[test]
    fn a_hole_that_is_filled_does_not_end_a_round() {
        let mut flow = Flow::new("ltd?alpha=1");
        flow.round(10, 1000, 1000);
        // Sent long ago, arrived late: as the last packet it would stretch 0 to 40 ms, Jr = 1.
        let late = flow.received - Duration::from_millis(60);
        flow.ack(Time::ZERO, late, false);
        let late = flow.received - Duration::from_millis(50);
        flow.ack(Time::ZERO, late, false);
        assert_eq!(flow.verdict(), Verdict::Random);
    }

    #[test]
    fn one_packet_is_the_minimum_that_one_ack_delivered() {
        // Rounds of five ACKs of two packets each, Jr = (4 - 3.4)/4 = 0.15: less than 2/10, more
        // than 1/10.
        let judged = |single: bool| {
            let mut flow = Flow::new("ltd?alpha=1");
            flow.per_ack = if single { MSS } else { 2 * MSS };
            flow.ack(flow.sent, flow.received, false);
            flow.per_ack = 2 * MSS;
            flow.round(5, 850, 1000);
            flow.round(5, 850, 1000);
            flow.verdict()
        };
        assert_eq!(judged(false), Verdict::Random);
        assert_eq!(judged(true), Verdict::Congestion);
    }

    #[test]
    fn the_level_test_detects_a_standing_queue_but_not_an_empty_one() {
        // Nothing is stretched; RTTs of 100, 150 and 200 ms, then 160: above 55 % of the longest
        // queue.
        let judged = |classifier: &str, last| {
            let mut flow = Flow::new(classifier);
            for ms in [100, 150, 200, last] {
                flow.rtt = Duration::from_millis(ms);
                flow.round(10, 1000, 1000);
            }
            flow.verdict()
        };
        assert_eq!(judged("ltd", 160), Verdict::Random);
        assert_eq!(judged("jitter-or-level", 160), Verdict::Congestion);
        assert_eq!(judged("jitter-or-level", 155), Verdict::Random, "strictly");
        assert_eq!(judged("jitter-or-level?level_A=0.7", 160), Verdict::Random);
        assert_eq!(judged("jitter-or-level", 100), Verdict::Random);
        // CERL judges a path without any queue congested; this test does not.
        let mut flat = Flow::new("jitter-or-level");
        flat.round(10, 1000, 1000);
        assert_eq!(flat.verdict(), Verdict::Random);
        // A short queue that grows: the jitter shows it.
        let mut growing = Flow::new("jitter-or-level?alpha=1");
        growing.round(10, 1000, 2000);
        assert_eq!(growing.verdict(), Verdict::Congestion);
    }

    #[test]
    fn a_queue_that_is_not_longer_than_the_noise_does_not_count() {
        // Two ms of noise, then a loss at the maximum: a long queue, unless the minimum is 5 ms.
        for (min, expected) in [("1", Verdict::Congestion), ("5", Verdict::Random)] {
            let spec = format!("jitter-or-level?level_least={min}");
            let mut flow = Flow::new(&spec);
            for ms in [100, 102, 100, 102] {
                flow.rtt = Duration::from_millis(ms);
                flow.round(10, 1000, 1000);
            }
            assert_eq!(flow.verdict(), expected, "{min}");
        }
    }
}
