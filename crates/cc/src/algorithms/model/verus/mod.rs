//! Verus: learns which delay goes with how many packets outstanding, and looks up the window for the delay it wants.
//!
//! Y. Zaki, T. Pötsch, J. Chen, L. Subramanian, C. Görg, "Adaptive Congestion Control for Unpredictable Cellular Networks",
//! SIGCOMM 2015; and the authors' `verus_server.cpp`, from which come the constants that the paper does not give.
//!
//! Time is cut into epochs of 5 ms. At the end of each:
//! * delay estimator: `D_max = a*D_max + (1-a)*max(D)` over the delays D of the epoch's ACKs, a = 0.2; `dD` is its change
//! * window estimator: `D_est -= delta2` if `D_max/D_min > R`; else `D_est -= delta1` if `dD > 0`, but in both cases not
//!   below D_min; else `D_est += delta2` (equation 4). W is the window that the delay profile gives for D_est
//! * sending: `S = max(0, W + (2-n)/(n-1)*W_now)` packets leave in the next epoch (equation 5), W_now being outstanding and
//!   n = ceil(RTT/epoch)
//!
//! And besides:
//! * delay profile: each ACK's delay with the packets outstanding when its packet was sent; see `profile.rs`
//! * slow start: W grows by one packet per ACK until a loss, or a delay of more than N times D_min
//! * loss: `W = M*W_loss` (equation 6), W_loss being outstanding when the lost packet was sent; then `W += 1/W` per ACK
//!   (equation 7), and the profile learns nothing, until an ACK comes for a packet sent with no more than W outstanding
//!
//! Units: the window is kept in bytes; equations are in packets of one segment and seconds.
//!
//! **The physics.** A cellular link changes its rate faster than anyone can probe it, but keeps a deep queue of its own for
//! each user, so delay tells what the rate is doing. With W packets outstanding on a path of rate C and base delay D_min the
//! delay is `max(D_min, W/C)`: the profile is that curve, learned, and moving along it in delay rather than in packets makes
//! steps that fit whatever C is. On a path of constant rate D_est climbs by 2 ms each epoch until D_max, a round trip
//! later, exceeds `R*D_min`, and comes down as fast: the delay swings about `R*D_min`, by 2 ms for each epoch of a round
//! trip, and the link is never idle. So R = 2 holds a queue of about one bandwidth-delay product.
//!
//! S is W again: in a steady state `S = W/(n-1)`, which is what the epoch's ACKs will take out. Here W is the congestion
//! window and S/epoch the pacing rate. So no more than S leaves in an epoch, and if fewer ACKs come back than were
//! expected, fewer packets leave; the authors' sender goes over W then. S is not rounded; at least one packet may leave in
//! an epoch, which the window forbids where S = 0 was meant.
//!
//! **When it works.** Where the queue is the flow's own and deep, and the rate moves within tens of ms.
//!
//! **When not.**
//! * It holds a queue on purpose, and slow start fills one of (N-1) times the path before it ends.
//! * Where the buffer holds less than R asks for, no delay is ever too long: the window climbs until it loses, by two
//!   fifths in the round trip that it takes to notice on a path of 40 ms, and a window that the profile jumps to leaves
//!   within one epoch. A flow that minds losses starves beside it there.
//! * When the rate falls, the old queue's delays go on telling it to come down after it has: the window shrinks to next to
//!   nothing, and the link idles for about a second, until the curve is made anew.
//! * Where others fill the queue its delays say nothing about its own window: the curve is flat and W jumps about.
//! * D_min is never forgotten: on a path that has become longer all delays are too long until the window is down to a
//!   packet or two and D_min is raised.
//!
//! **Departures.**
//! * The curve is monotone and forgets; see `profile.rs`.
//! * The window and the delay of a packet are what was outstanding when it was sent, itself included; the code marks each
//!   packet with W. The two are the same while W is used; where W has just jumped, W says what was wanted and not what
//!   caused the delay or the loss, and 0.7 of what was wanted outgrows a small buffer without bound.
//! * D_est becomes the delay of W whenever the curve is made anew, so that the window does not jump with the curve: by then
//!   D_est is as far off as the old curve was.
//! * Epochs have no timer: they are made up for when an ACK comes or a packet leaves, at most 256 of them. None pass while
//!   nothing is outstanding.
//! * A window that is not used, or may not grow, does not grow, and neither does D_est.
//! * In the loss phase W is what equation 7 makes it; the authors' sender lets the window estimator go on beside it. At its
//!   end D_est is the delay of W. Congestion marks count as losses.
//! * The code leaves slow start at 500 ms of delay; the paper at N*D_min.
//!
//! **As the code has it.** An epoch without ACKs counts as one whose greatest delay is the time since the last ACK, if that
//! is more than D_max. If D_est has come down to D_min, the delay is still too long and fewer than two packets are
//! outstanding, then D_min was wrong and is raised by 10 ms. A timeout sets D_est to D_min and is a loss phase; from one
//! segment here (RFC 5681 section 3.1). The code's M is 0.7; its R was 2 and is 6 in the latest version.

mod profile;

use crate::building_blocks::window::Window;
use crate::interface::{Ack, Controller, Loss, LossResponse, LostPacket, Timeout};
use crate::registry::entry::{
    DrivenBy, Entry, Family, Feed, Parameter, Setup, Value, Values, code,
};
use profile::Profile;
use whimbrel_units::{Bytes, Duration, Rate, Time};

/// Its place in the registry.
pub(crate) static ENTRY: Entry = Entry {
    name: "verus",
    code: code!(
        "algorithms/model/verus/mod.rs",
        "algorithms/model/verus/profile.rs"
    ),
    summary: "Learns the delay of each window and sends what keeps it within R times the least",
    citation: "Y. Zaki, T. Pötsch, J. Chen, L. Subramanian, C. Görg, \"Adaptive Congestion Control for \
               Unpredictable Cellular Networks\", SIGCOMM 2015",
    family: Family::Model,
    driven_by: DrivenBy::Path,
    feed: Feed::Acknowledgments,
    parameters: &[
        Parameter {
            name: "R",
            default: Value::Number(2.0),
            range: (1.0, 100.0),
            meaning: "greatest delay that is tolerated, over the least",
        },
        Parameter {
            name: "delta1",
            default: Value::Number(1.0),
            range: (0.01, 100.0),
            meaning: "step down while the delay rises, ms",
        },
        Parameter {
            name: "delta2",
            default: Value::Number(2.0),
            range: (0.01, 100.0),
            meaning: "step up, and down while the delay is too long, ms",
        },
        Parameter {
            name: "M",
            default: Value::Number(0.7),
            range: (0.0, 1.0),
            meaning: "share of the window that a loss leaves",
        },
        Parameter {
            name: "N",
            default: Value::Number(15.0),
            range: (1.0, 1000.0),
            meaning: "slow start ends when a delay exceeds the least by this factor",
        },
        Parameter {
            name: "epoch",
            default: Value::Number(5.0),
            range: (1.0, 1000.0),
            meaning: "length of an epoch, ms",
        },
        Parameter {
            name: "renewal",
            default: Value::Number(1.0),
            range: (0.01, 60.0),
            meaning: "how often the delay profile's curve is made anew, s",
        },
    ],
    build: |setup, values| Box::new(Verus::new(setup, Tuning::from_values(values))),
};

/// Weight of the old in D_max.
const KEEP: f64 = 0.2;
/// A change of D_max by less is none, seconds.
const NO_CHANGE: f64 = 1e-7;
/// By how much D_min is raised when it proves wrong, seconds.
const RAISE: f64 = 0.01;
/// Most epochs that are made up for at once.
const MOST_EPOCHS: u64 = 256;
/// Greatest window, bytes: far more than any path holds, and still exact in an f64.
const GREATEST: f64 = (1u64 << 52) as f64;

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

/// Verus's window law.
#[derive(Debug, Clone)]
struct Verus {
    tuning: Tuning,
    /// Greatest payload of one packet, bytes.
    mss: u64,
    /// W, bytes; at least `mss`.
    cwnd: f64,
    /// S, packets; `None` before there is one. Slow start is clocked by the ACKs.
    share: Option<f64>,
    phase: Phase,
    profile: Profile,
    /// When the curve is next made anew.
    renew_at: Time,
    delays: Option<Delays>,
    epoch: Epoch,
    /// Smoothed round-trip time.
    srtt: Duration,
    /// Bytes outstanding.
    in_flight: u64,
    /// Bytes outstanding when the packet last found lost was sent.
    lost_window: Option<u64>,
    /// What the last loss or timeout changed, if it may yet prove to have been a mistake.
    before: Option<Before>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// The profile is in charge.
    Tracking,
    /// After a loss.
    Recovery,
}

/// The delay estimator and the delay that is wanted, in seconds.
#[derive(Debug, Clone, Copy)]
struct Delays {
    /// D_min, more than zero.
    least: f64,
    /// D_max; `None` before the first epoch has ended.
    greatest: Option<f64>,
    /// D_est.
    wanted: f64,
}

/// The present epoch.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    ends: Time,
    /// Greatest delay of its ACKs, seconds; `None` if there were none.
    greatest: Option<f64>,
    /// Whether the window may grow, by the latest ACK.
    may_grow: bool,
    /// When the latest ACK came, or sending began.
    heard: Time,
}

#[derive(Debug, Clone, Copy)]
struct Before {
    cwnd: f64,
    phase: Phase,
    wanted: Option<f64>,
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
                greatest: None,
                may_grow: false,
                heard: Time::ZERO,
            },
            srtt: Duration::ZERO,
            in_flight: 0,
            lost_window: None,
            before: None,
        }
    }

    /// In packets.
    fn packets(&self, bytes: u64) -> f64 {
        bytes as f64 / self.mss as f64
    }

    /// W becomes so many bytes, within bounds.
    fn set_cwnd(&mut self, bytes: f64) {
        let least = self.mss as f64;
        self.cwnd = bytes.min(GREATEST).max(least);
    }

    /// The epochs that have ended by now.
    fn advance(&mut self, now: Time) {
        let length = self.tuning.epoch.as_nanos();
        let ended = match now.as_nanos().checked_sub(self.epoch.ends.as_nanos()) {
            Some(since) => since / length + 1,
            None => return,
        };
        let skipped = ended.saturating_sub(MOST_EPOCHS);
        self.epoch.ends += Duration::from_nanos(length.saturating_mul(skipped));
        for _ in skipped..ended {
            self.end_epoch();
            self.epoch.ends += self.tuning.epoch;
        }
    }

    /// The window estimator (equation 4) and the sending of the next epoch (equation 5).
    fn end_epoch(&mut self) {
        let sampled = self.epoch.greatest.take();
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
            delays.want(&tuning, rises, may_grow);
            delays.look_again(&tuning, outstanding);
            let wanted = delays.wanted;
            if let Some(packets) = self.profile.window(wanted) {
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

    /// Equation 6, for a packet that was sent with so many bytes outstanding.
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

    /// Back to the profile, at the window that recovery has come to.
    fn leave_recovery(&mut self) {
        self.phase = Phase::Tracking;
        // What was measured while packets were missing tells nothing.
        self.epoch.greatest = None;
        self.anchor();
    }

    /// D_est becomes the delay of W.
    fn anchor(&mut self) {
        let delay = self.profile.delay(self.cwnd / self.mss as f64);
        if let (Some(delays), Some(delay)) = (&mut self.delays, delay) {
            delays.wanted = delay.max(delays.least);
        }
    }

    /// A new curve; the window does not jump with it.
    fn renew(&mut self, now: Time) {
        self.profile.interpolate();
        self.profile.age();
        self.anchor();
        self.renew_at = now + self.tuning.renewal;
    }

    /// What a packet's acknowledgment tells of the path.
    fn learn(&mut self, ack: &Ack, delay: f64) {
        let Some(newest) = ack.newest else { return };
        let outstanding = newest.in_flight.get().div_ceil(self.mss);
        if self.phase == Phase::Recovery && outstanding as f64 * self.mss as f64 <= self.cwnd {
            self.leave_recovery();
        }
        if self.phase != Phase::Recovery {
            self.profile.add(outstanding, delay);
        }
        let least = self.delays.map_or(delay, |d| d.least);
        if self.phase == Phase::SlowStart && delay > self.tuning.exit * least {
            self.lose(newest.in_flight.get(), ack.now);
        }
    }

    fn remember(&mut self) {
        self.before = Some(Before {
            cwnd: self.cwnd,
            phase: self.phase,
            wanted: self.delays.map(|d| d.wanted),
        });
    }
}

impl Delays {
    fn new(delay: f64) -> Self {
        Self {
            least: delay,
            greatest: None,
            wanted: delay,
        }
    }

    /// The delay estimator, at the end of an epoch; `silent` is how long no ACK has come. Whether D_max rises.
    fn estimate(&mut self, sampled: Option<f64>, silent: f64) -> bool {
        let before = self.greatest.or(sampled).unwrap_or(self.least);
        let sample = sampled.unwrap_or(before.max(silent));
        let now = KEEP * before + (1.0 - KEEP) * sample;
        self.greatest = Some(now);
        now - before > NO_CHANGE
    }

    /// Equation 4.
    fn want(&mut self, tuning: &Tuning, rises: bool, may_grow: bool) {
        if self.too_long(tuning) {
            self.wanted -= tuning.up;
        } else if rises {
            self.wanted -= tuning.down;
        } else if may_grow {
            self.wanted += tuning.up;
        }
        self.wanted = self.wanted.max(self.least);
    }

    fn too_long(&self, tuning: &Tuning) -> bool {
        self.greatest
            .is_some_and(|greatest| greatest > tuning.ratio * self.least)
    }

    /// Too long a delay with next to nothing outstanding is not a queue.
    fn look_again(&mut self, tuning: &Tuning, outstanding: f64) {
        if self.too_long(tuning) && self.wanted <= self.least && outstanding < 2.0 {
            self.least += RAISE;
            self.wanted = self.least;
        }
    }
}

/// S of equation 5, in packets: `outstanding` of them are now, `window` are to be; `n` epochs are a round trip.
fn sending(window: f64, outstanding: f64, n: f64) -> f64 {
    // All that is outstanding is acknowledged within the epoch if that is a round trip; the code takes none of it then.
    let share = if n > 1.0 { (2.0 - n) / (n - 1.0) } else { -1.0 };
    (window + share * outstanding).max(0.0)
}

impl Controller for Verus {
    fn on_sent(&mut self, now: Time, size: Bytes, in_flight: Bytes) {
        if in_flight <= size {
            // Nothing was outstanding: silence meant nothing, and the epoch that it began in is the last that counts.
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
        // A delay of nothing is not to be divided by.
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            let delay = rtt.as_secs_f64();
            let delays = self.delays.get_or_insert(Delays::new(delay));
            delays.least = delays.least.min(delay);
            self.epoch.greatest = Some(self.epoch.greatest.map_or(delay, |d| d.max(delay)));
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
        // One loss phase answers for all losses of a window.
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
            delays.wanted = delays.least;
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
            if let (Some(delays), Some(wanted)) = (&mut self.delays, before.wanted) {
                delays.wanted = wanted.max(delays.least);
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

    /// The paper's constants, and the code's M.
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

    /// An ACK of a packet that was sent with so many outstanding and took so long; as many are outstanding now.
    fn ack(law: &mut Verus, now: Time, outstanding: u64, rtt: Duration) {
        law.on_ack(&Ack {
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
            }),
            ..ACK
        });
    }

    /// Past slow start with `packets`, on a path that delays 10 packets by 40 ms and each further one by 2 ms.
    fn tracking(packets: u64) -> Verus {
        let mut law = Verus::new(&setup(packets), TUNING);
        law.delays = Some(Delays::new(0.04));
        law.srtt = RTT;
        law.phase = Phase::Tracking;
        for window in 10..60 {
            law.profile.add(window, 0.04 + 0.002 * (window - 10) as f64);
        }
        law.profile.interpolate();
        law.anchor();
        law
    }

    fn wanted(law: &Verus) -> f64 {
        law.delays.expect("sampled").wanted * 1000.0
    }

    #[test]
    fn the_greatest_delay_is_averaged_over_epochs_and_silence_counts_as_delay() {
        let mut delays = Delays::new(0.04);
        assert!(!delays.estimate(Some(0.04), 0.0), "nothing to rise from");
        assert!(delays.estimate(Some(0.05), 0.0));
        let greatest = |delays: &Delays| delays.greatest.expect("an epoch has ended") * 1000.0;
        assert!((greatest(&delays) - 48.0).abs() < 1e-9, "0.2*40 + 0.8*50");
        assert!(!delays.estimate(None, 0.01));
        assert!((greatest(&delays) - 48.0).abs() < 1e-9);
        assert!(delays.estimate(None, 0.06));
        assert!((greatest(&delays) - 57.6).abs() < 1e-9, "0.2*48 + 0.8*60");
        assert!(!delays.estimate(Some(0.04), 0.0));
    }

    #[test]
    fn the_delay_wanted_goes_down_by_2_ms_if_it_is_too_long_by_1_if_it_rises_and_else_up_by_2() {
        let after = |greatest, wanted, rises| {
            let mut delays = Delays {
                least: 0.04,
                greatest: Some(greatest),
                wanted,
            };
            delays.want(&TUNING, rises, true);
            (delays.wanted * 1e6).round() / 1e3
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
    fn an_epoch_sends_what_its_acknowledgments_take_out_and_what_the_window_lacks() {
        // RTT 40 ms: n = 8. Of 21 packets outstanding 3 come back in an epoch.
        let rounded =
            |window, outstanding, n| (sending(window, outstanding, n) * 1e6).round() / 1e6;
        assert_eq!(rounded(21.0, 21.0, 8.0), 3.0);
        assert_eq!(rounded(25.0, 21.0, 8.0), 7.0);
        assert_eq!(rounded(18.0, 21.0, 8.0), 0.0);
        assert_eq!(rounded(10.0, 21.0, 8.0), 0.0);
        assert_eq!(rounded(21.0, 15.0, 2.0), 21.0);
        assert_eq!(rounded(21.0, 15.0, 1.0), 6.0, "as the code");
    }

    #[test]
    fn the_window_is_what_the_profile_gives_for_the_delay_wanted() {
        let mut law = tracking(20);
        assert_eq!(wanted(&law).round(), 60.0);
        ack(&mut law, at(1), 20, MS * 60);
        // Three epochs end without a rise: 66 ms, 23 packets. What comes after the last is not yet reckoned.
        for (now, expected) in [(6, 21.0), (11, 22.0), (16, 23.0)] {
            ack(&mut law, at(now), 20, MS * 60);
            assert!(
                (segments(&law) - expected).abs() < 0.01,
                "{}",
                segments(&law)
            );
        }
        // 20 outstanding, n = 12: S = 23 - 20*10/11 packets in 5 ms.
        let rate = law.pacing_rate().expect("an epoch has ended");
        let packets = rate.as_bits_per_sec() as f64 * 0.005 / 8000.0;
        assert!((packets - 4.818).abs() < 0.01, "{packets}");
    }

    #[test]
    fn a_loss_multiplies_the_window_it_happened_in_and_then_it_grows_by_one_over_itself() {
        let mut law = tracking(40);
        law.on_packet_lost(&LostPacket {
            now: at(1),
            size: Bytes::new(MSS),
            lost: Bytes::new(MSS),
            at: AtSending {
                sent: Time::ZERO,
                in_flight: Bytes::new(30 * MSS),
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                app_limited: false,
            },
        });
        law.on_loss(&loss(&law, at(1)));
        assert_eq!((law.phase(), segments(&law)), ("loss recovery", 21.0));
        law.on_loss(&loss(&law, at(1)));
        assert_eq!(segments(&law), 21.0, "one phase answers for all losses");
        // What was sent before the loss teaches nothing and changes no mind; 21 such ACKs add nearly a packet.
        let before = law.profile.clone();
        for _ in 0..21 {
            ack(&mut law, at(2), 30, MS * 500);
        }
        assert_eq!(segments(&law).round(), 22.0);
        assert_eq!(law.phase(), "loss recovery");
        assert_eq!(law.profile.delay(30.0), before.delay(30.0));
        // A packet that was sent in the smaller window: D_est is that of 22 packets, 40 + 2*12 ms.
        ack(&mut law, at(3), 20, MS * 60);
        assert_eq!(law.phase(), "delay profile");
        assert_eq!(wanted(&law).round(), 64.0);
    }

    #[test]
    fn a_mistaken_loss_is_taken_back() {
        let mut law = tracking(40);
        law.on_loss(&loss(&law, at(1)));
        assert_eq!(segments(&law), 28.0);
        law.on_spurious(at(2));
        assert_eq!((law.phase(), segments(&law)), ("delay profile", 40.0));
        assert_eq!(wanted(&law).round(), 100.0);
    }

    #[test]
    fn slow_start_ends_at_a_delay_of_15_times_the_least() {
        let mut law = Verus::new(&setup(10), TUNING);
        for i in 0..10 {
            ack(&mut law, at(i), 10 + i, MS * 10);
        }
        ack(&mut law, at(11), 20, MS * 150);
        assert_eq!((law.phase(), segments(&law)), ("slow start", 21.0));
        assert_eq!(law.pacing_rate(), None);
        ack(&mut law, at(12), 20, MS * 151);
        assert_eq!(law.phase(), "loss recovery");
        assert!((segments(&law) - 14.0).abs() < 0.1, "0.7*20");
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_wants_the_least_delay() {
        let mut law = tracking(40);
        law.on_timeout(&timeout(&law, at(1)));
        assert_eq!((law.phase(), segments(&law)), ("loss recovery", 1.0));
        assert_eq!(wanted(&law).round(), 40.0);
        let mut fresh = Verus::new(&setup(10), TUNING);
        fresh.on_timeout(&timeout(&fresh, at(1)));
        assert_eq!((fresh.phase(), segments(&fresh)), ("slow start", 1.0));
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut law = tracking(20);
        for now in 1..100 {
            law.on_ack(&Ack {
                now: at(now),
                rtt: Some(MS * 60),
                cwnd_limited: false,
                ..ACK
            });
        }
        assert_eq!(segments(&law), 20.0);
        assert_eq!(wanted(&law).round(), 60.0);
    }

    #[test]
    fn a_silence_of_any_length_brings_the_window_down_at_once_and_an_idle_one_does_not() {
        // Idle: the one epoch that had begun ends, as any epoch.
        for (in_flight, expected) in [(20, 40.0), (1, 62.0)] {
            let mut law = tracking(20);
            ack(&mut law, at(1), 20, MS * 60);
            let later = Time::ZERO + Duration::from_secs(1_000_000_000);
            law.on_sent(later, Bytes::new(MSS), Bytes::new(in_flight * MSS));
            assert_eq!(wanted(&law).round(), expected, "{in_flight}");
        }
    }

    #[test]
    fn a_least_delay_that_proves_wrong_is_raised() {
        // The path has grown from 40 to 100 ms: with one packet outstanding that is no queue.
        let mut law = tracking(10);
        for i in 1..200 {
            ack(&mut law, at(5 * i), 1, MS * 100);
        }
        let least = law.delays.expect("sampled").least;
        assert!((0.05..=0.1).contains(&least), "{least}");
    }

    fn path(mbit: u64, room: usize, laws: &[&str]) -> Bottleneck {
        let mut path = Bottleneck::new(Rate::from_bits_per_sec(mbit * 1_000_000), room);
        for law in laws {
            let law: Spec = law.parse().expect("valid");
            path.add(law.build(&setup(10)), RTT);
        }
        path
    }

    /// What the flows get of the bottleneck over `span`, and the packets queued on average.
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
    fn on_a_constant_rate_the_link_is_full_and_the_delay_swings_about_r_times_the_least() {
        // 20 Mbit/s are 100 packets in 40 ms: below (R-1)*100 packets wait, and the swing reaches down to none.
        for (law, most) in [("verus", 100.0), ("verus?R=4", 300.0)] {
            let mut path = path(20, 5000, &[law]);
            path.run(Duration::from_secs(10));
            let (share, queued) = shares(&mut path, Duration::from_secs(20));
            assert!(share[0] > 0.98, "{law}: {share:?}");
            assert!(
                (0.5 * most..1.1 * most).contains(&queued),
                "{law}: {queued}"
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
            // A packet takes 8000 bits. R*D_min leaves 40 ms of queue.
            let waited = queued * 8.0 / mbit as f64;
            assert!(waited < 60.0, "{mbit} Mbit/s: {waited} ms");
        }
    }

    #[test]
    fn two_flows_share_alike() {
        let mut path = path(50, 2000, &["verus", "verus"]);
        path.run(Duration::from_secs(10));
        let (share, _) = shares(&mut path, Duration::from_secs(30));
        assert!(share.iter().all(|s| (0.4..0.6).contains(s)), "{share:?}");
    }

    #[test]
    fn a_buffer_too_small_for_r_costs_packets_but_does_not_run_away() {
        // 500 packets in 40 ms and room for 50: no delay ever exceeds 44 ms.
        let mut path = path(100, 50, &["verus"]);
        path.run(Duration::from_secs(10));
        let (lost, delivered) = (path.flows[0].lost, path.flows[0].delivered);
        let (share, _) = shares(&mut path, Duration::from_secs(20));
        assert!(share[0] > 0.5, "{share:?}");
        let lost = path.flows[0].lost - lost;
        assert!(lost < (path.flows[0].delivered - delivered) / 10, "{lost}");
    }
}
