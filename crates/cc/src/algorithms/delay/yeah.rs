//! YeAH: Scalable TCP while the path is not full, Reno where it is, and it empties the queue that it makes.
//!
//! A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007; built from Linux'
//! `tcp_yeah.c`, which one of its authors wrote, with ns-3's `tcp-yeah.cc` and section 2.2.3 of the thesis of T. Saedi (see
//! `cerl`) beside it. The paper itself was not to be had.
//!
//! Once a round trip, of which at least three samples are known:
//!
//! * `RTT_queue = RTT_min - RTT_base`, `Q = RTT_queue*cwnd/RTT_min`, `L = RTT_queue/RTT_base`
//! * fast mode if `Q <= Qmax` and `L <= 1/phi`: the window grows as Scalable TCP's, by max(1, cwnd/100) a round trip
//! * else slow mode: it grows as Reno's. With `Q > Qmax`, precautionary decongestion:
//!   `cwnd = max(cwnd - min(Q/gamma, cwnd/2^epsilon), cwnd_reno)`, `ssthresh = cwnd`
//! * `cwnd_reno`, what a Reno flow beside it would have: half of cwnd when slow mode is first entered, one more for each
//!   round trip in it, forgotten after zeta round trips in fast mode
//! * loss: after rho round trips on end in slow mode a Reno flow holds the queue: half. Else
//!   `cwnd -= max(min(Q, cwnd/2), cwnd/2^delta)`; `cwnd_reno` is halved. Timeouts are Reno's
//!
//! Units: windows in bytes; Q, Qmax and cwnd_reno in segments.
//!
//! **The physics.** Scalable TCP takes the time to fill a path off the path's size: a loss costs 1/8, and that is regained
//! in some 13 round trips. It would leave the queue full; so above Qmax packets of its own YeAH takes them all out
//! at once. If the queue stays nonetheless, others make it: then it must not go on giving way, and `cwnd_reno` is the floor.
//!
//! **When it works.** Long fat paths with more than Qmax packets of buffer, alone or beside Reno.
//!
//! **When not.**
//! * **Small windows.** Below 100 segments it is Reno but for its losses, which cost 1/8: under random loss with a mean
//!   window of `sqrt(7.5/p)`, 27 segments at 1 %.
//! * **Buffers below Qmax** overflow before it decongests. Q is what was queued then, and that is what a loss takes.
//! * **Slow start** fills the queue within a round trip, before Q has told of it: the loss at its end costs an eighth, of
//!   twice what path and queue hold. (20 Mbit/s, 50 ms, a BDP of queue: 2.3 times NewReno's losses.)
//! * On **short paths** (a BDP below Qmax*phi) RTT_base/phi is reached first, and only Reno's growth bounds the queue.
//! * **The queue is known a round trip late.** After it was emptied the next round trip still tells of it, and as it was
//!   more than Qmax it is often taken out again: the window falls some 7 % below a BDP of 1000 packets and regains that at
//!   1 % a round trip. Linux does the same.
//!
//! **Departs** in this: ns-3 (as Linux before 2015) takes two segments at least from the flight without looking whether there
//! are as many, and wraps around to 2^32: here nothing goes below two. ns-3 bounds the cut by a half last, Linux
//! by 1/8 last: the same for every window but delta = 0. ns-3 divides 1/phi in integers, which is 0: Linux'
//! RTT_base/phi is meant. fast mode's count is not taken back by a round trip in slow mode (as in both).

use crate::algorithms::delay::vegas::SAMPLES;
use crate::building_blocks::rule::{Rule, WindowController, half, slow_start};
use crate::building_blocks::window::Window;
use crate::estimators::round_rtt::{Round, RoundRtt, queued};
use crate::interface::{Ack, Loss, LossResponse, Timeout};
use crate::registry::entry::{DrivenBy, Entry, Family, Feed, Parameter, Value, Values, code};
use whimbrel_units::Bytes;

const fn number(name: &'static str, default: f64, most: f64, meaning: &'static str) -> Parameter {
    Parameter {
        name,
        default: Value::Number(default),
        range: (0.0, most),
        meaning,
    }
}

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "yeah",
    code: code!("algorithms/delay/yeah.rs"),
    summary: "Scalable TCP until the path is full, then Reno, emptying its own queue",
    citation: "A. Baiocchi, A. P. Castellani, F. Vacirca, \"YeAH-TCP: Yet Another Highspeed TCP\", PFLDnet 2007",
    family: Family::Delay,
    driven_by: DrivenBy::LossesAndDelays,
    feed: Feed::Acknowledgments,
    parameters: &[
        number(
            "Qmax",
            80.0,
            1e6,
            "packets of its own in the queue above which it empties it",
        ),
        Parameter {
            name: "phi",
            default: Value::Number(8.0),
            range: (1.0, 1e6),
            meaning: "slow mode when the queue's delay exceeds the least RTT divided by this",
        },
        Parameter {
            name: "gamma",
            default: Value::Number(1.0),
            range: (1.0, 1e6),
            meaning: "the queue divided by this is what is taken out of it in a round trip",
        },
        number(
            "epsilon",
            1.0,
            16.0,
            "at most cwnd/2^this is taken out at once",
        ),
        number("delta", 3.0, 16.0, "a loss costs at least cwnd/2^this"),
        number(
            "rho",
            16.0,
            1e6,
            "round trips on end in slow mode after which others are taken to hold the queue",
        ),
        number(
            "zeta",
            50.0,
            1e6,
            "round trips in fast mode after which there are no others any more",
        ),
    ],
    build: |setup, values| Box::new(WindowController::new(setup, Yeah::new(values))),
};

/// The least of the window of a Reno flow, segments.
const LEAST: f64 = 2.0;

/// Windows above this many segments grow faster than Reno's in fast mode (Scalable TCP's a = 0.01).
const SCALABLE: f64 = 100.0;

/// YeAH's rule.
#[derive(Debug, Clone)]
struct Yeah {
    q_max: f64,
    phi: f64,
    gamma: f64,
    /// 2^-epsilon, 2^-delta.
    most_out: f64,
    least_lost: f64,
    rho: f64,
    zeta: f64,
    rounds: RoundRtt,
    /// Q of the last round trip, segments.
    queue: f64,
    /// What a Reno flow beside it would have, segments; [`LEAST`] if there is none.
    reno: f64,
    /// `count_reno`, `count_fast`: round trips in slow mode on end; in fast mode since a loss or the last reset.
    slow_rounds: u32,
    fast_rounds: u32,
}

impl Yeah {
    fn new(values: &Values) -> Self {
        Self {
            q_max: values.number("Qmax"),
            phi: values.number("phi"),
            gamma: values.number("gamma"),
            most_out: (-values.number("epsilon")).exp2(),
            least_lost: (-values.number("delta")).exp2(),
            rho: values.number("rho"),
            zeta: values.number("zeta"),
            rounds: RoundRtt::default(),
            queue: 0.0,
            reno: LEAST,
            slow_rounds: 0,
            fast_rounds: 0,
        }
    }

    fn fast(&self) -> bool {
        self.slow_rounds == 0
    }

    /// A round trip is over: which mode is the next in?
    fn choose(&mut self, window: &mut Window, round: &Round) {
        let base = round.base;
        self.queue = queued(window.cwnd, base, round.least) / window.mss as f64;
        let waiting = round.least - base;
        if self.queue > self.q_max || waiting.as_secs_f64() * self.phi > base.as_secs_f64() {
            if self.queue > self.q_max {
                self.decongest(window);
            }
            self.reno = if self.reno > LEAST {
                self.reno + 1.0
            } else {
                (window.cwnd as f64 / window.mss as f64 / 2.0).max(LEAST)
            };
            self.slow_rounds = self.slow_rounds.saturating_add(1);
        } else {
            self.fast_rounds = self.fast_rounds.saturating_add(1);
            if f64::from(self.fast_rounds) > self.zeta {
                self.reno = LEAST;
                self.fast_rounds = 0;
            }
            self.slow_rounds = 0;
        }
    }

    /// Precautionary decongestion.
    fn decongest(&self, window: &mut Window) {
        let (cwnd, mss) = (window.cwnd as f64, window.mss as f64);
        let out = (self.queue * mss / self.gamma).min(cwnd * self.most_out);
        let left = (cwnd - out).max(self.reno * mss);
        if left < cwnd {
            window.reduce_to(left as u64);
        }
    }

    /// An episode of loss or a timeout is over with fast mode's count and half of `cwnd_reno`.
    fn lose(&mut self) {
        self.fast_rounds = 0;
        self.reno = (self.reno / 2.0).max(LEAST);
    }

    /// What an episode of loss leaves, bytes.
    fn left(&self, window: &Window, in_flight: Bytes) -> u64 {
        if f64::from(self.slow_rounds) >= self.rho {
            return half(window, in_flight);
        }
        let flight = window.flight(in_flight) as f64;
        let queue = self.queue * window.mss as f64;
        let cut = queue.min(flight / 2.0).max(flight * self.least_lost);
        (flight - cut).max(0.0) as u64
    }
}

impl Rule for Yeah {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let ended = self.rounds.on_ack(ack);
        if !Window::may_grow(ack) {
            return;
        }
        if let Some(round) = ended.filter(|round| round.samples >= SAMPLES) {
            self.choose(window, &round);
        }
        let acked = slow_start(window, ack);
        let segments = window.cwnd as f64 / window.mss as f64;
        let scalable = if self.fast() {
            segments / SCALABLE
        } else {
            0.0
        };
        window.grow(acked, scalable.max(1.0));
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        self.lose();
        window.reduce_to(self.left(window, loss.in_flight));
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        self.lose();
        window.collapse(Some(half(window, timeout.in_flight)));
    }

    fn phase(&self, _: &Window) -> &'static str {
        if self.fast() {
            "fast mode"
        } else {
            "slow mode"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::registry::Spec;
    use crate::testing::{ACK, Bottleneck, MSS, Path, loss, segments, setup, timeout};
    use whimbrel_units::{Bytes, Duration, Rate, Time};

    const MS: Duration = Duration::from_millis(1);

    fn built(segments: u64) -> Box<dyn Controller> {
        "yeah"
            .parse::<Spec>()
            .expect("valid")
            .build(&setup(segments))
    }

    /// Its window is `segments` after a loss without a queue, which costs an eighth.
    fn avoiding(segments: u64) -> Box<dyn Controller> {
        let mut law = built(segments * 8 / 7);
        round(&mut *law, 100_000);
        law.on_loss(&loss(&*law, Time::ZERO));
        law
    }

    /// A round trip of three ACKs at `us`, they are so small that nothing grows.
    fn round(law: &mut dyn Controller, us: u64) {
        for i in 0..3 {
            law.on_ack(&Ack {
                acked: Bytes::ZERO,
                rtt: Some(Duration::from_micros(us)),
                min_rtt: MS * 90,
                round_start: i == 0,
                ..ACK
            });
        }
    }

    #[test]
    fn slow_mode_begins_where_the_queue_takes_an_eighth_of_the_least_rtt() {
        // 100 ms / phi = 12.5 ms. 70 segments: Q is 8, far from Qmax.
        for (us, mode) in [(112_500, "fast mode"), (112_600, "slow mode")] {
            let mut law = avoiding(70);
            round(&mut *law, us);
            round(&mut *law, us);
            assert_eq!((law.phase(), segments(&*law)), (mode, 70.0));
        }
    }

    #[test]
    fn with_more_than_80_packets_queued_the_queue_is_taken_out() {
        // 1400 segments at 106 ms: Q = 1400*6/106 = 79.2; at 107 ms 91.6.
        let mut law = avoiding(1400);
        round(&mut *law, 106_000);
        round(&mut *law, 106_000);
        assert_eq!((law.phase(), segments(&*law)), ("fast mode", 1400.0));
        round(&mut *law, 107_000);
        round(&mut *law, 107_000);
        assert_eq!(law.phase(), "slow mode");
        assert!(
            (segments(&*law) - 1308.4).abs() < 0.1,
            "{}",
            segments(&*law)
        );
        assert_eq!(law.ssthresh(), Some(law.cwnd()));
    }

    #[test]
    fn no_more_than_half_is_taken_out_at_once() {
        // 1400 segments at 400 ms: Q = 1050.
        let mut law = avoiding(1400);
        round(&mut *law, 400_000);
        round(&mut *law, 400_000);
        assert_eq!(segments(&*law), 700.0);
    }

    #[test]
    fn what_a_reno_flow_would_have_is_the_floor() {
        // Slow mode is entered with 700 segments left: cwnd_reno = 350. The queue stays whatever it does: others' it is.
        let mut law = avoiding(1400);
        for _ in 0..12 {
            round(&mut *law, 400_000);
        }
        // Half, 700, then 350, where it would be less. cwnd_reno rises from there by one a round trip, as the window would.
        assert_eq!(segments(&*law), 350.0);
    }

    #[test]
    fn a_loss_costs_the_queue_an_eighth_at_least_and_a_half_at_most() {
        // 560 segments. 100 ms: Q = 0; 116.7 ms: Q = 80, 480 left, and an eighth is 70; 250 ms: Q = 336.
        for (us, left) in [(100_000, 490.0), (116_600, 480.3), (101_000, 490.0)] {
            let mut law = avoiding(560);
            round(&mut *law, us);
            round(&mut *law, us);
            assert_eq!(segments(&*law), 560.0, "no decongestion yet");
            assert_eq!(law.on_loss(&loss(&*law, Time::ZERO)), LossResponse::REDUCED);
            assert!(
                (segments(&*law) - left).abs() < 0.1,
                "{us}: {}",
                segments(&*law)
            );
        }
        let mut law = avoiding(70);
        round(&mut *law, 300_000);
        round(&mut *law, 300_000);
        law.on_loss(&loss(&*law, Time::ZERO));
        assert_eq!(segments(&*law), 35.0, "of 70, 46.7 are queued");
    }

    #[test]
    fn after_16_round_trips_of_slow_mode_a_loss_halves() {
        // 70 segments at 114 ms: Q = 8.6, less than an eighth.
        for (rounds, left) in [(15, 61.25), (16, 35.0)] {
            let mut law = avoiding(70);
            for _ in 0..=rounds {
                round(&mut *law, 114_000);
            }
            law.on_loss(&loss(&*law, Time::ZERO));
            assert_eq!(segments(&*law), left, "{rounds}");
        }
    }

    #[test]
    fn no_loss_wraps_a_small_flight_around() {
        for in_flight in [0, 1, MSS, 2 * MSS] {
            let mut law = built(40);
            law.on_loss(&Loss {
                in_flight: Bytes::new(in_flight),
                ..loss(&*law, Time::ZERO)
            });
            assert_eq!(segments(&*law), 2.0, "{in_flight}");
        }
    }

    #[test]
    fn a_timeout_is_renos() {
        let mut law = built(40);
        law.on_timeout(&timeout(&*law, Time::ZERO));
        assert_eq!((segments(&*law), law.phase()), (1.0, "slow start"));
        assert_eq!(law.ssthresh(), Some(Bytes::new(20 * MSS)));
    }

    #[test]
    fn fast_mode_grows_by_a_percent_a_round_trip_and_by_one_below_100_segments() {
        for (before, after) in [(70, 80.0), (1400, 1400.0 * 1.1046)] {
            let mut law = avoiding(before);
            let mut path = Path::new(MS * 100);
            path.rounds_for(&mut *law, path.rtt * 10);
            assert!(
                (segments(&*law) / after - 1.0).abs() < 0.01,
                "{}",
                segments(&*law)
            );
        }
    }

    #[test]
    fn the_mean_window_under_random_loss_is_that_of_its_saw_teeth() {
        // sqrt(7.5/p), where the window stays below 100: w/8 round trips of 15/16 w packets.
        for (packets, expected) in [(100, 27.4), (600, 67.1)] {
            let mean = Path::new(MS * 100).mean_window(&mut *built(10), packets, 60);
            assert!((mean / expected - 1.0).abs() < 0.05, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn on_a_long_fat_path_it_empties_its_queue_before_it_overflows() {
        // 80 Mbit/s, 100 ms: 1000 packets on the path, room for 500 more.
        let rate = Rate::from_bits_per_sec(80_000_000);
        let mut path = Bottleneck::new(rate, 500);
        path.add(built(10), MS * 100);
        path.run(Duration::from_secs(60));
        let (lost, delivered) = (path.flows[0].lost, path.flows[0].delivered);
        let span = Duration::from_secs(60);
        let (mean, most) = path.run(span);
        assert_eq!(path.flows[0].lost, lost, "nothing overflows any more");
        // It notices a queue of 80 when the window has grown for another two round trips.
        assert!((90..130).contains(&most), "{most}");
        assert!(mean < 80.0, "{mean}");
        let got = path.flows[0].rate_since(delivered, span).as_bits_per_sec();
        // Emptied twice, it is some 7 % below the path for a few round trips.
        assert!(got > 78_000_000, "{got}");
    }
}
