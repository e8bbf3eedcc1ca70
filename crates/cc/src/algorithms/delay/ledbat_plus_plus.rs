//! LEDBAT++: background transport that keeps at most 60 ms of queue and gives way to everything
//! else.
//!
//! P. Balasubramanian, O. Ertugay, D. Havey, M. Bagnulo, "LEDBAT++: Congestion Control for
//! Background Traffic", draft-irtf-iccrg-ledbat-plus-plus, sections 4.1 to 4.4, on LEDBAT (RFC
//! 6817). The code follows the draft as ns-3's `tcp-ledbat-pp.cc` repeats it; the numbers of its
//! tests are used below.
//!
//! * delay (4.1): the RTT, the minimum of the last four samples, less the base delay, the minimum
//!   of ten minutes
//! * gain (4.3): `GAIN = 1/min(16, ceil(2*TARGET/base))`, TARGET 60 ms
//! * slow start: `cwnd += GAIN*acked`; the first one ends when the delay exceeds 3/4 of TARGET
//! * delay below TARGET: `cwnd += GAIN` segments per round trip
//! * delay above: `cwnd += max(GAIN - cwnd*(delay/TARGET - 1), -cwnd/2)` per round trip
//! * slowdowns (4.4): two segments for two RTTs, then slow start to the window before; the first
//!   begins two RTTs after the first slow start, the next nine times the duration of the last one
//!   after it
//! * a loss halves the window, a timeout leaves one segment
//!
//! Units: windows in bytes, delays in seconds.
//!
//! **Physics.** A loss-based flow keeps a queue that is mostly longer than TARGET, and the
//! multiplicative decrease then brings the window to its minimum: it gives way. Alone it holds the
//! queue at TARGET. The gain makes the growth in short paths slower, so that a small buffer that
//! never reaches TARGET is not filled by half of the flows that share it. The slowdowns empty the
//! queue, so that a latecomer measures the true base delay and does not add its 60 ms to those of
//! the others.
//!
//! **When it works.** Backups and updates beside anything, on buffers of more than 60 ms.
//!
//! **Limits.**
//! * **Slowdowns cost up to a tenth** of the rate, on long paths with a GAIN below 1 more: slow
//!   start back to the window takes `log(w/2)/log(1 + GAIN)` round trips.
//! * **A buffer below TARGET** never gives way: it is then a slow Reno.
//! * **Random loss** halves the window as in Reno, and it grows GAIN times as fast.
//! * **Delay on the way back** counts too.
//!
//! **Choices where the source is silent.** The window changes with each acknowledgment by its part
//! of a round trip. It changes only outside of recovery and while it is used, slowdowns included.
//! The constant of the decrease is 1 (the draft's default). Losses reduce from the flight.

use crate::building_blocks::rule::{Rule, WindowController, half};
use crate::building_blocks::window::{SLOW_START_LIMIT, Window};
use crate::interface::{Ack, Loss, LossResponse, Timeout};
use crate::registry::entry::{Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, code};
use whimbrel_units::{Duration, Time};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "ledbat-plus-plus",
    code: code!("algorithms/delay/ledbat_plus_plus.rs"),
    summary: "Background transport: keeps the queue below 60 ms and gives way to other flows",
    citation: "P. Balasubramanian, O. Ertugay, D. Havey, M. Bagnulo, \"LEDBAT++: Congestion \
               Control for Background Traffic\", draft-irtf-iccrg-ledbat-plus-plus",
    parameters: &[
        Parameter {
            name: "target",
            domain: Domain::Number {
                default: 60.0,
                range: (1.0, 10_000.0),
            },
            meaning: "queueing delay above which it gives way, milliseconds",
        },
        Parameter {
            name: "slowdowns",
            domain: Domain::Switch(true),
            meaning: "empty the queue from time to time, so that the base delay can be measured",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Delay,
        driven_by: DrivenBy::LossesAndDelays,
        build: |setup, values| {
            let rule = LedbatPlusPlus {
                target: values.number("target") / 1000.0,
                slowdowns: values.switch("slowdowns"),
                delays: Delays::default(),
                state: State::FirstSlowStart,
                owed: 0.0,
            };
            Box::new(WindowController::new(setup, rule))
        },
    },
    look: Look::of(43, 4),
    ..Entry::BLANK
};

/// Maximum divisor of the gain.
const MAX_DIVISOR: f64 = 16.0;
/// The first slow start ends above this fraction of TARGET.
const SLOW_START_END: f64 = 0.75;
/// Segments during a slowdown, which are the minimum of the window.
const MIN_SEGMENTS: u64 = 2;
/// RTTs for which a slowdown lasts at its minimum, and after which the first one begins.
const FREEZE: u64 = 2;
/// A slowdown follows after this multiple of the duration of the last one.
const APART: u64 = 9;

/// The rule of LEDBAT++.
#[derive(Debug, Clone)]
struct LedbatPlusPlus {
    /// TARGET, seconds.
    target: f64,
    slowdowns: bool,
    delays: Delays,
    state: State,
    /// The fraction of a byte that the window is still to change by.
    owed: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    FirstSlowStart,
    Avoiding {
        /// When the next slowdown begins.
        slowdown: Time,
    },
    /// A slowdown.
    Slow {
        began: Time,
        /// When the window may grow again.
        thaws: Time,
    },
}

impl LedbatPlusPlus {
    fn gain(&self, base: f64) -> f64 {
        let divisor = (2.0 * self.target / base).ceil();
        1.0 / if divisor.is_finite() {
            divisor.clamp(1.0, MAX_DIVISOR)
        } else {
            MAX_DIVISOR
        }
    }

    /// Slow start by GAIN.
    fn grow_fast(window: &mut Window, ack: &Ack, gain: f64) {
        let acked = (ack.acked.get() as f64 * gain) as u64;
        window.slow_start(acked, SLOW_START_LIMIT);
    }

    /// Congestion avoidance: additive increase, multiplicative decrease.
    fn follow_delay(&mut self, window: &mut Window, ack: &Ack, queue: f64, gain: f64) {
        let w = window.segments();
        let excess = (queue / self.target - 1.0).max(0.0);
        let per_round = (gain - w * excess).max(-w / 2.0) * window.mss as f64;
        let share = ack.acked.get().min(window.cwnd) as f64 / window.cwnd as f64;
        let change = self.owed + per_round * share;
        let whole = change.trunc();
        self.owed = change - whole;
        if whole >= 0.0 {
            window.cwnd = window.cwnd.saturating_add(whole as u64);
        } else {
            let least = window.mss.saturating_mul(MIN_SEGMENTS).min(window.cwnd);
            let left = window.cwnd.saturating_sub(-whole as u64).max(least);
            // ssthresh must not stay above, or slow start would follow.
            window.cwnd = left;
            window.set_ssthresh(window.ssthresh.min(left));
        }
    }
}

impl Rule for LedbatPlusPlus {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.delays.on_ack(ack);
        let Some((base, now)) = self.delays.get().filter(|_| Window::may_grow(ack)) else {
            return;
        };
        let gain = self.gain(base);
        let queue = now - base;
        if self.state == State::FirstSlowStart {
            if window.in_slow_start() && queue <= SLOW_START_END * self.target {
                Self::grow_fast(window, ack, gain);
                return;
            }
            window.end_slow_start();
            self.state = State::Avoiding {
                slowdown: ack.now + ack.srtt.saturating_mul(FREEZE),
            };
        }
        match self.state {
            State::FirstSlowStart => {}
            State::Avoiding { slowdown } if self.slowdowns && ack.now >= slowdown => {
                window.set_ssthresh(window.cwnd);
                window.cwnd = window.cwnd.min(window.mss.saturating_mul(MIN_SEGMENTS));
                self.state = State::Slow {
                    began: ack.now,
                    thaws: ack.now + ack.srtt.saturating_mul(FREEZE),
                };
            }
            // After a timeout.
            State::Avoiding { .. } if window.in_slow_start() => {
                Self::grow_fast(window, ack, gain);
            }
            State::Avoiding { .. } => self.follow_delay(window, ack, queue, gain),
            State::Slow { thaws, .. } if ack.now < thaws => {}
            State::Slow { began, .. } => {
                Self::grow_fast(window, ack, gain);
                if !window.in_slow_start() {
                    let took = ack.now.since(began);
                    self.state = State::Avoiding {
                        slowdown: ack.now + took.saturating_mul(APART),
                    };
                }
            }
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) -> LossResponse {
        window.reduce_to(half(window, loss.in_flight));
        LossResponse::REDUCED
    }

    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        self.owed = 0.0;
        window.collapse(Some(half(window, timeout.in_flight)));
    }

    fn phase(&self, _: &Window) -> &'static str {
        match self.state {
            State::Slow { .. } => "slowdown",
            _ => "congestion avoidance",
        }
    }

    fn slow_start_phase(&self, _: &Window) -> &'static str {
        match self.state {
            State::Slow { .. } => "slowdown",
            _ => "slow start",
        }
    }
}

/// Base delay and present delay (RFC 6817 section 2.4.2).
#[derive(Debug, Clone, Default)]
struct Delays {
    /// The last samples.
    latest: [Option<Duration>; 4],
    next: usize,
    /// Minima of the last minutes.
    minutes: [Option<Duration>; 10],
    minute: usize,
    /// When the present minute began.
    began: Option<Time>,
}

impl Delays {
    fn on_ack(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        self.latest[self.next] = Some(rtt);
        self.next = (self.next + 1) % self.latest.len();
        let began = *self.began.get_or_insert(ack.now);
        if ack.now.since(began) > Duration::from_secs(60) {
            self.began = Some(ack.now);
            self.minute = (self.minute + 1) % self.minutes.len();
            self.minutes[self.minute] = None;
        }
        let least = &mut self.minutes[self.minute];
        *least = Some(least.map_or(rtt, |known| known.min(rtt)));
    }

    /// Base and present delay, seconds, the second not below the first.
    fn get(&self) -> Option<(f64, f64)> {
        let base = self.minutes.iter().flatten().min()?.as_secs_f64();
        let now = self.latest.iter().flatten().min()?.as_secs_f64();
        Some((base, now.max(base)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Controller;
    use crate::testing::{ACK, Bottleneck, MSS, built, loss, newreno, segments, timeout};
    use whimbrel_units::{Bytes, Rate};

    const MS: Duration = Duration::from_millis(1);

    fn ack(controller: &mut dyn Controller, at: u64, rtt: u64, segments: u64) {
        controller.on_ack(&Ack {
            now: Time::ZERO + MS * at,
            acked: Bytes::new(segments * MSS),
            rtt: Some(MS * rtt),
            srtt: MS * rtt,
            ..ACK
        });
    }

    #[test]
    fn the_gain_depends_on_the_base_delay() {
        // ceil(120/10) = 12: three segments add 3000/12 = 250 bytes. Two of them count at most.
        let mut controller = built("ledbat-plus-plus", 10);
        ack(&mut *controller, 0, 10, 3);
        assert_eq!(controller.cwnd(), Bytes::new(10_250));
        // 120/100 is 2, 120/5 is 24, at most 16; from 120 ms on 1.
        for (base, grown) in [(100, 500), (5, 62), (300, 1000)] {
            let mut controller = built("ledbat-plus-plus", 10);
            ack(&mut *controller, 0, base, 1);
            assert_eq!(controller.cwnd(), Bytes::new(10_000 + grown), "{base} ms");
        }
    }

    /// In congestion avoidance with 40 segments and a base delay of 120 ms: a gain of 1.
    fn avoiding() -> Box<dyn Controller> {
        let mut controller = built("ledbat-plus-plus?slowdowns=false", 80);
        ack(&mut *controller, 0, 120, 0);
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 40.0);
        controller
    }

    /// A round trip of 40 ACKs with this RTT.
    fn round(controller: &mut dyn Controller, rtt: u64) -> f64 {
        let before = segments(controller);
        // Four samples replace those before.
        for _ in 0..4 {
            ack(controller, 1, rtt, 0);
        }
        ack(controller, 2, rtt, before as u64);
        segments(controller) - before
    }

    #[test]
    fn the_window_grows_by_the_gain_and_shrinks_in_proportion_to_the_excess() {
        for (rtt, change) in [
            (120, 1.0),
            (179, 1.0),
            // 90 ms of queue, half above TARGET: 1 - 40*0.5 = -19.
            (210, -19.0),
            // Twice TARGET: 1 - 40, at most half.
            (240, -20.0),
            (600, -20.0),
        ] {
            let changed = round(&mut *avoiding(), rtt);
            assert!((changed - change).abs() < 0.01, "{rtt} ms: {changed}");
        }
    }

    #[test]
    fn a_base_delay_is_forgotten_after_ten_minutes() {
        let mut delays = Delays::default();
        let mut base = |seconds, ms| {
            delays.on_ack(&Ack {
                now: Time::ZERO + Duration::from_secs(seconds),
                rtt: Some(MS * ms),
                ..ACK
            });
            delays.get().expect("a sample").0
        };
        assert_eq!(base(0, 50), 0.05);
        for minute in 1..10 {
            assert_eq!(base(61 * minute, 100), 0.05, "{minute}");
        }
        assert_eq!(base(610, 100), 0.1);
    }

    #[test]
    fn losses_and_timeouts_are_those_of_reno() {
        let mut controller = avoiding();
        controller.on_loss(&loss(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 20.0);
        controller.on_timeout(&timeout(&*controller, Time::ZERO));
        assert_eq!(segments(&*controller), 1.0);
        assert_eq!(controller.ssthresh(), Some(Bytes::new(10 * MSS)));
    }

    #[test]
    fn alone_it_holds_the_queue_near_its_target_and_slows_down_regularly() {
        // 8 Mbit/s: a packet a millisecond. A buffer of 300 ms.
        let mut path = Bottleneck::new(Rate::from_bits_per_sec(8_000_000), 300);
        path.add(built("ledbat-plus-plus", 10), MS * 100);
        path.run(Duration::from_secs(60));
        let before = path.flows[0].delivered;
        let (mut slow, mut most) = (0, 0);
        for _ in 0..600 {
            let (_, max) = path.run(MS * 100);
            most = most.max(max);
            slow += usize::from(path.flows[0].controller.phase() == "slowdown");
        }
        assert!((55..=85).contains(&most), "{most} ms");
        assert!((10..=120).contains(&slow), "{slow} of 600");
        let used = (path.flows[0].delivered - before) as f64 * 8.0 / 60.0 / 8e6;
        assert!((0.85..=1.0).contains(&used), "{used}");
        assert_eq!(path.flows[0].lost, 0);
    }

    #[test]
    fn it_gives_way_to_a_loss_based_flow() {
        let mut path = Bottleneck::new(Rate::from_bits_per_sec(8_000_000), 300);
        path.add(Box::new(newreno(10)), MS * 100);
        path.add(built("ledbat-plus-plus", 10), MS * 100);
        path.run(Duration::from_secs(120));
        let [reno, background] = [0, 1].map(|flow: usize| path.flows[flow].delivered);
        assert!(reno > 9 * background, "{reno} {background}");
    }

    #[test]
    fn a_latecomer_gets_its_share() {
        let mut path = Bottleneck::new(Rate::from_bits_per_sec(8_000_000), 300);
        path.add(built("ledbat-plus-plus", 10), MS * 100);
        path.run(Duration::from_secs(30));
        path.add(built("ledbat-plus-plus", 10), MS * 100);
        path.run(Duration::from_secs(60));
        let before = [0, 1].map(|flow: usize| path.flows[flow].delivered);
        path.run(Duration::from_secs(200));
        let [first, second] = [0, 1].map(|flow: usize| path.flows[flow].delivered - before[flow]);
        let share = second as f64 / (first + second) as f64;
        assert!((0.35..=0.65).contains(&share), "{share}");
    }
}
