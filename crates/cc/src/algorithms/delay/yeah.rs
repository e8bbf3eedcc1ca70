//! YeAH: Scalable TCP while the path is not full, Reno when it is; it drains the queue that it
//! creates.
//!
//! A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007.
//! The paper was not available. The code follows Linux's `tcp_yeah.c`, written by one of the
//! authors, ns-3's `tcp-yeah.cc`, and section 2.2.3 of the thesis of T. Saedi (see `cerl`).
//!
//! Once per round trip with at least three RTT samples:
//!
//! * `RTT_queue = RTT_min - RTT_base`, `Q = RTT_queue*cwnd/RTT_min`, `L = RTT_queue/RTT_base`
//! * fast mode if `Q <= Qmax` and `L <= 1/phi`: the window grows as in Scalable TCP, by max(1,
//!   cwnd/100) per round trip
//! * otherwise slow mode: it grows as in Reno. If `Q > Qmax`, precautionary decongestion: `cwnd =
//!   max(cwnd - min(Q/gamma, cwnd/2^epsilon), cwnd_reno)`, `ssthresh = cwnd`
//! * `cwnd_reno`, an estimate of the window of a competing Reno flow: half of cwnd when slow mode
//!   begins, one more for each round trip in it, reset after zeta round trips in fast mode
//! * loss: after rho consecutive round trips in slow mode a Reno flow holds the queue, so the
//!   window is halved. Otherwise `cwnd -= max(min(Q, cwnd/2), cwnd/2^delta)`. `cwnd_reno` is
//!   halved. Timeouts are Reno's
//!
//! Units: windows in bytes; Q, Qmax and cwnd_reno in segments.
//!
//! **Physics.** Scalable TCP makes the time to fill a path independent of its capacity: a loss
//! costs 1/8, which is regained in about 13 round trips. Alone it would keep the queue full. YeAH
//! therefore removes its own packets from the queue at once when there are more than Qmax. If the
//! queue remains, other flows cause it; YeAH must then stop yielding, and `cwnd_reno` is the lower
//! bound.
//!
//! **When it works.** Long, fast paths with more than Qmax packets of buffer, alone or beside Reno.
//!
//! **Limits.**
//! * **Small windows.** Below 100 segments it is Reno except that a loss costs 1/8: under random
//!   loss the mean window is `sqrt(7.5/p)`, 27 segments at 1 %.
//! * **Buffers below Qmax** overflow before decongestion begins. A loss then removes Q, the queue
//!   of that time.
//! * **Slow start** fills the queue within one round trip, before Q shows it. The loss at its end
//!   costs an eighth of up to twice what path and queue hold. (20 Mbit/s, 50 ms, a buffer of one
//!   BDP: 2.3 times the losses of NewReno.)
//! * On **short paths** (a BDP below Qmax*phi) RTT_base/phi is reached first, and only Reno's
//!   growth limits the queue.
//! * **The queue is known one round trip late.** The round trip after a decongestion still shows
//!   the old queue, and because that was above Qmax it is often removed a second time. The window
//!   falls about 7 % below a BDP of 1000 packets and regains it at 1 % per round trip. Linux does
//!   the same.
//!
//! **Departures.** ns-3 (and Linux before 2015) removes at least two segments from the flight
//! without checking that there are as many, and wraps around to 2^32; here the window never falls
//! below two. ns-3 applies the bound of a half last, Linux the bound of 1/8: the results differ
//! only for delta = 0. ns-3 computes 1/phi with integers, which is 0; Linux's RTT_base/phi is
//! meant. A round trip in slow mode does not reset the count of fast mode (as in both). Both use
//! the rule of losses for the ssthresh of a timeout, too; here that is half of the flight. Linux
//! forgets RTT_base whenever sending resumes with nothing in flight; here, as in ns-3, it is that
//! of the connection.

use crate::algorithms::delay::vegas::SAMPLES;
use crate::building_blocks::rule::{Rule, WindowController, half, slow_start};
use crate::building_blocks::window::Window;
use crate::estimators::round_rtt::{Round, RoundRtt, queued};
use crate::interface::{Ack, Loss, LossResponse, Timeout};
use crate::registry::entry::{
    Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, Values, code,
};
use whimbrel_units::Bytes;

const fn number(name: &'static str, default: f64, max: f64, meaning: &'static str) -> Parameter {
    Parameter {
        name,
        domain: Domain::Number {
            default,
            range: (0.0, max),
        },
        meaning,
    }
}

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "yeah",
    code: code!("algorithms/delay/yeah.rs"),
    summary: "Scalable TCP until the path is full, then Reno; drains its own queue",
    citation: "A. Baiocchi, A. P. Castellani, F. Vacirca, \"YeAH-TCP: Yet Another Highspeed TCP\", \
               PFLDnet 2007",
    parameters: &[
        number(
            "Qmax",
            80.0,
            1e6,
            "own packets in the queue above which the queue is drained",
        ),
        Parameter {
            name: "phi",
            domain: Domain::Number {
                default: 8.0,
                range: (1.0, 1e6),
            },
            meaning: "slow mode if the queueing delay exceeds the minimum RTT divided by phi",
        },
        Parameter {
            name: "gamma",
            domain: Domain::Number {
                default: 1.0,
                range: (1.0, 1e6),
            },
            meaning: "a round trip removes the queue divided by gamma",
        },
        number(
            "epsilon",
            1.0,
            16.0,
            "at most cwnd/2^epsilon is removed at once",
        ),
        number("delta", 3.0, 16.0, "a loss costs at least cwnd/2^delta"),
        number(
            "rho",
            16.0,
            1e6,
            "consecutive round trips in slow mode after which others are assumed to hold the queue",
        ),
        number(
            "zeta",
            50.0,
            1e6,
            "round trips in fast mode after which no other flows are assumed",
        ),
        Parameter {
            name: "linux",
            domain: Domain::Switch(false),
            meaning: "as Linux's tcp_yeah: a loss removes whole segments, rounded down, so one of \
                      8 to 15",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Delay,
        driven_by: DrivenBy::LossesAndDelays,
        build: |setup, values| Box::new(WindowController::new(setup, Yeah::new(values))),
    },
    kernel: Some("yeah"),
    look: Look::of(18, 12),
    ..Entry::BLANK
};

/// Minimum window of a Reno flow, segments.
const MIN_WINDOW: f64 = 2.0;

/// Above this many segments the window grows faster than Reno's in fast mode (Scalable TCP: a =
/// 0.01).
const SCALABLE: f64 = 100.0;

/// The rule of YeAH.
#[derive(Debug, Clone)]
struct Yeah {
    q_max: f64,
    phi: f64,
    gamma: f64,
    /// 2^-epsilon and 2^-delta.
    most_out: f64,
    least_lost: f64,
    rho: f64,
    zeta: f64,
    /// A loss removes whole segments.
    whole: bool,
    rounds: RoundRtt,
    /// Q of the last round trip, segments.
    queue: f64,
    /// Estimated window of a competing Reno flow, segments; [`MIN_WINDOW`] if there is none.
    reno: f64,
    /// `count_reno`, `count_fast`: consecutive round trips in slow mode; round trips in fast mode
    /// since a loss or the last reset.
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
            whole: values.switch("linux"),
            rounds: RoundRtt::default(),
            queue: 0.0,
            reno: MIN_WINDOW,
            slow_rounds: 0,
            fast_rounds: 0,
        }
    }

    fn fast(&self) -> bool {
        self.slow_rounds == 0
    }

    /// Selects the mode of the next round trip at the end of one.
    fn choose(&mut self, window: &mut Window, round: &Round) {
        let base = round.base;
        self.queue = queued(window.cwnd, base, round.min) / window.mss as f64;
        let waiting = round.min - base;
        if self.queue > self.q_max || waiting.as_secs_f64() * self.phi > base.as_secs_f64() {
            if self.queue > self.q_max {
                self.decongest(window);
            }
            self.reno = if self.reno > MIN_WINDOW {
                self.reno + 1.0
            } else {
                (window.cwnd as f64 / window.mss as f64 / 2.0).max(MIN_WINDOW)
            };
            self.slow_rounds = self.slow_rounds.saturating_add(1);
        } else {
            self.fast_rounds = self.fast_rounds.saturating_add(1);
            if f64::from(self.fast_rounds) > self.zeta {
                self.reno = MIN_WINDOW;
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

    /// Resets the count of fast mode and halves `cwnd_reno`, on a loss episode or a timeout.
    fn lose(&mut self) {
        self.fast_rounds = 0;
        self.reno = (self.reno / 2.0).max(MIN_WINDOW);
    }

    /// The window after a loss episode, bytes.
    fn left(&self, window: &Window, in_flight: Bytes) -> u64 {
        if f64::from(self.slow_rounds) >= self.rho {
            return half(window, in_flight);
        }
        let flight = window.flight(in_flight) as f64;
        let queue = self.queue * window.mss as f64;
        let cut = queue.min(flight / 2.0).max(flight * self.least_lost);
        let cut = match self.whole {
            true => cut - cut % window.mss as f64,
            false => cut,
        };
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
            .expect("fed acknowledgments")
    }

    /// A controller whose window is `segments` after a loss without a queue, which costs an eighth.
    fn avoiding(segments: u64) -> Box<dyn Controller> {
        let mut controller = built(segments * 8 / 7);
        round(&mut *controller, 100_000);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        controller
    }

    /// A round trip of three ACKs with an RTT of `us` microseconds. The ACKs are empty, so the
    /// window does not grow.
    fn round(controller: &mut dyn Controller, us: u64) {
        for i in 0..3 {
            controller.on_ack(&Ack {
                acked: Bytes::ZERO,
                rtt: Some(Duration::from_micros(us)),
                min_rtt: MS * 90,
                round_start: i == 0,
                ..ACK
            });
        }
    }

    #[test]
    fn slow_mode_begins_at_a_queue_of_an_eighth_of_the_min_rtt() {
        // 100 ms / phi = 12.5 ms. 70 segments: Q is 8, far from Qmax.
        for (us, mode) in [(112_500, "fast mode"), (112_600, "slow mode")] {
            let mut controller = avoiding(70);
            round(&mut *controller, us);
            round(&mut *controller, us);
            assert_eq!((controller.phase(), segments(&*controller)), (mode, 70.0));
        }
    }

    #[test]
    fn a_queue_of_more_than_80_packets_is_drained() {
        // 1400 segments at 106 ms: Q = 1400*6/106 = 79.2; at 107 ms 91.6.
        let mut controller = avoiding(1400);
        round(&mut *controller, 106_000);
        round(&mut *controller, 106_000);
        assert_eq!(
            (controller.phase(), segments(&*controller)),
            ("fast mode", 1400.0)
        );
        round(&mut *controller, 107_000);
        round(&mut *controller, 107_000);
        assert_eq!(controller.phase(), "slow mode");
        assert!(
            (segments(&*controller) - 1308.4).abs() < 0.1,
            "{}",
            segments(&*controller)
        );
        assert_eq!(controller.ssthresh(), Some(controller.cwnd()));
    }

    #[test]
    fn no_more_than_half_of_the_window_is_removed_at_once() {
        // 1400 segments at 400 ms: Q = 1050.
        let mut controller = avoiding(1400);
        round(&mut *controller, 400_000);
        round(&mut *controller, 400_000);
        assert_eq!(segments(&*controller), 700.0);
    }

    #[test]
    fn the_window_of_a_reno_flow_is_the_lower_bound() {
        // Slow mode begins with a window of 700 segments, so cwnd_reno = 350. The queue stays,
        // because others cause it.
        let mut controller = avoiding(1400);
        for _ in 0..12 {
            round(&mut *controller, 400_000);
        }
        // Half, 700, then 350, where it would be less. From there cwnd_reno grows by one per round
        // trip, as the window would.
        assert_eq!(segments(&*controller), 350.0);
    }

    #[test]
    fn a_loss_costs_the_queue_within_an_eighth_and_a_half() {
        // 560 segments. 100 ms: Q = 0; 116.7 ms: Q = 80, which leaves 480, and an eighth is 70; 250
        // ms: Q = 336.
        for (us, left) in [(100_000, 490.0), (116_600, 480.3), (101_000, 490.0)] {
            let mut controller = avoiding(560);
            round(&mut *controller, us);
            round(&mut *controller, us);
            assert_eq!(segments(&*controller), 560.0, "no decongestion yet");
            assert_eq!(
                controller.on_loss(&loss(&*controller, Time::ZERO)),
                LossResponse::REDUCED
            );
            assert!(
                (segments(&*controller) - left).abs() < 0.1,
                "{us}: {}",
                segments(&*controller)
            );
        }
        let mut controller = avoiding(70);
        round(&mut *controller, 300_000);
        round(&mut *controller, 300_000);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 35.0, "of 70, 46.7 are queued");
    }

    #[test]
    fn linuxs_loss_removes_whole_segments() {
        for (spec, left) in [("yeah", 13.125), ("yeah?linux=true", 14.0)] {
            let spec: Spec = spec.parse().expect("a known controller");
            let mut controller = spec.build(&setup(15)).expect("fed acknowledgments");
            controller.on_loss(&loss(&*controller, Time::ZERO));
            assert_eq!(segments(&*controller), left);
        }
    }

    #[test]
    fn after_16_round_trips_of_slow_mode_a_loss_halves() {
        // 70 segments at 114 ms: Q = 8.6, less than an eighth.
        for (rounds, left) in [(15, 61.25), (16, 35.0)] {
            let mut controller = avoiding(70);
            for _ in 0..=rounds {
                round(&mut *controller, 114_000);
            }
            controller.on_loss(&loss(&*controller, Time::ZERO));
            assert_eq!(segments(&*controller), left, "{rounds}");
        }
    }

    #[test]
    fn a_small_flight_does_not_wrap_around() {
        for in_flight in [0, 1, MSS, 2 * MSS] {
            let mut controller = built(40);
            controller.on_loss(&Loss {
                in_flight: Bytes::new(in_flight),
                ..loss(&*controller, Time::ZERO)
            });
            assert_eq!(segments(&*controller), 2.0, "{in_flight}");
        }
    }

    #[test]
    fn a_timeout_is_that_of_reno() {
        let mut controller = built(40);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(
            (segments(&*controller), controller.phase()),
            (1.0, "slow start")
        );
        assert_eq!(controller.ssthresh(), Some(Bytes::new(20 * MSS)));
    }

    #[test]
    fn fast_mode_grows_by_a_percent_and_at_least_one_segment() {
        for (before, after) in [(70, 80.0), (1400, 1400.0 * 1.1046)] {
            let mut controller = avoiding(before);
            let mut path = Path::new(MS * 100);
            path.rounds_for(&mut *controller, path.rtt * 10);
            assert!(
                (segments(&*controller) / after - 1.0).abs() < 0.01,
                "{}",
                segments(&*controller)
            );
        }
    }

    #[test]
    fn the_mean_window_under_random_loss_follows_from_the_sawtooth() {
        // sqrt(7.5/p) while the window stays below 100: w/8 round trips of 15/16 w packets.
        for (packets, expected) in [(100, 27.4), (600, 67.1)] {
            let mean = Path::new(MS * 100).mean_window(&mut *built(10), packets, 60);
            assert!((mean / expected - 1.0).abs() < 0.05, "1/{packets}: {mean}");
        }
    }

    #[test]
    fn on_a_long_fast_path_it_drains_its_queue_before_overflow() {
        // 80 Mbit/s and 100 ms: 1000 packets in flight and 500 in the buffer.
        let rate = Rate::from_bits_per_sec(80_000_000);
        let mut path = Bottleneck::new(rate, 500);
        path.add(built(10), MS * 100);
        path.run(Duration::from_secs(60));
        let (lost, delivered) = (path.flows[0].lost, path.flows[0].delivered);
        let span = Duration::from_secs(60);
        let (mean, max) = path.run(span);
        assert_eq!(path.flows[0].lost, lost, "the buffer does not overflow");
        // It detects a queue of 80 after the window has grown for another two round trips.
        assert!((90..130).contains(&max), "{max}");
        assert!(mean < 80.0, "{mean}");
        let got = path.flows[0].rate_since(delivered, span).as_bits_per_sec();
        // Drained twice, the window is about 7 % below the BDP for a few round trips.
        assert!(got > 78_000_000, "{got}");
    }
}
