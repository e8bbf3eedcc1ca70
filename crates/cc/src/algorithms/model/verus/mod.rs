//! Verus: learns the delay for each number of packets outstanding, and looks up the window for a
//! target delay.
//!
//! Y. Zaki, T. Pötsch, J. Chen, L. Subramanian, C. Görg, "Adaptive Congestion Control for
//! Unpredictable Cellular Networks", SIGCOMM 2015; and the authors' `verus_server.cpp`, the source
//! of the constants that the paper does not give.
//!
//! Time is divided into epochs of 5 ms. At the end of each:
//! * delay estimator: `D_max = a*D_max + (1-a)*max(D)` over the delays D of the epoch's ACKs, a =
//!   0.2; `dD` is its change
//! * window estimator: `D_est -= delta2` if `D_max/D_min > R`; otherwise `D_est -= delta1` if `dD >
//!   0`, in both cases not below D_min; otherwise `D_est += delta2` (equation 4). W is the window
//!   that the delay profile gives for D_est
//! * sending: `S = max(0, W + (2-n)/(n-1)*W_now)` packets leave in the next epoch (equation 5),
//!   with W_now packets outstanding and n = ceil(RTT/epoch)
//!
//! In addition:
//! * delay profile: each ACK's delay with the number of packets outstanding when its packet was
//!   sent; see `profile.rs`
//! * slow start: W grows by one packet per ACK until a loss, or a delay of more than N times D_min
//! * loss: `W = M*W_loss` (equation 6), with W_loss outstanding when the lost packet was sent; then
//!   `W += 1/W` per ACK (equation 7) without updates of the profile, until an ACK arrives for a
//!   packet sent with at most W outstanding
//!
//! Units: the window is in bytes; equations are in packets of one segment and seconds.
//!
//! **Physics.** A cellular link changes its rate faster than probing can follow, but has a deep
//! queue per user, so the delay shows changes of the rate. With W packets outstanding on a path
//! with rate C and base delay D_min the delay is `max(D_min, W/C)`. The profile is that curve,
//! learned, and steps in delay rather than in packets suit any C. On a path with a constant rate
//! D_est rises by 2 ms each epoch until D_max, a round trip later, exceeds `R*D_min`, and falls as
//! fast: the delay oscillates around `R*D_min` by 2 ms for each epoch of a round trip, and the link
//! is never idle. So R = 2 keeps a queue of about one bandwidth-delay product.
//!
//! S is equivalent to W: in a steady state `S = W/(n-1)`, which is what the epoch's ACKs
//! acknowledge. Here W is the congestion window and S/epoch the pacing rate. At most S leaves in an
//! epoch, and if fewer ACKs arrive than expected, fewer packets leave; the authors' sender exceeds
//! W then. S is not rounded; at least one packet may leave in an epoch, which the window prevents
//! where S = 0 is intended.
//!
//! **When it works.** Where the queue belongs to the flow and is deep, and the rate changes within
//! tens of ms.
//!
//! **Limits.**
//! * It keeps a queue on purpose, and slow start fills a queue of (N-1) times the path before it
//!   ends.
//! * Where the buffer holds less than R requires, no delay is ever too long: the window grows until
//!   packets are lost, by two fifths in the round trip until the loss is noticed on a path of 40
//!   ms, and a window that the profile jumps to leaves within one epoch. A loss-based flow starves
//!   beside it.
//! * When the rate falls, the delays of the old queue continue to reduce the window after it has
//!   been reduced enough: the window becomes very small, and the link is idle for about a second,
//!   until the next renewal of the curve.
//! * Where other flows fill the queue, its delays do not depend on its own window: the curve is
//!   flat and W jumps.
//! * D_min is never forgotten: on a path that has become longer all delays are too long until the
//!   window is down to a packet or two and D_min is raised.
//!
//! **Departures.**
//! * The curve is monotone and forgets; see `profile.rs`.
//! * The window of a packet's delay is the number outstanding when it was sent, itself included;
//!   the code marks each packet with W. The two are the same while W is used. Where W has just
//!   jumped, W is the intended window and not the one that caused the delay or the loss, and 0.7 of
//!   the intended window outgrows a small buffer without bound.
//! * D_est becomes the delay of W whenever the curve is renewed, so that the window does not jump
//!   with the curve: D_est is by then as wrong as the old curve was.
//! * Epochs have no timer: they are processed when an ACK arrives or a packet leaves, at most 256
//!   of them. No epochs pass while nothing is outstanding.
//! * A window that is not used, or may not grow, does not grow, and neither does D_est.
//! * In the loss phase W is given by equation 7; the authors' sender also continues the window
//!   estimator. At its end D_est is the delay of W. Congestion marks count as losses.
//! * The code leaves slow start at 500 ms of delay; the paper at N*D_min.
//!
//! **As in the code.** An epoch without ACKs counts as one whose maximum delay is the time since
//! the last ACK, if that exceeds D_max. If D_est has fallen to D_min, the delay is still too long
//! and fewer than two packets are outstanding, then D_min was wrong and is raised by 10 ms. A
//! timeout sets D_est to D_min and starts a loss phase; here from one segment (RFC 5681 section
//! 3.1). The code's M is 0.7; its R was 2 and is 6 in the latest version.

mod profile;

use crate::building_blocks::window::Window;
use crate::interface::{Ack, Controller, Loss, LossResponse, LostPacket, Timeout};
use crate::registry::entry::{
    Domain, DrivenBy, Entry, Family, Feed, Look, Parameter, Setup, Values, code,
};
use profile::Profile;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// The registry entry.
pub(crate) static ENTRY: Entry = Entry {
    name: "verus",
    code: code!(
        "algorithms/model/verus/mod.rs",
        "algorithms/model/verus/profile.rs"
    ),
    summary: "Learns the delay of each window and keeps the delay within R times the minimum",
    citation: "Y. Zaki, T. Pötsch, J. Chen, L. Subramanian, C. Görg, \"Adaptive Congestion Control \
               for Unpredictable Cellular Networks\", SIGCOMM 2015",
    parameters: &[
        Parameter {
            name: "R",
            domain: Domain::Number {
                default: 2.0,
                range: (1.0, 100.0),
            },
            meaning: "maximum tolerated delay relative to the minimum",
        },
        Parameter {
            name: "delta1",
            domain: Domain::Number {
                default: 1.0,
                range: (0.01, 100.0),
            },
            meaning: "step down while the delay rises, ms",
        },
        Parameter {
            name: "delta2",
            domain: Domain::Number {
                default: 2.0,
                range: (0.01, 100.0),
            },
            meaning: "step up, and step down while the delay is too long, ms",
        },
        Parameter {
            name: "M",
            domain: Domain::Number {
                default: 0.7,
                range: (0.0, 1.0),
            },
            meaning: "fraction of the window that remains after a loss",
        },
        Parameter {
            name: "N",
            domain: Domain::Number {
                default: 15.0,
                range: (1.0, 1000.0),
            },
            meaning: "slow start ends when a delay exceeds the minimum by this factor",
        },
        Parameter {
            name: "epoch",
            domain: Domain::Number {
                default: 5.0,
                range: (1.0, 1000.0),
            },
            meaning: "length of an epoch, ms",
        },
        Parameter {
            name: "renewal",
            domain: Domain::Number {
                default: 1.0,
                range: (0.01, 60.0),
            },
            meaning: "time between renewals of the delay profile's curve, s",
        },
    ],
    feed: Feed::Acknowledgments {
        family: Family::Model,
        driven_by: DrivenBy::Path,
        build: |setup, values| Box::new(Verus::new(setup, Tuning::from_values(values))),
    },
    look: Look::of(38, 3),
    ..Entry::BLANK
};

/// Weight of the old value in D_max.
const KEEP: f64 = 0.2;
/// Minimum change of D_max that counts, seconds.
const NO_CHANGE: f64 = 1e-7;
/// Amount by which D_min is raised when it turns out to be wrong, seconds.
const RAISE: f64 = 0.01;
/// Maximum number of epochs processed at once.
const MAX_EPOCHS: u64 = 256;
/// Maximum window, bytes: far more than any path holds, and still exact in an f64.
const MAX_WINDOW: f64 = (1u64 << 52) as f64;

/// The paper's constants.
#[derive(Debug, Clone, Copy)]
struct Tuning {
    /// R.
    ratio: f64,
    /// delta1 and delta2, seconds.
    down: f64,
    up: f64,
    /// M.
    keep: f64,
    /// N.
    exit: f64,
    epoch: Duration,
    renewal: Duration,
}

impl Tuning {
    fn from_values(values: &Values) -> Self {
        Self {
            ratio: values.number("R"),
            down: values.number("delta1") / 1000.0,
            up: values.number("delta2") / 1000.0,
            keep: values.number("M"),
            exit: values.number("N"),
            epoch: Duration::from_secs_f64(values.number("epoch") / 1000.0),
            renewal: Duration::from_secs_f64(values.number("renewal")),
        }
    }
}

/// The Verus controller.
#[derive(Debug, Clone)]
struct Verus {
    tuning: Tuning,
    /// Maximum payload of one packet, bytes.
    mss: u64,
    /// W, bytes; at least `mss`.
    cwnd: f64,
    /// S, packets; `None` before the first value. Slow start is clocked by ACKs.
    share: Option<f64>,
    phase: Phase,
    profile: Profile,
    /// Time of the next renewal of the curve.
    renew_at: Time,
    delays: Option<Delays>,
    epoch: Epoch,
    /// Smoothed round-trip time.
    srtt: Duration,
    /// Bytes outstanding.
    in_flight: u64,
    /// Bytes outstanding when the last lost packet was sent.
    lost_window: Option<u64>,
    /// The state before the last loss or timeout, while that may still turn out to be spurious.
    before: Option<Before>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// The profile determines the window.
    Tracking,
    /// After a loss.
    Recovery,
}

/// The delay estimator and the target delay, in seconds.
#[derive(Debug, Clone, Copy)]
struct Delays {
    /// D_min, above zero.
    min: f64,
    /// D_max; `None` before the first epoch has ended.
    max: Option<f64>,
    /// D_est.
    target: f64,
}

/// The current epoch.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    ends: Time,
    /// Maximum delay of its ACKs, seconds; `None` without ACKs.
    max: Option<f64>,
    /// Whether the window may grow, by the latest ACK.
    may_grow: bool,
    /// When the latest ACK arrived, or sending began.
    heard: Time,
}

#[derive(Debug, Clone, Copy)]
struct Before {
    cwnd: f64,
    phase: Phase,
    target: Option<f64>,
}

impl Verus {
    fn new(setup: &Setup, tuning: Tuning) -> Self {
        let mss = setup.mss.get().max(1);
        Self {
            tuning,
            mss,
            cwnd: setup.initial_window.get().max(mss) as f64,
            share: None,
            phase: Phase::SlowStart,
            profile: Profile::new(),
            renew_at: Time::MAX,
            delays: None,
            epoch: Epoch {
                ends: Time::ZERO + tuning.epoch,
                max: None,
                may_grow: false,
                heard: Time::ZERO,
            },
            srtt: Duration::ZERO,
            in_flight: 0,
            lost_window: None,
            before: None,
        }
    }

    /// Converts bytes to packets.
    fn packets(&self, bytes: u64) -> f64 {
        bytes as f64 / self.mss as f64
    }

    /// Sets W to `bytes`, within its bounds.
    fn set_cwnd(&mut self, bytes: f64) {
        let min = self.mss as f64;
        self.cwnd = bytes.min(MAX_WINDOW).max(min);
    }

    /// Processes the epochs that have ended by `now`.
    fn advance(&mut self, now: Time) {
        let length = self.tuning.epoch.as_nanos();
        let ended = match now.as_nanos().checked_sub(self.epoch.ends.as_nanos()) {
            Some(since) => since / length + 1,
            None => return,
        };
        let skipped = ended.saturating_sub(MAX_EPOCHS);
        self.epoch.ends += Duration::from_nanos(length.saturating_mul(skipped));
        for _ in skipped..ended {
            self.end_epoch();
            self.epoch.ends += self.tuning.epoch;
        }
    }

    /// The window estimator (equation 4) and the sending of the next epoch (equation 5).
    fn end_epoch(&mut self) {
        let sampled = self.epoch.max.take();
        let outstanding = self.packets(self.in_flight);
        let silent = self.epoch.ends.since(self.epoch.heard).as_secs_f64();
        let n = self.epochs_per_round_trip();
        let (tuning, may_grow) = (self.tuning, self.epoch.may_grow);
        let Some(delays) = &mut self.delays else {
            return;
        };
        let rises = delays.estimate(sampled, silent);
        if self.phase == Phase::SlowStart {
            return;
        }
        if self.phase == Phase::Tracking {
            delays.update_target(&tuning, rises, may_grow);
            delays.correct_min_delay(&tuning, outstanding);
            let target = delays.target;
            if let Some(packets) = self.profile.window(target) {
                let bytes = packets * self.mss as f64;
                self.set_cwnd(if may_grow {
                    bytes
                } else {
                    bytes.min(self.cwnd)
                });
            }
        }
        let window = self.cwnd / self.mss as f64;
        self.share = Some(sending(window, outstanding, n));
    }

    /// n of equation 5.
    fn epochs_per_round_trip(&self) -> f64 {
        let epochs = self.srtt.as_nanos().div_ceil(self.tuning.epoch.as_nanos());
        epochs.max(1) as f64
    }

    /// Equation 6, for a packet that was sent with `outstanding` bytes outstanding.
    fn lose(&mut self, outstanding: u64, now: Time) {
        self.set_cwnd(self.cwnd.min(self.tuning.keep * outstanding as f64));
        self.profile.forget_above(outstanding / self.mss);
        self.enter_recovery(now);
    }

    fn enter_recovery(&mut self, now: Time) {
        if self.phase == Phase::SlowStart {
            self.renew_at = now + self.tuning.renewal;
        }
        self.profile.interpolate();
        self.phase = Phase::Recovery;
    }

    /// Returns to the profile, with the window that recovery has reached.
    fn leave_recovery(&mut self) {
        self.phase = Phase::Tracking;
        // Measurements during a recovery are discarded.
        self.epoch.max = None;
        self.anchor();
    }

    /// Sets D_est to the delay of W.
    fn anchor(&mut self) {
        let delay = self.profile.delay(self.cwnd / self.mss as f64);
        if let (Some(delays), Some(delay)) = (&mut self.delays, delay) {
            delays.target = delay.max(delays.min);
        }
    }

    /// Renews the curve; the window does not jump with it.
    fn renew(&mut self, now: Time) {
        self.profile.interpolate();
        self.profile.age();
        self.anchor();
        self.renew_at = now + self.tuning.renewal;
    }

    /// Updates the profile with a packet's acknowledgment.
    fn learn(&mut self, ack: &Ack, delay: f64) {
        let Some(newest) = ack.newest else { return };
        let outstanding = newest.in_flight.get().div_ceil(self.mss);
        if self.phase == Phase::Recovery && outstanding as f64 * self.mss as f64 <= self.cwnd {
            self.leave_recovery();
        }
        if self.phase != Phase::Recovery {
            self.profile.add(outstanding, delay);
        }
        let min = self.delays.map_or(delay, |d| d.min);
        if self.phase == Phase::SlowStart && delay > self.tuning.exit * min {
            self.lose(newest.in_flight.get(), ack.now);
        }
    }

    fn remember(&mut self) {
        self.before = Some(Before {
            cwnd: self.cwnd,
            phase: self.phase,
            target: self.delays.map(|d| d.target),
        });
    }
}

impl Delays {
    fn new(delay: f64) -> Self {
        Self {
            min: delay,
            max: None,
            target: delay,
        }
    }

    /// The delay estimator, at the end of an epoch; `silent` is the time without an ACK. Returns
    /// whether D_max rises.
    fn estimate(&mut self, sampled: Option<f64>, silent: f64) -> bool {
        let before = self.max.or(sampled).unwrap_or(self.min);
        let sample = sampled.unwrap_or(before.max(silent));
        let now = KEEP * before + (1.0 - KEEP) * sample;
        self.max = Some(now);
        now - before > NO_CHANGE
    }

    /// Equation 4.
    fn update_target(&mut self, tuning: &Tuning, rises: bool, may_grow: bool) {
        if self.too_long(tuning) {
            self.target -= tuning.up;
        } else if rises {
            self.target -= tuning.down;
        } else if may_grow {
            self.target += tuning.up;
        }
        self.target = self.target.max(self.min);
    }

    fn too_long(&self, tuning: &Tuning) -> bool {
        self.max.is_some_and(|max| max > tuning.ratio * self.min)
    }

    /// Too long a delay with almost nothing outstanding is not a queue.
    fn correct_min_delay(&mut self, tuning: &Tuning, outstanding: f64) {
        if self.too_long(tuning) && self.target <= self.min && outstanding < 2.0 {
            self.min += RAISE;
            self.target = self.min;
        }
    }
}

/// S of equation 5, in packets: `outstanding` of them now, `window` as the target; `n` epochs are a
/// round trip.
fn sending(window: f64, outstanding: f64, n: f64) -> f64 {
    // If the epoch is a whole round trip, everything outstanding is acknowledged within it; the
    // code then subtracts all of it.
    let share = if n > 1.0 { (2.0 - n) / (n - 1.0) } else { -1.0 };
    (window + share * outstanding).max(0.0)
}

impl Controller for Verus {
    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        if in_flight <= size {
            // Nothing was outstanding: the silence had no meaning, and only the epoch in which it
            // began counts.
            self.epoch.heard = now;
            if now >= self.epoch.ends {
                self.end_epoch();
                self.epoch.ends = now + self.tuning.epoch;
            }
        }
        self.advance(now);
        self.in_flight = in_flight.get();
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.advance(ack.now);
        self.in_flight = ack.in_flight.get();
        self.srtt = ack.srtt;
        self.epoch.heard = ack.now;
        self.epoch.may_grow = Window::may_grow(ack);
        // A delay of zero cannot be a divisor.
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            let delay = rtt.as_secs_f64();
            let delays = self.delays.get_or_insert(Delays::new(delay));
            delays.min = delays.min.min(delay);
            self.epoch.max = Some(self.epoch.max.map_or(delay, |d| d.max(delay)));
            self.learn(ack, delay);
        }
        if self.epoch.may_grow {
            let acked = (ack.acked.get() as f64).min(self.cwnd);
            let grow = match self.phase {
                Phase::SlowStart => acked,
                // Equation 7: a packet for each window of packets.
                Phase::Recovery => acked / self.cwnd * self.mss as f64,
                Phase::Tracking => 0.0,
            };
            self.set_cwnd(self.cwnd + grow);
        }
        if ack.now >= self.renew_at {
            self.renew(ack.now);
        }
    }

    fn on_packet_lost(&mut self, lost: &LostPacket) {
        self.lost_window = Some(lost.at.in_flight.get());
    }

    fn on_loss(&mut self, loss: &Loss) -> LossResponse {
        // One loss phase covers all losses of a window.
        if self.phase != Phase::Recovery {
            self.remember();
            // Congestion marks have no lost packet.
            let window = self.lost_window.unwrap_or(loss.in_flight.get());
            self.lose(window, loss.now);
        }
        self.lost_window = None;
        LossResponse::KEPT
    }

    fn on_recovery_end(&mut self, _now: Time) {
        if self.phase == Phase::Recovery {
            self.leave_recovery();
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if !timeout.repeated {
            self.remember();
        }
        self.set_cwnd(0.0);
        if let Some(delays) = &mut self.delays {
            delays.target = delays.min;
            self.enter_recovery(timeout.now);
        }
    }

    fn on_spurious(&mut self, _now: Time) {
        let Some(before) = self.before.take() else {
            return;
        };
        if self.cwnd < before.cwnd {
            self.cwnd = before.cwnd;
            self.phase = before.phase;
            if let (Some(delays), Some(target)) = (&mut self.delays, before.target) {
                delays.target = target.max(delays.min);
            }
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
        if self.phase == Phase::SlowStart {
            return None;
        }
        let packets = self.share?.max(1.0);
        let bytes = Bytes::new((packets * self.mss as f64) as u64);
        Some(Rate::over(bytes, self.tuning.epoch)).filter(|rate| *rate > Rate::ZERO)
    }

    fn phase(&self) -> &'static str {
        match self.phase {
            Phase::SlowStart => "slow start",
            Phase::Tracking => "delay profile",
            Phase::Recovery => "loss recovery",
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::AtSending;
    use crate::registry::Spec;
    use crate::testing::{ACK, Bottleneck, MSS, loss, segments, setup, timeout};

    const MS: Duration = Duration::from_millis(1);
    const RTT: Duration = Duration::from_millis(40);

    /// The paper's constants, and M of the code.
    const TUNING: Tuning = Tuning {
        ratio: 2.0,
        down: 0.001,
        up: 0.002,
        keep: 0.7,
        exit: 15.0,
        epoch: Duration::from_millis(5),
        renewal: Duration::from_secs(1),
    };

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    /// An ACK of a packet that was sent with `outstanding` packets outstanding and took `rtt`; as
    /// many are outstanding now.
    fn ack(controller: &mut Verus, now: Time, outstanding: u64, rtt: Duration) {
        controller.on_ack(&Ack {
            now,
            rtt: Some(rtt),
            srtt: rtt,
            in_flight: Bytes::new(outstanding * MSS),
            newest: Some(AtSending {
                sent: Time::ZERO,
                in_flight: Bytes::new(outstanding * MSS),
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                app_limited: false,
                retransmitted: false,
            }),
            ..ACK
        });
    }

    /// A controller past slow start with `packets`, on a path that delays 10 packets by 40 ms and
    /// each further one by 2 ms.
    fn tracking(packets: u64) -> Verus {
        let mut controller = Verus::new(&setup(packets), TUNING);
        controller.delays = Some(Delays::new(0.04));
        controller.srtt = RTT;
        controller.phase = Phase::Tracking;
        for window in 10..60 {
            controller
                .profile
                .add(window, 0.04 + 0.002 * (window - 10) as f64);
        }
        controller.profile.interpolate();
        controller.anchor();
        controller
    }

    fn target(controller: &Verus) -> f64 {
        controller.delays.expect("sampled").target * 1000.0
    }

    #[test]
    fn the_max_delay_is_averaged_and_silence_counts_as_delay() {
        let mut delays = Delays::new(0.04);
        assert!(!delays.estimate(Some(0.04), 0.0), "no previous value");
        assert!(delays.estimate(Some(0.05), 0.0));
        let max = |delays: &Delays| delays.max.expect("an epoch has ended") * 1000.0;
        assert!((max(&delays) - 48.0).abs() < 1e-9, "0.2*40 + 0.8*50");
        assert!(!delays.estimate(None, 0.01));
        assert!((max(&delays) - 48.0).abs() < 1e-9);
        assert!(delays.estimate(None, 0.06));
        assert!((max(&delays) - 57.6).abs() < 1e-9, "0.2*48 + 0.8*60");
        assert!(!delays.estimate(Some(0.04), 0.0));
    }

    #[test]
    fn the_target_delay_follows_equation_4() {
        let after = |max, target, rises| {
            let mut delays = Delays {
                min: 0.04,
                max: Some(max),
                target,
            };
            delays.update_target(&TUNING, rises, true);
            (delays.target * 1e6).round() / 1e3
        };
        // R = 2: more than 80 ms is too long.
        assert_eq!(after(0.081, 0.07, true), 68.0);
        assert_eq!(after(0.081, 0.07, false), 68.0);
        assert_eq!(after(0.08, 0.07, true), 69.0);
        assert_eq!(after(0.08, 0.07, false), 72.0);
        assert_eq!(after(0.081, 0.041, false), 40.0, "not below D_min");
        assert_eq!(after(0.05, 0.0405, true), 40.0);
    }

    #[test]
    fn an_epoch_sends_what_equation_5_gives() {
        // RTT 40 ms: n = 8. 3 of 21 packets outstanding are acknowledged in an epoch.
        let rounded =
            |window, outstanding, n| (sending(window, outstanding, n) * 1e6).round() / 1e6;
        assert_eq!(rounded(21.0, 21.0, 8.0), 3.0);
        assert_eq!(rounded(25.0, 21.0, 8.0), 7.0);
        assert_eq!(rounded(18.0, 21.0, 8.0), 0.0);
        assert_eq!(rounded(10.0, 21.0, 8.0), 0.0);
        assert_eq!(rounded(21.0, 15.0, 2.0), 21.0);
        assert_eq!(rounded(21.0, 15.0, 1.0), 6.0, "as in the code");
    }

    #[test]
    fn the_window_is_that_of_the_profile_for_the_target_delay() {
        let mut controller = tracking(20);
        assert_eq!(target(&controller).round(), 60.0);
        ack(&mut controller, at(1), 20, MS * 60);
        // Three epochs end without a rise: 66 ms, 23 packets. Later ACKs belong to the next epoch.
        for (now, expected) in [(6, 21.0), (11, 22.0), (16, 23.0)] {
            ack(&mut controller, at(now), 20, MS * 60);
            assert!(
                (segments(&controller) - expected).abs() < 0.01,
                "{}",
                segments(&controller)
            );
        }
        // 20 outstanding, n = 12: S = 23 - 20*10/11 packets in 5 ms.
        let rate = controller.pacing_rate().expect("an epoch has ended");
        let packets = rate.as_bits_per_sec() as f64 * 0.005 / 8000.0;
        assert!((packets - 4.818).abs() < 0.01, "{packets}");
    }

    #[test]
    fn a_loss_follows_equations_6_and_7() {
        let mut controller = tracking(40);
        controller.on_packet_lost(&LostPacket {
            now: at(1),
            size: Bytes::new(MSS),
            lost: Bytes::new(MSS),
            at: AtSending {
                sent: Time::ZERO,
                in_flight: Bytes::new(30 * MSS),
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                app_limited: false,
                retransmitted: false,
            },
        });
        controller.on_loss(&loss(&controller, at(1)));
        assert_eq!(
            (controller.phase(), segments(&controller)),
            ("loss recovery", 21.0)
        );
        controller.on_loss(&loss(&controller, at(1)));
        assert_eq!(segments(&controller), 21.0, "one phase covers all losses");
        // Packets sent before the loss do not update the profile; 21 such ACKs add almost one
        // packet.
        let before = controller.profile.clone();
        for _ in 0..21 {
            ack(&mut controller, at(2), 30, MS * 500);
        }
        assert_eq!(segments(&controller).round(), 22.0);
        assert_eq!(controller.phase(), "loss recovery");
        assert_eq!(controller.profile.delay(30.0), before.delay(30.0));
        // A packet sent with the smaller window: D_est is that of 22 packets, 40 + 2*12 ms.
        ack(&mut controller, at(3), 20, MS * 60);
        assert_eq!(controller.phase(), "delay profile");
        assert_eq!(target(&controller).round(), 64.0);
    }

    #[test]
    fn a_spurious_loss_is_undone() {
        let mut controller = tracking(40);
        controller.on_loss(&loss(&controller, at(1)));
        assert_eq!(segments(&controller), 28.0);
        controller.on_spurious(at(2));
        assert_eq!(
            (controller.phase(), segments(&controller)),
            ("delay profile", 40.0)
        );
        assert_eq!(target(&controller).round(), 100.0);
    }

    #[test]
    fn slow_start_ends_at_a_delay_of_15_times_the_minimum() {
        let mut controller = Verus::new(&setup(10), TUNING);
        for i in 0..10 {
            ack(&mut controller, at(i), 10 + i, MS * 10);
        }
        ack(&mut controller, at(11), 20, MS * 150);
        assert_eq!(
            (controller.phase(), segments(&controller)),
            ("slow start", 21.0)
        );
        assert_eq!(controller.pacing_rate(), None);
        ack(&mut controller, at(12), 20, MS * 151);
        assert_eq!(controller.phase(), "loss recovery");
        assert!((segments(&controller) - 14.0).abs() < 0.1, "0.7*20");
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_targets_the_min_delay() {
        let mut controller = tracking(40);
        controller.on_timeout(&timeout(&controller, at(1)));
        assert_eq!(
            (controller.phase(), segments(&controller)),
            ("loss recovery", 1.0)
        );
        assert_eq!(target(&controller).round(), 40.0);
        let mut fresh = Verus::new(&setup(10), TUNING);
        fresh.on_timeout(&timeout(&fresh, at(1)));
        assert_eq!((fresh.phase(), segments(&fresh)), ("slow start", 1.0));
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut controller = tracking(20);
        for now in 1..100 {
            controller.on_ack(&Ack {
                now: at(now),
                rtt: Some(MS * 60),
                cwnd_limited: false,
                ..ACK
            });
        }
        assert_eq!(segments(&controller), 20.0);
        assert_eq!(target(&controller).round(), 60.0);
    }

    #[test]
    fn a_silence_reduces_the_target_delay_but_idle_time_does_not() {
        // Idle: only the epoch that had begun ends, like any other epoch.
        for (in_flight, expected) in [(20, 40.0), (1, 62.0)] {
            let mut controller = tracking(20);
            ack(&mut controller, at(1), 20, MS * 60);
            let later = Time::ZERO + Duration::from_secs(1_000_000_000);
            controller.on_sent(later, Bytes::new(MSS), Bytes::new(in_flight * MSS));
            assert_eq!(target(&controller).round(), expected, "{in_flight}");
        }
    }

    #[test]
    fn a_wrong_minimum_delay_is_raised() {
        // The path has grown from 40 to 100 ms: with one packet outstanding that is no queue.
        let mut controller = tracking(10);
        for i in 1..200 {
            ack(&mut controller, at(5 * i), 1, MS * 100);
        }
        let min = controller.delays.expect("sampled").min;
        assert!((0.05..=0.1).contains(&min), "{min}");
    }

    fn path(mbit: u64, room: usize, controllers: &[&str]) -> Bottleneck {
        let mut path = Bottleneck::new(Rate::from_bits_per_sec(mbit * 1_000_000), room);
        for controller in controllers {
            let controller: Spec = controller.parse().expect("valid");
            path.add(
                controller.build(&setup(10)).expect("fed acknowledgments"),
                RTT,
            );
        }
        path
    }

    /// The flows' fractions of the bottleneck's capacity over `span`, and the mean number of
    /// packets queued.
    fn shares(path: &mut Bottleneck, span: Duration) -> (Vec<f64>, f64) {
        let before: Vec<u64> = path.flows.iter().map(|f| f.delivered).collect();
        let (queued, _) = path.run(span);
        let capacity = path.rate.as_bits_per_sec() as f64;
        let flows = path.flows.iter().zip(before);
        let share =
            flows.map(|(f, before)| f.rate_since(before, span).as_bits_per_sec() as f64 / capacity);
        (share.collect(), queued)
    }

    #[test]
    fn at_a_constant_rate_the_delay_oscillates_around_r_times_min() {
        // 20 Mbit/s are 100 packets in 40 ms: fewer than (R-1)*100 packets wait, and the
        // oscillation reaches an empty queue.
        for (controller, max) in [("verus", 100.0), ("verus?R=4", 300.0)] {
            let mut path = path(20, 5000, &[controller]);
            path.run(Duration::from_secs(10));
            let (share, queued) = shares(&mut path, Duration::from_secs(20));
            assert!(share[0] > 0.98, "{controller}: {share:?}");
            assert!(
                (0.5 * max..1.1 * max).contains(&queued),
                "{controller}: {queued}"
            );
        }
    }

    #[test]
    fn it_follows_a_rate_that_halves_and_doubles() {
        let mut path = path(40, 2000, &["verus"]);
        path.run(Duration::from_secs(10));
        for mbit in [20, 40, 20, 40] {
            path.rate = Rate::from_bits_per_sec(mbit * 1_000_000);
            path.run(Duration::from_millis(1500));
            let (share, queued) = shares(&mut path, Duration::from_millis(3500));
            assert!(share[0] > 0.9, "{mbit} Mbit/s: {share:?}");
            // A packet is 8000 bits. R*D_min leaves 40 ms of queue.
            let waited = queued * 8.0 / mbit as f64;
            assert!(waited < 60.0, "{mbit} Mbit/s: {waited} ms");
        }
    }

    #[test]
    fn two_flows_share_equally() {
        let mut path = path(50, 2000, &["verus", "verus"]);
        path.run(Duration::from_secs(10));
        let (share, _) = shares(&mut path, Duration::from_secs(30));
        assert!(share.iter().all(|s| (0.4..0.6).contains(s)), "{share:?}");
    }

    #[test]
    fn a_buffer_too_small_for_r_causes_limited_losses() {
        // 500 packets in 40 ms and a buffer of 50: no delay ever exceeds 44 ms.
        let mut path = path(100, 50, &["verus"]);
        path.run(Duration::from_secs(10));
        let (lost, delivered) = (path.flows[0].lost, path.flows[0].delivered);
        let (share, _) = shares(&mut path, Duration::from_secs(20));
        assert!(share[0] > 0.5, "{share:?}");
        let lost = path.flows[0].lost - lost;
        assert!(lost < (path.flows[0].delivered - delivered) / 10, "{lost}");
    }
}
